"""The FLIP-143 sink contract: what a sink written in Python implements.

The *writer* lives in a task. An epoch comes in slices, and ``end_slice`` is called after each of them. At the end of an
epoch the runtime calls ``flush``, ``prepare_commit`` and ``snapshot_state``, in this order; then the writer continues
with the elements of the next epoch. The committables, which ``prepare_commit`` returns, travel to the driver. When
every
task has acknowledged the epoch and the epoch is recorded, the *committer* there makes the committables visible. A sink
without a committer writes in ``write``, ``end_slice`` or ``flush``. A plain ``Committer`` succeeds or raises; a
``RequestCommitter`` decides for each committable, as Flink's committers do, and may ask to be called again.

**Writers last**: a writer holds its connections, prepared statements and open files from epoch to epoch. It is closed
when the input has ended, after an error, and when its task moves or is restored from an earlier state; a new writer is
then made from the result of ``snapshot_state``. A run of a task may also be abandoned without notice and continue for a
while beside its successor: whatever a writer holds must be its own, under a unique name.

Flink's counterpart: ``org.apache.flink.api.connector.sink2`` (PyFlink cannot define sinks in Python).
"""

from __future__ import annotations

import copy
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self

    from millrace.common.functions import RuntimeContext
    from millrace.common.typeinfo import TypeInformation

__all__ = ["Committer", "NamedSink", "Sink", "SinkWriter", "SinkWriterContext", "WriterInitContext"]


T = TypeVar("T")
"""Type of the elements."""
CommT = TypeVar("CommT")
"""Type of a committable: any picklable value."""


class WriterInitContext(ABC):
    """The writer's view of the runtime. A writer may store this object and call it at any time.

    >>> class Named(SinkWriter):
    ...     def __init__(self, context):
    ...         self.file = f"part-{context.get_index_of_subtask()}"
    ...     def write(self, element, context):
    ...         print(self.file, element)
    >>> class Parts(Sink):
    ...     def create_writer(self, context):
    ...         return Named(context)
    >>> sink = env.from_collection(["a"]).sink_to(Parts())
    >>> result = env.execute()
    part-0 a
    """

    @abstractmethod
    def get_index_of_subtask(self) -> int:
        """The number of this subtask, from 0."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """How many subtasks the sink has."""

    @abstractmethod
    def get_job_id(self) -> str:
        """The id of the job."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """The epoch at the moment of the call. Numbers grow and are never used twice: a repeated epoch gets a new
        one."""

    def get_restored_checkpoint_id(self) -> int | None:
        """The number of the checkpoint or savepoint that the writer was restored from; None if it begins the job."""
        return None

    @abstractmethod
    def current_processing_time(self) -> int:
        """The task's clock, ms since the epoch."""

    def current_watermark(self) -> int:
        """The watermark (ms) at the moment of the call."""
        return -(2**63)

    def is_idle(self) -> bool:
        """Whether all inputs are idle at the moment of the call, so that this subtask does not hold the watermark
        back."""
        return False

    def get_runtime_context(self) -> RuntimeContext:
        """Metrics, accumulators, cached files and the rest of what functions can know."""
        raise NotImplementedError(f"{type(self).__name__} has no runtime context")


class SinkWriterContext(ABC):
    """The runtime's view of the current element.

    >>> sorted(SinkWriterContext.__abstractmethods__)
    ['current_watermark', 'timestamp']
    """

    @abstractmethod
    def timestamp(self) -> int | None:
        """The element's event timestamp in ms, None when it has none."""

    @abstractmethod
    def current_watermark(self) -> int:
        """The watermark of the sink, in ms since 1970."""


class SinkWriter(ABC, Generic[T]):
    """Writes the elements of one subtask, epoch after epoch.

    >>> class Show(SinkWriter):
    ...     def write(self, element, context):
    ...         print("written", element)
    >>> Show().write("a", None)
    written a
    """

    @abstractmethod
    def write(self, element: T, context: SinkWriterContext) -> None:
        """Write an element, or buffer it until ``flush``."""

    def flush(self, end_of_input: bool) -> None:
        """Write out buffered elements, because the epoch (with ``end_of_input`` the job) ends.

        >>> class Batch(SinkWriter):
        ...     def __init__(self):
        ...         self.rows = []
        ...     def write(self, element, context):
        ...         self.rows.append(element)
        ...     def flush(self, end_of_input):
        ...         print("written", self.rows)
        >>> writer = Batch()
        >>> writer.write("a", None)
        >>> writer.flush(True)
        written ['a']
        """

    def end_slice(self, now: int) -> None:
        """Write out elements that have waited for long enough, so that they become visible before the epoch ends.
        ``now`` is the task's clock (ms).

        Called often, also while nothing comes. The task's other operators wait meanwhile, so leave it to ``flush`` to
        wait until what is on its way is confirmed. What only the committer makes visible stays as it is. By default
        nothing happens: what is buffered waits for ``flush``.

            >>> class Batch(SinkWriter):
            ...     def __init__(self, clock):
            ...         self.clock, self.rows = clock, []
            ...     def write(self, element, context):
            ...         self.rows.append((self.clock(), element))
            ...     def end_slice(self, now):
            ...         if self.rows and now - self.rows[0][0] >= 100:
            ...             print("written", [element for _, element in self.rows])
            ...             self.rows = []
            >>> writer = Batch(clock=lambda: 5000)
            >>> writer.write("a", None)
            >>> writer.end_slice(5050)
            >>> writer.end_slice(5100)
            written ['a']
        """

    def prepare_commit(self) -> list[Any]:
        """The committables of this epoch; empty without a committer, and for an epoch without elements. The writer must
        not return or change them again."""
        return []

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        """The state from which ``Sink.restore_writer`` continues (picklable values). This writer continues, too, and
        must not invalidate what it returned: another writer may be restored from it at any time, while this one
        lives."""
        return []

    def close(self) -> None:
        """Release resources; called after success and after failure. Elements written since the last ``prepare_commit``
        are dropped."""


class Committer(ABC, Generic[CommT]):
    """Makes committables visible, on the driver. Must be idempotent: a commit may be repeated after a crash.

    With checkpointing, committables wait until the checkpoint that covers them is recorded; without, until their epoch
    is.

        >>> class Rename(Committer):
        ...     def commit(self, committables):
        ...         print("renamed", committables)
        >>> Rename().commit(["part-1"])
        renamed ['part-1']
    """

    def begin(self) -> None:
        """A job starts without any state, and none of its tasks runs yet: discard what dead jobs have left where this
        sink writes. By default nothing is discarded."""

    def before_recorded(self, committables: Sequence[CommT]) -> Sequence[CommT]:
        """Called before a checkpoint records all waiting committables, after which they count as written. Committables
        that may not remain valid for long enough can be replaced by new ones.

        :returns: what is recorded, and given to ``commit``, in place of ``committables``.
        """
        return committables

    @abstractmethod
    def commit(self, committables: Sequence[CommT]) -> Sequence[CommT] | None:
        """Make the committables visible.

        :returns: committables that have to wait for a later call, which gets them again; None for none. They are stored
            in
            checkpoints and savepoints.
        """

    def abort(self, committables: Sequence[CommT]) -> None:
        """Discard committables of an epoch that failed before it was recorded."""

    def recover(self, job_id: str, committables: Sequence[CommT], states: Sequence[Any]) -> None:
        """The job is restored from a checkpoint, or from its last epoch after a failure, or it ends. No task runs at
        this moment.

        ``committables`` are all that still wait: those in the checkpoint and, if the driver has survived, those of
        later
        completed epochs. ``commit`` is called with them after this; some may be committed already. ``states`` are the
        results
        of the writers' ``snapshot_state`` at that moment. At the end of a job that failed or was cancelled, both are
        those in
        the checkpoints and savepoints that stay. Abort everything else that the job ``job_id`` has prepared with this
        sink.
        """

    def sweep(self, job_id: str, epoch: int, committables: Sequence[CommT], states: Sequence[Any]) -> None:
        """Abort what abandoned runs of tasks have prepared (Spark may run a task twice, or take it for lost). Called
        now and then; ``epoch`` is the last epoch that was recorded. Later epochs may run at this moment.

        To be aborted is what ``job_id`` prepared with this sink in epochs up to ``epoch`` and what is neither in
        ``committables`` (all that still wait) nor in ``states`` (of the writers, at the end of ``epoch``). What later
        epochs have prepared stays: it belongs to the epoch that runs, or to another driver that has taken this one for
        dead. An error is logged, and does not fail the job. By default nothing is done: ``recover`` aborts it.
        """

    def close(self) -> None:
        """Called at the end of the job."""


class Sink(ABC, Generic[T]):
    """A sink of elements; see the module docstring. Instances are pickled into every task.

    >>> class Show(SinkWriter):
    ...     def write(self, element, context):
    ...         print("written", element)
    >>> class Out(Sink):
    ...     def create_writer(self, context):
    ...         return Show()
    >>> sink = env.from_collection(["a"]).sink_to(Out())
    >>> result = env.execute()
    written a
    """

    reports_each_epoch: bool = False
    """whether every subtask has a writer in every epoch, also without elements and after the end of its input: for
    sinks whose committer needs watermarks"""

    def for_input_type(self, type_info: TypeInformation) -> Sink[T]:
        """This sink for a stream of that element type, for sinks that write typed values in another form."""
        return self

    def for_operator(self, uid: str) -> Sink[T]:
        """This sink for the operator ``uid``. Sinks that name what they prepare need it: two sinks of a job may write
        to the same place, and must not take each other's data for their own."""
        return self

    @abstractmethod
    def create_writer(self, context: WriterInitContext) -> SinkWriter[T]:
        """The writer of one subtask."""

    def restore_writer(self, context: WriterInitContext, states: Sequence[Any]) -> SinkWriter[T]:
        """A writer that continues from the ``snapshot_state`` of the epoch before; if the parallelism has changed, it
        gets other writers' states. The writers that returned them may be alive, and writing."""
        return self.create_writer(context)

    def create_committer(self) -> Committer[Any] | None:
        """The committer, None for a sink whose writer makes everything visible itself.

        >>> class Kept(SinkWriter):
        ...     def __init__(self):
        ...         self.rows = []
        ...     def write(self, element, context):
        ...         self.rows.append(element)
        ...     def prepare_commit(self):
        ...         rows, self.rows = self.rows, []
        ...         return [rows]
        >>> class Shown(Committer):
        ...     def commit(self, committables):
        ...         print("committed", committables)
        >>> class Out(Sink):
        ...     def create_writer(self, context):
        ...         return Kept()
        ...     def create_committer(self):
        ...         return Shown()
        >>> sink = env.from_collection(["a", "b"]).sink_to(Out())
        >>> result = env.execute()
        committed (['a', 'b'],)
        """
        return None


class NamedSink(Sink[T]):
    """A sink that knows its job and operator, and includes them in the names of what it prepares.

    >>> issubclass(NamedSink, Sink)
    True
    """

    _uid = ""

    def for_operator(self, uid: str) -> Self:
        named = copy.copy(self)
        named._uid = uid
        return named


# Committers that answer for each committable

logger = logging.getLogger(__name__)


class CommitRequest(Generic[CommT]):
    """One committable to be committed. It counts as committed unless a method of the request is called."""

    def __init__(self, committable: CommT, number_of_retries: int = 0) -> None:
        self._committable = committable
        self._retries = number_of_retries
        self._again: list[CommitRequest[CommT]] = []

    def get_committable(self) -> CommT:
        return self._committable

    def get_number_of_retries(self) -> int:
        """How often this committable was retried before; 0 for the first time."""
        return self._retries

    def signal_already_committed(self) -> None:
        """Report that the committable was committed before, which is fine: a commit may be repeated after a failure."""
        logger.info("already committed: %s", self._committable)

    def signal_failed_with_known_reason(self, error: BaseException) -> None:
        """Report that the committable can never be committed, and that this is acceptable: its elements are **lost**,
        the job continues."""
        logger.error("given up, its elements are lost: %s", self._committable, exc_info=error)

    def signal_failed_with_unknown_reason(self, error: BaseException) -> None:
        """Report that the committable can't be committed: the job fails.

        :raises RuntimeError: always.
        """
        raise RuntimeError(f"failed to commit {self._committable}") from error

    def retry_later(self) -> None:
        """Ask to be called again with this committable after a while."""
        self.update_and_retry_later(self._committable)

    def update_and_retry_later(self, committable: CommT) -> None:
        """Ask to be called again with another committable in place of this one, for the part that is not committed yet.
        If the driver dies meanwhile, the original one comes again."""
        self._again = [CommitRequest(committable, self._retries + 1)]


class RequestCommitter(Committer[CommT]):
    """A committer that decides for each committable. Implement ``commit_requests``. Retries happen at once, after a
    pause: no epoch begins until they have succeeded."""

    max_retries = 10
    """largest number of retries of a committable; one more request to retry it fails the job"""
    retry_delay_ms = 1000

    @abstractmethod
    def commit_requests(self, requests: Sequence[CommitRequest[CommT]]) -> None:
        """Commit the requests; call a ``signal`` or ``retry`` method of each request that is not simply committed."""

    def commit(self, committables: Sequence[CommT]) -> None:
        """:raises RuntimeError: a committable is still to be retried after ``max_retries``."""
        requests = [CommitRequest(committable) for committable in committables]
        while requests:
            self.commit_requests(requests)
            requests = [again for request in requests for again in request._again]
            if requests and requests[0]._retries > self.max_retries:
                raise RuntimeError(
                    f"{len(requests)} committables could not be committed in {self.max_retries} retries, first: "
                    f"{requests[0].get_committable()}"
                )
            if requests:
                time.sleep(self.retry_delay_ms / 1000)
