"""Writes batches of rows into the part files of their partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.sink import SinkWriterContext, WriterInitContext
from millrace.connectors.file_system.bucket import BucketAssigner
from millrace.connectors.file_system.rolling import DefaultRollingPolicy, PartFileInfo
from millrace.connectors.file_system.writer import FileWriter, WriterConfig, WriterState
from millrace.connectors.tables.filesystem.commits.committer import Written
from millrace.connectors.tables.filesystem.commits.triggers import CommitTrigger
from millrace.connectors.tables.filesystem.layout.grouping import Partitioner


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
        """those that got rows in this epoch"""

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
