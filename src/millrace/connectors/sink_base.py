"""What sinks share beside the FLIP-143 contract: delivery guarantees, names of what an epoch prepares, the time that
writers may gather elements, connections that outlive an epoch, ``UpsertSink`` for stores with one row per key, sinks
under other names.

A name of what is prepared tells its owner (job and uid), so that a recovery takes back nothing of another job.
"""

from __future__ import annotations

import copy
import enum
import hashlib
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Generic, Protocol, TypeVar

from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.types import Row, RowKind


class DeliveryGuarantee(enum.Enum):
    """What a sink promises when a job fails and is started again from its last checkpoint.

    >>> DeliveryGuarantee.EXACTLY_ONCE.name
    'EXACTLY_ONCE'
    """

    EXACTLY_ONCE = 0
    """Every element is visible once."""
    AT_LEAST_ONCE = 1
    """Every element is visible, some perhaps twice."""
    NONE = 2
    """Elements may be lost or appear twice."""


class StreamTransformer(ABC):
    """Changes a stream on its way into a sink.

    >>> class Upper(StreamTransformer):
    ...     def apply(self, ds):
    ...         return ds.map(str.upper)
    >>> list(Upper().apply(env.from_collection(["a"])).execute_and_collect())
    ['A']
    """

    @abstractmethod
    def apply(self, ds: Any) -> Any:
        """The transformed ``DataStream``."""


class SupportsPreprocessing(ABC):
    """A sink whose input has to go through a ``StreamTransformer`` first.

    >>> sorted(SupportsPreprocessing.__abstractmethods__)
    ['get_transformer']
    """

    @abstractmethod
    def get_transformer(self) -> StreamTransformer | None:
        """What is done with the stream before it is written; None: nothing."""


def owner_of(job_id: str, uid: str) -> str:
    """What the names of one sink of one job begin with: of fixed length, the same in every process and attempt."""
    return hashlib.sha256(f"{job_id}\0{uid}".encode()).hexdigest()[:16]


def prepared_name(context: WriterInitContext, uid: str) -> str:
    """A name for what a writer prepares in this epoch.

    The random part makes it unique even if Spark runs a task twice, or if a job goes on from an old checkpoint and
    counts its epochs from there again.
    """
    owner = owner_of(context.get_job_id(), uid)
    return f"{owner}-{context.get_checkpoint_id()}-{context.get_index_of_subtask()}-{uuid.uuid4().hex[:12]}"


def epoch_of_name(name: str) -> int:
    """The epoch in which a writer prepared what has this name."""
    return int(name.split("-")[1])


WAIT_MS = 100
"""Where nothing else is said: about as long as an epoch without checkpoints, and long enough to bring much together."""


class Patience:
    """Since when the first element waits, by the task's clock, which ``end_slice`` goes by.

    :param clock: ms.
    :param millis: how long it may wait; None: for ever.
    """

    __slots__ = ("_clock", "_millis", "_since")

    def __init__(self, clock: Callable[[], int], millis: float | None = WAIT_MS) -> None:
        self._clock = clock
        self._millis = millis
        self._since: int | None = None

    def begin(self) -> None:
        """An element waits, perhaps as the first one."""
        if self._since is None:
            self._since = self._clock()

    def end(self) -> None:
        """No element waits any more."""
        self._since = None

    def is_over(self, now: int | None = None) -> bool:
        """Whether an element has waited for long enough.

        :param now: what the clock says, if that is known.
        """
        if self._since is None or self._millis is None:
            return False
        passed = (self._clock() if now is None else now) - self._since
        return not 0 <= passed < self._millis  # a clock that was put back does not make anything wait longer


class Closeable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=Closeable)


class PersistentConnection(Generic[C]):
    """Opened when it is first used. One that fails at its first use after ``settled``, because the other side has
    closed it meanwhile, is replaced once."""

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._connection: C | None = None
        self._proven = False
        """whether it has done something that is not settled"""

    def use(self, work: Callable[[C], None]) -> None:
        aged = self._connection is not None and not self._proven
        if self._connection is None:
            self._connection = self._connect()
        try:
            work(self._connection)
        except Exception:
            if not aged:
                raise
            with suppress(Exception):
                self.close()
            self._connection = self._connect()
            work(self._connection)
        self._proven = True

    def settled(self) -> C | None:
        """The connection, if it was used since the last call: what it has done shall be for good now."""
        used, self._proven = self._proven, False
        return self._connection if used else None

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


T = TypeVar("T")

_DELETIONS = (RowKind.DELETE, RowKind.UPDATE_BEFORE)


def is_deletion(element: Any) -> bool:
    """Whether a row takes something back: by its kind, DELETE or UPDATE_BEFORE. Other elements never do.

    UPDATE_BEFORE counts, since the new row may have another key; if it has not, the UPDATE_AFTER that follows wins.
    """
    return isinstance(element, Row) and element.get_row_kind() in _DELETIONS


def last_per_key(elements: Iterable[T], key_of: Callable[[T], Hashable]) -> dict[Hashable, T]:
    """The last element of each key."""
    return {key_of(element): element for element in elements}


class UpsertTable(ABC, Generic[T]):
    """A connection to the store, in a task."""

    @abstractmethod
    def apply(self, upserts: Sequence[T], deletes: Sequence[Any]) -> None:
        """Write elements, and delete keys; no key occurs twice. When this returns, the store has it for good."""

    def close(self) -> None:
        """Release the connection; called after success and after failure."""


class UpsertSink(Sink[T], Generic[T]):
    """Writes the last element of each key at the end of an epoch, and within it when one has waited for 100 ms. Let the
    stream be keyed the same way, or have parallelism 1: only then do changes of a key keep their order.

    An epoch that is repeated after a failure writes the same keys again. Once it is through, the store holds what it
    would hold without the failure; meanwhile a key may go back to an older value.

    :param batch_size: write at once when so many keys have changed.
    """

    def __init__(self, batch_size: int = 10_000) -> None:
        self._batch_size = batch_size

    @abstractmethod
    def key_of(self, element: T) -> Hashable:
        """The element's key in the store."""

    def is_deletion(self, element: T) -> bool:
        """Whether the element's key is to be deleted."""
        return is_deletion(element)

    @abstractmethod
    def open_table(self) -> UpsertTable[T]:
        """Connect to the store. The table stays open from epoch to epoch; one that fails at its first ``apply`` of an
        epoch, because the store has closed the connection meanwhile, is replaced once."""

    def create_writer(self, context: WriterInitContext) -> _UpsertWriter[T]:
        return _UpsertWriter(self, self._batch_size, Patience(context.current_processing_time))


class _UpsertWriter(SinkWriter[T]):
    def __init__(self, sink: UpsertSink[T], batch_size: int, patience: Patience) -> None:
        self._sink = sink
        self._patience = patience
        self._key_of = sink.key_of
        self._batch_size = batch_size
        self._changes: dict[Hashable, T] = {}
        self._kept = PersistentConnection(sink.open_table)

    def write(self, element: T, context: SinkWriterContext) -> None:
        self._patience.begin()
        self._changes[self._key_of(element)] = element
        if len(self._changes) >= self._batch_size:
            self._apply()

    def end_slice(self, now: int) -> None:
        if self._patience.is_over(now):
            self._write_all()

    def flush(self, end_of_input: bool) -> None:
        self._write_all()

    def _write_all(self) -> None:
        if self._changes:
            self._apply()
        self._patience.end()
        self._kept.settled()

    def _apply(self) -> None:
        changes, self._changes = self._changes, {}
        deletes = [key for key, element in changes.items() if self._sink.is_deletion(element)]
        upserts = [element for element in changes.values() if not self._sink.is_deletion(element)]
        self._kept.use(lambda table: table.apply(upserts, deletes))

    def close(self) -> None:
        self._kept.close()


class DelegatingSink(Sink[Any]):
    """Does what ``_sink`` does."""

    _sink: Sink[Any]

    def for_operator(self, uid: str) -> DelegatingSink:
        named = copy.copy(self)
        named._sink = self._sink.for_operator(uid)
        return named

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        return self._sink.create_writer(context)

    def create_committer(self) -> Committer[Any] | None:
        return self._sink.create_committer()
