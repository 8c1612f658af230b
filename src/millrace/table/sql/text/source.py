"""A piece of SQL text and its places."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from functools import cached_property
from typing import Any

from millrace.util.record import Record
from millrace.util.secrets import blot


class Source(Record):
    """The text that a script or a statement came from. Trees refer to it, so copies of a tree share it."""

    text: str

    def __deepcopy__(self, memo: dict[int, Any]) -> Source:
        return self

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(index + 1 for index, char in enumerate(self.text) if char == "\n")]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """A line, counted from 1, without its end."""
        begin = self._line_starts[number - 1]
        return self.text[begin:].split("\n", 1)[0].rstrip("\r")

    @cached_property
    def without_secrets(self) -> Source:
        """The same text with secrets blotted out, every character in its place: what errors may show."""
        return Source(blot(self.text))

    def excerpt(self, start: int, end: int) -> str:
        """The line of ``start``, and below it a caret under every character up to ``end`` (or the end of the line).
        Secrets are blotted out."""
        number, column = self.place(start)
        line = self.without_secrets.line(number)
        before = "".join(_blank(char) for char in line[: column - 1])
        marked = line[column - 1 : column - 1 + max(end - start, 1)]
        return f"{line}\n{before}{'^' * max(sum(map(_width, marked)), 1)}"


def _width(char: str) -> int:
    """Columns of a terminal: Chinese characters take two."""
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _blank(char: str) -> str:
    return "\t" if char == "\t" else " " * _width(char)
