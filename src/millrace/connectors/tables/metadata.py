"""Metadata columns: what messages know beside their content."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.canonical import canonical
from millrace.relational.functions.times.zones import local_times
from millrace.relational.sources import TableContext
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType
from millrace.util.exceptions import TableException
from millrace.util.similar import did_you_mean


def check_readable(table: TableContext, readable: Collection[str] = ()) -> None:
    """:raises TableException: a metadata column that messages of the connector don't have."""
    _check(table, readable, "has no metadata", "")


def check_writable(table: TableContext, writable: Collection[str] = ()) -> None:
    """:raises TableException: a metadata column that the sink does not write; its table says which are not VIRTUAL."""
    _check(table, writable, "does not write metadata", ". Declare the column as VIRTUAL")


def _check(table: TableContext, known: Collection[str], what: str, advice: str) -> None:
    for name, key, _ in table.metadata:
        if key not in known:
            there = f"; there are {', '.join(known)}" if known else ""
            raise TableException(
                f"table {table.summary}, column '{name}': connector '{table.options.get('connector')}' {what} "
                f"'{key}'{did_you_mean(key, list(known))}{there}{advice}"
            )


TIME = t.LocalZonedTimestampType(3)
"""of what messages tell as ms since the epoch"""


@dataclass(frozen=True)
class MetadataColumn(ABC):
    """
    :ivar type: as the table declares it.
    :ivar zone: of the session, for times without a zone.
    """

    key: str
    type: DataType
    zone: str

    @property
    @abstractmethod
    def natural(self) -> DataType:
        """The type that messages tell it in."""

    @abstractmethod
    def values(self, messages: Sequence[Any]) -> list[Any]:
        """What messages tell; times as ms since the epoch."""

    def problem(self) -> str | None:
        """Why it cannot have its type, None if it can."""
        natural = self.natural
        same = type(natural) is type(self.type)
        times = natural is TIME and isinstance(self.type, (t.TimestampType, t.LocalZonedTimestampType))
        numbers = family_of(natural) is Family.INTEGER and family_of(self.type) in (Family.INTEGER, Family.TEXT)
        return None if same or times or numbers else f"metadata '{self.key}' is a {natural}, not a {self.type}"

    def read(self, messages: Sequence[Any]) -> pa.Array:
        values = self.values(messages)
        if self.natural is not TIME:
            return pa.array(values, arrow_type(self.natural)).cast(arrow_type(self.type))
        times = pa.array(values, pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))
        if isinstance(self.type, t.TimestampType):
            times = local_times(times, self.zone)
        return canonical(times.cast(arrow_type(self.type)), self.type)
