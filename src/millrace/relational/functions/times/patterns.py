"""Patterns for dates and times in Java's notation, read once."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from millrace.util.record import Record

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
