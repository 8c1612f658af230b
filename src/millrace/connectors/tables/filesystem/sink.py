"""Writing a table of files."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from millrace.common.files.file_systems import locate
from millrace.common.sink import Sink, WriterInitContext
from millrace.connectors.file_system.compaction import Compaction
from millrace.connectors.file_system.sink import FileSink, FileSinkBuilder
from millrace.connectors.file_system.writer import WriterState
from millrace.connectors.tables.filesystem.commits.committer import PartitionCommit, TableCommitter
from millrace.connectors.tables.filesystem.commits.options import partition_commit
from millrace.connectors.tables.filesystem.commits.overwrite import OverwritingCommitter, Replaced
from millrace.connectors.tables.filesystem.formats.base import BulkTableFormat, FileTableFormat, StreamTableFormat
from millrace.connectors.tables.filesystem.formats.by_name import table_format
from millrace.connectors.tables.filesystem.formats.messages import MessageTableFormat
from millrace.connectors.tables.filesystem.layout.columns import Layout
from millrace.connectors.tables.filesystem.layout.grouping import Partitioner
from millrace.connectors.tables.filesystem.layout.options import MINUTE, TableOptions
from millrace.connectors.tables.filesystem.layout.partitions import DEFAULT_NAME, folder_of, text_of
from millrace.connectors.tables.filesystem.writer import ByFolder, TableRollingPolicy, TableWriter
from millrace.relational.rows import Rows
from millrace.relational.sources import TableContext, TableSink

PART_BYTES = 128 << 20


class FileSystemSink(TableSink):
    """A table of files."""

    def __init__(self, table: TableContext, layout: Layout, format: FileTableFormat) -> None:
        self._table = table
        self._layout = layout
        self._format = format
        self._replaced: Replaced | None = None
        self.kinds = format.written_kinds
        options = TableOptions(table)
        self.parallelism = options.number("sink.parallelism")
        if options.flag("sink.shuffle-by-partition.enable"):
            self.together = layout.partition_keys
        self._commit = partition_commit(table, options)
        self._options = options
        self._sink = self._made()  # wrong options show when the table is planned

    @classmethod
    def of(cls, table: TableContext, layout: Layout) -> FileSystemSink:
        """The sink in the format that the table names."""
        format = table_format(table, layout)
        return cls(table, layout, format.for_writing() if isinstance(format, MessageTableFormat) else format)

    def rewriting(self, files: Sequence[str]) -> FileSystemSink:
        """This sink for what takes the place of these files, which must be all that there are when it is visible."""
        return self._replacing(Replaced(("",), self._success_name(), tuple(files)))

    def overwriting(self, partition: Mapping[str, Any]) -> FileSystemSink:
        default_name = self._table.options.get("partition.default-name", DEFAULT_NAME)
        fixed = [key for key in self._layout.partition_keys if key in partition]
        folders = None
        if len(fixed) == len(self._layout.partition_keys):
            # Without partitions the whole table, "".
            kinds = {column.name: column.type for column in self._layout.columns}
            folders = (folder_of(fixed, [text_of(partition[key], kinds[key], default_name) for key in fixed]),)
        return self._replacing(Replaced(folders, self._success_name()))

    def _replacing(self, replaced: Replaced) -> FileSystemSink:
        replacing = copy.copy(self)
        replacing._replaced = replaced
        replacing._sink = replacing._made()
        return replacing

    def _success_name(self) -> str:
        return self._table.options.get("sink.partition-commit.success-file.name", "_SUCCESS")

    def stream(self) -> Sink[Rows]:
        return self._sink

    def _made(self) -> RowsSink:
        options, format = self._options, self._format
        part_bytes = options.size("sink.rolling-policy.file-size", PART_BYTES)
        compaction = None
        if options.flag("auto-compaction"):
            compaction = Compaction(format.merge, options.size("compaction.file-size", part_bytes))
        on_checkpoint = compaction is not None or isinstance(format, BulkTableFormat)
        policy = TableRollingPolicy(
            on_checkpoint,
            part_bytes,
            options.millis("sink.rolling-policy.rollover-interval", 30 * MINUTE),
            options.millis("sink.rolling-policy.inactivity-interval", 30 * MINUTE),
        )
        path = self._table.options["path"]
        if isinstance(format, BulkTableFormat):
            builder = FileSinkBuilder[Any](path, writer_factory=format.writers(part_bytes), policy=policy)
        else:
            assert isinstance(format, StreamTableFormat)
            builder = FileSinkBuilder[Any](path, encoder=_Encoder(format), policy=policy)
        builder.with_bucket_assigner(ByFolder())
        builder.with_bucket_check_interval(options.millis("sink.rolling-policy.check-interval", MINUTE))
        partitioner = Partitioner(self._layout, self._table.options.get("partition.default-name", DEFAULT_NAME))
        return RowsSink(builder, partitioner, self._commit, compaction, self._replaced)


class _Encoder:
    """Batches as bytes, for a sink of a row format."""

    def __init__(self, format: StreamTableFormat) -> None:
        self._format = format

    def encode(self, element: Any) -> bytes:
        return self._format.encode(element.rows)


class RowsSink(FileSink[Any]):
    """A ``FileSink`` for batches."""

    def __init__(
        self,
        builder: FileSinkBuilder[Any],
        partitioner: Partitioner,
        commit: PartitionCommit | None,
        compaction: Compaction | None,
        replaced: Replaced | None,
    ) -> None:
        super().__init__(builder)
        self._partitioner = partitioner
        self._commit = commit
        self._compaction = compaction
        self._replaced = replaced
        self.reports_each_epoch = commit is not None

    def create_writer(self, context: WriterInitContext) -> TableWriter:
        return self.restore_writer(context, ())

    def restore_writer(self, context: WriterInitContext, states: Sequence[WriterState]) -> TableWriter:
        trigger = None if self._commit is None else self._commit.trigger
        reports = self._commit is not None or self._compaction is not None
        return TableWriter(self._config(), context, states, self._partitioner, reports, trigger)

    def create_committer(self) -> Any:
        base = locate(self._base_path)
        if self._replaced is not None:
            return OverwritingCommitter(base, self._uid, self._commit, self._compaction, self._replaced)
        return TableCommitter(base, self._uid, self._commit, self._compaction)
