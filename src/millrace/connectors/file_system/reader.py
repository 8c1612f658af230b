"""``FileSourceReader``: reads file splits one after the other."""

from __future__ import annotations

from typing import Generic, TypeVar

from millrace.common.source import ReaderOutput
from millrace.connectors.file_system.format import FileFormat, SplitRecords
from millrace.connectors.file_system.split import FileSplit
from millrace.connectors.queue_reader import QueueReader
from millrace.util.skipped import record_skipped

__all__ = ["FileSourceReader"]

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
