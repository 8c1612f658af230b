"""``FileSourceReader``: reads file splits one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

from millrace.common.source import InputStatus, ReaderOutput, SourceReader
from millrace.connectors.file_system.format import FileFormat, SplitRecords
from millrace.connectors.file_system.split import FileSplit

__all__ = ["FileSourceReader"]

T = TypeVar("T")


class FileSourceReader(SourceReader[T, FileSplit], Generic[T]):
    """One batch of the format a poll; the position of a split is that after its last batch."""

    def __init__(self, format: FileFormat[T]) -> None:
        self._format = format
        self._splits: deque[FileSplit] = deque()
        self._open: SplitRecords[T] | None = None
        self._no_more_splits = False
        self.parse_errors = 0
        """Records skipped by a format with ``ignore_parse_errors``."""

    def add_splits(self, splits: Sequence[FileSplit]) -> None:
        self._splits.extend(splits)

    def notify_no_more_splits(self) -> None:
        self._no_more_splits = True

    def poll_next(self, output: ReaderOutput[T]) -> InputStatus:
        if not self._splits:
            return InputStatus.END_OF_INPUT if self._no_more_splits else InputStatus.NOTHING_AVAILABLE
        if self._open is None:
            self._open = self._format.open(self._splits[0])
        errors_before = self._open.parse_errors
        batch = self._open.read_batch()
        self.parse_errors += self._open.parse_errors - errors_before
        if batch is None:
            self._close_split()
            self._splits.popleft()
        else:
            self._splits[0] = self._splits[0].at(self._open.position())
            if batch:
                output.collect_batch(batch)
        return InputStatus.MORE_AVAILABLE

    def snapshot_state(self, checkpoint_id: int) -> list[FileSplit]:
        return list(self._splits)

    def _close_split(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def close(self) -> None:
        self._close_split()
