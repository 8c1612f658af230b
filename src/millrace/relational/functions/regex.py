"""Regular expressions, written as in Java: REGEXP, REGEXP_REPLACE, REGEXP_EXTRACT and their like. A pattern is
translated to Python's ``re``, or to Arrow's engine where that reads it as Java does and matches a column at a time.
Matches that only say yes or no run in a time that grows with the text's length alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.functions.registry import (
    BOOLEAN_TYPE,
    INT_TYPE,
    STRING,
    TEXT,
    WHOLE,
    Column,
    Surroundings,
    by_row,
    scalar,
    takes,
)
from millrace.relational.rex import Call
from millrace.relational.types import DataType
from millrace.util.record import Record

# Java's patterns in Python's re

_PROPERTIES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "A-Za-z",
    "Digit": "0-9",
    "Alnum": "A-Za-z0-9",
    "XDigit": "0-9A-Fa-f",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": " \\t",
    "Cntrl": r"\x00-\x1f\x7f",
    "Space": r" \t\n\x0b\f\r",
    "ASCII": r"\x00-\x7f",
    "IsAlphabetic": r"^\W\d_",
    "L": r"^\W\d_",
    "IsDigit": r"\d",
    "Nd": r"\d",
}
_WITH_UNICODE = frozenset(("IsAlphabetic", "L", "IsDigit", "Nd"))
_ENDS = {"z": r"\Z", "Z": r"(?=\n?\Z)", "h": r"[ \t\xa0]", "R": r"(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])", "e": r"\x1b"}
_SINCE_3_11 = ("multiple repeat", "unknown extension ?>")
"""the error that Pythons before 3.11 raise for a++ and (?>a)"""
_GROUP_NAME = re.compile(r"\(\?<([A-Za-z][A-Za-z0-9]*)>")
_BACK_REFERENCE = re.compile(r"k<([A-Za-z][A-Za-z0-9]*)>")
_PROPERTY = re.compile(r"([pP])(?:\{([^}]*)\}|([A-Z]))")
_FLAGS = re.compile(r"\(\?([idmsux]+)\)")
_BEGIN_OF_CLASS = re.compile(r"\[\^?\]?")


class UnsupportedRegex(ValueError):
    """A regular expression that Java has and Millrace has not."""


def _refuse(pattern: str, what: str, instead: str) -> UnsupportedRegex:
    return UnsupportedRegex(
        f"the regular expression {pattern!r} has {what}, which Millrace does not support: {instead}"
    )


@lru_cache(maxsize=500)
def compiled(pattern: str) -> re.Pattern[str] | None:
    """The expression for ``re``; None for a pattern that is not well-formed.

    :raises UnsupportedRegex: Python has nothing like a part of it.
    """
    try:
        return re.compile(_rewritten(pattern), re.ASCII)
    except re.error as error:
        if sys.version_info < (3, 11) and error.msg.startswith(_SINCE_3_11):
            raise _refuse(pattern, "a possessive quantifier or an atomic group", "Python 3.11 has them") from None
        return None


def _rewritten(pattern: str) -> str:
    parts: list[str] = []
    closings = [""]
    """what is written before the end of each open group: flags in the middle end with their group"""
    place = 0
    while place < len(pattern):
        char = pattern[place]
        if char == "\\":
            text, place = _escape(pattern, place, inside=False)
            parts.append(text)
            continue
        if char == "[":
            text, place = _class(pattern, place)
            parts.append(text)
            continue
        flags = _FLAGS.match(pattern, place)
        if flags:
            chosen = "".join(flag for flag in flags[1] if flag in "imsx")
            if chosen:
                parts.append(f"(?{chosen}:")
                closings[-1] += ")"
            place = flags.end()
            continue
        name = _GROUP_NAME.match(pattern, place)
        if char == "(":
            closings.append("")
        if char == ")" and len(closings) > 1:
            parts.append(closings.pop())
        parts.append(f"(?P<{name[1]}>" if name else char)
        place = name.end() if name else place + 1
    parts.extend(reversed(closings))
    return "".join(parts)


def _escape(pattern: str, place: int, inside: bool) -> tuple[str, int]:
    """A backslash and what belongs to it; and where the pattern goes on."""
    letter = pattern[place + 1 : place + 2]
    if letter == "Q":
        end = pattern.find("\\E", place)
        quoted = pattern[place + 2 : end] if end >= 0 else pattern[place + 2 :]
        return re.escape(quoted), end + 2 if end >= 0 else len(pattern)
    reference = _BACK_REFERENCE.match(pattern, place + 1)
    if reference:
        return f"(?P={reference[1]})", reference.end()
    found = _PROPERTY.match(pattern, place + 1)
    if found:
        return _property(pattern, found, inside), found.end()
    if letter in ("G", "X", "V", "H", "v"):
        raise _refuse(pattern, f"\\{letter}", "use a character class")
    if letter in _ENDS and not inside:
        return _ENDS[letter], place + 2
    return pattern[place : place + 2], place + 2


def _property(pattern: str, found: re.Match[str], inside: bool) -> str:
    r"""``\p{Alpha}`` and its like."""
    name = found[2] or found[3]
    negated = found[1] == "P"
    characters = _PROPERTIES.get(name)
    if characters is None or (inside and (negated or characters.startswith("^"))):
        raise _refuse(pattern, f"\\{found[1]}{{{name}}}", "use ranges of characters")
    if inside:
        return characters
    body = f"[{characters}]"
    if negated:
        body = f"[{characters[1:]}]" if characters.startswith("^") else f"[^{characters}]"
    return f"(?u:{body})" if name in _WITH_UNICODE else body


def _class(pattern: str, start: int) -> tuple[str, int]:
    """``[...]``; and where the pattern goes on."""
    begin = _BEGIN_OF_CLASS.match(pattern, start)
    assert begin is not None
    parts, place = [begin[0].replace("]", "\\]")], begin.end()
    while place < len(pattern) and pattern[place] != "]":
        char = pattern[place]
        if char == "[" or pattern.startswith("&&", place):
            raise _refuse(pattern, "a set within a set", "write the characters in one set")
        if char == "\\":
            text, place = _escape(pattern, place, inside=True)
            parts.append(text)
        else:
            parts.append("\\" + char if char in "~|&" else char)
            place += 1
    return "".join(parts) + pattern[place : place + 1], place + 1


# Matching in linear time

_REPEATED = r"(?:(?:[*+?]|\{\d+(?:,\d*)?\})\??(?![*+?{]))?"
_LINEAR_SET = r"[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9 _=/:;,@%#\"'<>!`~&|.*+?(){}$]|[^\x00-\x7f]|\\[!-/:-@\[-^`{-}]"
_LINEAR_TOKEN = re.compile(
    r"(?P<any>\.)" + f"(?P<times_any>{_REPEATED})"
    r"|(?P<blank>\\s)" + f"(?P<times_blank>{_REPEATED})"
    r"|(?:[A-Za-z0-9 _=&/:;,@%#\"'<>!`~-]|[^\x00-\x7f]|\\[dDwW \-!-/:-@\[-^`{-~]"
    rf"|\[\^?(?:{_LINEAR_SET})+\]){_REPEATED}"
    rf"|\((?:\?:|(?!\?))|\){_REPEATED}|[|^]|(?P<end>\$(?=\)*\Z))"
)
_BLANKS = r"[ \t\n\r\f\v]"
_LAST = r"(?:\n?\z)"


class LinearTest:
    """An expression that RE2 has.

    :param whole: whether it has to match all of a text, not some of it.
    """

    def __init__(self, expression: str, whole: bool) -> None:
        self._expression = rf"\A(?:{expression})\z" if whole else expression

    def matches(self, texts: pa.Array) -> pa.Array:
        """Whether each text matches; NULL for NULL."""
        return pc.match_substring_regex(texts, self._expression)


@lru_cache(maxsize=500)
def linear_test(regex: re.Pattern[str], whole: bool = False) -> LinearTest | None:
    """A test that runs in linear time in Arrow's engine; None if the expression has parts that Arrow and ``re`` may
    read in different ways: then texts are matched one by one.

    :param regex: the expression for ``re``.
    """
    is_ascii, every = bool(regex.flags & re.ASCII), bool(regex.flags & re.DOTALL)
    if regex.flags & (re.IGNORECASE | re.MULTILINE | re.VERBOSE):
        return None
    parts, place = [], 0
    while place < len(regex.pattern):
        token = _LINEAR_TOKEN.match(regex.pattern, place)
        if token is None or (not is_ascii and re.match(r"\\[dDwWs]", token[0])):
            return None
        place = token.end()
        parts.append(_written(token, every))
    test = LinearTest("".join(parts), whole)
    try:
        test.matches(pa.array([""]))
    except pa.ArrowInvalid:  # a number of repetitions that is too large for it
        return None
    return test


def _written(token: re.Match[str], every: bool) -> str:
    if token["any"]:
        return ("(?s:.)" if every else r"[^\n]") + token["times_any"]
    if token["blank"]:
        return _BLANKS + token["times_blank"]
    return _LAST if token["end"] else token[0]


# Patterns for Arrow's engine

_PLAIN = r"[A-Za-z0-9 _=&/:;,@%#\"'<>!~`-]"
_ESCAPED = r"\\(?:[dDwW]|[!-/:-@\[-^`{-~])"
_PLAIN_SET = r"[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9 _=/:;,@%#\"'<>!~`.*+?()|{}$]|&(?!&)|\\(?:[dw]|[!-/:-@\[-^`{-~])"
_PLAIN_TOKEN = re.compile(
    rf"(?P<atom>(?:{_PLAIN}|{_ESCAPED}|\[\^?(?:{_PLAIN_SET})+\])(?:[*+?]\??)?)|(?P<open>\((?:\?:)?(?!\?))|(?P<other>[)|^])"
)


class PlainRegex(Record):
    """An expression as a row of tokens."""

    tokens: tuple[str, ...]
    certain: frozenset[int]
    """the groups that are part of each match; 0 is the match itself"""

    def naming(self, group: int) -> str:
        """The expression with one named group; all other groups become non-capturing."""
        parts, number = [], 0
        for token in self.tokens:
            if token == "(":
                number += 1
                token = "(?P<found>" if number == group else "(?:"
            parts.append(token)
        text = "".join(parts)
        return f"(?P<found>{text})" if group == 0 else text

    def matches(self, texts: pa.Array) -> pa.Array:
        """Whether each text has a match somewhere."""
        return pc.match_substring_regex(texts, self.naming(0))

    def extract(self, texts: pa.Array, group: int) -> pa.Array:
        """This group of the first match of each text, NULL without one. ``group`` must be a certain one."""
        return pc.struct_field(pc.extract_regex(texts, self.naming(group)), "found")


@lru_cache(maxsize=500)
def plain_regex(pattern: str) -> PlainRegex | None:
    """Parse a pattern that Arrow reads as Java does; None if the pattern has other elements, is empty or not
    well-formed."""
    tokens: list[str] = []
    place = 0
    while place < len(pattern):
        token = _PLAIN_TOKEN.match(pattern, place)
        if token is None:
            return None
        tokens.append(token[0])
        place = token.end()
    if not tokens or compiled(pattern) is None:
        return None
    return PlainRegex(tuple(tokens), _certain(tokens))


def _certain(tokens: list[str]) -> frozenset[int]:
    """The groups that take part in every match: those that are in no alternative. Tokens repeat no group."""
    groups: list[tuple[int, ...]] = []
    """for each capturing group: the groups around it, then itself; negative numbers are non-capturing groups"""
    inside: tuple[int, ...] = (0,)
    alternatives = set()
    for place, token in enumerate(tokens):
        if token == "(":
            inside = (*inside, len(groups) + 1)
            groups.append(inside)
        elif token == "(?:":
            inside = (*inside, -place - 1)
        elif token == ")":
            inside = inside[:-1]
        elif token == "|":
            alternatives.add(inside[-1])
    return frozenset({0, *(lies[-1] for lies in groups if not alternatives.intersection(lies[:-1]))})


# Functions

Regex: TypeAlias = "re.Pattern[str] | None"
ByColumn: TypeAlias = "Callable[[Sequence[Column], PlainRegex], pa.Array | None]"
"""Computes all rows at once; None: it cannot, so rows are computed one by one."""


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
    """Split text as Java does: the groups of the delimiter are left out, and a match of no width at the start does
    not count."""
    parts: list[str] = []
    begin = 0
    for match in delimiter.finditer(text):
        if match.end() == 0 or (match.start() == match.end() == len(text)) or len(parts) == most:
            continue
        parts.append(text[begin : match.start()])
        begin = match.end()
    return [*parts, text[begin:]]
