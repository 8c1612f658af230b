"""An enumerator for splits that are all known from the start."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import TypeVar

from millrace.common.source import SplitEnumerator, SplitEnumeratorContext

SplitT = TypeVar("SplitT")


class QueueEnumerator(SplitEnumerator[SplitT]):
    """Hands out a queue of splits, one a request, then signals that there are no more.

    Its snapshot is the list of splits not yet handed out.
    """

    def __init__(self, context: SplitEnumeratorContext[SplitT], splits: Iterable[SplitT]) -> None:
        self._context = context
        self._pending = deque(splits)

    def handle_split_request(self, subtask_id: int) -> None:
        if self._pending:
            self._context.assign_split(self._pending.popleft(), subtask_id)
        else:
            self._context.signal_no_more_splits(subtask_id)

    def add_splits_back(self, splits: Sequence[SplitT], subtask_id: int) -> None:
        self._pending.extendleft(reversed(splits))

    def snapshot_state(self, checkpoint_id: int) -> list[SplitT]:
        return list(self._pending)


class StandingSplits(QueueEnumerator[SplitT]):
    """The same for splits without an end, as channels and logs: a reader may have any number of them."""

    splits_end = False
