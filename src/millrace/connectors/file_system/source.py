"""``FileSource``: files as a stream, bounded or monitored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from millrace.common.files.file_systems import absolute
from millrace.common.source import Boundedness, Source, SourceReaderContext, SplitEnumerator, SplitEnumeratorContext
from millrace.common.time import Duration
from millrace.connectors.file_system.enumerate import FileEnumeratorProvider, FileSplitAssignerProvider
from millrace.connectors.file_system.format import BulkFormat, FileFormat, StreamFormat
from millrace.connectors.file_system.monitor import MonitoringEnumerator, MonitoringState
from millrace.connectors.file_system.reader import FileSourceReader
from millrace.connectors.file_system.split import FileSplit
from millrace.connectors.file_system.static import StaticEnumerator

__all__ = ["FileSource", "FileSourceBuilder"]

T = TypeVar("T")


class FileSource(Source[T, FileSplit], Generic[T]):
    """Reads files: those there when the job starts, or with ``monitor_continuously`` also those that appear later.

    A path is a file, a directory (read recursively, names starting with ``.`` or ``_`` left out) or a glob, local or a
    URI (``file://``, ``s3://``, ``gs://``, ``hdfs://``; other schemes with fsspec). A path that does not exist is a
    ``FileNotFoundError`` when the job starts.

    Make one with ``FileSource.for_record_stream_format(...)`` or ``FileSource.for_bulk_file_format(...)``.

        >>> import pathlib
        >>> _ = pathlib.Path("lines.txt").write_text("one\\ntwo\\n")
        >>> source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "lines.txt").build()
        >>> list(env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").execute_and_collect())
        ['one', 'two']
    """

    def __init__(
        self,
        format: FileFormat[T],
        paths: tuple[str, ...],
        provider: FileEnumeratorProvider,
        discovery_interval_ms: int | None,
    ) -> None:
        self._format = format
        self._paths = paths
        self._provider = provider
        self._discovery_interval_ms = discovery_interval_ms

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat[T], *paths: str) -> FileSourceBuilder[T]:
        """Read records from streams of bytes; files are decompressed by extension (.gz .bz2 .xz .zst .lz4 .deflate)."""
        return FileSourceBuilder(stream_format, paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat[T], *paths: str) -> FileSourceBuilder[T]:
        """Read a format of whole batches, such as Parquet."""
        return FileSourceBuilder(bulk_format, paths)

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self._discovery_interval_ms is None else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(
        self,
        context: SplitEnumeratorContext[FileSplit],
        checkpoint: MonitoringState | Sequence[FileSplit] | None = None,
    ) -> SplitEnumerator[FileSplit]:
        if self._discovery_interval_ms is None:
            # A state of a monitoring run holds its unread splits as well.
            splits = checkpoint.pending if isinstance(checkpoint, MonitoringState) else checkpoint
            return StaticEnumerator(context, self._provider, self._format, self._paths, splits)
        state = checkpoint if checkpoint is None or isinstance(checkpoint, MonitoringState) else None
        interval = self._discovery_interval_ms
        return MonitoringEnumerator(context, self._provider, self._format, self._paths, interval, state)

    def create_reader(self, context: SourceReaderContext) -> FileSourceReader[T]:
        return FileSourceReader(self._format)

    def get_produced_type(self) -> Any:
        return self._format.get_produced_type()

    def __repr__(self) -> str:
        return f"FileSource({', '.join(self._paths)})"


class FileSourceBuilder(Generic[T]):
    """Configures a ``FileSource``.

        >>> builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "folder")
        >>> source = builder.monitor_continuously(Duration.of_seconds(10)).build()
        >>> source.get_boundedness()
        <Boundedness.CONTINUOUS_UNBOUNDED: 'CONTINUOUS_UNBOUNDED'>
    """

    def __init__(self, format: FileFormat[T], paths: Sequence[str]) -> None:
        if not paths:
            raise ValueError("FileSource needs at least one path")
        self._format = format
        self._paths = tuple(absolute(path) for path in paths)
        self._provider = FileEnumeratorProvider.default_splittable_file_enumerator()
        self._discovery_interval_ms: int | None = None

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder[T]:
        """Make the source unbounded: look for new files every ``discovery_interval``.

        A file is read once, when it is found. Write it elsewhere (or under a name that starts with ``.``) and rename it
        when it is complete.
        """
        interval = int(discovery_interval.to_millis())
        if interval <= 0:
            raise ValueError("discovery_interval must be positive")
        self._discovery_interval_ms = interval
        return self

    def process_static_file_set(self) -> FileSourceBuilder[T]:
        """Make the source bounded: the files that are there when the job starts. The default."""
        self._discovery_interval_ms = None
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder[T]:
        """Choose whether, and how finely, large files are split."""
        self._provider = file_enumerator
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder[T]:
        """Accepted for compatibility: splits always go round the readers in turn."""
        return self

    def build(self) -> FileSource[T]:
        """The source."""
        return FileSource(self._format, self._paths, self._provider, self._discovery_interval_ms)
