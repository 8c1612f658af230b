"""``CdcSource``: tables of a database, first the rows that are there, then what happens to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from millrace.common.source import Boundedness, Source, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.cdc.chunks import Chunking
from millrace.connectors.cdc.database import CdcDatabase
from millrace.connectors.cdc.decoding import ChangeDecoder
from millrace.connectors.cdc.enumerator import Captured, CdcEnumerator, Split
from millrace.connectors.cdc.reader import CdcReader
from millrace.connectors.cdc.schema import TableId, TableSchema
from millrace.connectors.cdc.startup import StartupOptions

__all__ = ["CdcSource"]

T = TypeVar("T")

INITIAL = StartupOptions()
USUAL = Chunking()


@dataclass(frozen=True)
class CdcSource(Source[T, Split], Generic[T]):
    """Captures tables. Several readers share the chunks of the snapshot; one of them reads the log.

    :ivar chunk_columns: by the name of a table (``schema.table`` or only ``table``), or "" for all, the column whose
        ranges are its chunks; else it is the first column of the primary key.
    :ivar newly_added: whether a job that goes on from a checkpoint looks for tables that match the patterns by now. The
        log waits while these are read.
    """

    database: CdcDatabase
    decoder: ChangeDecoder[T]
    startup: StartupOptions = INITIAL
    chunking: Chunking = USUAL
    chunk_columns: Mapping[str, str] = field(default_factory=dict)
    newly_added: bool = False

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED if self.startup.has_log else Boundedness.BOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[Split], checkpoint: Captured | None = None
    ) -> CdcEnumerator:
        return CdcEnumerator(self, context, checkpoint)

    def create_reader(self, context: SourceReaderContext) -> CdcReader[T]:
        return CdcReader(self.database, self.decoder, context, self.newly_added)

    def get_produced_type(self) -> Any:
        return self.decoder.produced_type()

    def chunk_column(self, table: TableId, schema: TableSchema) -> str | None:
        """The column whose ranges are the chunks of a table, None: the table is one chunk.

        :raises ValueError: the column that was asked for cannot be it.
        """
        names = (str(table), table.short, table.table, "")
        asked = next((self.chunk_columns[name] for name in names if name in self.chunk_columns), None)
        if asked is None:
            return schema.primary_key[0] if schema.primary_key else None
        if asked not in schema.names:
            raise ValueError(f"table {table} has no column '{asked}' to be cut by; it has {', '.join(schema.names)}")
        if schema.primary_key and asked not in schema.primary_key:
            raise ValueError(
                f"table {table}: '{asked}' is no column of the primary key ({', '.join(schema.primary_key)}): a row "
                f"could move from chunk to chunk, and be read twice under one key"
            )
        return asked
