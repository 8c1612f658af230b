"""``blackhole``: forgets what is written."""

from __future__ import annotations

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.tables.metadata import check_writable
from millrace.relational.rows import Rows
from millrace.relational.sources import ALL_KINDS, TableContext, TableFactory, TableSink


class _Writer(SinkWriter[Rows]):
    def write(self, element: Rows, context: SinkWriterContext) -> None: ...


class _Sink(Sink[Rows]):
    def create_writer(self, context: WriterInitContext) -> SinkWriter[Rows]:
        return _Writer()


class BlackholeSink(TableSink):
    kinds = ALL_KINDS

    def stream(self) -> Sink[Rows]:
        return _Sink()


class BlackholeFactory(TableFactory):
    """Takes all rows."""

    identifier = "blackhole"

    def sink(self, table: TableContext) -> TableSink:
        check_writable(table)
        return BlackholeSink()
