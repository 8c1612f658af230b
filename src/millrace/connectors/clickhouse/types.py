"""Types of ClickHouse: what a table that declares a column of SQL may read from them and write to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from millrace.relational.fields import Field
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType, DecimalType

FAMILIES = frozenset(
    {
        Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL, Family.TEXT, Family.BYTES, Family.DATE,
        Family.TIMESTAMP, Family.INSTANT, Family.ARRAY,
    }
)  # fmt: skip

RANGES: Mapping[str, tuple[int, int]] = {
    f"{sign}Int{bits}": (0, (1 << bits) - 1) if sign else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    for bits in (8, 16, 32, 64, 128, 256)
    for sign in ("", "U")
}
"""whole numbers: what is beyond, ClickHouse cuts without a word"""
_NUMBERS = (Family.INTEGER, Family.DECIMAL)
_TIMES = (Family.TIMESTAMP, Family.INSTANT)
_TEXTS = (Family.TEXT, Family.BYTES)
_TAKES: Mapping[str, tuple[Family, ...]] = {
    **dict.fromkeys(RANGES, (*_NUMBERS, Family.BOOLEAN)),
    "Bool": (Family.BOOLEAN,),
    "Float32": (Family.APPROXIMATE, *_NUMBERS),
    "Float64": (Family.APPROXIMATE, *_NUMBERS),
    "Decimal": _NUMBERS,
    "String": _TEXTS,
    "FixedString": _TEXTS,
    "UUID": (Family.TEXT,),
    "Enum8": (Family.TEXT,),
    "Enum16": (Family.TEXT,),
    "IPv4": (Family.TEXT,),
    "IPv6": (Family.TEXT,),
    "Date": (Family.DATE,),
    "Date32": (Family.DATE,),
    "DateTime": _TIMES,
    "DateTime64": _TIMES,
}
"""type -> what can be written to it; all can be read as texts, and what can be written can be read"""


@dataclass(frozen=True)
class ColumnThere:
    """A column as ClickHouse has it."""

    name: str
    type: str
    """without Nullable and LowCardinality"""
    nullable: bool
    computed: bool = False
    """whether nothing can be written to it"""
    element: ColumnThere | None = None
    """of an array"""

    @property
    def base(self) -> str:
        name = self.type.partition("(")[0]
        return "Decimal" if name.startswith("Decimal") else name

    @property
    def numbers(self) -> list[int]:
        """What is in the brackets: digits, lengths."""
        return [int(each) for each in re.findall(r"\b\d+\b", self.type.partition("(")[2])]

    @property
    def digits(self) -> int:
        """Behind the point: of a decimal number, or of seconds."""
        if self.base == "DateTime64":
            return (*self.numbers, 3)[0]
        return self.numbers[-1] if self.base == "Decimal" else 0


def column_there(name: str, native: str, default: str = "") -> ColumnThere:
    """A line of DESCRIBE TABLE."""
    kind, nullable = native.strip(), False
    while match := re.fullmatch(r"(Nullable|LowCardinality)\((.*)\)", kind, re.DOTALL):
        nullable = nullable or match[1] == "Nullable"
        kind = match[2].strip()
    inner = re.fullmatch(r"Array\((.*)\)", kind, re.DOTALL)
    computed = default in ("MATERIALIZED", "ALIAS")
    return ColumnThere(name, kind, nullable, computed, column_there(name, inner[1]) if inner else None)


def problem(column: Field) -> str | None:
    """What is wrong with a declared column, whatever the table has, None for nothing."""
    kind = column.type
    return None if _has(kind) else f"column '{column.name}': ClickHouse is neither read nor written as {kind} here"


def _has(kind: DataType) -> bool:
    family = family_of(kind)
    element = getattr(kind, "element_type", None) if family is Family.ARRAY else None
    return family in FAMILIES and (element is None or _has(element))


def check_readable(kind: DataType, there: ColumnThere) -> None:
    """:raises ValueError: values of the column cannot be read as the declared type."""
    if family_of(kind) is not Family.TEXT and not _takes(kind, there):
        raise ValueError(f"column '{there.name}' is {there.type} there, which cannot be read as {kind}")


def check_writable(kind: DataType, there: ColumnThere) -> None:
    """:raises ValueError: values of the declared type cannot be written to the column, or not without a loss."""
    if there.computed:
        raise ValueError(f"column '{there.name}' is computed by the table: nothing can be written to it")
    if not _takes(kind, there):
        raise ValueError(f"column '{there.name}' is {there.type} there, which cannot be written from {kind}")
    if isinstance(kind, DecimalType) and there.base in ("Decimal", *RANGES) and kind.scale > there.digits:
        raise ValueError(
            f"column '{there.name}' is {there.type} there: digits of {kind} would be cut, so declare it with at most "
            f"{there.digits} behind the point"
        )


def _takes(kind: DataType, there: ColumnThere) -> bool:
    if family_of(kind) is Family.ARRAY:
        return there.element is not None and _takes(kind.element_type, there.element)  # type: ignore[attr-defined]
    return family_of(kind) in _TAKES.get(there.base, ())
