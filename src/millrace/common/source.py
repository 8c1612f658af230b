"""The FLIP-27 source contract: what a source written in Python implements.

A source has two halves. The *enumerator* lives on the driver, finds splits and assigns them to readers;
the *reader* lives in a task and turns splits into elements. Between two epochs (checkpoints) a reader exists
only as the list of splits that it returned from ``snapshot_state``: a split therefore carries its own position.

Flink's counterpart: ``org.apache.flink.api.connector.source`` (PyFlink cannot define sources in Python).
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from millrace.datastream.functions import RuntimeContext
    from millrace.datastream.state import OperatorStateStore

__all__ = [
    "Boundedness",
    "InputStatus",
    "ReaderOutput",
    "Source",
    "SourceReader",
    "SourceReaderContext",
    "SplitEnumerator",
    "SplitEnumeratorContext",
]

T = TypeVar("T")
"""Type of the elements."""
SplitT = TypeVar("SplitT")
"""Type of a split: any picklable value that knows its own position."""


class Boundedness(enum.Enum):
    """Whether a source ends by itself."""

    BOUNDED = "BOUNDED"
    CONTINUOUS_UNBOUNDED = "CONTINUOUS_UNBOUNDED"


class InputStatus(enum.Enum):
    """What ``SourceReader.poll_next`` knows about the elements to come."""

    MORE_AVAILABLE = "MORE_AVAILABLE"
    NOTHING_AVAILABLE = "NOTHING_AVAILABLE"
    """Nothing now, perhaps later: the reader's part of this epoch is over."""
    END_OF_INPUT = "END_OF_INPUT"
    """Nothing ever again from this reader."""


class ReaderOutput(ABC, Generic[T]):
    """Where a reader puts its elements."""

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


class SourceReaderContext(ABC):
    """What the runtime tells a reader."""

    @abstractmethod
    def get_index_of_subtask(self) -> int: ...

    @abstractmethod
    def current_parallelism(self) -> int: ...

    @abstractmethod
    def current_processing_time(self) -> int:
        """The task's clock, ms since the epoch."""

    def max_records(self) -> int | None:
        """The most elements that the epoch takes, None for no limit: a poll should not emit more."""
        return None

    def get_runtime_context(self) -> RuntimeContext:
        """Metrics, accumulators, cached files and the rest of what functions can know."""
        raise NotImplementedError(f"{type(self).__name__} has no runtime context")

    def get_operator_state_store(self) -> OperatorStateStore:
        """State of this subtask of the source, beside its splits: for what a split can't carry."""
        raise NotImplementedError(f"{type(self).__name__} keeps no operator state")


class SourceReader(ABC, Generic[T, SplitT]):
    """Reads splits in one task."""

    def start(self) -> None:
        """Called once, before the first ``add_splits``."""

    @abstractmethod
    def add_splits(self, splits: Sequence[SplitT]) -> None:
        """Take over splits: those of the last snapshot first, then newly assigned ones."""

    def notify_no_more_splits(self) -> None:
        """No split will ever be added again: the reader answers END_OF_INPUT when its splits are used up."""

    @abstractmethod
    def poll_next(self, output: ReaderOutput[T]) -> InputStatus:
        """Emit some elements (a handful or a few thousand, never a blocking wait) and say what comes next."""

    def end_epoch(self, output: ReaderOutput[T], checkpoint_id: int) -> None:
        """The epoch ends before the input does: emit what must not wait for the next one. Most readers have nothing."""

    @abstractmethod
    def snapshot_state(self, checkpoint_id: int) -> list[SplitT]:
        """The unfinished splits with their positions; finished ones are left out."""

    def close(self) -> None:
        """Release what ``start`` or reading opened."""


class SplitEnumeratorContext(ABC, Generic[SplitT]):
    """What the runtime offers to an enumerator."""

    @abstractmethod
    def current_parallelism(self) -> int: ...

    @abstractmethod
    def assign_split(self, split: SplitT, subtask_id: int) -> None:
        """Hand a split to a reader; it takes effect with the next epoch (or this one, while it is planned)."""

    @abstractmethod
    def signal_no_more_splits(self, subtask_id: int) -> None: ...

    @abstractmethod
    def current_processing_time(self) -> int:
        """The driver's clock, ms since the epoch."""


class SplitEnumerator(ABC, Generic[SplitT]):
    """Finds splits and assigns them to readers, on the driver."""

    def start(self) -> None:
        """Called once, before any request."""

    @abstractmethod
    def handle_split_request(self, subtask_id: int) -> None:
        """Reader ``subtask_id`` could take one more split: assign one, signal no more splits, or do nothing.

        The runtime asks the readers in turn, at the beginning of each epoch, until a whole round assigned nothing.
        """

    def add_splits_back(self, splits: Sequence[SplitT], subtask_id: int) -> None:
        """Splits whose reader is gone (a rescale): assign them again."""
        raise NotImplementedError(f"{type(self).__name__} does not take splits back: it can't be rescaled")

    def snapshot_state(self, checkpoint_id: int) -> Any:
        """What ``Source.create_enumerator`` needs to go on after a restart (picklable)."""
        return None

    def close(self) -> None: ...


class Source(ABC, Generic[T, SplitT]):
    """A source of elements; see the module docstring. Instances are pickled into every task."""

    @abstractmethod
    def get_boundedness(self) -> Boundedness: ...

    @abstractmethod
    def create_enumerator(
        self, context: SplitEnumeratorContext[SplitT], checkpoint: Any = None
    ) -> SplitEnumerator[SplitT]:
        """A fresh enumerator, or with ``checkpoint`` (an earlier ``snapshot_state``) one that goes on from there."""

    @abstractmethod
    def create_reader(self, context: SourceReaderContext) -> SourceReader[T, SplitT]: ...

    def for_readers(self) -> Source[T, SplitT]:
        """What the tasks need of this source: a copy without what only the enumerator uses."""
        return self

    def get_produced_type(self) -> Any:
        """The elements' ``TypeInformation``, or None when the source does not know it."""
        return None
