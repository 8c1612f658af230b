"""Exactly once by transactions that the database prepares: rows go straight there, and not through the driver."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from millrace.common.functions import SinkFunction, TwoPhaseCommitSinkFunction
from millrace.common.sink import Sink
from millrace.connectors.dbapi.changes import Change
from millrace.connectors.dbapi.connection import param_style
from millrace.connectors.dbapi.exactly_once import CommitTable
from millrace.connectors.jdbc.preparing import preparing
from millrace.connectors.jdbc.sink import Database
from millrace.connectors.two_phase_commit import TwoPhaseCommitSink

T = TypeVar("T")
WAITING = 500
"""elements that are written together"""


def two_phase_sink(database: Database, change: Change[T], commit_table: str) -> Sink[T]:
    """:raises ValueError: the database has no such transactions."""
    return TwoPhaseCommitSink(PreparedTransactions(database, change, commit_table))


class PreparedTransactions(TwoPhaseCommitSinkFunction[T, str], Generic[T]):
    """Each transaction writes its name into a table as well. So when none is prepared that should be, it is known
    whether it was committed before or is lost."""

    def __init__(self, database: Database, change: Change[T], commit_table: str) -> None:
        self._database = database
        self._change = change
        self._commit_table = commit_table
        self._preparing = preparing(database.dialect)
        self._connection: Any = None
        self._marks: CommitTable | None = None
        self._begun: str | None = None
        self._waiting: list[T] = []

    # -- in the task

    def begin_transaction(self) -> str:
        name = self.transaction_name()
        self._connect()
        self._preparing.begin(self._connection, name)
        self._begun = name
        assert self._marks is not None
        self._marks.add(name)
        return name

    def invoke(self, transaction: str, value: T, context: SinkFunction.Context) -> None:  # type: ignore[override]
        self._waiting.append(value)
        if len(self._waiting) >= WAITING:
            self._apply()

    def _apply(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._change.apply(self._connection, waiting)

    def pre_commit(self, transaction: str) -> None:
        self._apply()
        self._preparing.prepare(self._connection, transaction)
        self._begun = None
        self._disconnect()

    def close(self) -> None:
        self._disconnect()

    # -- on the driver

    def open_committer(self) -> None:
        self._connect()

    def close_committer(self) -> None:
        self._disconnect()

    def commit(self, transaction: str) -> None:
        """:raises RuntimeError: the transaction was prepared, and has been rolled back since."""
        if not self._end(transaction, "COMMIT") and not self._is_marked(transaction):
            raise RuntimeError(
                f"{self._database.dialect.title} at {self._database.target.place} no longer has the prepared "
                f"transaction '{transaction}', and it was not committed: its rows are lost"
            )

    def abort(self, transaction: str) -> None:
        if self._begun == transaction:  # in the task, before it was prepared
            self._waiting = []
            self._begun = None
            self._disconnect()
        else:
            self._end(transaction, "ROLLBACK")

    def list_open_transactions(self, name_prefix: str) -> Iterable[str]:
        return self._again(lambda: self._preparing.names(self._connection, name_prefix))  # type: ignore[no-any-return]

    def _end(self, transaction: str, how: str) -> bool:
        return bool(self._again(lambda: self._preparing.end(self._connection, transaction, how)))

    def _is_marked(self, transaction: str) -> bool:
        return self._marks is not None and self._marks.has(transaction)

    # -- both

    def _again(self, work: Any) -> Any:
        """On a new connection if the one at hand is lost, which is idle for long times."""
        aged = self._connection is not None
        self._connect()
        try:
            return work()
        except Exception as error:
            if not aged or not self._database.dialect.is_passing(error):
                raise
        self._disconnect()
        self._connect()
        return work()

    def _connect(self) -> None:
        if self._connection is None:
            connection = self._database()
            try:
                self._preparing.check(connection)
                table = self._database.dialect.table(self._commit_table)
                self._marks = CommitTable(connection, table, param_style(connection))
            except BaseException:
                connection.close()
                raise
            self._connection = connection

    def _disconnect(self) -> None:
        connection, self._connection, self._marks = self._connection, None, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_connection": None, "_marks": None, "_begun": None, "_waiting": []}

    def __repr__(self) -> str:
        return f"PreparedTransactions({self._database.target.place})"
