"""Reads from the declaration of a table what connectors need: metadata columns, the format that an option names, and
``scan.watermark.*``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millrace.common.configuration import to_duration
from millrace.common.watermark_strategy import WatermarkAlignment
from millrace.formats.tables.format_options import format_factory, format_options
from millrace.relational import types as t
from millrace.relational.precision import canonical
from millrace.relational.rex import Schema
from millrace.relational.sources import (
    DecodingFormat,
    EncodingFormat,
    FormatContext,
    FormatFactory,
    SourceWatermarks,
    TableContext,
)
from millrace.relational.time_zones import local_times
from millrace.relational.type_table import Family, arrow_type, family_of
from millrace.relational.types import DataType
from millrace.util.exceptions import TableException

TIME = t.LocalZonedTimestampType(3)
"""Type of times that messages give as ms since the epoch."""


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


@dataclass(frozen=True)
class Format:
    """A format of messages, or of their keys or values, with its options.

    :ivar name: what stands before its options: 'json', 'value.json'.
    """

    factory: FormatFactory
    name: str

    @staticmethod
    def named(option: str, table: TableContext) -> Format | None:
        """The format that an option names, None if it is not set."""
        wanted = table.options.get(option)
        if wanted is None:
            return None
        prefix = option.removesuffix("format")
        return Format(format_factory(wanted, table.summary), f"{prefix}{wanted}")

    def decoding(self, columns: Schema, metadata: tuple[str, ...], table: TableContext) -> DecodingFormat:
        return self.factory.decoding(self._context(columns, metadata, table))

    def encoding(self, columns: Schema, table: TableContext) -> EncodingFormat:
        return self.factory.encoding(self._context(columns, (), table))

    def _context(self, columns: Schema, metadata: tuple[str, ...], table: TableContext) -> FormatContext:
        own = format_options(self.factory, self.name, table.options, table.summary)
        topic = table.options.get("topic", "")
        part = "key" if self.name.startswith("key.") else "value"
        subject = f"{topic}-{part}" if topic and ";" not in topic else ""
        return FormatContext(table.summary, columns, own, metadata, dict(table.configuration), subject)


_PREFIX = "scan.watermark."
_IDLE, _STRATEGY, _GAP = f"{_PREFIX}idle-timeout", f"{_PREFIX}emit.strategy", f"{_PREFIX}emit.on-event.gap"
_GROUP, _DRIFT, _INTERVAL = (f"{_PREFIX}alignment.{name}" for name in ("group", "max-drift", "update-interval"))
WATERMARK_OPTIONS = (_IDLE, _STRATEGY, _GAP, _GROUP, _DRIFT, _INTERVAL)
_STRATEGIES = ("on-periodic", "on-event")
_UPDATE_MS = 1_000


def source_watermarks(table: TableContext) -> SourceWatermarks:
    """What a table says of its watermark.

    Both strategies of emission give a watermark behind every fetch.

    :raises TableException: an option's value is none.
    """
    given = table.options
    if given.get(_STRATEGY, _STRATEGIES[0]) not in _STRATEGIES:
        raise TableException(f"table {table.summary}: '{_STRATEGY}' is {' or '.join(_STRATEGIES)}")
    group, drift = given.get(_GROUP), _millis(table, _DRIFT)
    if (group is None) != (drift is None):
        raise TableException(f"table {table.summary}: '{_GROUP}' and '{_DRIFT}' are set both, or none of them")
    alignment = None
    if group is not None and drift is not None:
        alignment = WatermarkAlignment(group, drift, _millis(table, _INTERVAL) or _UPDATE_MS)
    return SourceWatermarks(_millis(table, _IDLE), alignment)


def _millis(table: TableContext, name: str) -> int | None:
    text = table.options.get(name)
    if text is None:
        return None
    try:
        return to_duration(text).to_millis()
    except ValueError as error:
        raise TableException(f"table {table.summary}: '{name}': {error}") from None
