"""Enforces the constraints of a sink's table on its rows: NOT NULL, and lengths of CHAR, VARCHAR, BINARY and
VARBINARY.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.nodes import Field, Schema
from millrace.relational.rows import DELETE, Rows
from millrace.relational.types import DataType
from millrace.runtime.tables.base import TableConfig, TableOperator
from millrace.runtime.tables.value_constraints import IGNORE, ROWS, ROWS_AND_COLLECTIONS, Demands, Mask, Wrong, is_sized

NOT_NULL = "table.exec.sink.not-null-enforcer"
LENGTH = "table.exec.sink.type-length-enforcer"
NESTED = "table.exec.sink.nested-constraint-enforcer"


def null_problem(column: str) -> str:
    """The error text for a row without a value for a column."""
    return f"column {column} is NOT NULL, but a row has NULL there: filter such rows, or set {NOT_NULL} to DROP"


def length_problem(column: str, data_type: DataType, found: str) -> str:
    """The error text for a value whose length does not fit its column."""
    return f"column {column} is {data_type.sql()}, but a row has {found} there: set {LENGTH} to TRIM_PAD, or to IGNORE"


@dataclass(frozen=True, kw_only=True)
class EnforceConstraints(TableConfig):
    """Stands before a sink. Options ``table.exec.sink.not-null-enforcer`` and
    ``table.exec.sink.type-length-enforcer``.
    """

    columns: Schema
    """columns of the table"""
    not_null: str = "ERROR"
    """ERROR, or DROP for rows with a NULL where none is allowed"""
    nested: str = IGNORE
    """IGNORE, ROWS or ROWS_AND_COLLECTIONS: where the constraints are also checked inside values"""
    length: str = "IGNORE"
    """IGNORE, TRIM_PAD (cut values that are too long, pad values that are too short for a fixed length) or ERROR"""

    def __post_init__(self) -> None:
        if self.not_null not in ("ERROR", "DROP"):
            raise ValueError(f"{NOT_NULL} is ERROR or DROP, not {self.not_null}")
        if self.length not in ("IGNORE", "TRIM_PAD", "ERROR"):
            raise ValueError(f"{LENGTH} is IGNORE, TRIM_PAD or ERROR, not {self.length}")
        if self.nested not in (IGNORE, ROWS, ROWS_AND_COLLECTIONS):
            raise ValueError(f"{NESTED} is {IGNORE}, {ROWS} or {ROWS_AND_COLLECTIONS}, not {self.nested}")
        for column in self.columns:
            if self.length == "TRIM_PAD" and self.demands.trims_in_collection(column.type):
                raise ValueError(
                    f"column {column.name} is {column.type.sql()}: values inside ARRAY and MAP are not cut or filled "
                    f"up; set {LENGTH} to ERROR or IGNORE, or {NESTED} to {ROWS}"
                )

    @property
    def needed(self) -> bool:
        """Whether there is anything to enforce."""
        return any(self.demands.any_of(column.type, self._is_checked) for column in self.columns)

    @property
    def within(self) -> bool:
        """Whether there is anything to enforce inside values."""
        inside = [part for column in self.columns for part in self.demands.parts(column.type)]
        return any(self.demands.any_of(part, self._is_checked) for part in inside)

    @property
    def demands(self) -> Demands:
        return Demands(self.nested)

    def _is_checked(self, kind: DataType) -> bool:
        return not kind.is_nullable or (self.length != "IGNORE" and is_sized(kind))

    @classmethod
    def of(cls, columns: Schema, settings: Mapping[str, str], **common: Any) -> EnforceConstraints:
        """Made from the session's settings.

        :raises ValueError: a setting has an invalid value.
        """
        not_null, length = settings.get(NOT_NULL, "ERROR").upper(), settings.get(LENGTH, "IGNORE").upper()
        nested = settings.get(NESTED, IGNORE).upper()
        return cls(columns=columns, not_null=not_null, length=length, nested=nested, **common)

    def operator(self) -> EnforceConstraintsOperator:
        return EnforceConstraintsOperator(self)


class EnforceConstraintsOperator(TableOperator[EnforceConstraints]):
    def open(self) -> None:
        super().open()
        self._dropped = self.context.runtime.get_metrics_group().counter("numNullRecordsDropped")

    def receive(self, rows: Rows, input: int) -> None:
        whole = len(rows)
        rows = enforced(rows, self.config)
        if len(rows) < whole:
            self._dropped.inc(whole - len(rows))
        self.emit_rows(rows)


def enforced(rows: Rows, config: EnforceConstraints) -> Rows:
    """The rows that the table accepts, with values cut or padded where configured; other rows are dropped.

    :raises ValueError: a row violates a constraint, and the setting is ERROR.
    """
    demands, complete = config.demands, np.ones(len(rows), bool)
    for column, field in zip(rows.columns, config.columns):
        missing = demands.nulls(column, field.type)
        # A deletion may contain no more than its key.
        missing &= (rows.kind_values() != DELETE) | (config.not_null != "ERROR")
        if missing.any() and config.not_null == "ERROR":
            raise ValueError(null_problem(_first(demands, column, field, missing, False).place))
        complete &= ~missing
    if not complete.all():
        rows = rows.where(complete)
    if config.length == "ERROR":
        for column, field in zip(rows.columns, config.columns):
            wrong = demands.lengths(column, field.type)
            if wrong.any():
                found = _first(demands, column, field, wrong, True)
                raise ValueError(length_problem(found.place, found.type, repr(found.value)))
    if config.length == "TRIM_PAD":
        columns = zip(rows.columns, config.columns)
        rows = rows.with_columns([demands.sized(column, field.type) for column, field in columns])
    return rows


def _first(demands: Demands, column: pa.Array, field: Field, wrong: Mask, length: bool) -> Wrong:
    """The first value that violates a constraint; there must be one."""
    value = column[int(wrong.argmax())].as_py()
    return demands.first(value, field.type, field.name, length) or Wrong(field.name, field.type, value)
