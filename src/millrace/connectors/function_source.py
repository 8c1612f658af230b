"""``SourceFunctionSource``: a user's ``SourceFunction`` as a FLIP-27 source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millrace.common.source import (
    Boundedness,
    Source,
    SourceReader,
    SourceReaderContext,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from millrace.connectors.function_reader import FunctionReader, FunctionSplit
from millrace.connectors.queue_enumerator import QueueEnumerator

if TYPE_CHECKING:
    from millrace.common.functions import SourceFunction

__all__ = ["FunctionSplit", "SourceFunctionSource"]

T = TypeVar("T")


class SourceFunctionSource(Source[T, FunctionSplit], Generic[T]):
    """Runs ``source_function.run(ctx)`` in one thread of a subtask (of every subtask, for a ``ParallelSourceFunction``)
    for the life of the job, and gives its elements as they come.

    The source counts as bounded, since nobody knows whether ``run`` returns: batch mode waits for that. In streaming
    mode it may take for ever.

    What ``run`` did can't be saved. After a failure or from a savepoint ``run`` starts again, and as many elements as
    were read before are dropped: exactly once for a function that emits the same elements each time, anything else for
    others. A ``CheckpointedFunction`` saves how far it is at the end of every epoch, and nothing is dropped. ``run``
    has to hold ``ctx.get_checkpoint_lock()`` while it emits and changes what ``snapshot_state`` will save.
    """

    def __init__(self, source_function: SourceFunction[T], type_info: Any = None) -> None:
        self._function = source_function
        self._type_info = type_info

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def arrives_over_time(self) -> bool:
        return True

    def create_enumerator(
        self, context: SplitEnumeratorContext[FunctionSplit], checkpoint: Any = None
    ) -> SplitEnumerator[FunctionSplit]:
        from millrace.common.functions import ParallelSourceFunction

        if isinstance(self._function, ParallelSourceFunction):
            return ParallelEnumerator(context, checkpoint)
        return QueueEnumerator(context, [FunctionSplit()] if checkpoint is None else checkpoint)

    def create_reader(self, context: SourceReaderContext) -> SourceReader[T, FunctionSplit]:
        return FunctionReader(self._function, context)

    def get_produced_type(self) -> Any:
        return self._type_info

    def __repr__(self) -> str:
        return f"SourceFunctionSource({type(self._function).__name__})"


class ParallelEnumerator(SplitEnumerator[FunctionSplit]):
    """One instance of the function a subtask.

    With another number of subtasks all begin anew: those that save their state with their share of it, others with
    their first element, as in Flink.
    """

    def __init__(
        self, context: SplitEnumeratorContext[FunctionSplit], waiting: Mapping[int, FunctionSplit] | None
    ) -> None:
        self._context = context
        self._waiting = self._one_each(FunctionSplit()) if waiting is None else dict(waiting)

    def _one_each(self, split: FunctionSplit) -> dict[int, FunctionSplit]:
        return dict.fromkeys(range(self._context.current_parallelism()), split)

    def handle_split_request(self, subtask_id: int) -> None:
        if subtask_id in self._waiting:
            self._context.assign_split(self._waiting.pop(subtask_id), subtask_id)
        self._context.signal_no_more_splits(subtask_id)

    def add_splits_back(self, splits: Sequence[FunctionSplit], subtask_id: int) -> None:
        saved = [split for split in (*splits, *self._waiting.values()) if split.saved]
        checkpoints = (split.checkpoint_id for split in saved if split.checkpoint_id is not None)
        again = FunctionSplit(saved=bool(saved), checkpoint_id=max(checkpoints, default=None))
        self._waiting = self._one_each(again)

    def snapshot_state(self, checkpoint_id: int) -> dict[int, FunctionSplit]:
        return dict(self._waiting)
