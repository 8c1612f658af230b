"""``FileSource``: files as a stream, those that are there when the job starts, or also those that appear later.

The enumerators on the driver list files and give splits to readers; a reader's state is its splits with their
positions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Generic, TypeVar

from millrace.common.files.file_systems import absolute
from millrace.common.source import (
    Boundedness,
    ReaderOutput,
    Source,
    SourceReaderContext,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from millrace.common.time import Duration
from millrace.common.typeinfo import TypeInformation
from millrace.connectors.file_system.file_format import BulkFormat, FileFormat, SplitRecords, StreamFormat
from millrace.connectors.file_system.file_listing import FileEnumeratorProvider, FileSplitAssignerProvider
from millrace.connectors.file_system.file_stream import FileSplit
from millrace.connectors.source_base import QueueEnumerator, QueueReader
from millrace.util.skipped import record_skipped

T = TypeVar("T")


class FileSourceReader(QueueReader[T, FileSplit], Generic[T]):
    """One batch of the format a poll; the position of a split is that after its last batch."""

    def __init__(self, format: FileFormat[T]) -> None:
        super().__init__()
        self._format = format
        self._open: SplitRecords[T] | None = None
        self.parse_errors = 0
        """Records skipped by a format with ``ignore_parse_errors``."""

    def read(self, split: FileSplit, output: ReaderOutput[T]) -> FileSplit | None:
        if self._open is None:
            self._open = self._format.open(split)
        errors_before = self._open.parse_errors
        batch = self._open.read_batch()
        skipped = self._open.parse_errors - errors_before
        self.parse_errors += skipped
        record_skipped(skipped)
        if batch is None:
            self._close_split()
            return None
        if batch:
            output.collect_batch(batch)
        return split.at(self._open.position())

    def _close_split(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def close(self) -> None:
        self._close_split()


class StaticEnumerator(QueueEnumerator[FileSplit]):
    """Lists the paths once, when it starts for the first time; after a restart it goes on with the splits left."""

    def __init__(
        self,
        context: SplitEnumeratorContext[FileSplit],
        provider: FileEnumeratorProvider,
        format: FileFormat[Any],
        paths: tuple[str, ...],
        restored: Sequence[FileSplit] | None,
    ) -> None:
        super().__init__(context, restored or ())
        self._provider = provider
        self._format = format
        self._paths = paths
        self._restored = restored is not None

    def start(self) -> None:
        if self._restored:
            return
        files = self._provider.files(self._paths, by_time=False)
        for file in files:
            parts = max(1, self._context.current_parallelism() // len(files))
            self._pending.extend(self._provider.splits(file, self._format, parts))


@dataclass(frozen=True)
class MonitoringState:
    """What a restart needs: the splits not yet handed out and the files seen."""

    pending: tuple[FileSplit, ...]
    seen: frozenset[bytes]
    """digests of the files' names"""
    missing: frozenset[bytes] = frozenset()
    """digests in ``seen`` of files that the last listing did not have"""


class MonitoringEnumerator(SplitEnumerator[FileSplit]):
    """Lists the paths every ``interval_ms`` and hands out the files not seen before, oldest first.

    A file is read once, as it is when it is found: move finished files in by renaming them. What was read is remembered
    as long as it is there: a file that was deleted, and is missing in two listings one after the other, is forgotten.
    (A limit by time of modification would lose files that come late with an old one, as copies and moves do.)
    """

    def __init__(
        self,
        context: SplitEnumeratorContext[FileSplit],
        provider: FileEnumeratorProvider,
        format: FileFormat[Any],
        paths: tuple[str, ...],
        interval_ms: int,
        state: MonitoringState | None,
    ) -> None:
        self._context = context
        self._provider = provider
        self._format = format
        self._paths = paths
        self._interval_ms = interval_ms
        self._pending = deque(state.pending if state else ())
        self._seen = set(state.seen if state else ())
        self._missing = set(state.missing if state else ())
        self._next_discovery = 0

    def start(self) -> None:
        self._discover()

    def _discover(self) -> None:
        self._next_discovery = self._context.current_processing_time() + self._interval_ms
        found: set[bytes] = set()
        for file in self._provider.files(self._paths, by_time=True):
            digest = blake2b(file.key.encode(errors="surrogateescape"), digest_size=16).digest()
            found.add(digest)
            if digest not in self._seen:
                self._seen.add(digest)
                self._pending.extend(self._provider.splits(file, self._format, parts=1))
        missing = self._seen - found
        self._seen -= missing & self._missing
        self._missing = missing & self._seen

    def handle_split_request(self, subtask_id: int) -> None:
        if self._context.current_processing_time() >= self._next_discovery:
            self._discover()
        if self._pending:
            self._context.assign_split(self._pending.popleft(), subtask_id)

    def add_splits_back(self, splits: Sequence[FileSplit], subtask_id: int) -> None:
        self._pending.extendleft(reversed(splits))

    def snapshot_state(self, checkpoint_id: int) -> MonitoringState:
        return MonitoringState(tuple(self._pending), frozenset(self._seen), frozenset(self._missing))


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

    def get_produced_type(self) -> TypeInformation | None:
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
