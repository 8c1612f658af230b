"""``FileSink``: elements into part files, each visible once and only when its epoch is recorded.

``StreamingFileSink`` is its old name.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from millrace.common.files.file_systems import absolute, locate
from millrace.common.serialization import BulkWriterFactory
from millrace.common.sink import NamedSink, WriterInitContext
from millrace.common.typeinfo import TypeInformation
from millrace.connectors.file_system.file_committer import (
    CompactingCommitter,
    Compaction,
    FileCommitter,
    FileCompactor,
    FileCompactStrategy,
)
from millrace.connectors.file_system.file_writer import FileWriter, WriterConfig, WriterState
from millrace.connectors.file_system.part_files import BulkPart, FinishedRows, Part, PartState, RowPart
from millrace.connectors.file_system.part_policies import (
    BucketAssigner,
    CheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from millrace.connectors.sink_base import StreamTransformer, SupportsPreprocessing

T = TypeVar("T")


class FileSink(NamedSink[T], SupportsPreprocessing, Generic[T]):
    """Writes elements to part files ``<base path>/<bucket>/<prefix>-<uid>-<subtask>-<n><suffix>``, exactly once.

    A part is written under a hidden name (``.<name>.inprogress.<token>``) and renamed when the epoch that finishes it
    is recorded (with checkpointing: when the checkpoint that covers it is). On local disks a part of a row format may
    grow over several epochs, as the rolling policy says; on other file systems, and in bulk formats, each epoch
    finishes its parts. At the end of the input all are finished.

    No two runs of a task ever write to the same file. After a failure, or when its task moves to another process, a
    part of up to 4 MB goes on in a copy; a larger one is finished as it was at the end of the last epoch. What a run
    leaves behind of which nobody heard is hidden, and is deleted while the job runs, at the latest at its end.

    Make one with ``FileSink.for_row_format(...)`` or ``FileSink.for_bulk_format(...)``.

        >>> import pathlib
        >>> sink = FileSink.for_row_format("out", Encoder.simple_string_encoder()).build()
        >>> written = env.from_collection(["a", "b"]).sink_to(sink)
        >>> result = env.execute()
        >>> [part.read_text() for part in pathlib.Path("out").rglob("part-*")]
        ['a\\nb\\n']
    """

    def __init__(self, builder: FileSinkBuilder[T]) -> None:
        self._base_path = builder._base_path
        self._encoder = builder._encoder
        self._writer_factory = builder._writer_factory
        self._assigner = builder._assigner
        self._policy = builder._policy
        self._output = builder._output
        self._check_interval_ms = builder._check_interval_ms
        self._compaction = builder._compaction

    @staticmethod
    def for_row_format(base_path: str, encoder: Any) -> RowFormatBuilder[Any]:
        """Write each element as ``encoder.encode(element)``, one after the other."""
        return RowFormatBuilder(base_path, encoder=encoder)

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: BulkWriterFactory) -> BulkFormatBuilder[Any]:
        """Write files of a format such as Parquet."""
        return BulkFormatBuilder(base_path, writer_factory=writer_factory)

    def for_input_type(self, type_info: TypeInformation) -> FileSink[T]:
        """This sink for a stream of that type: an encoder that prints by type (Flink's ``toString``) needs to know."""
        for_type = getattr(self._encoder, "for_type", None)
        if for_type is None:
            return self
        typed = copy.copy(self)
        typed._encoder = for_type(type_info)
        return typed

    def create_writer(self, context: WriterInitContext) -> FileWriter[T]:
        return FileWriter(self._config(), context)

    def restore_writer(self, context: WriterInitContext, states: Sequence[WriterState]) -> FileWriter[T]:
        return FileWriter(self._config(), context, states)

    def _config(self) -> WriterConfig:
        return WriterConfig(
            locate(self._base_path),
            self._uid,
            self._assigner,
            self._policy,
            self._output,
            self._check_interval_ms,
            *self._opens_parts(),
            self._compaction is not None,
            getattr(self._encoder, "encode_together", None),
        )

    def _opens_parts(self) -> tuple[Callable[[PartState], Part], Callable[[PartState, str], Part]]:
        """How to begin a part, and how to go on with one."""
        if self._writer_factory is not None:
            return partial(BulkPart, factory=self._writer_factory), FinishedRows
        encode = self._encoder.encode
        return partial(RowPart, encode=encode), lambda state, own: RowPart(state, encode, own)

    def create_committer(self) -> FileCommitter:
        base = locate(self._base_path)
        if self._compaction is None:
            return FileCommitter(base, self._uid)
        return CompactingCommitter(base, self._uid, self._compaction)

    def get_transformer(self) -> StreamTransformer | None:
        """What is done with the stream before it is written: nothing. Committers put files together."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._base_path})"


class FileSinkBuilder(Generic[T]):
    """What both formats' builders configure."""

    def __init__(
        self,
        base_path: str,
        encoder: Any = None,
        writer_factory: BulkWriterFactory | None = None,
        policy: RollingPolicy | None = None,
    ) -> None:
        self._base_path = absolute(base_path)
        self._encoder = encoder
        self._writer_factory = writer_factory
        self._assigner = BucketAssigner.date_time_bucket_assigner()
        self._policy = policy or RollingPolicy.on_checkpoint_rolling_policy()
        self._output = OutputFileConfig()
        self._check_interval_ms = 60_000
        self._compaction: Compaction | None = None

    def with_bucket_check_interval(self, interval: int) -> Any:
        """How often the policy is asked about the time, in ms (default one minute)."""
        self._check_interval_ms = interval
        return self

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Any:
        """Choose the directories below the base path; by default one an hour (``yyyy-MM-dd--HH``)."""
        self._assigner = bucket_assigner
        return self

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> Any:
        self._output = output_file_config
        return self

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Any:
        """Choose when a part file is finished."""
        self._policy = rolling_policy
        return self

    def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Any:
        """Put the small files of a checkpoint and a bucket together before they become visible, named
        ``compacted-<name of the first one>``. That is done on the driver.

        :param strategy: up to which size.
        :param compactor: how.
        """
        self._compaction = compactor._compaction(strategy)
        return self

    def disable_compact(self) -> Any:
        """Make files visible as they are written, which is the default."""
        self._compaction = None
        return self

    def build(self) -> FileSink[T]:
        return FileSink(self)


class RowFormatBuilder(FileSinkBuilder[T]):
    """Configures a ``FileSink`` of encoded rows; rolls by size and time unless told otherwise."""

    def __init__(self, base_path: str, encoder: Any) -> None:
        super().__init__(base_path, encoder=encoder, policy=RollingPolicy.default_rolling_policy())


class BulkFormatBuilder(FileSinkBuilder[T]):
    """Configures a ``FileSink`` of a bulk format, which rolls at the end of every epoch."""

    def __init__(self, base_path: str, writer_factory: BulkWriterFactory) -> None:
        super().__init__(base_path, writer_factory=writer_factory)

    def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> BulkFormatBuilder[T]:
        """See ``RowFormatBuilder.enable_compact``.

        :raises ValueError: the compactor writes files one behind the other, which makes no file of a bulk format.
        """
        if compactor.concatenates:
            raise ValueError(
                "FileCompactor.concat_file_compactor() writes files one behind the other, which no reader of a bulk "
                "format understands. A table with connector 'filesystem' and 'auto-compaction' = 'true' puts files of "
                "bulk formats together"
            )
        super().enable_compact(strategy, compactor)
        return self

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> BulkFormatBuilder[T]:
        """:raises ValueError: unless the policy rolls on every checkpoint."""
        if not isinstance(rolling_policy, CheckpointRollingPolicy):
            raise ValueError("rolling_policy must be OnCheckpointRollingPolicy for bulk format")
        self._policy = rolling_policy
        return self


FileSink.BaseBuilder = FileSinkBuilder  # type: ignore[attr-defined]
FileSink.RowFormatBuilder = RowFormatBuilder  # type: ignore[attr-defined]
FileSink.BulkFormatBuilder = BulkFormatBuilder  # type: ignore[attr-defined]


class StreamingFileSink(FileSink[Any]):
    """``FileSink`` under its old name and with its old builders' names; ``add_sink`` and ``sink_to`` both take it.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", DeprecationWarning)
    ...     sink = StreamingFileSink.for_row_format("out", Encoder.simple_string_encoder()).build()
    >>> written = env.from_collection(["a"]).add_sink(sink)
    """

    def __init__(self, builder: FileSinkBuilder[Any]) -> None:
        warnings.warn("Deprecated in 1.15. Use FileSink instead.", DeprecationWarning, stacklevel=3)
        super().__init__(builder)

    @staticmethod
    def for_row_format(base_path: str, encoder: Any) -> DefaultRowFormatBuilder:
        return DefaultRowFormatBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: BulkWriterFactory) -> DefaultBulkFormatBuilder:
        return DefaultBulkFormatBuilder(base_path, writer_factory)


class DefaultRowFormatBuilder(RowFormatBuilder[Any]):
    """Configures a ``StreamingFileSink`` of encoded rows."""

    def with_rolling_policy(self, policy: RollingPolicy) -> DefaultRowFormatBuilder:
        super().with_rolling_policy(policy)
        return self

    def build(self) -> StreamingFileSink:
        return StreamingFileSink(self)


class DefaultBulkFormatBuilder(BulkFormatBuilder[Any]):
    """Configures a ``StreamingFileSink`` of a bulk format."""

    def with_rolling_policy(self, policy: RollingPolicy) -> DefaultBulkFormatBuilder:
        super().with_rolling_policy(policy)
        return self

    def build(self) -> StreamingFileSink:
        return StreamingFileSink(self)


StreamingFileSink.BaseBuilder = FileSinkBuilder  # type: ignore[attr-defined]
StreamingFileSink.DefaultRowFormatBuilder = DefaultRowFormatBuilder  # type: ignore[attr-defined]
StreamingFileSink.DefaultBulkFormatBuilder = DefaultBulkFormatBuilder  # type: ignore[attr-defined]
