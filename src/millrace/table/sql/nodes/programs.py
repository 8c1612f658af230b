"""What only programs say, in the Table API."""

from __future__ import annotations

from typing import Any

from millrace.relational.nodes import Rel
from millrace.relational.types import DataType
from millrace.table.sql.nodes.base import Node


class Constant(Node):
    """A value of Python. ``type`` None: what the value says."""

    value: Any
    type: DataType | None = None


class Position(Node):
    """A column by its place: of a star, or one that was computed for an aggregate. ``shown``: how it is printed."""

    index: int
    shown: str = ""


class WholeRow(Node):
    """All columns as one value of a ROW type, named as the columns."""

    expressions: tuple[Position, ...]


class SqlText(Node):
    """An expression in SQL that is read when its columns are known."""

    text: str


class ResolvedQuery(Node):
    """A query whose plan is there: a ``Table``."""

    plan: Rel


class WindowProperty(Node):
    """START, END, ROWTIME or PROCTIME of a group window; the last two also mark a column as time attribute."""

    this: Node
    property: str


class Range(Node):
    """Columns from one to another, by name or by position from 1."""

    start: str | int
    end: str | int


class Columns(Node):
    """Some columns, or all but these: names, positions from 1, ranges."""

    expressions: tuple[Node, ...]
    without: bool = False


class RowCount(Node):
    """A number of rows: the size of a window."""

    rows: int
