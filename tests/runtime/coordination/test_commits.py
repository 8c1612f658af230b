"""What a committer leaves for later waits with what is new, in checkpoints too; what nobody waits for is taken back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.common.sink import Committer, Sink, WriterInitContext
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.coordination.commits import Commits, OnOneThread
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.runtime.failure import JobFailedError
from millrace.runtime.operators import specs
from millrace.runtime.storage import MemoryStorage


class Even(Committer[int]):
    """Even numbers can be committed."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, ...]] = []
        self.recovered: list[Any] = []
        self.swept: list[Any] = []

    def recover(self, job_id: str, committables: Sequence[int], states: Sequence[Any]) -> None:
        self.recovered.append((job_id, list(committables), list(states)))

    def sweep(self, job_id: str, epoch: int, committables: Sequence[int], states: Sequence[Any]) -> None:
        self.swept.append((job_id, epoch, list(committables), list(states)))
        raise OSError("does not answer")

    def commit(self, committables: Sequence[int]) -> list[int]:
        self.calls.append(tuple(committables))
        return [each for each in committables if each % 2]


class Numbers(Sink[Any]):
    def __init__(self) -> None:
        self.committer = Even()

    def create_writer(self, context: WriterInitContext) -> Any:
        raise NotImplementedError

    def create_committer(self) -> Even:
        return self.committer


def commits(sink: Numbers, one_thread: bool = False) -> Commits:
    info = SimpleNamespace(id=1, uid="sink", spec=specs.Sink(sink), name="sink", origin="")
    return Commits(SimpleNamespace(operators=[info]), one_thread)  # type: ignore[arg-type]


def ack(*committables: int, states: tuple[str, ...] = ()) -> Any:
    report = SimpleNamespace(operator=1, subtask=0, committables=committables, writer_states=states)
    return SimpleNamespace(reports=[report])


def test_what_waits_comes_again() -> None:
    sink = Numbers()
    made = commits(sink)
    made.prepared([ack(1, 2)])
    made.commit()
    assert made.pending() == {"sink": (1,)}
    made.prepared([ack(3, 4)])
    made.commit()
    assert sink.committer.calls == [(1, 2), (1, 3, 4)]
    assert made.pending() == {"sink": (1, 3)}
    again = Numbers()
    later = commits(again)
    later.restore(made.pending(), {})
    later.commit()
    assert again.committer.calls == [(1, 3)] and later.pending() == {"sink": (1, 3)}


class Connected(Committer[int]):
    """Has a connection that only the thread may use that opened it."""

    def __init__(self) -> None:
        self._connection: sqlite3.Connection | None = None

    def _use(self, what: str, *given: Any) -> None:
        if self._connection is None:
            self._connection = sqlite3.connect(":memory:")
            self._connection.execute("CREATE TABLE calls (what TEXT)")
        self._connection.execute("INSERT INTO calls VALUES (?)", (what,))

    def begin(self) -> None:
        self._use("begin")

    def before_recorded(self, committables: Sequence[int]) -> Sequence[int]:
        self._use("before_recorded")
        return [each + 1 for each in committables]

    def commit(self, committables: Sequence[int]) -> list[int]:
        self._use("commit")
        if 13 in committables:
            raise OSError("unlucky")
        return [each for each in committables if each % 2]

    def abort(self, committables: Sequence[int]) -> None:
        self._use("abort")

    def recover(self, job_id: str, committables: Sequence[int], states: Sequence[Any]) -> None:
        self._use("recover")

    def sweep(self, job_id: str, epoch: int, committables: Sequence[int], states: Sequence[Any]) -> None:
        self._use("sweep")

    def close(self) -> None:
        assert self._connection is not None
        self.calls = [what for (what,) in self._connection.execute("SELECT what FROM calls")]
        self._connection.close()


def test_a_committer_is_called_on_one_thread() -> None:
    sink = Numbers()
    sink.committer = committer = Connected()  # type: ignore[assignment]
    made = commits(sink, one_thread=True)
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("begin", made.begin),
        ("", lambda: made.prepared([ack(1, 2)])),
        ("before_recorded", made.before_recorded),
        ("commit", made.commit),
        ("abort", lambda: made.abort([ack(5)])),
        ("recover", lambda: made.recover("job")),
        ("sweep", lambda: made.sweep("job", 7)),
        ("", made.close),
    ]
    for _, call in calls:
        with ThreadPoolExecutor(1) as thread:  # a new one each time
            thread.submit(call).result()
    assert committer.calls == [what for what, _ in calls if what]
    assert {name for name in vars(Committer) if not name.startswith("_")} <= vars(OnOneThread).keys()
    assert made.pending() == {"sink": (3,)}


def test_the_error_of_a_committer_on_one_thread_is_its_own() -> None:
    sink = Numbers()
    sink.committer = Connected()  # type: ignore[assignment]
    made = commits(sink, one_thread=True)
    made.prepared([ack(13)])
    with pytest.raises(JobFailedError, match="OSError: unlucky"):
        made.commit()
    assert made.pending() == {"sink": (13,)}
    made.close()


def test_a_sweep_spares_what_waits_and_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    sink = Numbers()
    made = commits(sink)
    made.prepared([ack(1, 2, states=("open",))])
    made.commit()
    made.sweep("job", 7)
    assert sink.committer.swept == [("job", 7, [1], ["open"])]
    assert "sink: what nobody waits for could not be taken back" in caplog.text


def named(committables: tuple[int, ...], states: tuple[str, ...]) -> Any:
    """A checkpoint."""
    return SimpleNamespace(committables={"sink": committables}, writers={"sink": states})


def test_the_end_of_a_job_spares_what_checkpoints_and_savepoints_name() -> None:
    sink = Numbers()
    made = commits(sink)
    made.prepared([ack(1, 3, states=("a",))])
    made.give_up("job", [])
    made.give_up("job", [named((1,), ("older",)), named((3,), ("newer",))])
    made.saved(made.named())
    made.prepared([ack(5, states=("b",))])
    made.give_up("job", [])
    assert sink.committer.recovered == [
        ("job", [], []), ("job", [1, 3], ["older", "newer"]), ("job", [1, 3], ["a"])
    ]  # fmt: skip


def test_savepoints_of_an_earlier_driver_may_name_what_is_gone_on_with() -> None:
    sink = Numbers()
    made = commits(sink)
    made.restore({"sink": (1,)}, {"sink": ("a",)})
    made.give_up("job", [])
    assert sink.committer.recovered == [("job", [], ["a"])]


class Begun(Even):
    def begin(self) -> None:
        self.recovered.append("begin")


def test_sinks_hear_of_a_fresh_start_and_of_no_other() -> None:
    sink = Numbers()
    sink.committer = Begun()
    environment = StreamExecutionEnvironment()
    environment.from_collection([2, 4]).sink_to(sink)
    job = environment.job_graph()
    info = next(each for each in job.operators if isinstance(each.spec, specs.Sink))
    committer = info.spec.sink.committer
    fresh = Coordinator(job, lambda: 0, MemoryStorage())
    fresh.plan()
    fresh.plan()
    assert committer.recovered == ["begin"]
    again = Coordinator(job, lambda: 0, MemoryStorage())
    again.begin_anew(7)
    again.plan()
    assert committer.recovered == ["begin", (job.job_id, [], [])]
