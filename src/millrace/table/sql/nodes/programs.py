"""What only programs say, in the Table API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millrace.relational.nodes import Rel
from millrace.relational.types import DataType
from millrace.table.sql.nodes.base import Node


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """A value of Python. ``type`` None: what the value says."""

    value: Any
    type: DataType | None = None


@dataclass(frozen=True, slots=True)
class Position(Node):
    """A column by its place: of a star, or one that was computed for an aggregate. ``shown``: how it is printed."""

    index: int
    shown: str = ""


@dataclass(frozen=True, slots=True)
class WholeRow(Node):
    """All columns as one value of a ROW type, named as the columns."""

    expressions: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class SqlText(Node):
    """An expression in SQL that is read when its columns are known."""

    text: str


@dataclass(frozen=True, slots=True)
class ResolvedQuery(Node):
    """A query whose plan is there: a ``Table``."""

    plan: Rel


@dataclass(frozen=True, slots=True)
class WindowProperty(Node):
    """START, END, ROWTIME or PROCTIME of a group window; the last two also mark a column as time attribute."""

    this: Node
    property: str


@dataclass(frozen=True, slots=True)
class Range(Node):
    """Columns from one to another, by name or by position from 1."""

    start: str | int
    end: str | int


@dataclass(frozen=True, slots=True)
class Columns(Node):
    """Some columns, or all but these: names, positions from 1, ranges."""

    expressions: tuple[Node, ...]
    without: bool = False


@dataclass(frozen=True, slots=True)
class RowCount(Node):
    """A number of rows: the size of a window."""

    rows: int
