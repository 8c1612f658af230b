"""LIKE and SIMILAR TO, with ESCAPE. Without ESCAPE no character escapes another one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.functions.regex import linear_test
from millrace.relational.functions.registry import BOOLEAN_TYPE, TEXT, Column, Surroundings, by_row, scalar, takes
from millrace.relational.rex import Call, Literal

_TAKEN = takes(TEXT, TEXT, TEXT, optional=1, result=BOOLEAN_TYPE)
_CLASSES = {
    "ALPHA": "A-Za-z",
    "UPPER": "A-Z",
    "LOWER": "a-z",
    "DIGIT": "0-9",
    "ALNUM": "A-Za-z0-9",
    "SPACE": " ",
    "WHITESPACE": r"\s",
}
_NAMED = re.compile(r"\[:([A-Za-z]+):\]")
_BACKSLASH = "\\"
_OPERATORS = "|*+?(){}^"


def _escaped(pattern: str, place: int, escape: str, may_follow: str) -> str:
    """The character after an escape.

    :raises ValueError: it needs none.
    """
    following = pattern[place + 1 : place + 2]
    if not following or following not in may_follow + escape:
        raise ValueError(f"in the pattern {pattern!r} the escape character {escape!r} stands before nothing to escape")
    return following


def _checked(escape: str) -> str:
    if len(escape) > 1 or escape == "\0":
        raise ValueError(f"ESCAPE takes one character, not {escape!r}")
    return escape


def like_regex(pattern: str, escape: str) -> re.Pattern[str]:
    """``%`` stands for any text, ``_`` for any character.

    Each part between two ``%`` is looked for once, where it comes first: going back from there finds nothing more, and
    would take a time of the length of the text to the power of their number.

    :raises ValueError: a wrong escape.
    """
    parts, place = [""], 0
    while place < len(pattern):
        char = pattern[place]
        if escape and char == escape:
            parts[-1] += re.escape(_escaped(pattern, place, escape, "%_"))
            place += 1
        elif char == "%":
            parts.append("")
        else:
            parts[-1] += "." if char == "_" else re.escape(char)
        place += 1
    if len(parts) == 1:
        return re.compile(parts[0], re.DOTALL)
    first, *between, last = parts
    # A group that looks ahead is not tried in another way; later Pythons could say (?>...).
    once = [f"(?=(.*?{part}))\\{number}" for number, part in enumerate(filter(None, between), 1)]
    return re.compile(f"{first}{''.join(once)}.*{last}", re.DOTALL)


_SIMILAR = {"%": ".*", "_": ".", ".": "."}


def similar_regex(pattern: str, escape: str) -> re.Pattern[str]:
    """LIKE with ``| * + ? {2,3} ( ) [a-z] [^a] [[:ALPHA:]]`` of regular expressions. As in Flink, the point is any
    character, too.

    :raises ValueError: a wrong escape or expression.
    """
    parts, place = [], 0
    while place < len(pattern):
        char = pattern[place]
        if escape and char == escape:
            parts.append(re.escape(_escaped(pattern, place, escape, "%_[]^-" + _OPERATORS)))
            place += 1
        elif char == "[":
            end = _end_of_set(pattern, place)
            parts.append(_set(pattern[place + 1 : end]))
            place = end
        elif char in _OPERATORS:
            parts.append(char)
        else:
            parts.append(_SIMILAR.get(char) or re.escape(char))
        place += 1
    try:
        return re.compile("".join(parts), re.DOTALL)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no pattern for SIMILAR TO: {error}") from None


def _end_of_set(pattern: str, start: int) -> int:
    """The end of a set ``[...]``, which may contain classes like ``[:ALPHA:]``."""
    place = start + 1
    while place < len(pattern) and pattern[place] != "]":
        place = pattern.index(":]", place + 2) + 2 if pattern.startswith("[:", place) else place + 1
    if place >= len(pattern):
        raise ValueError(f"the pattern {pattern!r} has a [ without ]")
    return place


def _set(inside: str) -> str:
    def named(match: re.Match[str]) -> str:
        found = _CLASSES.get(match[1].upper())
        if found is None:
            raise ValueError(f"SIMILAR TO knows no [:{match[1]}:], but {', '.join(_CLASSES)}")
        return found

    return f"[{_NAMED.sub(named, inside.replace(_BACKSLASH, 2 * _BACKSLASH))}]"


def _plain(pattern: str) -> tuple[str, str] | None:
    """How a LIKE pattern without ``_`` and escapes and with ``%`` only at its ends is looked for, and its text."""
    text = pattern.strip("%")
    if any(char in text for char in "%_"):
        return None
    return ("%" if pattern.startswith("%") else "") + "x" + ("%" if pattern.endswith("%") else ""), text


_PLAIN: dict[str, Callable[[Any, str], Any]] = {
    "x": lambda column, text: pc.equal(column, pa.scalar(text)),
    "x%": pc.starts_with,
    "%x": pc.ends_with,
    "%x%": pc.match_substring,
}


def _match(call: Call, args: Sequence[Column], regex: Callable[[str, str], re.Pattern[str]]) -> Column:
    """A pattern is made ready once, not once a row."""
    text, pattern, *rest = args
    if all(isinstance(each, pa.Scalar) and each.is_valid for each in rest):
        escape = _checked(rest[0].as_py()) if rest else ""
        return by_row(call, [text, pattern], _matches, prepare={1: lambda each: regex(each, escape)})
    return by_row(call, args, lambda value, each, escape="": _matches(value, regex(each, _checked(escape))))


def _matches(text: str, pattern: re.Pattern[str]) -> bool:
    return pattern.fullmatch(text) is not None


def _spark_like(call: Call, args: Sequence[str]) -> str | None:
    """Spark takes only a constant for the escape, and the backslash for it if there is none."""
    if len(args) == 2:
        pattern = call.args[1]
        plain = isinstance(pattern, Literal) and _BACKSLASH not in (pattern.value or "")
        return f"({args[0]} LIKE {args[1]})" if plain else None
    escape = call.args[2]
    return f"({args[0]} LIKE {args[1]} ESCAPE {args[2]})" if isinstance(escape, Literal) and escape.value else None


@scalar("LIKE", _TAKEN, spark=_spark_like, syntax="string LIKE pattern [ESCAPE character]")
def _like(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    text, pattern, *rest = args
    if not rest and isinstance(pattern, pa.Scalar) and pattern.is_valid and not isinstance(text, pa.Scalar):
        plain = _plain(pattern.as_py())
        if plain is not None:
            return _PLAIN[plain[0]](text, plain[1])
    return _match(call, args, like_regex)


@scalar("SIMILAR TO", _TAKEN, syntax="string SIMILAR TO pattern [ESCAPE character]")
def _similar(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    text, pattern, *rest = args
    constant = all(isinstance(each, pa.Scalar) and each.is_valid for each in (pattern, *rest))
    if constant and not isinstance(text, pa.Scalar):
        test = linear_test(similar_regex(pattern.as_py(), _checked(rest[0].as_py()) if rest else ""), whole=True)
        if test is not None:
            return test.matches(text)
    return _match(call, args, similar_regex)
