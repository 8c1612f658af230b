"""A captured table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.source import Source
from millrace.connectors.cdc.decoding import ChangeDecoder
from millrace.connectors.tables.cdc.metadata import CdcMetadata
from millrace.connectors.tables.cdc.rows import UPSERT_MODE, RowsDecoder
from millrace.connectors.tables.watermark_options import source_watermarks
from millrace.relational.fields import Field
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.sources import ALL_KINDS, INSERT_ONLY, UPSERT, TableContext, TableSource
from millrace.util.exceptions import TableException

Make = Callable[[ChangeDecoder[Rows]], Source[Rows, Any]]


@dataclass(frozen=True)
class Emitting:
    """How changes become rows: see ``RowsDecoder``."""

    mode: str
    append_only: bool
    refuses_schemas: bool
    skipped: frozenset[str]


class CdcTableSource(TableSource):
    """
    :param make: the source with a decoder.
    """

    def __init__(
        self, table: TableContext, metadata: tuple[CdcMetadata, ...], emitting: Emitting, bounded: bool, make: Make
    ) -> None:
        if emitting.mode == UPSERT_MODE and not table.primary_key:
            raise TableException(f"table {table.summary}: 'changelog-mode' = 'upsert' needs a PRIMARY KEY")
        self._context, self._metadata, self._emitting, self._make = table, metadata, emitting, make
        self.bounded = bounded
        self.watermarks = source_watermarks(table)
        if emitting.append_only or bounded:
            self.kinds = INSERT_ONLY
        else:
            self.kinds = UPSERT if emitting.mode == UPSERT_MODE else ALL_KINDS
        self.repeats_deletions = self.kinds == UPSERT

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        table = self._context
        width = len(table.columns)
        wanted: tuple[Field | CdcMetadata, ...] = tuple(
            table.columns[place] if place < width else self._metadata[place - width] for place in columns
        )
        how = self._emitting
        return self._make(
            RowsDecoder(table.summary, wanted, how.mode, how.append_only, how.refuses_schemas, how.skipped)
        )
