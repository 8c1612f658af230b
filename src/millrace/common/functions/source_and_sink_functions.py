"""Sources and sinks as plain Python classes: the small contracts behind ``add_source`` and ``add_sink``, and
``TwoPhaseCommitSinkFunction`` for exactly-once sinks into stores with transactions that outlive a connection.

PyFlink can only wrap Java classes here. For splits, checkpointed positions or transactions implement
``millrace.common.source.Source`` and ``millrace.common.sink.Sink`` instead.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

from millrace.common.functions.function_base import Function

T = TypeVar("T")
"""Type of the elements."""
T2 = TypeVar("T2")
"""Type of the elements, within a context."""


def _java_error(name: str, method: str, args: tuple[Any, ...]) -> TypeError:
    return TypeError(
        f"{name} cannot wrap a Java class ({args[0]!r}): there is no Flink JVM. "
        f"Subclass {name} and implement {method} in Python, or use a connector."
    )


class SourceFunction(Function, Generic[T]):
    """A source that emits elements until it is cancelled, or has no more.

        >>> class Letters(SourceFunction):
        ...     def run(self, ctx):
        ...         for letter in "ab":
        ...             ctx.collect(letter)
        ...     def cancel(self):
        ...         pass
        >>> list(env.add_source(Letters()).execute_and_collect())
        ['a', 'b']

    :raises TypeError: called with an argument, which in PyFlink names a Java class.
    """

    emits_same_elements = False
    """Whether ``run`` emits the same elements in the same order each time that it starts. Then as many as were read are
    skipped when it starts again, after a failure or from a savepoint; else all are emitted."""

    class SourceContext(ABC, Generic[T2]):
        """Where a source puts its elements."""

        @abstractmethod
        def collect(self, element: T2) -> None:
            """Emit an element without a timestamp."""

        @abstractmethod
        def collect_with_timestamp(self, element: T2, timestamp: int) -> None:
            """Emit an element with its event timestamp, ms since the epoch."""

        @abstractmethod
        def emit_watermark(self, timestamp: int) -> None:
            """Declare that no element with this timestamp (ms) or an earlier one follows."""

        @abstractmethod
        def mark_as_temporarily_idle(self) -> None:
            """Declare that no element is expected for now, so that event time goes on without this source."""

        def get_checkpoint_lock(self) -> AbstractContextManager[Any]:
            """For ``with``: no state is taken meanwhile. A CheckpointedFunction emits and moves on under it."""
            return nullcontext()

    def __new__(cls, *args: Any, **kwargs: Any) -> SourceFunction[T]:
        if cls is SourceFunction and (args or kwargs):
            raise _java_error("SourceFunction", "run(ctx)", (*args, *kwargs.values()))
        return super().__new__(cls)

    @abstractmethod
    def run(self, ctx: SourceFunction.SourceContext[T]) -> None:
        """Emit elements through ``ctx``. Returning ends the source."""

    def cancel(self) -> None:
        """Make ``run`` return soon. Called from another thread."""


class ParallelSourceFunction(SourceFunction[T], Generic[T]):
    """A source function that runs in every subtask, each with an instance of its own (Java's name; also for what Java
    calls ``RichParallelSourceFunction``). ``open`` tells each which one it is.

        >>> class Numbers(ParallelSourceFunction):
        ...     def run(self, ctx):
        ...         for number in range(2):
        ...             ctx.collect(number)
        >>> list(env.add_source(Numbers()).execute_and_collect())
        [0, 1]
    """


class SinkFunction(Function, Generic[T]):
    """A sink that is handed one element at a time.

        >>> class Show(SinkFunction):
        ...     def invoke(self, value, context=None):
        ...         print("seen:", value)
        >>> sink = env.from_collection(["a"]).add_sink(Show())
        >>> result = env.execute()
        seen: a

    :raises TypeError: called with an argument, which in PyFlink names a Java class.
    """

    class Context(ABC):
        """Time and the element's timestamp; valid only during the call."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The wall clock of the task, ms."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The event time that the sink has reached, ms."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The element's event timestamp in ms, None if it has none."""

    def __new__(cls, *args: Any, **kwargs: Any) -> SinkFunction[T]:
        if cls is SinkFunction and (args or kwargs):
            raise _java_error("SinkFunction", "invoke(value, context)", (*args, *kwargs.values()))
        return super().__new__(cls)

    @abstractmethod
    def invoke(self, value: T, context: SinkFunction.Context) -> None:
        """Write one element. After a recovery it may be handed in again."""

    def finish(self) -> None:
        """The input has ended: write out what is buffered. Not called when the job fails or is cancelled.

        >>> class Counted(SinkFunction):
        ...     seen = 0
        ...     def invoke(self, value, context=None):
        ...         self.seen += 1
        ...     def finish(self):
        ...         print(self.seen, "elements")
        >>> sink = env.from_collection(["a", "b"]).add_sink(Counted())
        >>> result = env.execute()
        2 elements
        """


# Two-phase commit

TXN = TypeVar("TXN")
"""Type of the transaction handle: any picklable value by which another process finds the transaction."""

_NAME = re.compile(r"[0-9a-f]{16}-\d+-\d+-[0-9a-f]{12}")


class TwoPhaseCommitSinkFunction(SinkFunction[T], Generic[T, TXN]):
    """A sink that writes each epoch of a subtask in one transaction of its store. Used with ``add_sink``.

    In the task: ``open``; in each epoch ``begin_transaction`` before the first element, ``invoke`` for each,
    ``pre_commit`` at its end; ``close``. An epoch without elements has no transaction. What ``open`` has connected
    stays for all epochs; a transaction that was pre-committed no longer belongs to the task.

    On the driver, on another copy of the function on which ``open`` was not called: ``open_committer``, then
    ``commit`` when the checkpoint that covers the epoch is recorded (without checkpointing: when the epoch is), or
    ``abort`` when the epoch failed. After a failure the driver first commits what counts with ``recover_and_commit``
    and aborts what does not.

    **After ``pre_commit`` the store must keep the transaction over the death of every client, and ``commit`` must do no
    harm when it comes again**: the driver may die between the two, or right after a commit.

    A task that is killed cannot report its transaction. A store that can list its open transactions should do
    so in ``list_open_transactions``; one that cannot must let them time out, or take them back (fence them) when a
    transaction of the same name is begun.

        >>> class Files(TwoPhaseCommitSinkFunction):
        ...     def begin_transaction(self):
        ...         return []
        ...     def invoke(self, transaction, value, context=None):
        ...         transaction.append(value)
        ...     def pre_commit(self, transaction):
        ...         pass
        ...     def commit(self, transaction):
        ...         print("committed", transaction)
        ...     def abort(self, transaction):
        ...         pass
    """

    _name: str | None = None
    _timeout: int | None = None
    _warning_ratio: float | None = None
    _ignores_failures = False

    # -- in the task --------------------------------------------------------------------------------------------

    @abstractmethod
    def begin_transaction(self) -> TXN:
        """Begin a transaction; its handle. ``transaction_name()`` may serve as its name."""

    @abstractmethod
    def invoke(self, transaction: TXN, value: T, context: SinkFunction.Context) -> None:  # type: ignore[override]
        """Write one element within the transaction."""

    @abstractmethod
    def pre_commit(self, transaction: TXN) -> None:
        """The epoch ends: write out what is buffered, so that ``commit`` can do no more than succeed."""

    def finish_processing(self, transaction: TXN | None) -> None:
        """The input has ended; ``pre_commit`` follows. None: the epoch had no elements. Takes the place of
        ``finish``."""

    def transaction_name(self) -> str:
        """A name for the transaction that is being begun, of letters, digits and ``-``. No other has it, in no job;
        all of one sink of one job begin alike.

        :raises RuntimeError: outside ``begin_transaction``.
        """
        if self._name is None:
            raise RuntimeError("transaction_name() has a name only while begin_transaction() runs")
        return self._name

    # -- on the driver ------------------------------------------------------------------------------------------

    def open_committer(self) -> None:
        """Called once on the driver, before the first of the methods below."""

    def close_committer(self) -> None:
        """Called on the driver at the end of the job, after success and failure, if ``open_committer`` was."""

    @abstractmethod
    def commit(self, transaction: TXN) -> None:
        """Make the transaction visible; nothing to do if it is already."""

    @abstractmethod
    def abort(self, transaction: TXN) -> None:
        """Take the transaction back; nothing to do if it is unknown. Also called in the task whose epoch failed."""

    def recover_and_commit(self, transaction: TXN) -> None:
        """``commit`` after a failure: the transaction may be committed already."""
        self.commit(transaction)

    def recover_and_abort(self, transaction: TXN) -> None:
        """``abort`` after a failure, of a transaction that ``list_open_transactions`` has found."""
        self.abort(transaction)

    def list_open_transactions(self, name_prefix: str) -> Iterable[TXN]:
        """Handles of all transactions in the store whose names begin so and that are neither committed nor aborted.

        Asked after a failure, before anything runs, at the end of the job, and now and then between two epochs. Those
        that do not wait for their commit are aborted; they are compared with ``==``. By default none: a killed task's
        transaction then stays open until it times out.
        """
        return ()

    def name_of(self, transaction: TXN) -> str | None:
        """The ``transaction_name()`` with which a transaction was begun, as far as its handle tells. By default handles
        that are text are searched for it. None: unless the job fails or ends, nothing takes back this transaction if it
        turns out that it belongs to a run of a task that was never acknowledged."""
        match = _NAME.search(transaction) if isinstance(transaction, str) else None
        return None if match is None else match.group()

    # -- settings -----------------------------------------------------------------------------------------------

    def set_transaction_timeout(self, transaction_timeout: int) -> TwoPhaseCommitSinkFunction[T, TXN]:
        """Tell after how many ms the store takes back a transaction by itself. This does not make it do so; the two
        settings below need to know."""
        if transaction_timeout <= 0:
            raise ValueError(f"a transaction timeout is a positive number of ms, got {transaction_timeout}")
        self._timeout = transaction_timeout
        return self

    def enable_transaction_timeout_warnings(self, warning_ratio: float) -> TwoPhaseCommitSinkFunction[T, TXN]:
        """Log a warning about each transaction that is older than this part of the timeout when it is committed."""
        if not 0 <= warning_ratio <= 1:
            raise ValueError(f"the warning ratio lies between 0 and 1, got {warning_ratio}")
        self._warning_ratio = warning_ratio
        return self

    def ignore_failures_after_transaction_timeout(self) -> TwoPhaseCommitSinkFunction[T, TXN]:
        """After a recovery, log an error instead of failing when a transaction that is older than the timeout can't be
        committed. **Its elements are lost**; without this the job can't recover at all."""
        self._ignores_failures = True
        return self
