"""The driver's half of a hybrid source."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.source import Source, SourceEvent, SplitEnumerator, SplitEnumeratorContext
from millrace.connectors.hybrid.messages import Finished, HybridPosition, HybridSplit, Inner, NoMoreSplits, SwitchTo
from millrace.util.by_value import pickled_by_value

AnySource = Source[Any, Any]
AnyEnumerator = SplitEnumerator[Any]


@dataclass(frozen=True)
class SourceSwitchContext:
    """What a factory can know when it makes the next source."""

    previous_enumerator: AnyEnumerator

    def get_previous_enumerator(self) -> AnyEnumerator:
        """The enumerator of the source before, which all readers have finished: it knows how far that went."""
        return self.previous_enumerator


SourceFactory = Callable[[SourceSwitchContext], AnySource]


@dataclass(frozen=True)
class HybridState:
    """A hybrid enumerator at the end of an epoch."""

    position: HybridPosition
    enumerator: Any
    finished: frozenset[int]
    parallelism: int


class _Context(SplitEnumeratorContext[Any]):
    """What one of the enumerators talks to."""

    def __init__(self, outer: SplitEnumeratorContext[Any], index: int, no_more: Callable[[int], None]) -> None:
        self._outer = outer
        self._index = index
        self._no_more = no_more

    def current_parallelism(self) -> int:
        return self._outer.current_parallelism()

    def current_processing_time(self) -> int:
        return self._outer.current_processing_time()

    def signal_no_more_splits(self, subtask_id: int) -> None:
        self._no_more(subtask_id)

    def assign_split(self, split: Any, subtask_id: int) -> None:
        self._outer.assign_split(HybridSplit(self._index, split), subtask_id)

    def send_event_to_source_reader(self, subtask_id: int, event: SourceEvent) -> None:
        self._outer.send_event_to_source_reader(subtask_id, Inner(self._index, event))


class HybridEnumerator(SplitEnumerator[Any]):
    """Has the enumerator of the source that is read, and makes the next one when all readers have finished it."""

    def __init__(
        self,
        sources: Sequence[AnySource | SourceFactory],
        context: SplitEnumeratorContext[Any],
        state: HybridState | None,
    ) -> None:
        self._sources = sources
        self._context = context
        self._state = state
        self._position = HybridPosition() if state is None else state.position
        self._finished: set[int] = set()
        self._no_more_splits: set[int] = set()
        """subtasks that were told since this enumerator was made"""
        if state is not None and state.parallelism == context.current_parallelism():
            self._finished |= state.finished
        self._enumerator: AnyEnumerator

    def start(self) -> None:
        known = () if self._state is None else (self._state.enumerator,)
        source, payload = self._sources[self._position.index], self._position.payload
        self._begin(source if isinstance(source, Source) else pickle.loads(payload or b""), *known)
        if self._position.index:
            self._tell_all()  # for readers that are new; the others are there already

    def _begin(self, source: AnySource, *known: Any) -> None:
        context = _Context(self._context, self._position.index, self._has_no_more)
        self._enumerator = source.create_enumerator(context, *known)
        self._enumerator.start()

    def _has_no_more(self, subtask: int) -> None:
        index = self._position.index
        self._no_more_splits.add(subtask)
        if index == len(self._sources) - 1:
            self._context.signal_no_more_splits(subtask)
        else:
            self._context.send_event_to_source_reader(subtask, NoMoreSplits(index))

    def _tell_all(self) -> None:
        for subtask in range(self._context.current_parallelism()):
            self._context.send_event_to_source_reader(subtask, SwitchTo(self._position))

    @property
    def splits_end(self) -> bool:  # type: ignore[override]
        """As the source says that is read."""
        return self._enumerator.splits_end

    def handle_split_request(self, subtask_id: int) -> None:
        if subtask_id not in self._no_more_splits:
            self._enumerator.handle_split_request(subtask_id)

    def handle_source_event(self, subtask_id: int, event: SourceEvent) -> None:
        if isinstance(event, Inner) and event.index == self._position.index:
            self._enumerator.handle_source_event(subtask_id, event.event)
        elif isinstance(event, Finished) and event.index == self._position.index:
            self._finished.add(subtask_id)
            if len(self._finished) == self._context.current_parallelism():
                self._switch()

    def _switch(self) -> None:
        index, previous = self._position.index + 1, self._enumerator
        following, payload = self._sources[index], None
        if not isinstance(following, Source):
            following = following(SourceSwitchContext(previous))
            payload = pickled_by_value(following)
        previous.close()
        self._position = HybridPosition(index, payload)
        self._finished.clear()
        self._no_more_splits.clear()
        self._tell_all()
        self._begin(following)

    def add_splits_back(self, splits: Sequence[Any], subtask_id: int) -> None:
        inner = [split.split for split in splits if isinstance(split, HybridSplit)]
        if inner:
            self._enumerator.add_splits_back(inner, subtask_id)

    def snapshot_state(self, checkpoint_id: int) -> HybridState:
        return HybridState(
            self._position,
            self._enumerator.snapshot_state(checkpoint_id),
            frozenset(self._finished),
            self._context.current_parallelism(),
        )

    def close(self) -> None:
        self._enumerator.close()
