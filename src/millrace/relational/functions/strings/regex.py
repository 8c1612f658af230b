"""REGEXP, REGEXP_REPLACE, REGEXP_EXTRACT, ...: functions with regular expressions, which are written as in Java.

An expression that is not well-formed matches nothing: REGEXP gives FALSE, the others NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from millrace.relational import types as t
from millrace.relational.functions.columns import by_row
from millrace.relational.functions.registry import Column, Surroundings, scalar
from millrace.relational.functions.signatures import BOOLEAN_TYPE, INT_TYPE, STRING, TEXT, WHOLE, takes
from millrace.relational.functions.strings.java_regex import compiled
from millrace.relational.rex import Call
from millrace.relational.types import DataType

Regex: TypeAlias = "re.Pattern[str] | None"


def _register(
    name: str, function: Callable[..., Any], result: DataType, more: tuple[Any, ...] = (), optional: int = 0
) -> None:
    """A function of text, expression and ``more``."""
    nullable = None if result is BOOLEAN_TYPE else True

    @scalar(name, takes(TEXT, TEXT, *more, optional=optional, result=result, nullable=nullable))
    def _compute(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        return by_row(call, args, function, prepare={1: compiled})


def _found(text: str, regex: Regex) -> bool:
    return regex is not None and regex.pattern != "" and regex.search(text) is not None


def _replaced(text: str, regex: Regex, new: str) -> str | None:
    return None if regex is None else regex.sub(lambda match: new, text)


def _extracted(text: str, regex: Regex, group: int = 0) -> str | None:
    match = None if regex is None else regex.search(text)
    return match[group] if match is not None and 0 <= group <= match.re.groups else None


def _all_extracted(text: str, regex: Regex, group: int = 1) -> list[str | None] | None:
    if regex is None or not 0 <= group <= regex.groups:
        return None
    return [match[group] for match in regex.finditer(text)]


def _count(text: str, regex: Regex) -> int | None:
    return None if regex is None else sum(1 for _ in regex.finditer(text))


def _place(text: str, regex: Regex) -> int | None:
    if regex is None:
        return None
    match = regex.search(text)
    return 0 if match is None else match.start() + 1


_register("REGEXP", _found, BOOLEAN_TYPE)
_register("REGEXP_REPLACE", _replaced, STRING, (TEXT,))
_register("REGEXP_EXTRACT", _extracted, STRING, (WHOLE,), optional=1)
_register("REGEXP_EXTRACT_ALL", _all_extracted, t.ArrayType(STRING), (WHOLE,), optional=1)
_register("REGEXP_COUNT", _count, INT_TYPE)
_register("REGEXP_INSTR", _place, INT_TYPE)
_register("REGEXP_SUBSTR", _extracted, STRING)


@scalar(
    "STR_TO_MAP",
    takes(TEXT, TEXT, TEXT, optional=2, result=t.MapType(STRING, STRING), nullable=True),
    syntax="STR_TO_MAP(string [, delimiter of pairs, delimiter of key and value])",
)
def _str_to_map(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """The delimiters are regular expressions."""
    return by_row(call, args, str_to_map, prepare={1: _delimiter, 2: _delimiter})


def _delimiter(text: str) -> re.Pattern[str]:
    found = compiled(text)
    if found is None:
        raise ValueError(f"{text!r} is not a regular expression: characters with a meaning need a backslash")
    return found


_COMMA, _EQUALS = re.compile(","), re.compile("=")


def str_to_map(
    text: str, pairs: re.Pattern[str] = _COMMA, equals: re.Pattern[str] = _EQUALS
) -> list[tuple[str, str | None]]:
    """A pair without delimiter has no value. Of equal keys the last one counts, empty pairs at the end do not."""
    found: dict[str, str | None] = {}
    parts = _split(text, pairs)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    for pair in parts if text else ():
        key, *value = _split(pair, equals, 1)
        found[key] = value[0] if value else None
    return list(found.items())


def _split(text: str, delimiter: re.Pattern[str], most: int = -1) -> list[str]:
    """As Java splits: without the groups of the delimiter, and nothing before a match of no width at the start."""
    parts: list[str] = []
    begin = 0
    for match in delimiter.finditer(text):
        if match.end() == 0 or (match.start() == match.end() == len(text)) or len(parts) == most:
            continue
        parts.append(text[begin : match.start()])
        begin = match.end()
    return [*parts, text[begin:]]
