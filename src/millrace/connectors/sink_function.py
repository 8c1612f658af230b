"""A user's ``SinkFunction`` or ``TwoPhaseCommitSinkFunction`` as a FLIP-143 sink; the transactions of the latter are
the committables.
"""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millrace.common.sink import Committer, NamedSink, Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.sink_base import epoch_of_name, owner_of, prepared_name

if TYPE_CHECKING:
    from millrace.common.functions import SinkFunction, TwoPhaseCommitSinkFunction


T = TypeVar("T")


class SinkFunctionSink(Sink[T], Generic[T]):
    """Hands each element to ``sink_function.invoke(value, context)``.

    A copy of the function serves one subtask: ``open`` before the first element, ``finish`` at the end of the input,
    ``close`` after it, after a failure, and when the subtask moves. A repeated epoch invokes again: at least once.

    A ``CheckpointedFunction`` needs an operator that keeps its state: ``add_sink`` gives it one, this raises TypeError.
    """

    def __init__(self, sink_function: SinkFunction[T]) -> None:
        from millrace.common.functions import CheckpointedFunction

        if isinstance(sink_function, CheckpointedFunction):
            name = type(sink_function).__name__
            raise TypeError(f"{name} is a CheckpointedFunction: use add_sink(), which keeps its state")
        self._function = sink_function

    def create_writer(self, context: WriterInitContext) -> SinkWriter[T]:
        return _FunctionWriter(self._function, context)

    def __repr__(self) -> str:
        return f"SinkFunctionSink({type(self._function).__name__})"


class _FunctionWriter(SinkWriter[T]):
    def __init__(self, function: SinkFunction[T], context: WriterInitContext) -> None:
        from millrace.common.functions.callables import invoke_of

        self._function = function
        self._invoke = invoke_of(function)
        self._context = sink_context(context)
        open_ = getattr(function, "open", None)
        if open_ is not None:
            open_(context.get_runtime_context())

    def write(self, element: T, context: SinkWriterContext) -> None:
        self._context.writer_context = context
        self._invoke(element, self._context)

    def flush(self, end_of_input: bool) -> None:
        if end_of_input:
            self._function.finish()

    def close(self) -> None:
        close = getattr(self._function, "close", None)
        if close is not None:
            close()


def sink_context(context: WriterInitContext) -> Any:
    """A ``SinkFunction.Context``. Its class is made late: ``millrace.datastream`` imports the connectors."""
    from millrace.common.functions import SinkFunction

    class Context(SinkFunction.Context):
        writer_context: SinkWriterContext

        def current_processing_time(self) -> int:
            return context.current_processing_time()

        def current_watermark(self) -> int:
            return self.writer_context.current_watermark()

        def timestamp(self) -> int | None:
            return self.writer_context.timestamp()

    return Context()


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PreparedTransaction:
    """A transaction that waits for its commit."""

    name: str
    handle: Any
    begun: int
    """ms since the epoch"""


class TwoPhaseCommitSink(NamedSink[T], Generic[T]):
    """Runs the function in the tasks, and a copy of it on the driver for commit and abort.

    :raises TypeError: the function is a CheckpointedFunction as well, which would need a place for its state.
    """

    def __init__(self, function: TwoPhaseCommitSinkFunction[T, Any]) -> None:
        from millrace.common.functions import CheckpointedFunction

        if isinstance(function, CheckpointedFunction):
            raise TypeError(
                f"{type(function).__name__} is a TwoPhaseCommitSinkFunction and a CheckpointedFunction: its "
                f"transactions are all the state it can have. Keep other state in an operator before the sink"
            )
        self._function = function

    def create_writer(self, context: WriterInitContext) -> _TransactionWriter[T]:
        return _TransactionWriter(self._function, context, self._uid)

    def create_committer(self) -> _TransactionCommitter:
        # A copy: connections that it opens must not get into what is pickled for the tasks.
        return _TransactionCommitter(copy.copy(self._function), self._uid)

    def __repr__(self) -> str:
        return f"TwoPhaseCommitSink({type(self._function).__name__})"


class _TransactionWriter(SinkWriter[T]):
    def __init__(self, function: TwoPhaseCommitSinkFunction[T, Any], context: WriterInitContext, uid: str) -> None:
        self._function = function
        self._init_context = context
        self._uid = uid
        self._context = sink_context(context)
        self._transaction: PreparedTransaction | None = None
        function.open(context.get_runtime_context())

    def write(self, element: T, context: SinkWriterContext) -> None:
        transaction = self._transaction or self._begin()
        self._context.writer_context = context
        self._function.invoke(transaction.handle, element, self._context)

    def _begin(self) -> PreparedTransaction:
        name = prepared_name(self._init_context, self._uid)
        begun = self._init_context.current_processing_time()
        self._function._name = name
        try:
            handle = self._function.begin_transaction()
        finally:
            self._function._name = None
        self._transaction = PreparedTransaction(name, handle, begun)
        return self._transaction

    def flush(self, end_of_input: bool) -> None:
        if end_of_input:
            self._function.finish_processing(None if self._transaction is None else self._transaction.handle)

    def prepare_commit(self) -> list[PreparedTransaction]:
        prepared = self._transaction
        if prepared is None:
            return []
        self._function.pre_commit(prepared.handle)
        self._transaction = None
        return [prepared]

    def close(self) -> None:
        open_, self._transaction = self._transaction, None
        try:
            if open_ is not None:  # the epoch failed here
                self._function.abort(open_.handle)
        except Exception:
            # What made the epoch fail is the better news.
            logger.warning("transaction %s of a failed epoch could not be aborted", open_, exc_info=True)
        finally:
            self._function.close()


class _TransactionCommitter(Committer[PreparedTransaction]):
    def __init__(self, function: TwoPhaseCommitSinkFunction[Any, Any], uid: str) -> None:
        self._function = function
        self._uid = uid
        self._opened = False
        self._recovered: frozenset[str] = frozenset()

    def _open(self) -> TwoPhaseCommitSinkFunction[Any, Any]:
        if not self._opened:
            self._function.open_committer()
            self._opened = True
        return self._function

    def commit(self, committables: Sequence[PreparedTransaction]) -> None:
        for transaction in committables:
            age = int(time.time() * 1000) - transaction.begun
            self._warn_of_timeout(transaction, age)
            if transaction.name in self._recovered:
                self._recover_and_commit(transaction, age)
            else:
                self._open().commit(transaction.handle)

    def _recover_and_commit(self, transaction: PreparedTransaction, age: int) -> None:
        function = self._open()
        try:
            function.recover_and_commit(transaction.handle)
        except Exception:
            if not function._ignores_failures or function._timeout is None or age <= function._timeout:
                raise
            logger.error(
                "transaction %s began %d ms ago, its timeout is %d ms, and it can't be committed: its elements are "
                "lost",
                transaction.handle,
                age,
                function._timeout,
                exc_info=True,
            )

    def _warn_of_timeout(self, transaction: PreparedTransaction, age: int) -> None:
        ratio, timeout = self._function._warning_ratio, self._function._timeout
        if ratio is not None and timeout is not None and age > ratio * timeout:
            logger.warning(
                "transaction %s began %d ms ago when it was to be committed; its timeout is %d ms",
                transaction.handle,
                age,
                timeout,
            )

    def abort(self, committables: Sequence[PreparedTransaction]) -> None:
        for transaction in committables:
            self._open().abort(transaction.handle)

    def recover(self, job_id: str, committables: Sequence[PreparedTransaction], states: Sequence[Any]) -> None:
        self._recovered = frozenset(transaction.name for transaction in committables)
        waiting = [transaction.handle for transaction in committables]
        function = self._open()
        for handle in list(function.list_open_transactions(f"{owner_of(job_id, self._uid)}-")):
            if handle not in waiting:
                function.recover_and_abort(handle)

    def sweep(
        self, job_id: str, epoch: int, committables: Sequence[PreparedTransaction], states: Sequence[Any]
    ) -> None:
        owner = f"{owner_of(job_id, self._uid)}-"
        waiting = [transaction.handle for transaction in committables]
        function = self._open()
        for handle in list(function.list_open_transactions(owner)):
            name = function.name_of(handle)
            if handle not in waiting and name is not None and epoch_of_name(name) <= epoch:
                function.recover_and_abort(handle)

    def close(self) -> None:
        if self._opened:
            self._opened = False
            self._function.close_committer()
