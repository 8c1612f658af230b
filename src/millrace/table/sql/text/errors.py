"""Errors that show the place in the SQL text, and what else the user may have meant."""

from __future__ import annotations

from typing import Any

from millrace.table.sql import nodes
from millrace.table.sql.text.source import Source
from millrace.util.java_errors import CaughtAsJavaError
from millrace.util.record import Record
from millrace.util.similar import did_you_mean as did_you_mean


class Position(Record):
    """Where something stands: characters ``start`` to ``end`` (exclusive) of a text."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.place(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.place(self.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def __deepcopy__(self, memo: dict[int, Any]) -> Position:
        return self


def position_of(tree: nodes.Node | None) -> Position | None:
    """The place of a node: its own, else that of the first of its parts that has one. None: a program made it."""
    if tree is None:
        return None
    return next((node.position for node in tree.walk() if node.position is not None), None)


class SqlError(ValueError, CaughtAsJavaError):
    """A statement that cannot be run. ``line`` and ``column`` count from 1; both are None if the place is unknown."""

    def __init__(self, message: str, position: Position | None = None) -> None:
        self.message = message
        self.position = position
        self.line = position and position.line
        self.column = position and position.column
        super().__init__(message if position is None else f"{message}\n{_shown(position)}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.position)


class SqlParseError(SqlError):
    """Text that is not Flink SQL, or a part of it that is not supported."""


class SqlValidationError(SqlError):
    """A statement that reads well and means nothing: an unknown column, types that do not fit."""

    @classmethod
    def at(cls, tree: nodes.Node | None, message: str) -> SqlValidationError:
        """An error at the place of a node."""
        return cls(message, position_of(tree))


def _shown(position: Position) -> str:
    excerpt = position.source.excerpt(position.start, position.end).replace("\n", "\n  ")
    return f"at line {position.line}, column {position.column}:\n  {excerpt}"
