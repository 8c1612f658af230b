"""Writes dates and times as text by Java's patterns; each pattern is parsed once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import TypeAlias

from millrace.util.record import Record

# Patterns

SIMPLE_LETTERS = "GyYMLwWDdFEuaHkKhmsSzZX"
"""letters of ``java.text.SimpleDateFormat``"""
STRICT_LETTERS = "GuyDMLdQqYwEecahKkHmsSAnNVzOXxZ"
"""letters of ``java.time.format.DateTimeFormatter``"""
ZONE_LETTERS = "VzOXxZ"


class Field(Record):
    """``count`` times the same letter."""

    letter: str
    count: int


class Text(Record):
    """Characters that stand for themselves."""

    text: str


class Maybe(Record):
    """What stands in [...]."""

    parts: Pattern


Pattern: TypeAlias = "tuple[Field | Text | Maybe, ...]"


@lru_cache(512)
def read_pattern(text: str, simple: bool) -> Pattern:
    """The parts of a pattern.

    :param simple: of SimpleDateFormat, which knows other letters and no [...].
    :raises ValueError: a letter without meaning, or a quote or bracket that is not closed.
    """
    parts, end = _read(text, 0, simple, nested=False)
    assert end == len(text)
    return parts


def _read(text: str, at: int, simple: bool, nested: bool) -> tuple[Pattern, int]:
    letters = SIMPLE_LETTERS if simple else STRICT_LETTERS
    parts: list[Field | Text | Maybe] = []
    while at < len(text):
        char = text[at]
        if char == "'":
            literal, at = _quoted(text, at)
            _literal(parts, literal)
        elif char.isascii() and char.isalpha():
            if char not in letters:
                raise ValueError(f"letter {char!r} of the pattern {text!r} has no meaning: quote text as in 'T'")
            end = at
            while end < len(text) and text[end] == char:
                end += 1
            parts.append(Field(char, end - at))
            at = end
        elif char == "[" and not simple:
            inner, at = _read(text, at + 1, simple, nested=True)
            parts.append(Maybe(inner))
        elif char == "]" and not simple:
            if not nested:
                raise ValueError(f"']' without '[' in the pattern {text!r}")
            return tuple(parts), at + 1
        else:
            _literal(parts, char)
            at += 1
    if nested:
        raise ValueError(f"'[' without ']' in the pattern {text!r}")
    return tuple(parts), at


def _quoted(text: str, at: int) -> tuple[str, int]:
    """The text from a quote on, and where it ends; two quotes are one."""
    if text[at + 1 : at + 2] == "'":
        return "'", at + 2
    found = ""
    at += 1
    while at < len(text):
        if text[at] != "'":
            found += text[at]
            at += 1
        elif text[at + 1 : at + 2] == "'":
            found += "'"
            at += 2
        else:
            return found, at + 1
    raise ValueError(f"a quote is not closed in the pattern {text!r}")


def _literal(parts: list[Field | Text | Maybe], text: str) -> None:
    if parts and isinstance(parts[-1], Text):
        parts[-1] = Text(parts[-1].text + text)
    else:
        parts.append(Text(text))


# Formatting

Format = Callable[[datetime], str]

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_QUARTERS = ("1st", "2nd", "3rd", "4th")

_STRFTIME = {("y", 4): "%Y", ("M", 2): "%m", ("d", 2): "%d", ("H", 2): "%H", ("m", 2): "%M", ("s", 2): "%S"}

_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "d": lambda at: at.day,
    "D": lambda at: at.timetuple().tm_yday,
    "F": lambda at: (at.day - 1) // 7 + 1,
    "H": lambda at: at.hour,
    "k": lambda at: at.hour or 24,
    "K": lambda at: at.hour % 12,
    "h": lambda at: at.hour % 12 or 12,
    "m": lambda at: at.minute,
    "s": lambda at: at.second,
    "w": lambda at: week_of(at)[1],
    "W": lambda at: (at.day - 1 + (at.replace(day=1).weekday() + 1) % 7) // 7 + 1,
    "A": lambda at: at.hour * 3_600_000 + at.minute * 60_000 + at.second * 1000 + at.microsecond // 1000,
    "n": lambda at: at.microsecond * 1000,
    "N": lambda at: ((at.hour * 60 + at.minute) * 60 + at.second) * 10**9 + at.microsecond * 1000,
}


@lru_cache(512)
def formatter(pattern: str, simple: bool) -> Format:
    """What writes times by a pattern: of SimpleDateFormat (times with tzinfo), or of DateTimeFormatter.

    :raises ValueError: the pattern has no meaning, or asks DateTimeFormatter for a zone that TIMESTAMP does not have.
    """
    parts = _writers(read_pattern(pattern, simple), pattern, simple)
    return lambda at: "".join([write(at) for write in parts])


@lru_cache(512)
def strftime(pattern: str) -> str | None:
    """Translate Java's pattern for Arrow's strftime on whole seconds; None if the pattern has more than plain
    numbers and text."""
    found = ""
    for part in read_pattern(pattern, False):
        directive = _STRFTIME.get((part.letter, part.count)) if isinstance(part, Field) else None
        if directive is not None:
            found += directive
        elif isinstance(part, Text) and "%" not in part.text and part.text.isascii():
            found += part.text
        else:
            return None
    return found or None


def _writers(parts: Pattern, pattern: str, simple: bool) -> list[Format]:
    found: list[Format] = []
    for part in parts:
        if isinstance(part, Text):
            found.append(lambda at, text=part.text: text)  # type: ignore[misc]
        elif isinstance(part, Maybe):
            found += _writers(part.parts, pattern, simple)
        elif not simple and part.letter in ZONE_LETTERS:
            raise ValueError(
                f"letter {part.letter!r} of the pattern {pattern!r} asks for a time zone, which a TIMESTAMP lacks"
            )
        else:
            found.append(_writer(part, simple))
    return found


def _writer(part: Field, simple: bool) -> Format:
    letter, count = part.letter, part.count
    if letter == "u" and simple:
        return lambda at: f"{at.isoweekday():0{count}}"
    if letter in "yuY":
        return _year(letter, count)
    if letter in "ML" and count < 3:
        return lambda at: f"{at.month:0{count}}"
    if letter in "ML":
        return lambda at: _named(MONTHS[at.month - 1], count)
    if letter == "E" or (letter in "ec" and count > 2):
        return lambda at: _named(DAYS[at.weekday()], max(count, 3))
    if letter in "ec":
        return lambda at: f"{at.isoweekday() % 7 + 1:0{count}}"
    if letter == "S":
        if simple:
            return lambda at: f"{at.microsecond // 1000:0{count}}"
        return lambda at: f"{at.microsecond:06}".ljust(9, "0")[:count]
    if letter == "a":
        return lambda at: "AM" if at.hour < 12 else "PM"
    if letter == "G":
        return lambda at: "Anno Domini" if count == 4 and not simple else "AD"
    if letter in "Qq":
        return lambda at: _quarter((at.month + 2) // 3, count)
    if letter in "zZX":
        return lambda at: _zone(at, letter, count)
    number = _NUMBERS[letter]
    return lambda at: f"{number(at):0{count}}"


def _year(letter: str, count: int) -> Format:
    def write(at: datetime) -> str:
        year = week_of(at)[0] if letter == "Y" else at.year
        return f"{year % 100:02}" if count == 2 else f"{year:0{count}}"

    return write


def _named(name: str, count: int) -> str:
    return name[:3] if count == 3 else name[:1] if count == 5 else name


def _quarter(number: int, count: int) -> str:
    if count < 3:
        return f"{number:0{count}}"
    return f"Q{number}" if count == 3 else f"{_QUARTERS[number - 1]} quarter"


def _zone(at: datetime, letter: str, count: int) -> str:
    if letter == "z":
        return at.tzname() or "UTC"
    minutes = (at.utcoffset() or timedelta()) // timedelta(minutes=1)
    if letter == "X" and minutes == 0:
        return "Z"
    hours, rest = divmod(abs(minutes), 60)
    sign = "-" if minutes < 0 else "+"
    if letter == "X" and count == 1:
        return f"{sign}{hours:02}"
    return f"{sign}{hours:02}{':' if letter == 'X' and count == 3 else ''}{rest:02}"


def week_of(at: datetime) -> tuple[int, int]:
    """Year and week where weeks begin on Sunday and the first one has January 1: Java's rule for English."""
    first = (date(at.year, 1, 1).weekday() + 1) % 7
    week = (at.timetuple().tm_yday - 1 + first) // 7 + 1
    if at.month == 12 and at.day + (6 - (at.weekday() + 1) % 7) > 31:
        return at.year + 1, 1
    return at.year, week
