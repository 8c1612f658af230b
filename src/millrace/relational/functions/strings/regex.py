"""REGEXP, REGEXP_REPLACE, REGEXP_EXTRACT, ...: functions with regular expressions, which are written as in Java.

An expression that is not well-formed matches nothing: REGEXP gives FALSE, the others NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from millrace.relational import types as t
from millrace.relational.functions.columns import by_row
from millrace.relational.functions.registry import Column, Surroundings, scalar
from millrace.relational.functions.signatures import BOOLEAN_TYPE, INT_TYPE, STRING, TEXT, WHOLE, takes
from millrace.relational.functions.strings.java_regex import compiled
from millrace.relational.functions.strings.linear_regex import linear_test
from millrace.relational.functions.strings.plain_regex import PlainRegex, plain_regex
from millrace.relational.rex import Call
from millrace.relational.types import DataType

Regex: TypeAlias = "re.Pattern[str] | None"
ByColumn: TypeAlias = "Callable[[Sequence[Column], PlainRegex], pa.Array | None]"
"""computes all rows, or says with None that it cannot"""


def _register(
    name: str,
    function: Callable[..., Any],
    result: DataType,
    more: tuple[Any, ...] = (),
    optional: int = 0,
    by_column: ByColumn = lambda args, regex: None,
) -> None:
    """A function of text, expression and ``more``."""
    nullable = None if result is BOOLEAN_TYPE else True

    @scalar(name, takes(TEXT, TEXT, *more, optional=optional, result=result, nullable=nullable))
    def _compute(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        regex = _plain(args)
        found = None if regex is None else by_column(args, regex)
        if found is None and function is _found:
            found = _tested(args)
        return by_row(call, args, function, prepare={1: compiled}) if found is None else found


def _tested(args: Sequence[Column]) -> pa.Array | None:
    """Whether texts match an expression that is a constant; None where it has to be asked row by row."""
    text, pattern = args[:2]
    if not isinstance(pattern, pa.Scalar) or not pattern.is_valid or isinstance(text, pa.Scalar):
        return None
    regex = compiled(pattern.as_py())
    test = None if regex is None or regex.pattern == "" else linear_test(regex)
    return None if test is None else test.matches(text)


def _plain(args: Sequence[Column]) -> PlainRegex | None:
    """The expression if it is a constant that Arrow understands, and the texts are a column."""
    text, pattern = args[:2]
    constant = isinstance(pattern, pa.Scalar) and pattern.is_valid and not isinstance(text, pa.Scalar)
    return plain_regex(pattern.as_py()) if constant else None


def _found(text: str, regex: Regex) -> bool:
    return regex is not None and regex.pattern != "" and regex.search(text) is not None


def _found_by_column(args: Sequence[Column], regex: PlainRegex) -> pa.Array:
    return regex.matches(args[0])


def _replaced(text: str, regex: Regex, new: str) -> str | None:
    return None if regex is None else regex.sub(lambda match: new, text)


def _extracted(text: str, regex: Regex, group: int = 0) -> str | None:
    match = None if regex is None else regex.search(text)
    return match[group] if match is not None and 0 <= group <= match.re.groups else None


def _extracted_by_column(args: Sequence[Column], regex: PlainRegex) -> pa.Array | None:
    group = args[2] if len(args) > 2 else pa.scalar(0)
    certain = isinstance(group, pa.Scalar) and group.as_py() in regex.certain
    return regex.extract(args[0], group.as_py()) if certain else None


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


_register("REGEXP", _found, BOOLEAN_TYPE, by_column=_found_by_column)
_register("REGEXP_REPLACE", _replaced, STRING, (TEXT,))
_register("REGEXP_EXTRACT", _extracted, STRING, (WHOLE,), optional=1, by_column=_extracted_by_column)
_register("REGEXP_EXTRACT_ALL", _all_extracted, t.ArrayType(STRING), (WHOLE,), optional=1)
_register("REGEXP_COUNT", _count, INT_TYPE)
_register("REGEXP_INSTR", _place, INT_TYPE)
_register("REGEXP_SUBSTR", _extracted, STRING, by_column=_extracted_by_column)


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
