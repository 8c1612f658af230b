"""Values that are written in the text."""

from __future__ import annotations

from millrace.relational.types import DataType, YearMonthIntervalType
from millrace.table.sql.nodes.base import Node, Word


class Literal(Word):
    """A number, as it is written, or a text."""

    is_string: bool

    @staticmethod
    def string(text: str) -> Literal:
        return Literal(text, True)

    @staticmethod
    def number(text: str | int) -> Literal:
        return Literal(str(text), False)


class HexString(Word):
    """x'1F'."""


class Null(Node):
    """NULL."""


class Boolean(Node):
    """TRUE, FALSE."""

    this: bool


class TypedLiteral(Node):
    """DATE '2024-01-31', TIME '..', TIMESTAMP '..'."""

    kind: str
    this: str


class IntervalLiteral(Node):
    """INTERVAL '1 02:00' DAY TO MINUTE. ``value``: microseconds, or months if ``data_type`` counts months."""

    this: Literal
    unit: str
    data_type: DataType
    value: int
    negative: bool = False

    @property
    def in_months(self) -> bool:
        return isinstance(self.data_type, YearMonthIntervalType)


class TypeName(Node):
    """A data type in a cast."""

    data_type: DataType
