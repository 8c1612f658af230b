"""Reads dates and times from text by Java's patterns."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.functions.time_formatting import (
    DAYS,
    MONTHS,
    ZONE_LETTERS,
    Field,
    Maybe,
    Pattern,
    Text,
    read_pattern,
)
from millrace.relational.time_zones import zone_of

Parse = Callable[[str], "datetime | None"]

_LIMITS = {
    "M": (1, 12),
    "d": (1, 31),
    "D": (1, 366),
    "H": (0, 23),
    "k": (1, 24),
    "K": (0, 11),
    "h": (1, 12),
    "m": (0, 59),
    "s": (0, 59),
}
_UNREADABLE = "QqYwWFec"
KNOWN_TEXTS = 256
"""The number of texts of each pattern whose times are remembered: rows that come together often have the same time."""
_SAME = {"L": "M", "u": "y"}


@lru_cache(512)
def strict_parser(pattern: str) -> Parse:
    """What reads local times as DateTimeFormatter does; None for text that does not fit. What the pattern lacks is that
    of 1970-01-01 00:00:00. A zone is read, but not heeded.

    :raises ValueError: the pattern has no meaning, or its letters cannot be read.
    """
    expression, fields = _regex(read_pattern(pattern, False), pattern, simple=False)
    compiled = re.compile(expression, re.ASCII)

    @lru_cache(KNOWN_TEXTS)
    def parse(text: str) -> datetime | None:
        found = compiled.fullmatch(text)
        return None if found is None else _strict(_values(found, fields))

    return parse


@lru_cache(512)
def simple_parser(pattern: str) -> Callable[[str], tuple[datetime, tzinfo | None] | None]:
    """What reads local times, and the zone if the pattern has one, as SimpleDateFormat does.

    :raises ValueError: the pattern has no meaning, or its letters cannot be read.
    """
    expression, fields = _regex(read_pattern(pattern, True), pattern, simple=True)
    compiled = re.compile(expression, re.IGNORECASE | re.ASCII)

    @lru_cache(KNOWN_TEXTS)
    def parse(text: str) -> tuple[datetime, tzinfo | None] | None:
        found = compiled.match(text)
        try:
            return None if found is None else _lenient(_values(found, fields))
        except OverflowError:  # beyond all years
            return None

    return parse


def plain_times(column: Any, pattern: str) -> Any:
    """A column of text as local times by Arrow's own means; None if the pattern is not one of plain numbers, or some
    text does not fit: then each text has to be looked at."""
    rewrite = _rewriting(pattern)
    if rewrite is None or isinstance(column, pa.Scalar):
        return None
    expression, iso = rewrite
    if not pc.all(pc.match_substring_regex(column, expression)).as_py():
        return None
    return iso_times(pc.replace_substring_regex(column, expression, iso))


def iso_times(column: Any) -> Any:
    """Text of ISO 8601 as local times; None if there is a time that does not exist, or before the year 1."""
    try:
        found = column.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:  # the 30th of February, say
        return None
    return found if pc.all(pc.greater(pc.year(found), 0)).as_py() else None


_ISO = {"y": ("yyyy", ""), "M": ("MM", "-"), "d": ("dd", "-"), "H": ("HH", " "), "m": ("mm", ":"), "s": ("ss", ":")}


@lru_cache(512)
def _rewriting(pattern: str) -> tuple[str, str] | None:
    """A regular expression for a pattern of plain numbers of fixed width, and its groups in the order of ISO 8601."""
    places: dict[str, int] = {}
    expression = ""
    for part in read_pattern(pattern, False):
        if isinstance(part, Text):
            expression += re.escape(part.text)
        elif isinstance(part, Field) and part.letter not in places and _is_plain(part):
            places[part.letter] = len(places) + 1
            expression += rf"(\d{{{part.count}}})"
        else:
            return None
    if not {"y", "M", "d"} <= places.keys():
        return None
    iso = "".join(
        f"{mark}\\{places[letter]}" if letter in places else f"{mark}00" for letter, (_, mark) in _ISO.items()
    )
    return f"^{expression}$", iso + (f".\\{places['S']}" if "S" in places else "")


def _is_plain(part: Field) -> bool:
    return part.letter * part.count == _ISO.get(part.letter, ("",))[0] or (part.letter == "S" and part.count <= 6)


def _regex(parts: Pattern, pattern: str, simple: bool) -> tuple[str, list[Field]]:
    fields: list[Field] = []

    def build(parts: Pattern) -> Iterator[str]:
        for index, part in enumerate(parts):
            if isinstance(part, Text):
                yield re.escape(part.text)
            elif isinstance(part, Maybe):
                yield f"(?:{''.join(build(part.parts))})?"
            else:
                if part.letter in _UNREADABLE or (simple and part.letter == "u"):
                    raise ValueError(f"times cannot be read with letter {part.letter!r} of the pattern {pattern!r}")
                fields.append(part)
                following = parts[index + 1] if index + 1 < len(parts) else None
                adjacent = isinstance(following, Field) and _is_number(following)
                yield f"({_simple_field(part, adjacent) if simple else _strict_field(part)})"

    return "".join(build(parts)), fields


def _is_number(part: Field) -> bool:
    return part.letter not in "GEaVzOXxZ" and not (part.letter in "ML" and part.count > 2)


def _strict_field(part: Field) -> str:
    letter, count = part.letter, part.count
    if not _is_number(part):
        return _text_field(part)
    if letter in "yu":
        return {1: r"\d{1,9}", 2: r"\d{2}", 4: r"\d{4}|\+\d{5,9}"}.get(count, rf"\d{{{count},9}}")
    if letter == "S":
        return rf"\d{{{count}}}"
    return r"\d{1,18}" if count == 1 else rf"\d{{{count},18}}" if letter in "AnN" else rf"\d{{{count}}}"


def _simple_field(part: Field, adjacent: bool) -> str:
    if not _is_number(part):
        return r"[ \t]*(?:" + _text_field(part) + ")"
    return rf"\d{{1,{part.count}}}" if adjacent and part.count > 1 else r"[ \t]*[+-]?\d{1,18}"


def _text_field(part: Field) -> str:
    letter, count = part.letter, part.count
    if letter in "ML":
        return "|".join(MONTHS if count == 4 else [*MONTHS, *(name[:3] for name in MONTHS)][-12:])
    if letter == "E":
        return "|".join([*DAYS, *(name[:3] for name in DAYS)])
    if letter == "a":
        return "AM|PM"
    if letter == "G":
        return "AD|Anno Domini"
    if letter in "Xx":
        short = {1: r"[+-]\d{2}", 2: r"[+-]\d{4}"}.get(count, r"[+-]\d{2}:\d{2}")
        return f"Z|{short}" if letter == "X" else short
    if letter == "Z" and count < 4:
        return r"[+-]\d{4}|(?:GMT|UTC)(?:[+-]\d{1,2}(?::?\d{2})?)?"
    return r"[A-Za-z]+(?:/[A-Za-z_+\-0-9]+)*(?:[+-]\d{1,2}(?::?\d{2})?)?|[+-]\d{2}:?\d{2}"


def _values(found: re.Match[str], fields: list[Field]) -> list[tuple[Field, str]]:
    return [(part, text.strip()) for part, text in zip(fields, found.groups()) if text is not None]


def _collect(values: list[tuple[Field, str]]) -> dict[str, int | str] | None:
    """The value of each field; None if one is said twice and differently."""
    found: dict[str, int | str] = {}
    for part, text in values:
        letter = _SAME.get(part.letter, part.letter)
        value: int | str = text
        if letter == "M" and part.count > 2:
            value = next(index for index, name in enumerate(MONTHS, 1) if name[:3].lower() == text[:3].lower())
        elif letter == "a":
            value = int(text.upper() == "PM")
        elif letter in ZONE_LETTERS:
            letter = "zone"
        elif letter not in "EG":
            value = int(text)
        if found.setdefault(letter, value) != value:
            return None
    return found


def _strict(values: list[tuple[Field, str]]) -> datetime | None:
    found = _collect(
        [
            (part, (text + "000000000")[:9] if part.letter == "S" else text)
            for part, text in values
            if part.letter not in "EG"
        ]
    )
    if found is None:
        return None
    number = {letter: value for letter, value in found.items() if isinstance(value, int)}
    if any(part.letter in "yu" and part.count == 2 for part, _ in values):
        number["y"] += 2000
    midnight = number.get("H") == 24 and not (number.get("m") or number.get("s") or number.get("S"))
    if midnight:
        number["H"] = 0
    for letter, (low, high) in _LIMITS.items():
        if not low <= number.get(letter, low) <= high:
            return None
    year, month = number.get("y", 1970), number.get("M", 1)
    if not 1 <= year <= 9999:
        return None
    day = min(number.get("d", 1), monthrange(year, month)[1])
    if "A" in number or "N" in number:
        since = timedelta(milliseconds=number["A"]) if "A" in number else timedelta(microseconds=number["N"] // 1000)
    else:
        micros = number.get("S", number.get("n", 0)) // 1000
        hour = _hour(number, without_half=0)
        since = timedelta(hours=hour, minutes=number.get("m", 0), seconds=number.get("s", 0), microseconds=micros)
    try:
        at = datetime(year, month, day) + since + timedelta(days=midnight)
        return at + timedelta(days=number["D"] - 1) if "D" in number and "d" not in number else at
    except OverflowError:
        return None


def _hour(number: dict[str, int], without_half: int | None) -> int:
    """Hour of the day from whichever letters there are. ``without_half``: for hours of a half day without AM or PM."""
    if "H" in number:
        return number["H"]
    if "k" in number:
        return number["k"] % 24
    half = number["h"] % 12 if "h" in number else number.get("K")
    if half is None:
        return 0
    if "a" not in number and without_half is not None:
        return without_half
    return half + 12 * number.get("a", 0)


def _lenient(values: list[tuple[Field, str]]) -> tuple[datetime, tzinfo | None] | None:
    found: dict[str, int | str] = {}
    for part, text in values:  # the last one counts where a field is given twice
        found.update(_collect([(part, text)]) or {})
    number = {letter: value for letter, value in found.items() if isinstance(value, int)}
    year = number.get("y", 1970)
    if any(part.letter == "y" and part.count <= 2 and len(text) == 2 for part, text in values):
        first = datetime.now().year - 80
        year += first - first % 100
        year += 100 if year < first else 0
    years, month = divmod(number.get("M", 1) - 1, 12)
    days = number["D"] if "D" in number and "d" not in number else number.get("d", 1)
    since = timedelta(
        days=days - 1,
        hours=_hour(number, without_half=None),
        minutes=number.get("m", 0),
        seconds=number.get("s", 0),
        milliseconds=number.get("S", 0),
    )
    try:
        at = datetime(year + years, 1 if "D" in number and "d" not in number else month + 1, 1) + since
    except (ValueError, OverflowError):
        return None
    zone = found.get("zone")
    if zone is None:
        return at, None
    try:
        return at, timezone.utc if str(zone).upper() == "Z" else zone_of(str(zone))
    except ValueError:
        return None
