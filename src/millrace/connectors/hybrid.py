"""``HybridSource``: sources read one after the other, as files with the past and then a log with what follows.

The enumerator on the driver moves all readers to the next source when each of them has read the current one. Readers
and enumerators of the inner sources see a context of their own, so that their splits and events do not mix.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceEvent,
    SourceReader,
    SourceReaderContext,
    SplitEnumerator,
    SplitEnumeratorContext,
    split_id,
)
from millrace.common.typeinfo import TypeInformation
from millrace.util.by_value import pickled_by_value

if TYPE_CHECKING:
    from millrace.common.functions import RuntimeContext
    from millrace.common.state import OperatorStateStore


__all__ = ["HybridSource", "HybridSourceBuilder", "SourceSwitchContext"]


# Splits and events


@dataclass(frozen=True)
class HybridSplit:
    """A split of the source with this number."""

    index: int
    split: Any

    @property
    def split_id(self) -> str:
        return f"{self.index}:{split_id(self.split)}"


@dataclass(frozen=True)
class HybridPosition:
    """Which source a reader is at. It is among the reader's splits, so a reader that takes over need not ask."""

    index: int = 0
    payload: bytes | None = None
    """the source, pickled, if a factory made it"""
    no_more_splits: bool = False
    split_id: str = "position"


@dataclass(frozen=True)
class Finished(SourceEvent):
    """A reader has read all of a source."""

    index: int


@dataclass(frozen=True)
class SwitchTo(SourceEvent):
    """Readers shall go on with a source."""

    position: HybridPosition


@dataclass(frozen=True)
class NoMoreSplits(SourceEvent):
    """A reader has all its splits of a source that is not the last one."""

    index: int


@dataclass(frozen=True)
class Inner(SourceEvent):
    """An event of a source's own readers or enumerator."""

    index: int
    event: SourceEvent


# The reader, in a task


class _InnerReaderContext(SourceReaderContext):
    """The context of an inner reader: the outer reader's context, but with the inner source's own events."""

    def __init__(self, outer: SourceReaderContext, index: int) -> None:
        self._outer = outer
        self._index = index

    def get_index_of_subtask(self) -> int:
        return self._outer.get_index_of_subtask()

    def current_parallelism(self) -> int:
        return self._outer.current_parallelism()

    def current_processing_time(self) -> int:
        return self._outer.current_processing_time()

    def max_records(self) -> int | None:
        return self._outer.max_records()

    def get_runtime_context(self) -> RuntimeContext:
        return self._outer.get_runtime_context()

    def get_operator_state_store(self) -> OperatorStateStore:
        return self._outer.get_operator_state_store()

    def send_split_request(self) -> None:
        self._outer.send_split_request()

    def send_source_event_to_coordinator(self, event: SourceEvent) -> None:
        self._outer.send_source_event_to_coordinator(Inner(self._index, event))


class _InnerOutput(ReaderOutput[Any]):
    """Gives splits the names that they have outside."""

    def __init__(self, outer: ReaderOutput[Any], index: int) -> None:
        self._outer = outer
        self._index = index
        self._open: set[str] = set()

    def collect(self, record: Any, timestamp: int | None = None) -> None:
        self._outer.collect(record, timestamp)

    def collect_batch(self, records: list[Any], timestamps: list[int] | None = None) -> None:
        self._outer.collect_batch(records, timestamps)

    def emit_watermark(self, timestamp: int) -> None:
        self._outer.emit_watermark(timestamp)

    def mark_idle(self) -> None:
        self._outer.mark_idle()

    def create_output_for_split(self, split_id: str) -> ReaderOutput[Any]:
        self._open.add(split_id)
        return self._outer.create_output_for_split(f"{self._index}:{split_id}")

    def release_output_for_split(self, split_id: str) -> None:
        self._open.discard(split_id)
        self._outer.release_output_for_split(f"{self._index}:{split_id}")

    def patience(self) -> float:
        return self._outer.patience()

    def release_all(self) -> None:
        """The source has ended."""
        for each in list(self._open):
            self.release_output_for_split(each)


class HybridReader(SourceReader[Any, Any]):
    """Has the reader of the source that is read. When that has ended it says so, and waits for the next one."""

    def __init__(self, sources: Sequence[Source[Any, Any] | None], context: SourceReaderContext) -> None:
        """:param sources: None in the place of one that a factory makes."""
        self._sources = sources
        self._context = context
        self._position = HybridPosition()
        self._reader: SourceReader[Any, Any] | None = None
        self._output: _InnerOutput | None = None
        self._waits = False
        """whether this source has ended and another one follows"""

    def add_splits(self, splits: Sequence[Any]) -> None:
        for split in splits:
            # Readers of a new job hear first what the enumerator says now, then where they were.
            if isinstance(split, HybridPosition) and split.index >= self._position.index:
                self._position = split
                if split.no_more_splits and self._reader is not None:
                    self._reader.notify_no_more_splits()
        inner = [split.split for split in splits if isinstance(split, HybridSplit)]
        if inner:
            self._open().add_splits(inner)

    def _open(self) -> SourceReader[Any, Any]:
        if self._reader is None:
            position = self._position
            source = self._sources[position.index] or pickle.loads(position.payload or b"")
            self._reader = source.create_reader(_InnerReaderContext(self._context, position.index))
            self._reader.start()
            if position.no_more_splits:
                self._reader.notify_no_more_splits()
        return self._reader

    def notify_no_more_splits(self) -> None:
        self._open().notify_no_more_splits()

    def handle_source_events(self, event: SourceEvent) -> None:
        at = self._position.index
        if isinstance(event, SwitchTo) and event.position.index > at:
            self._switch(event.position)
        elif isinstance(event, NoMoreSplits) and event.index == at:
            self._position = replace(self._position, no_more_splits=True)
            self._open().notify_no_more_splits()
        elif isinstance(event, Inner) and event.index == at:
            self._open().handle_source_events(event.event)

    def _switch(self, position: HybridPosition) -> None:
        self.close()
        self._reader, self._output = None, None
        self._position, self._waits = position, False

    def poll_next(self, output: ReaderOutput[Any]) -> InputStatus:
        if self._waits:
            return InputStatus.NOTHING_AVAILABLE
        index = self._position.index
        if self._output is None:
            self._output = _InnerOutput(output, index)
        status = self._open().poll_next(self._output)
        if status is not InputStatus.END_OF_INPUT or index == len(self._sources) - 1:
            return status
        self._output.release_all()
        self._waits = True
        self._context.send_source_event_to_coordinator(Finished(index))
        return InputStatus.NOTHING_AVAILABLE

    def pause_or_resume_splits(self, to_pause: Sequence[str], to_resume: Sequence[str]) -> None:
        self._open().pause_or_resume_splits(self._inner(to_pause), self._inner(to_resume))

    def _inner(self, names: Sequence[str]) -> list[str]:
        """The names that the source that is read knows."""
        prefix = f"{self._position.index}:"
        return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]

    def end_epoch(self, output: ReaderOutput[Any], checkpoint_id: int) -> None:
        if not self._waits:
            self._open().end_epoch(self._output or output, checkpoint_id)

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        left = [] if self._waits else self._open().snapshot_state(checkpoint_id)
        return [self._position, *(HybridSplit(self._position.index, split) for split in left)]

    def snapshot_taken(self) -> None:
        if self._reader is not None:
            self._reader.snapshot_taken()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        if self._reader is not None:
            self._reader.notify_checkpoint_complete(checkpoint_id)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()


# The enumerator, on the driver

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


class _InnerEnumeratorContext(SplitEnumeratorContext[Any]):
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
        """subtasks that this enumerator has informed that no more splits follow"""
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
        context = _InnerEnumeratorContext(self._context, self._position.index, self._has_no_more)
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


# The source and its builder


@dataclass(frozen=True)
class _Entry:
    """One of the sources."""

    source: AnySource | None
    factory: SourceFactory | None
    boundedness: Boundedness


class HybridSource(Source[Any, Any]):
    """Reads a list of sources, each when all readers are through with the one before. All but the last one end.

        HybridSource.builder(files).add_source(log).build()

    A source may be made when its turn comes, from what the enumerator of the one before knows:

        HybridSource.builder(files).add_source(lambda switch: log_from(switch.get_previous_enumerator().end)).build()

        >>> source = HybridSource.builder(NumberSequenceSource(1, 2)).add_source(NumberSequenceSource(5, 6)).build()
        >>> both = env.from_source(source, WatermarkStrategy.no_watermarks(), "both").set_parallelism(1)
        >>> list(both.execute_and_collect())
        [1, 2, 5, 6]
    """

    def __init__(self, entries: Sequence[_Entry]) -> None:
        self._entries = tuple(entries)

    @staticmethod
    def builder(first_source: AnySource) -> HybridSourceBuilder:
        """Begin with this source."""
        return HybridSourceBuilder().add_source(first_source)

    def get_boundedness(self) -> Boundedness:
        return self._entries[-1].boundedness

    def arrives_over_time(self) -> bool:
        return any(entry.source is None or entry.source.arrives_over_time() for entry in self._entries)

    def create_enumerator(
        self, context: SplitEnumeratorContext[Any], checkpoint: HybridState | None = None
    ) -> HybridEnumerator:
        return HybridEnumerator([entry.source or entry.factory for entry in self._entries], context, checkpoint)  # type: ignore[misc]

    def create_reader(self, context: SourceReaderContext) -> HybridReader:
        return HybridReader([entry.source for entry in self._entries], context)

    def for_readers(self) -> HybridSource:
        """Without factories, which only the enumerator calls."""
        return HybridSource(
            [
                replace(entry, source=None if entry.source is None else entry.source.for_readers(), factory=None)
                for entry in self._entries
            ]
        )

    def get_produced_type(self) -> TypeInformation | None:
        source = self._entries[0].source
        return None if source is None else source.get_produced_type()

    def __repr__(self) -> str:
        return f"HybridSource({', '.join(repr(entry.source or entry.factory) for entry in self._entries)})"


class HybridSourceBuilder:
    """Collects the sources in their order.

    >>> HybridSource.builder(NumberSequenceSource(1, 2)).build()
    HybridSource(NumberSequenceSource(1, 2))
    """

    def __init__(self) -> None:
        self._entries: list[_Entry] = []

    def add_source(
        self, source: AnySource | SourceFactory, boundedness: Boundedness = Boundedness.BOUNDED
    ) -> HybridSourceBuilder:
        """Go on with this source, or with the one that a factory makes from a ``SourceSwitchContext``.

        :param boundedness: of what the factory makes; a source knows it itself.
        """
        if self._entries and self._entries[-1].boundedness is not Boundedness.BOUNDED:
            raise ValueError("a source that never ends can only be the last one of a HybridSource")
        if isinstance(source, Source):
            self._entries.append(_Entry(source, None, source.get_boundedness()))
        elif callable(source):
            self._entries.append(_Entry(None, source, boundedness))
        else:
            raise TypeError(f"add_source() needs a Source or a function that makes one, not {source!r}")
        return self

    def build(self) -> HybridSource:
        """The source of all that was added."""
        return HybridSource(self._entries)
