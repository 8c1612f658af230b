"""TwoPhaseCommitSinkFunction: one transaction per epoch and subtask, committed once whatever fails."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.connectors.exactly_once import ExactlyOnce, test_case

from millrace.common.sink import Sink
from millrace.common.typeinfo import Types
from millrace.connectors.sink_base import owner_of
from millrace.connectors.sink_function import TwoPhaseCommitSink
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import CheckpointedFunction, TwoPhaseCommitSinkFunction
from millrace.testing import run_locally
from millrace.testing.connectors.runtime import SinkRun
from millrace.testing.connectors.sinks import Driver, Point


@dataclass
class Store:
    """A store with transactions: not pickled, as a database would not be."""

    buffered: dict[str, list[Any]] = field(default_factory=dict)
    prepared: dict[str, list[Any]] = field(default_factory=dict)
    committed: dict[str, list[Any]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def records(self) -> list[Any]:
        return [record for records in self.committed.values() for record in records]


STORES: dict[str, Store] = {}


class ToStore(TwoPhaseCommitSinkFunction[Any, str]):
    def __init__(self, store: str) -> None:
        self.store = store

    @property
    def _store(self) -> Store:
        return STORES.setdefault(self.store, Store())

    def begin_transaction(self) -> str:
        name = self.transaction_name()
        self._store.buffered[name] = []
        return name

    def invoke(self, transaction: str, value: Any, context: Any) -> None:
        self._store.buffered[transaction].append(value)

    def pre_commit(self, transaction: str) -> None:
        self._store.prepared[transaction] = self._store.buffered.pop(transaction)

    def commit(self, transaction: str) -> None:
        records = self._store.prepared.pop(transaction, None)
        if records is not None:
            self._store.committed[transaction] = records
        assert transaction in self._store.committed

    def abort(self, transaction: str) -> None:
        assert transaction not in self._store.committed
        self._store.prepared.pop(transaction, None)
        self._store.buffered.pop(transaction, None)

    def list_open_transactions(self, name_prefix: str) -> Iterable[str]:
        return (name for name in [*self._store.buffered, *self._store.prepared] if name.startswith(name_prefix))


class Transactions:
    def __init__(self, name: str) -> None:
        self.name = name

    def sink(self) -> Sink[Any]:
        return TwoPhaseCommitSink(ToStore(self.name))

    def committed(self) -> list[int]:
        return STORES.setdefault(self.name, Store()).records()

    def left_over(self) -> list[str]:
        store = STORES[self.name]
        return [*store.buffered, *store.prepared]

    def killed(self, writer: Any, flushed: bool) -> None: ...

    def close(self) -> None:
        STORES.pop(self.name, None)


class TwoPhases(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Transactions:
        return Transactions(str(directory))


TestTwoPhases = test_case(TwoPhases)


# -- what is called when ----------------------------------------------------------------------------------------------


class Logging(ToStore):
    def __getattribute__(self, name: str) -> Any:
        if name in LOGGED:
            STORES.setdefault("log", Store()).calls.append(name)
        return super().__getattribute__(name)


LOGGED = {
    "open", "begin_transaction", "invoke", "pre_commit", "finish_processing", "close", "open_committer", "commit",
    "abort", "recover_and_commit", "recover_and_abort", "list_open_transactions", "close_committer",
}  # fmt: skip


@pytest.fixture
def log() -> list[str]:
    STORES["log"] = Store()
    return STORES["log"].calls


def calls(log: list[str]) -> list[str]:
    """What was called since the last time; calls of one method by another do not count."""
    found, log[:] = list(log), []
    return found


def test_one_epoch(log: list[str]) -> None:
    run = SinkRun(TwoPhaseCommitSink(Logging("log")))
    run.epoch(["a", "b"])
    assert calls(log) == [
        "open", "begin_transaction", "invoke", "invoke", "pre_commit", "open_committer", "commit", "close_committer",
    ]  # fmt: skip
    assert STORES["log"].records() == ["a", "b"]
    run.epoch([])
    assert calls(log) == []
    run.epoch(["c"], end=True)
    assert calls(log) == [
        "begin_transaction", "invoke", "finish_processing", "pre_commit", "close", "open_committer", "commit",
        "close_committer",
    ]  # fmt: skip
    run.epoch([], end=True)
    assert calls(log) == ["open", "finish_processing", "close"]
    run.epoch(["lost"], crash="write")
    assert calls(log) == ["open", "begin_transaction", "invoke", "abort", "close"]
    run.epoch(["lost"], crash="abort")
    assert calls(log) == ["open", "begin_transaction", "invoke", "pre_commit", "close", "open_committer", "abort"]
    assert STORES["log"].records() == ["a", "b", "c"]


def test_a_recovery_commits_what_counts_and_aborts_the_rest(log: list[str]) -> None:
    run = Driver(TwoPhaseCommitSink(Logging("log")), list(range(10)))
    run.epoch(2)
    run.checkpoint()
    run.epoch(2)
    run.epoch(2, fail=(Point.KILLED_AFTER_PREPARE, 0))
    run.epoch(2, fail=(Point.KILLED_WRITING, 0))
    calls(log)
    run.recover()
    assert calls(log) == ["list_open_transactions", "recover_and_abort", "abort", "recover_and_abort", "abort"]
    assert len(STORES["log"].prepared) == 1, "that of the complete epoch waits for a checkpoint"
    run.checkpoint()
    assert calls(log) == ["recover_and_commit", "commit"]
    assert STORES["log"].records() == [0, 1, 2, 3]
    run.epoch(2)
    run.checkpoint()
    assert calls(log)[-1] == "commit"
    Driver(TwoPhaseCommitSink(Logging("log")), list(range(10)), checkpointed=run.checkpointed).close()
    assert calls(log) == [
        "open_committer", "list_open_transactions", "recover_and_commit", "commit", "list_open_transactions",
        "close_committer",
    ]  # fmt: skip
    assert STORES["log"].records() == [0, 1, 2, 3, 4, 5]


class Listless(ToStore):
    """A store that can't list its transactions."""

    def list_open_transactions(self, name_prefix: str) -> Iterable[str]:
        return TwoPhaseCommitSinkFunction.list_open_transactions(self, name_prefix)


def test_what_nobody_heard_of_is_taken_back_while_the_job_runs(log: list[str]) -> None:
    run = Driver(TwoPhaseCommitSink(Logging("log")), list(range(20)))
    run.epoch(2, repeated=Point.KILLED_BEFORE_ACK)
    assert len(STORES["log"].prepared) == 2
    run.sweep()
    assert len(STORES["log"].prepared) == 1, "what waits is spared"
    run.checkpoint()
    run.epoch(2)
    owner, _, rest = next(iter(STORES["log"].prepared)).split("-", 2)
    STORES["log"].prepared[f"{owner}-{run.epochs + 1}-{rest}"] = ["of another driver"]
    STORES["log"].prepared["of somebody else"] = ["x"]
    run.sweep()
    assert len(STORES["log"].prepared) == 3, "epochs to come belong to a driver that took this one for dead"
    run.checkpoint()
    assert STORES["log"].records() == [0, 1, 2, 3]


class Numbered(ToStore):
    def name_of(self, transaction: Any) -> str | None:
        return None


def test_the_names_of_handles() -> None:
    name = f"{owner_of('job', 'uid')}-17-0-0123456789ab"
    assert ToStore("x").name_of(f"/some/where/{name}.open") == name
    assert ToStore("x").name_of("something else") is None
    assert ToStore("x").name_of(("tuple", name)) is None  # type: ignore[arg-type]
    STORES["numbered"] = Store()
    run = Driver(TwoPhaseCommitSink(Numbered("numbered")), list(range(20)))
    run.epoch(2, repeated=Point.KILLED_BEFORE_ACK)
    run.sweep()
    assert len(STORES["numbered"].prepared) == 2, "without a name nobody can tell whose it is"
    run.recover()
    assert len(STORES["numbered"].prepared) == 1


def test_without_a_list_the_transactions_of_killed_tasks_stay_open() -> None:
    STORES["listless"] = Store()
    run = Driver(TwoPhaseCommitSink(Listless("listless")), list(range(10)))
    run.epoch(2, fail=(Point.KILLED_AFTER_PREPARE, 0))
    run.recover()
    run.epoch(2)
    run.checkpoint()
    assert STORES["listless"].records() == [0, 1]
    assert len(STORES["listless"].prepared) == 1


def test_names_tell_job_and_sink_and_never_come_again() -> None:
    STORES["names"] = Store()
    sink = TwoPhaseCommitSink(ToStore("names")).for_operator("uid")
    for job_id in ("a", "a", "b"):
        run = Driver(sink, list(range(10)), job_id=job_id, parallelism=2)
        run.epoch(4)
        run.checkpoint()
    names = list(STORES["names"].committed)
    assert len(set(names)) == 6
    assert sorted(name.startswith(f"{owner_of('a', 'uid')}-1-") for name in names) == [False] * 2 + [True] * 4
    assert owner_of("a", "uid") != owner_of("a", "other")
    with pytest.raises(RuntimeError, match="only while begin_transaction"):
        ToStore("names").transaction_name()


class FailsToAbort(ToStore):
    def abort(self, transaction: str) -> None:
        raise OSError("no connection")

    def close(self) -> None:
        self._store.calls.append("close")


def test_an_abort_that_fails_does_not_hide_what_made_the_epoch_fail(caplog: pytest.LogCaptureFixture) -> None:
    STORES["fails"] = Store()
    run = SinkRun(TwoPhaseCommitSink(FailsToAbort("fails")))
    run.epoch(["a"], crash="write")  # would raise the OSError
    assert "could not be aborted" in caplog.text
    assert STORES["fails"].calls == ["close"]


# -- timeouts ---------------------------------------------------------------------------------------------------------


class Forgetful(ToStore):
    """A store that has forgotten all transactions when it is asked."""

    def commit(self, transaction: str) -> None:
        raise KeyError(transaction)


def test_a_transaction_that_timed_out(caplog: pytest.LogCaptureFixture) -> None:
    function = Forgetful("forgetful")
    assert function.set_transaction_timeout(60_000) is function
    old = int(time.time() * 1000) - 61_000
    run = Driver(TwoPhaseCommitSink(function), list(range(10)))
    run.clock.now = old
    run.epoch(2)
    with pytest.raises(KeyError):
        run.checkpoint()
    with pytest.raises(KeyError):
        run.recover()
    assert not caplog.records, "no warnings without asking for them"
    tolerant = function.ignore_failures_after_transaction_timeout().enable_transaction_timeout_warnings(0.8)
    again = Driver(TwoPhaseCommitSink(tolerant), list(range(10)), checkpointed=run.checkpointed)
    warning, error = caplog.records
    assert "its timeout is 60000 ms" in warning.getMessage() and warning.levelname == "WARNING"
    assert "its elements are lost" in error.getMessage() and error.levelname == "ERROR"
    again.epoch(2)
    with pytest.raises(KeyError):  # without a recovery in between, a failure is a failure
        again.checkpoint()
    again.clock.now = int(time.time() * 1000)
    young = Driver(TwoPhaseCommitSink(tolerant), list(range(10)))
    young.clock.now = again.clock.now
    young.epoch(2)
    caplog.clear()
    for commit in (young.checkpoint, young.recover):
        with pytest.raises(KeyError):
            commit()
    assert not caplog.records


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="positive number of ms, got 0"):
        ToStore("x").set_transaction_timeout(0)
    with pytest.raises(ValueError, match="between 0 and 1, got 80"):
        ToStore("x").enable_transaction_timeout_warnings(80)


# -- in a program -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 3])
def test_add_sink_takes_it(workers: int) -> None:
    STORES["program"] = Store()
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    stream = env.from_collection(list(range(50)), Types.INT())
    stream.add_sink(ToStore("program")).uid("one")
    stream.add_sink(ToStore("program")).uid("two")
    run = run_locally(env, epoch_records=6, workers=workers, seed=3)
    store = STORES["program"]
    assert sorted(store.records()) == sorted([*range(50)] * 2)
    assert not store.prepared and not store.buffered
    assert len(store.committed) <= 4 * len(run.epochs)
    assert len({name.partition("-")[0] for name in store.committed}) == 2


class WithState(ToStore, CheckpointedFunction):
    def initialize_state(self, context: Any) -> None: ...

    def snapshot_state(self, context: Any) -> None: ...


def test_state_of_its_own_is_refused() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([1], Types.INT())
    with pytest.raises(TypeError, match=r"add_sink\(\) at .*test_two_phase_commit.py:\d+: WithState is a Two"):
        stream.add_sink(WithState("x"))
