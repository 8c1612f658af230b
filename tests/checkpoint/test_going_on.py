"""What a new driver finds of a job whose driver died."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.checkpoint.jobs import SavedJob, collecting
from tests.runtime.jobs import job_of, numbers

from millrace.checkpoint.directory import CheckpointDirectory
from millrace.checkpoint.folder import CorruptFileError, SnapshotError, open_folder
from millrace.checkpoint.restore import go_on, restore_from
from millrace.checkpoint.shared_folder import Heartbeat
from millrace.common.sink import Committer, Sink, SinkWriter, WriterInitContext
from millrace.common.typeinfo import Types
from millrace.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import ListStateDescriptor
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.runtime.storage import INITIAL

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
    assert (order.of((0, 0)).base, order.order.attempt) == (INITIAL, 1)


def test_an_order_that_failed_is_repeated_under_another_number() -> None:
    coordinator = Coordinator(job_of(lambda env: numbers(env, range(4)).sink_to(TwoPhases())), lambda: 0)
    first = coordinator.plan()
    coordinator.restart()
    second = coordinator.repeat(first)
    assert (second.epoch, second.order.attempt, second.tasks) == (2, 1, first.tasks)
    assert coordinator.plan().epoch == 3


# -- damage -----------------------------------------------------------------------------------------------------------


def lists(env: StreamExecutionEnvironment) -> DataStream:
    source = env.from_sequence(0, 59).uid("numbers").set_parallelism(1)
    return source.key_by(lambda n: n % 5).process(Lists()).uid("lists")


class Lists(KeyedProcessFunction):
    """Everything that a key has had."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self.seen.add(value)
        yield list(self.seen.get())


def died(tmp_path: Path, epochs: int = 3) -> SavedJob:
    """A job whose driver died with two checkpoints."""
    job = SavedJob(collecting(lists, 2), tmp_path, checkpoint_every=1)
    for _ in range(epochs):
        job.epoch()
    assert len(job.directory.numbers()) == 2
    return job


def again(job: SavedJob, tmp_path: Path) -> SavedJob:
    return SavedJob(job.job, tmp_path, checkpoint_every=1)


def damage(job: SavedJob, number: int, how: str) -> str:
    """Damage what only this checkpoint needs; the damaged file."""
    folder = Path(job.directory.folder.uri)
    path = folder / f"chk-{number}" / "_metadata"
    if how != "metadata":
        path = next((folder / "shared").glob(f"*/{number}-1.delta"))
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-20])
    return str(path)


@pytest.mark.parametrize("how", ["metadata", "missing", "cut off"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    first = died(tmp_path)
    older, newest = first.directory.numbers()
    broken = damage(first, newest, how)
    job = again(first, tmp_path)
    with caplog.at_level(logging.WARNING):
        restore = job.go_on()
    assert restore.uri.endswith(f"chk-{older}")
    (said,) = [record.getMessage() for record in caplog.records if record.name.startswith("millrace")]
    for name in (f"chk-{newest} is of no use", broken, f"chk-{older}, the one before"):
        assert name in said
    assert job.directory.numbers() == [older], "nobody goes on from the damaged one"
    assert (Path(first.directory.folder.uri) / f"chk-{newest}").exists(), "but it can be looked at"
    kept = [value for value in first.collected if max(value) < 5 * older]
    whole = SavedJob(collecting(lists, 2), tmp_path / "whole").finish()
    assert sorted(map(tuple, [*kept, *job.finish()])) == sorted(map(tuple, whole))


def test_the_epochs_of_a_damaged_checkpoint_are_not_used_again(tmp_path: Path) -> None:
    first = died(tmp_path)
    newest = first.directory.numbers()[-1]
    damage(first, newest, "metadata")
    job = again(first, tmp_path)
    job.go_on()
    assert job.coordinator.plan().epoch > newest + 1


def test_if_all_are_damaged_the_newest_is_named(tmp_path: Path) -> None:
    first = died(tmp_path)
    names = [damage(first, number, "metadata") for number in first.directory.numbers()]
    with pytest.raises(CorruptFileError) as raised:
        again(first, tmp_path).go_on()
    assert names[-1] in str(raised.value)


def test_the_directory_of_a_job_stands_for_its_newest_whole_checkpoint(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = died(tmp_path)
    older, newest = first.directory.numbers()
    damage(first, newest, "cut off")
    job = SavedJob(collecting(lists, 3), tmp_path / "other")
    with caplog.at_level(logging.WARNING):
        assert job.restore(first.directory.folder.uri).uri.endswith(f"chk-{older}")
    assert "the one before" in caplog.text
    assert first.directory.numbers() == [older, newest], "it is not ours"
    with pytest.raises(CorruptFileError):
        SavedJob(collecting(lists, 3), tmp_path / "other").restore(f"{first.directory.folder.uri}/chk-{newest}")


def test_what_a_running_job_has_prepared_is_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    job = SavedJob(job_of(lambda env: numbers(env, range(40)).sink_to(TwoPhases())), tmp_path, checkpoint_every=1)
    job.directory.write(job.coordinator.snapshot(1))
    path = f"{job.directory.folder.uri}/chk-1"
    heartbeat = Heartbeat(job.directory.folder)
    heartbeat.start()
    other = job_of(lambda env: numbers(env, range(40)).sink_to(TwoPhases()))
    with caplog.at_level(logging.WARNING):
        RECOVERED.clear()
        restore_from(path, Coordinator(other, lambda: 0), allow_non_restored=False, claim=False)
    assert [name for name, _ in RECOVERED] == [other.job_id], "only its own"
    assert f"{path} is of job {job.job.job_id}, which still runs (process {os.getpid()} on" in caplog.text
    with pytest.raises(SnapshotError, match=r"can't be claimed: its job .* still runs"):
        restore_from(path, Coordinator(other, lambda: 0), allow_non_restored=False, claim=True)
    heartbeat.stop()
    RECOVERED.clear()
    restore_from(path, Coordinator(other, lambda: 0), allow_non_restored=False, claim=True)
    assert [name for name, _ in RECOVERED] == [job.job.job_id], "of a job that is over nothing stays prepared"
