"""What a sink's table demands of its rows: NOT NULL, and lengths of CHAR, VARCHAR, BINARY and VARBINARY."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.casting import is_text
from millrace.relational.nodes import Schema
from millrace.relational.rows import DELETE, Rows
from millrace.relational.types import DataType
from millrace.runtime.tables.base import TableConfig, TableOperator

_FIXED = (t.CharType, t.BinaryType)
_SIZED = (t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType)
NOT_NULL = "table.exec.sink.not-null-enforcer"
LENGTH = "table.exec.sink.type-length-enforcer"


def null_problem(column: str) -> str:
    """What is wrong when a row has no value for a column."""
    return f"column {column} is NOT NULL, but a row has NULL there: filter such rows, or set {NOT_NULL} to DROP"


def length_problem(column: str, data_type: DataType, found: str) -> str:
    """What is wrong when a value has another length than its column."""
    return f"column {column} is {data_type.sql()}, but a row has {found} there: set {LENGTH} to TRIM_PAD, or to IGNORE"


@dataclass(frozen=True, kw_only=True)
class EnforceConstraints(TableConfig):
    """Before a sink. ``table.exec.sink.not-null-enforcer`` and ``table.exec.sink.type-length-enforcer``."""

    columns: Schema
    """of the table"""
    not_null: str = "ERROR"
    """ERROR, or DROP for rows with a NULL where none may be"""
    length: str = "IGNORE"
    """IGNORE, TRIM_PAD (cut what is too long, fill up what is too short for a fixed length) or ERROR"""

    def __post_init__(self) -> None:
        if self.not_null not in ("ERROR", "DROP"):
            raise ValueError(f"{NOT_NULL} is ERROR or DROP, not {self.not_null}")
        if self.length not in ("IGNORE", "TRIM_PAD", "ERROR"):
            raise ValueError(f"{LENGTH} is IGNORE, TRIM_PAD or ERROR, not {self.length}")

    @property
    def needed(self) -> bool:
        """Whether there is anything to enforce."""
        return any(
            not column.type.is_nullable or (self.length != "IGNORE" and is_sized(column.type))
            for column in self.columns
        )

    @classmethod
    def of(cls, columns: Schema, settings: Mapping[str, str], **common: Any) -> EnforceConstraints:
        """As the settings of the session say.

        :raises ValueError: a setting has a value that it cannot have.
        """
        not_null, length = settings.get(NOT_NULL, "ERROR").upper(), settings.get(LENGTH, "IGNORE").upper()
        return cls(columns=columns, not_null=not_null, length=length, **common)

    def operator(self) -> EnforceConstraintsOperator:
        return EnforceConstraintsOperator(self)


class EnforceConstraintsOperator(TableOperator[EnforceConstraints]):
    def open(self) -> None:
        super().open()
        self._dropped = self.context.runtime.get_metrics_group().counter("numNullRecordsDropped")

    def receive(self, rows: Rows, input: int) -> None:
        config = self.config
        complete = np.ones(len(rows), bool)
        for column, field in zip(rows.columns, config.columns):
            if field.type.is_nullable or not column.null_count:
                continue
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            if config.not_null == "ERROR":
                # A deletion may say no more than its key.
                if not (valid | (rows.kind_values() == DELETE)).all():
                    raise ValueError(null_problem(field.name))
                continue
            complete &= valid
        if not complete.all():
            self._dropped.inc(int((~complete).sum()))
            rows = rows.where(complete)
        if config.length != "IGNORE":
            columns = zip(rows.columns, config.columns)
            rows = rows.with_columns([self._sized(column, field.name, field.type) for column, field in columns])
        self.emit_rows(rows)

    def _sized(self, column: pa.Array, name: str, data_type: DataType) -> pa.Array:
        if not is_sized(data_type):
            return column
        length: int = data_type.length  # type: ignore[attr-defined]
        text, fixed = is_text(data_type), is_fixed(data_type)
        sizes = pc.utf8_length(column) if text else pc.binary_length(column)
        wrong = pc.not_equal(sizes, length) if fixed else pc.greater(sizes, length)
        if not pc.any(wrong).as_py():
            return column
        if self.config.length == "ERROR":
            found = column.filter(wrong)[0].as_py()
            raise ValueError(length_problem(name, data_type, repr(found)))
        if text:
            cut = pc.utf8_slice_codeunits(column, 0, length)
            return pc.utf8_rpad(cut, length) if fixed else cut
        cut = pc.binary_slice(column, 0, length)
        if not fixed:
            return cut
        return pa.array([None if each is None else each.ljust(length, b"\0") for each in cut.to_pylist()], pa.binary())


def is_sized(data_type: DataType) -> bool:
    """Whether values may be too long."""
    return isinstance(data_type, _SIZED) and data_type.length != t.MAX_LENGTH


def is_fixed(data_type: DataType) -> bool:
    """Whether values may be too short, too."""
    return isinstance(data_type, _FIXED)
