"""``QueueReader``: the reading side of ``QueueEnumerator``, for sources that read one split after the other."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

from millrace.common.source import InputStatus, ReaderOutput, SourceReader, split_id

__all__ = ["QueueReader"]

T = TypeVar("T")
SplitT = TypeVar("SplitT")


class QueueReader(SourceReader[T, SplitT], Generic[T, SplitT]):
    """Reads its first split until nothing is left of it. What it is at are the splits that are left."""

    def __init__(self) -> None:
        self._splits: deque[SplitT] = deque()
        self._no_more_splits = False

    @abstractmethod
    def read(self, split: SplitT, output: ReaderOutput[T]) -> SplitT | None:
        """Emit a part of a split; gives what is left of it, None for nothing."""

    def add_splits(self, splits: Sequence[SplitT]) -> None:
        self._splits.extend(splits)

    def notify_no_more_splits(self) -> None:
        self._no_more_splits = True

    def has_splits(self) -> bool:
        return bool(self._splits)

    def poll_next(self, output: ReaderOutput[T]) -> InputStatus:
        if not self._splits:
            return InputStatus.END_OF_INPUT if self._no_more_splits else InputStatus.NOTHING_AVAILABLE
        name = split_id(self._splits[0])
        left = self.read(self._splits[0], output.create_output_for_split(name))
        if left is not None:
            self._splits[0] = left
            return InputStatus.MORE_AVAILABLE
        self._splits.popleft()
        if not self._splits or split_id(self._splits[0]) != name:
            output.release_output_for_split(name)
        return InputStatus.MORE_AVAILABLE

    def snapshot_state(self, checkpoint_id: int) -> list[SplitT]:
        return list(self._splits)
