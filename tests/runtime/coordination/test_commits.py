"""What a committer leaves for later waits with what is new, in checkpoints too; what nobody waits for is taken back."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.common.sink import Committer, Sink, WriterInitContext
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.coordination.commits import Commits
from millrace.runtime.coordination.coordinator import Coordinator
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


def commits(sink: Numbers) -> Commits:
    info = SimpleNamespace(id=1, uid="sink", spec=specs.Sink(sink), name="sink", origin="")
    return Commits(SimpleNamespace(operators=[info]))  # type: ignore[arg-type]


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
    made.saved()
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
