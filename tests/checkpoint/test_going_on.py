"""What a new driver finds of a job whose driver died."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.runtime.jobs import job_of, numbers

from millrace.checkpoint.directory import CheckpointDirectory
from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.restore import go_on
from millrace.common.sink import Committer, Sink, SinkWriter, WriterInitContext
from millrace.runtime.coordinator import Coordinator

RECOVERED: list[tuple[str, list[Any]]] = []


class Recovering(Committer[Any]):
    def commit(self, committables: Sequence[Any]) -> None:
        """Nothing is left to show."""

    def recover(self, job_id: str, committables: Sequence[Any], states: Sequence[Any]) -> None:
        RECOVERED.append((job_id, list(committables)))


class TwoPhases(Sink[Any]):
    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        raise AssertionError("no task runs here")

    def create_committer(self) -> Recovering:
        return Recovering()


def test_without_a_checkpoint_the_job_begins_anew(tmp_path: Path) -> None:
    RECOVERED.clear()
    shared = tmp_path / "shared" / "0-0"
    shared.mkdir(parents=True)
    for name in ("1-1.delta", "7-1.delta"):
        (shared / name).touch()
    job = job_of(lambda env: numbers(env, range(4)).sink_to(TwoPhases()))
    coordinator = Coordinator(job, lambda: 0)
    assert go_on(CheckpointDirectory(open_folder(str(tmp_path))), coordinator) is None
    assert [(job.job_id, [])] == RECOVERED, "what it prepared is taken back"
    assert list(shared.iterdir()) == []
    order = coordinator.plan()
    assert order.epoch == 9, "a task of the dead driver may still be in the eighth"
    assert (order.history, order.attempt) == ((), 1)


def test_an_order_that_failed_is_repeated_under_another_number() -> None:
    coordinator = Coordinator(job_of(lambda env: numbers(env, range(4)).sink_to(TwoPhases())), lambda: 0)
    first = coordinator.plan()
    coordinator.restart()
    second = coordinator.repeat(first)
    assert (second.epoch, second.attempt, second.sources) == (2, 1, first.sources)
    assert coordinator.plan().epoch == 3
