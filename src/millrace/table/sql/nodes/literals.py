"""Values that are written in the text."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.relational.types import DataType, YearMonthIntervalType
from millrace.table.sql.nodes.base import Node, Word


@dataclass(frozen=True, slots=True)
class Literal(Word):
    """A number, as it is written, or a text."""

    is_string: bool

    @staticmethod
    def string(text: str) -> Literal:
        return Literal(text, True)

    @staticmethod
    def number(text: str | int) -> Literal:
        return Literal(str(text), False)


@dataclass(frozen=True, slots=True)
class HexString(Word):
    """x'1F'."""


@dataclass(frozen=True, slots=True)
class Null(Node):
    """NULL."""


@dataclass(frozen=True, slots=True)
class Boolean(Node):
    """TRUE, FALSE."""

    this: bool


@dataclass(frozen=True, slots=True)
class TypedLiteral(Node):
    """DATE '2024-01-31', TIME '..', TIMESTAMP '..'."""

    kind: str
    this: str


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class TypeName(Node):
    """A data type in a cast."""

    data_type: DataType
