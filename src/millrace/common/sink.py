"""The FLIP-143 sink contract: what a sink written in Python implements.

The *writer* lives in a task. At the end of an epoch the runtime calls ``flush`` and ``prepare_commit``: what that
returns (the committables) travels to the driver. When every task of the epoch has answered and the epoch is recorded,
the *committer* there makes the committables visible. A sink without a committer writes at ``write`` or ``flush``.

Flink's counterpart: ``org.apache.flink.api.connector.sink2`` (PyFlink cannot define sinks in Python).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from millrace.common.typeinfo import TypeInformation
    from millrace.datastream.functions import RuntimeContext

__all__ = ["Committer", "Sink", "SinkWriter", "SinkWriterContext", "WriterInitContext"]

T = TypeVar("T")
"""Type of the elements."""
CommT = TypeVar("CommT")
"""Type of a committable: any picklable value."""


class WriterInitContext(ABC):
    """What the runtime tells a writer."""

    @abstractmethod
    def get_index_of_subtask(self) -> int: ...

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int: ...

    @abstractmethod
    def get_job_id(self) -> str: ...

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """The epoch that this writer begins in. Numbers grow and are never used twice: a repeated epoch gets a new
        one."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The task's clock, ms since the epoch."""

    def current_watermark(self) -> int:
        """The watermark (ms) at the moment of the call; a writer may keep this object to ask at the end of an epoch."""
        return -(2**63)

    def is_idle(self) -> bool:
        """Whether all inputs are idle at the moment of the call: then nobody waits for this subtask's watermark."""
        return False

    def get_runtime_context(self) -> RuntimeContext:
        """Metrics, accumulators, cached files and the rest of what functions can know."""
        raise NotImplementedError(f"{type(self).__name__} has no runtime context")


class SinkWriterContext(ABC):
    """What the runtime knows about the element at hand."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """The element's event timestamp in ms, None when it has none."""

    @abstractmethod
    def current_watermark(self) -> int: ...


class SinkWriter(ABC, Generic[T]):
    """Writes the elements of one subtask."""

    @abstractmethod
    def write(self, element: T, context: SinkWriterContext) -> None: ...

    def flush(self, end_of_input: bool) -> None:
        """The epoch ends (or, with ``end_of_input``, the job): push out what is buffered."""

    def prepare_commit(self) -> list[Any]:
        """What the committer has to make visible for this epoch; empty without a committer."""
        return []

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        """What ``Sink.restore_writer`` needs to go on in the next epoch (picklable values)."""
        return []

    def close(self) -> None:
        """Release resources; called after success and after failure."""


class Committer(ABC, Generic[CommT]):
    """Makes committables visible, on the driver. Must be idempotent: a commit may be repeated after a crash.

    With checkpointing, committables wait until the checkpoint that covers them is recorded; without, until their epoch
    is.
    """

    @abstractmethod
    def commit(self, committables: Sequence[CommT]) -> Sequence[CommT] | None:
        """Make them visible.

        :returns: what has to wait for a later call, and comes again then, with what is new; None for nothing. It is
            kept in checkpoints and savepoints.
        """

    def abort(self, committables: Sequence[CommT]) -> None:
        """Forget committables of an epoch that failed before it was recorded."""

    def recover(self, job_id: str, committables: Sequence[CommT], states: Sequence[Any]) -> None:
        """The job goes on from a checkpoint, or from its last epoch after a failure: nothing runs at this moment.

        ``committables`` are all that still wait: those that the checkpoint holds and, if the driver has survived, those
        of later epochs that are complete. ``commit`` is called with them after this; some may be committed already.
        ``states`` is what the writers returned from ``snapshot_state`` at that moment. Whatever else the job ``job_id``
        prepared with this sink belongs to epochs that count for nothing: abort it.
        """

    def close(self) -> None: ...


class Sink(ABC, Generic[T]):
    """A sink of elements; see the module docstring. Instances are pickled into every task."""

    reports_each_epoch: bool = False
    """whether every subtask opens its writer in every epoch, also without elements: for sinks whose committer has to
    hear of watermarks"""

    def for_input_type(self, type_info: TypeInformation) -> Sink[T]:
        """This sink for a stream of that element type, for sinks that write typed values in another form."""
        return self

    def for_operator(self, uid: str) -> Sink[T]:
        """This sink as that of the operator ``uid``, for sinks that give names to what they prepare: two sinks of a job
        may write to the same place, and must not take each other's things for their own."""
        return self

    @abstractmethod
    def create_writer(self, context: WriterInitContext) -> SinkWriter[T]: ...

    def restore_writer(self, context: WriterInitContext, states: Sequence[Any]) -> SinkWriter[T]:
        """A writer that goes on from the ``snapshot_state`` of the epoch before."""
        return self.create_writer(context)

    def create_committer(self) -> Committer[Any] | None:
        """The committer, None for a sink whose writer makes everything visible itself."""
        return None
