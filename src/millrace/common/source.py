"""The FLIP-27 source contract: what a source written in Python implements.

A source has two halves. The *enumerator* lives on the driver, finds splits and assigns them to readers; the *reader*
lives in a task and turns splits into elements. A reader lives as long as its task, over many epochs (checkpoints), with
its connections and threads. At the end of each epoch it returns from ``snapshot_state`` the splits that are left: if
the task fails or moves, a new reader continues from these. A split therefore carries its own position.

Flink's counterpart: ``org.apache.flink.api.connector.source`` (PyFlink cannot define sources in Python).
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from millrace.common.functions import RuntimeContext
    from millrace.common.state import OperatorStateStore
    from millrace.common.typeinfo import TypeInformation

__all__ = [
    "Boundedness",
    "InputStatus",
    "ReaderOutput",
    "Source",
    "SourceEvent",
    "SourceReader",
    "SourceReaderContext",
    "SplitEnumerator",
    "SplitEnumeratorContext",
    "split_id",
]

PATIENCE_SECONDS = 0.01
"""How long a poll waits for elements by default (s)."""

T = TypeVar("T")
"""Type of the elements."""
SplitT = TypeVar("SplitT")
"""Type of a split: any picklable value that knows its own position."""


class Boundedness(enum.Enum):
    """Whether a source ends by itself.

    >>> NumberSequenceSource(1, 3).get_boundedness()
    <Boundedness.BOUNDED: 'BOUNDED'>
    """

    BOUNDED = "BOUNDED"
    CONTINUOUS_UNBOUNDED = "CONTINUOUS_UNBOUNDED"


class InputStatus(enum.Enum):
    """The reader's state after ``SourceReader.poll_next``.

    >>> InputStatus.END_OF_INPUT.name
    'END_OF_INPUT'
    """

    MORE_AVAILABLE = "MORE_AVAILABLE"
    NOTHING_AVAILABLE = "NOTHING_AVAILABLE"
    """No elements now, perhaps later: the reader's part of this epoch is over."""
    END_OF_INPUT = "END_OF_INPUT"
    """This reader will never emit an element again."""


class SourceEvent:
    """A message between a reader and its enumerator, in either direction. It must be picklable.

    >>> class Paused(SourceEvent):
    ...     pass
    """


def split_id(split: Any) -> str:
    """The name of a split: its ``split_id``, an attribute or a method. It stays the same while the position changes.

    Splits without one are called by their class, so those of one reader share a watermark generator.

        >>> from types import SimpleNamespace
        >>> split_id(SimpleNamespace(split_id="part-1.csv")), split_id(7)
        ('part-1.csv', 'int')
    """
    known = getattr(split, "split_id", None)
    if known is None:
        return type(split).__qualname__
    return str(known() if callable(known) else known)


def has_id(split: Any) -> bool:
    """Whether a split has a name of its own."""
    return getattr(split, "split_id", None) is not None


class ReaderOutput(ABC, Generic[T]):
    """Where a reader puts its elements.

    >>> sorted(ReaderOutput.__abstractmethods__)
    ['collect', 'collect_batch', 'emit_watermark', 'mark_idle']
    """

    @abstractmethod
    def collect(self, record: T, timestamp: int | None = None) -> None:
        """Emit one element, with its event timestamp in ms since the epoch if the source knows one."""

    @abstractmethod
    def collect_batch(self, records: list[T], timestamps: list[int] | None = None) -> None:
        """Emit many elements at once; much cheaper than one by one. The list must not be changed afterwards."""

    @abstractmethod
    def emit_watermark(self, timestamp: int) -> None:
        """Declare that no element with a timestamp <= ``timestamp`` (ms) follows from this reader."""

    @abstractmethod
    def mark_idle(self) -> None:
        """Declare this reader idle: it no longer holds the watermark back until its next element."""

    def create_output_for_split(self, split_id: str) -> ReaderOutput[T]:
        """The output for the elements of one split, which has a watermark generator of its own; the same one for the
        same name until it is released. The reader's watermark is the lowest of all splits that have an output and are
        not idle.

        Elements that an epoch has no time for are saved with their split. Without outputs of their own, those of a
        reader with several splits can't be, so all elements of a poll are emitted in one epoch.
        """
        return self

    def release_output_for_split(self, split_id: str) -> None:
        """Release a split that is read to its end: it no longer holds the watermark back."""

    def patience(self) -> float:
        """How long the poll may wait for elements if there are none (s): an epoch that has read what was there does not
        wait for more."""
        return PATIENCE_SECONDS


class SourceReaderContext(ABC):
    """The reader's view of the runtime.

    >>> sorted(SourceReaderContext.__abstractmethods__)
    ['current_parallelism', 'current_processing_time', 'get_index_of_subtask']
    """

    @abstractmethod
    def get_index_of_subtask(self) -> int:
        """The number of this subtask, from 0."""

    @abstractmethod
    def current_parallelism(self) -> int:
        """How many subtasks the source has."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The task's clock, ms since the epoch."""

    def max_records(self) -> int | None:
        """The number of elements that the job can process in some ms, None for any number. A poll should not emit more,
        since elements that exceed an epoch must be saved with the state. The number changes: read it at each poll."""
        return None

    def send_split_request(self) -> None:
        """Ask the enumerator for one split more than the runtime asks for by itself, see ``SplitEnumerator``."""

    def send_source_event_to_coordinator(self, event: SourceEvent) -> None:
        """Send an event to the enumerator. It travels with this epoch's report and arrives while the next one is
        planned; if the epoch fails it never arrives."""
        raise NotImplementedError(f"{type(self).__name__} has no enumerator to tell")

    def get_runtime_context(self) -> RuntimeContext:
        """Metrics, accumulators, cached files and the rest of what functions can know."""
        raise NotImplementedError(f"{type(self).__name__} has no runtime context")

    def get_operator_state_store(self) -> OperatorStateStore:
        """State of this subtask of the source, beside its splits, for data that does not belong to a split."""
        raise NotImplementedError(f"{type(self).__name__} keeps no operator state")


class SourceReader(ABC, Generic[T, SplitT]):
    """Reads splits in one task, epoch after epoch.

    All methods are called by the task's thread. In each epoch: ``notify_checkpoint_complete`` if there is news,
    ``handle_source_events``, ``add_splits`` (a new reader gets those of the last snapshot first),
    ``notify_no_more_splits``, then ``poll_next`` until the epoch has enough, ``end_epoch``, ``snapshot_state``,
    ``snapshot_taken``. ``close`` comes at the end of the input, of the job, and after a failure.

        >>> class Once(SourceReader):
        ...     def add_splits(self, splits):
        ...         self.splits = splits
        ...     def poll_next(self, output):
        ...         output.collect_batch(["a", "b"])
        ...         return InputStatus.END_OF_INPUT
        ...     def snapshot_state(self, checkpoint_id):
        ...         return self.splits
    """

    def start(self) -> None:
        """Called once, before anything else."""

    @abstractmethod
    def add_splits(self, splits: Sequence[SplitT]) -> None:
        """Add splits to those that the reader already reads."""

    def notify_no_more_splits(self) -> None:
        """No split will be added any more: the reader returns END_OF_INPUT when its splits are used up."""

    @abstractmethod
    def poll_next(self, output: ReaderOutput[T]) -> InputStatus:
        """Emit some elements (a handful or a few thousand, never a blocking wait) and say what comes next."""

    def handle_source_events(self, event: SourceEvent) -> None:
        """Handle events that the enumerator has sent."""

    def has_splits(self) -> bool:
        """Whether there is a split to read; True from readers that don't know. Without one a reader gets new splits
        soon, not only when its epoch would end anyway."""
        return True

    def on_available(self, call: Callable[[], None], pause_ms: float) -> bool:
        """Set a callback that the reader calls, from any thread, whenever it may have elements again after
        NOTHING_AVAILABLE.

        Returns whether the reader will call it; a reader that does not is polled again every few ms.

        :param pause_ms: how long new elements may wait, so that more of them are read together.
        """
        return False

    def pause_or_resume_splits(self, to_pause: Sequence[str], to_resume: Sequence[str]) -> None:
        """Watermark alignment: pause splits (given by their names) that are too far ahead of the others, or resume
        them. A reader that can't pause single splits reads all."""

    def end_epoch(self, output: ReaderOutput[T], checkpoint_id: int) -> None:
        """Emit what must not wait for the next epoch, because the epoch ends before the input does, or the job is
        stopped. Most readers have nothing to emit."""

    @abstractmethod
    def snapshot_state(self, checkpoint_id: int) -> list[SplitT]:
        """The unfinished splits with their positions. Positions are those of emitted elements: what a thread has read
        ahead does not count."""

    def snapshot_taken(self) -> None:
        """The task's state of this epoch is written: threads of the reader may use operator state again."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """The checkpoint with the snapshot of this number was recorded: elements emitted before it will not be read
        again. Readers are notified of the last checkpoint only, with the next epoch, so not after the end of the
        job."""

    def close(self) -> None:
        """Release what ``start`` or reading opened, and end all threads."""


class SplitEnumeratorContext(ABC, Generic[SplitT]):
    """The enumerator's view of the runtime.

    >>> sorted(SplitEnumeratorContext.__abstractmethods__)
    ['assign_split', 'current_parallelism', 'current_processing_time', 'signal_no_more_splits']
    """

    @abstractmethod
    def current_parallelism(self) -> int:
        """How many subtasks the source has."""

    @abstractmethod
    def assign_split(self, split: SplitT, subtask_id: int) -> None:
        """Assign a split to a reader; it takes effect with the next epoch (or this one, while it is planned)."""

    @abstractmethod
    def signal_no_more_splits(self, subtask_id: int) -> None:
        """Declare that a reader gets no more splits."""

    def send_event_to_source_reader(self, subtask_id: int, event: SourceEvent) -> None:
        """Send an event to a reader, with its next order; it is sent again if that epoch fails."""
        raise NotImplementedError(f"{type(self).__name__} has no readers to tell")

    @abstractmethod
    def current_processing_time(self) -> int:
        """The driver's clock, ms since the epoch."""


class SplitEnumerator(ABC, Generic[SplitT]):
    """Finds splits and assigns them to readers, on the driver.

    Readers need not ask: while an epoch is planned the runtime asks for each of them in turn, until a whole round
    assigned nothing or the readers have enough: few at first, twice as many after every epoch in which that held a
    reader back, 512 at most. So no order carries all splits of a source with millions.

        >>> class Files(SplitEnumerator):
        ...     def __init__(self, context):
        ...         self.context, self.files = context, ["a.csv", "b.csv"]
        ...     def handle_split_request(self, subtask_id):
        ...         if self.files:
        ...             self.context.assign_split(self.files.pop(), subtask_id)
        ...         else:
        ...             self.context.signal_no_more_splits(subtask_id)
    """

    splits_end = True
    """Whether readers reach the end of a split at some time. If they don't, as with the partitions of a log, a reader
    may have any number of splits: the runtime continues to request them for it."""

    def start(self) -> None:
        """Called once, before any request."""

    @abstractmethod
    def handle_split_request(self, subtask_id: int) -> None:
        """Reader ``subtask_id`` could take one more split: assign one, signal no more splits, or do nothing."""

    def handle_source_event(self, subtask_id: int, event: SourceEvent) -> None:
        """Handle an event that a reader has sent."""

    def add_splits_back(self, splits: Sequence[SplitT], subtask_id: int) -> None:
        """Take back the splits of a reader that is gone (a rescale), to assign them again."""
        raise NotImplementedError(f"{type(self).__name__} does not take splits back: it can't be rescaled")

    def snapshot_state(self, checkpoint_id: int) -> Any:
        """The state from which ``Source.create_enumerator`` continues after a restart (picklable)."""
        return None

    def job_ended(self, splits: Sequence[SplitT]) -> None:
        """The last checkpoint of a job that ends or stops is recorded; readers are not notified of it.

        :param splits: the source's remaining splits in that checkpoint.
        """

    def close(self) -> None:
        """Called at the end of the job."""


class Source(ABC, Generic[T, SplitT]):
    """A source of elements; see the module docstring. Instances are pickled into every task.

    >>> source = NumberSequenceSource(1, 3)
    >>> isinstance(source, Source), source.get_boundedness()
    (True, <Boundedness.BOUNDED: 'BOUNDED'>)
    """

    @abstractmethod
    def get_boundedness(self) -> Boundedness:
        """Whether the source comes to an end."""

    @abstractmethod
    def create_enumerator(
        self, context: SplitEnumeratorContext[SplitT], checkpoint: Any = None
    ) -> SplitEnumerator[SplitT]:
        """A new enumerator; with ``checkpoint`` (an earlier ``snapshot_state``) one that continues from it.

        >>> from millrace.connectors.generated_sources import CollectionSource
        >>> class Letters(CollectionSource):
        ...     def create_enumerator(self, context, restored=None):
        ...         print("splits for", context.current_parallelism(), "subtask")
        ...         return super().create_enumerator(context, restored)
        >>> letters = env.from_source(Letters(["a"]), WatermarkStrategy.no_watermarks(), "letters")
        >>> list(letters.execute_and_collect())
        splits for 1 subtask
        ['a']
        """

    @abstractmethod
    def create_reader(self, context: SourceReaderContext) -> SourceReader[T, SplitT]:
        """The reader of one subtask.

        >>> class Numbers(NumberSequenceSource):
        ...     def create_reader(self, context):
        ...         print("reader of subtask", context.get_index_of_subtask())
        ...         return super().create_reader(context)
        >>> numbers = env.from_source(Numbers(1, 2), WatermarkStrategy.no_watermarks(), "numbers")
        >>> list(numbers.execute_and_collect())
        reader of subtask 0
        [1, 2]
        """

    def arrives_over_time(self) -> bool:
        """Whether a bounded source may have no elements for a while and more later. A streaming job with such a source
        has an epoch every interval, as with unbounded sources, so that elements, timers and checkpoints don't wait."""
        return False

    def for_readers(self) -> Source[T, SplitT]:
        """A copy of this source for the tasks, without what only the enumerator uses."""
        return self

    def get_produced_type(self) -> TypeInformation | None:
        """The elements' ``TypeInformation``, or None when the source does not know it."""
        return None
