"""``SourceReaderBase``: emits what a ``SplitReader`` has fetched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from millrace.common.source import InputStatus, ReaderOutput, SourceReader, split_id
from millrace.connectors.split_reader.contract import SplitBatch, SplitReader
from millrace.connectors.split_reader.fetcher import Command, Fetcher
from millrace.util.skipped import record_skipped

__all__ = ["SourceReaderBase"]

T = TypeVar("T")
SplitT = TypeVar("SplitT")

RECORDS_AHEAD = 50_000
"""Records that may be fetched and not emitted; a fetch that has begun comes on top."""
BYTES_AHEAD = 32 * 1024 * 1024
"""The same in bytes, where connectors know them."""


class SourceReaderBase(SourceReader[T, SplitT], Generic[T, SplitT]):
    """Fetches in a thread of its own, which lives as long as the reader, also between epochs.

    Positions are those of what was emitted: what was only fetched is fetched again after a failure. What goes wrong in
    the thread fails the job, after what was fetched before was emitted. Every split has a watermark generator of its
    own from the time that it is assigned.

    :param make_split_reader: called in the thread, once.
    :param records_ahead: how many records may be fetched and not emitted; ``bytes_ahead`` the same in bytes.
    """

    def __init__(
        self,
        make_split_reader: Callable[[], SplitReader[T, SplitT]],
        records_ahead: int = RECORDS_AHEAD,
        bytes_ahead: int = BYTES_AHEAD,
    ) -> None:
        self._fetcher: Fetcher[T, SplitT] = Fetcher(make_split_reader, records_ahead, bytes_ahead)
        self._splits: dict[str, SplitT] = {}
        self._unregistered: list[str] = []
        """splits that have no output yet"""
        self._no_more_splits = False

    def add_splits(self, splits: Sequence[SplitT]) -> None:
        for split in splits:
            name = split_id(split)
            if name in self._splits:
                raise ValueError(f"two splits are called {name!r}: give each a split_id of its own")
            self._splits[name] = split
            self._unregistered.append(name)
        self._fetcher.add(splits)

    def notify_no_more_splits(self) -> None:
        self._no_more_splits = True

    def has_splits(self) -> bool:
        return bool(self._splits)

    def on_available(self, call: Callable[[], None], pause_ms: float) -> bool:
        self._fetcher.on_available, self._fetcher.pause_seconds = call, pause_ms / 1000
        return True

    def pause_or_resume_splits(self, to_pause: Sequence[str], to_resume: Sequence[str]) -> None:
        self.tell(lambda reader: reader.pause_or_resume_splits(to_pause, to_resume))

    def tell(self, command: Command) -> None:
        """Let the thread call this with its ``SplitReader``, between two fetches: to commit offsets, say."""
        self._fetcher.tell(command)

    def poll_next(self, output: ReaderOutput[T]) -> InputStatus:
        while self._unregistered:
            output.create_output_for_split(self._unregistered.pop())
        if not self._splits:
            return InputStatus.END_OF_INPUT if self._no_more_splits else InputStatus.NOTHING_AVAILABLE
        batch = self._fetcher.take(output.patience())
        if batch is None:
            return InputStatus.NOTHING_AVAILABLE
        record_skipped(batch.skipped)
        if batch.records:
            output.create_output_for_split(batch.split_id).collect_batch(batch.records, batch.timestamps)
        self.emitted(batch)
        if batch.left is None:
            output.release_output_for_split(batch.split_id)
            del self._splits[batch.split_id]
        else:
            self._splits[batch.split_id] = batch.left
            if self._fetcher.is_dry:
                return InputStatus.NOTHING_AVAILABLE
        return InputStatus.MORE_AVAILABLE

    def emitted(self, batch: SplitBatch[T, SplitT]) -> None:
        """A batch was given to the job."""

    def snapshot_state(self, checkpoint_id: int) -> list[SplitT]:
        return list(self._splits.values())

    def close(self) -> None:
        self._fetcher.close()
