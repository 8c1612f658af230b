"""The table connector ``'filesystem'``: its options, its factory, and writing: ``FileSystemSink``.

Batches of rows go into the part files of their partitions. DELETE, UPDATE and TRUNCATE never change a file: rows that
stay and changed rows go to new files, which take the place of all files.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyarrow import fs

from millrace.common.files.file_systems import Location, absolute, locate
from millrace.common.sink import Sink, SinkWriterContext, WriterInitContext
from millrace.common.types import RowKind
from millrace.connectors.file_system.file_committer import Compaction
from millrace.connectors.file_system.file_sink import FileSink, FileSinkBuilder
from millrace.connectors.file_system.file_writer import FileWriter, WriterConfig, WriterState
from millrace.connectors.file_system.part_files import discard_file
from millrace.connectors.file_system.part_policies import BucketAssigner, DefaultRollingPolicy, PartFileInfo
from millrace.connectors.file_system.table.filesystem_source import FileSystemSource
from millrace.connectors.file_system.table.format_registry import has_header, known_formats, table_format
from millrace.connectors.file_system.table.line_formats import MessageTableFormat
from millrace.connectors.file_system.table.partition_commit import (
    CommitTrigger,
    OverwritingCommitter,
    PartitionCommit,
    Replaced,
    TableCommitter,
    Written,
    partition_commit,
    visible_files,
)
from millrace.connectors.file_system.table.table_format import BulkTableFormat, FileTableFormat, StreamTableFormat
from millrace.connectors.file_system.table.table_layout import (
    DEFAULT_NAME,
    Layout,
    Partitioner,
    check_partition_types,
    folder_of,
    text_of,
)
from millrace.connectors.tables import full_lookup
from millrace.connectors.tables.full_lookup import FullLookup
from millrace.connectors.tables.table_options import TableOptions
from millrace.formats.tables.message_reading import DEAD_LETTERS
from millrace.relational.rows import Rows
from millrace.relational.sources import (
    INSERT_ONLY,
    Inferred,
    LookupTableSource,
    TableChanger,
    TableContext,
    TableFactory,
    TableSink,
    TableSource,
)
from millrace.util.exceptions import TableException

SOURCE = (
    "source.monitor-interval",
    "source.path.regex-pattern",
    "source.report-statistics",
    "scan.parallelism",
    "scan.dead-letter.path",
)
SINK = (
    "sink.rolling-policy.file-size",
    "sink.rolling-policy.rollover-interval",
    "sink.rolling-policy.inactivity-interval",
    "sink.rolling-policy.check-interval",
    "sink.shuffle-by-partition.enable",
    "sink.parallelism",
    "auto-compaction",
    "compaction.file-size",
)
COMMIT = (
    "sink.partition-commit.trigger",
    "sink.partition-commit.delay",
    "sink.partition-commit.watermark-time-zone",
    "sink.partition-commit.policy.kind",
    "sink.partition-commit.policy.class",
    "sink.partition-commit.policy.class.parameters",
    "sink.partition-commit.success-file.name",
    "partition.time-extractor.kind",
    "partition.time-extractor.class",
    "partition.time-extractor.timestamp-pattern",
    "partition.time-extractor.timestamp-formatter",
)
COMMON = ("partition.default-name",)

MINUTE = 60_000


# The writer, in a task


class ByFolder(BucketAssigner):
    """A bucket is a partition."""

    def get_bucket_id(self, element: Any, context: Any) -> str:
        folder: str = element.folder
        return folder


class TableRollingPolicy(DefaultRollingPolicy):
    """By size, age and inactivity, and perhaps at the end of each epoch."""

    def __init__(self, on_checkpoint: bool, part_size: int, rollover_interval: int, inactivity_interval: int) -> None:
        super().__init__(part_size, rollover_interval, inactivity_interval)
        self._on_checkpoint = on_checkpoint

    def should_roll_on_checkpoint(self, part: PartFileInfo) -> bool:
        return self._on_checkpoint or super().should_roll_on_checkpoint(part)


class TableWriter(FileWriter[Any]):
    """A ``FileWriter`` whose elements are batches.

    :param reports: whether to tell the committer in each epoch what happened, not only which files are finished.
    :param trigger: when partitions are complete: their files are finished before.
    """

    def __init__(
        self,
        config: WriterConfig,
        context: WriterInitContext,
        states: Sequence[WriterState],
        partitioner: Partitioner,
        reports: bool,
        trigger: CommitTrigger | None,
    ) -> None:
        super().__init__(config, context, states)
        self._partitioner = partitioner
        self._reports = reports
        self._trigger = trigger
        self._folders: dict[str, None] = {}
        """folders of the partitions that got rows in this epoch"""

    def write(self, element: Any, context: SinkWriterContext) -> None:
        for part in self._partitioner.split(element):
            self._folders[part.folder] = None
            super().write(part, context)

    def flush(self, end_of_input: bool) -> None:
        super().flush(end_of_input)
        if self._trigger is None:
            return
        watermark, now = self._context.current_watermark(), self._clock()
        for part in list(self._parts.values()):
            if self._trigger.is_due(part.bucket_id, part.creation_time, watermark, now):
                self._roll(part)

    def prepare_commit(self) -> list[Any]:
        files = super().prepare_commit()
        if not self._reports:
            return list(files)
        base = self._config.base
        sizes = tuple(file.size for file in files)
        # A file that was begun in an earlier epoch becomes visible only now.
        start = len(base.path.rstrip("/")) + 1
        finished = [file.target[start:].rpartition("/")[0] for file in files]
        folders, self._folders = dict.fromkeys([*self._folders, *finished]), {}
        return [
            Written(
                self._context.get_checkpoint_id(),
                self._context.get_number_of_parallel_subtasks(),
                self._clock(),
                self._context.current_watermark(),
                self._context.is_idle(),
                self._end_of_input or self._context.current_watermark() == _END,
                tuple(files),
                sizes,
                tuple(folders),
            )
        ]


_END = 2**63 - 1
"""the watermark after which nothing follows"""


# The sink

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


# DELETE, UPDATE and TRUNCATE


class FileSystemChanger(TableChanger):
    """Files are never changed: those of the rows that stay, and of changed rows, take the place of all files."""

    def __init__(self, table: TableContext, kinds: frozenset[RowKind], sink: Callable[[], FileSystemSink]) -> None:
        if kinds != INSERT_ONLY:
            raise TableException(
                f"table {table.summary}: its files are a changelog (format {table.options.get('format')}): write the "
                f"changes with INSERT INTO"
            )
        base = locate(table.options["path"])
        self._base = Location(base.root, base.path.rstrip("/"))
        self._sink = sink
        if self._base.file_system().get_file_info(self._base.path).type is not fs.FileType.Directory:
            raise TableException(
                f"table {table.summary}: its path is no folder, and only the files of a folder can be replaced"
            )

    def truncate(self) -> None:
        for path in list(visible_files(self._base)):
            discard_file(self._base.file_system(), path)

    def rewriting(self) -> TableSink:
        return self._sink().rewriting(tuple(visible_files(self._base)))


# The factory

_ZONE = "table.local-time-zone"


class FileSystemFactory(TableFactory):
    """``'path'``: a file, a folder, a glob (to be read) or a URI; ``'format'``: parquet, orc, avro, csv, json, raw, or
    a format of changelogs, of which each line is a message. Options have the names and meanings that Flink has."""

    identifier = "filesystem"
    required = ("path", "format")

    @property
    def optional(self) -> tuple[str, ...]:  # type: ignore[override]
        formats = (f"{name}." for name in known_formats())
        return (*COMMON, *SOURCE, *SINK, *COMMIT, *full_lookup.FULL_CACHE_OPTIONS, *formats)

    def inferred(self, options: Mapping[str, str], table: str) -> Inferred:
        from millrace.connectors.file_system.table.schema_inference import inferred

        return inferred(options, table)

    def source(self, table: TableContext) -> TableSource:
        layout = self._layout(table)
        options = TableOptions(table)
        options.one_of("source.report-statistics", "all", ("all", "none"))
        format = table_format(table, layout)
        if isinstance(format, MessageTableFormat):
            format = format.for_reading()
        _check_dead_letters(table)
        monitor = options.millis("source.monitor-interval", None)
        if monitor is not None and monitor <= 0:
            raise options.problem("source.monitor-interval", "is more than 0")
        return FileSystemSource(
            table.options["path"],
            layout,
            format,
            table.options.get("partition.default-name", DEFAULT_NAME),
            monitor,
            options.text("source.path.regex-pattern"),
            table.configuration.get(_ZONE, "UTC"),
        )

    def looks_up(self, table: TableContext) -> bool:
        """Not if more files are expected, or have changes: joins then take the newest row of each key."""
        return "source.monitor-interval" not in table.options and self.source(table).kinds == INSERT_ONLY

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        options = TableOptions(table)
        options.one_of("lookup.cache", "full", ("full",))
        return FullLookup(self.source(table), table, key, full_lookup.Reload.of(options))

    def sink(self, table: TableContext) -> TableSink:
        if has_header(table.options):
            raise TableException(
                f"table {table.summary}: files with 'csv.header' are read only; write into a table without it"
            )
        return FileSystemSink.of(table, self._layout(table))

    def changer(self, table: TableContext) -> TableChanger:
        return FileSystemChanger(table, self.source(table).kinds, lambda: FileSystemSink.of(table, self._layout(table)))

    @staticmethod
    def _layout(table: TableContext) -> Layout:
        layout = Layout.of(table)
        check_partition_types(layout.partition_columns, table.summary)
        if not layout.in_files:
            raise TableException(f"table {table.summary}: all columns are partition columns: files would have none")
        return layout


def _check_dead_letters(table: TableContext) -> None:
    """:raises TableException: what cannot be read would be read again."""
    folder, path = table.options.get(DEAD_LETTERS), absolute(table.options["path"])
    if folder is not None and (absolute(folder) + "/").startswith(path.rstrip("/") + "/"):
        raise TableException(f"table {table.summary}: '{DEAD_LETTERS}' lies in the table's own folder: {folder}")
