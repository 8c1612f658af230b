"""Conditions in ClickHouse's SQL: those that leave out no row that is wanted. All are checked again afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.connectors.clickhouse.connection import literal
from millrace.connectors.clickhouse.types import RANGES, ColumnThere
from millrace.connectors.dbapi.names import quoted
from millrace.connectors.jdbc.pushed import conditions
from millrace.relational.fields import Schema
from millrace.relational.rex import Rex
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType


def pushed(filters: Sequence[Rex], columns: Schema, there: Sequence[ColumnThere]) -> tuple[str, ...]:
    """As much of the filters as ClickHouse can check."""
    return conditions(filters, columns, _Sql(there))


class _Sql:
    """How ClickHouse writes names and constants. A column that has not the usual type there is left alone: comparing
    it might be an error, or mean something else."""

    text_is_exact = True

    def __init__(self, there: Sequence[ColumnThere]) -> None:
        self._there = {column.name: column for column in there}

    def name(self, name: str) -> str | None:
        column = self._there.get(name)
        return None if column is None or column.base not in _USUAL else quoted(name, "`")

    def literal(self, value: Any, kind: DataType) -> str | None:
        family = family_of(kind)
        if value is None:
            return None
        if family is Family.INTEGER:
            return str(value)
        if family is Family.TEXT:
            return literal(value)
        return f"toDate('{value.isoformat()}')" if family is Family.DATE and 1970 <= value.year < 2100 else None


_USUAL = (*(name for name in RANGES if "128" not in name and "256" not in name), "String", "Date")
