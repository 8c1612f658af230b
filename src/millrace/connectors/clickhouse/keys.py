"""Rows by their keys, in ClickHouse's SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.connectors.clickhouse.connection import literal
from millrace.connectors.dbapi.names import quoted
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType

_CONSTANTS: dict[Family, Callable[[Any], str]] = {
    Family.INTEGER: str,
    Family.BOOLEAN: lambda value: "1" if value else "0",
    Family.TEXT: literal,
    Family.DATE: lambda value: f"toDate('{value.isoformat()}')",
}


def can_be_key(kind: DataType) -> bool:
    return family_of(kind) in _CONSTANTS


def one_of(names: Sequence[str], kinds: Sequence[DataType], keys: Sequence[Sequence[Any]]) -> str:
    """The condition that a row has one of the keys."""
    constants = [_CONSTANTS[family_of(kind)] for kind in kinds]
    made = [", ".join(constant(value) for constant, value in zip(constants, key)) for key in keys]
    listed = ", ".join(quoted(name, "`") for name in names)
    if len(names) == 1:
        return f"{listed} IN ({', '.join(made)})"
    return f"({listed}) IN ({', '.join(f'({each})' for each in made)})"
