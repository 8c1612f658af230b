"""Copies of a task that share an environment: what they read, when it is thrown away, and what is left behind."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.state.backend_suite import Copy
from tests.runtime.state.copies import JOB, TASK, UID, Machine, Turns

from millrace.runtime.state.disk import environment, state, task_directory, writer
from millrace.runtime.state.disk.environment import UnusableError
from millrace.runtime.state.disk.state import DiskState, OutdatedError
from millrace.runtime.state.disk.task_directory import TaskDirectory
from millrace.runtime.state.state_time import NO_TIME
from millrace.runtime.state.window_tables import WindowListTable
from millrace.runtime.storage import NO_PAST, REACH, MemoryStorage, Past, TaskId, whole_at


class Log(MemoryStorage):
    """Writes down what is read."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[tuple[str, int]] = []

    def read_delta(self, task: TaskId, version: int) -> Any:
        self.read.append(("delta", version))
        return super().read_delta(task, version)

    def read_full(self, task: TaskId, version: int) -> Iterator[Any]:
        self.read.append(("whole", version))
        return super().read_full(task, version)

    def take(self) -> list[tuple[str, int]]:
        read, self.read = self.read, []
        return read


class Job(Turns[Copy]):
    """Counts epochs in the value of one key."""

    def __init__(self, machine: Machine | None = None) -> None:
        super().__init__(machine or Machine(on_disk=True), Copy)
        self.storage = self.log = Log()

    def epoch_in(self, worker: int, whole: bool = False) -> int:
        """Run an epoch; the count before it."""
        self.begin_epoch(worker)
        before = self.count()
        self.copy.value.update(before + 1)
        self.end_epoch(whole)
        return before

    def count(self) -> int:
        self.copy.backend.at = "key"
        return self.copy.value.value() or 0

    @property
    def folder(self) -> Path:
        """The directory of the task."""
        working = self.copy.working
        assert isinstance(working, DiskState)
        return Path(working._place.folder)

    def environments(self) -> list[Path]:
        return [path for path in self.folder.iterdir() if path.is_dir()]


@pytest.fixture
def job() -> Iterator[Job]:
    job = Job()
    yield job
    job.close()


# -- who reads what ---------------------------------------------------------------------------------------------------


def test_a_worker_that_stays_reads_nothing(job: Job) -> None:
    assert [job.epoch_in(0) for _ in range(5)] == [0, 1, 2, 3, 4]
    assert job.log.take() == []


def test_a_new_worker_reads_what_is_not_in_the_environment_yet(job: Job) -> None:
    for _ in range(5):
        job.epoch_in(0)
    assert job.epoch_in(1) == 5
    assert job.log.take() == [("delta", 5)]


def test_a_task_that_comes_back_to_the_machine_reads_what_is_not_there(job: Job) -> None:
    """However long the chain of its files is."""
    for _ in range(2 * REACH + 5):
        job.epoch_in(0)
    job.lose_worker(0)
    job.begin_epoch(0)  # now the environment has all
    job.end_epoch()
    away = Turns(Machine(on_disk=False), Copy)
    away.storage, away.past, away.epoch = job.storage, job.past, job.epoch
    for _ in range(3):
        away.begin_epoch(0)
        away.copy.backend.at = "key"
        away.copy.value.update(away.epoch)
        away.end_epoch()
    job.past, job.epoch = away.past, away.epoch
    job.log.take()
    job.lose_worker(0)
    assert job.epoch_in(0) == away.epoch - 1
    last = 2 * REACH + 6
    assert job.log.take() == [("delta", version) for version in range(last, last + 4)]
    away.close()


def test_after_a_whole_state_others_still_find_the_environment(job: Job) -> None:
    for _ in range(3):
        job.epoch_in(0)
    job.epoch_in(0, whole=True)
    assert job.past == whole_at(4)
    assert job.epoch_in(1) == 4
    assert job.log.take() == [("delta", 4)], "onto the environment, which is at version 3"
    assert job.epoch_in(0) == 5
    assert job.log.take() == [("delta", 5)]


def test_without_the_disk_everything_is_read_once(job: Job) -> None:
    job.epoch_in(0, whole=True)
    for _ in range(3):
        job.epoch_in(0)
    for worker in (0, 1):
        job.lose_worker(worker)
    job.machine.lose_disk()
    assert job.epoch_in(1) == 4
    assert job.log.take() == [("whole", 1), ("delta", 2), ("delta", 3), ("delta", 4)]
    assert job.epoch_in(0) == 5
    assert job.log.take() == [("delta", 5)]


def test_nothing_gets_there_before_its_epoch_is_complete(job: Job) -> None:
    job.epoch_in(0)
    job.epoch_in(0)
    job.begin_epoch(0)
    job.copy.value.update(100)
    job.fail_epoch(after_its_end=True)
    job.begin_epoch(1)
    assert job.count() == 2


def test_a_version_that_does_not_count_is_thrown_away(job: Job) -> None:
    for _ in range(4):
        job.epoch_in(0)
    job.begin_epoch(0)
    [before] = job.environments()
    job.past = Past((0, 1, 2), True)  # as a checkpoint would have it
    job.lose_worker(0)
    job.begin_epoch(0)
    assert job.count() == 2
    assert job.log.take() == [("delta", 1), ("delta", 2)]
    assert before not in job.environments()


def test_a_missing_delta_makes_a_new_copy_rebuild(job: Job) -> None:
    job.epoch_in(0)
    job.epoch_in(0)
    job.lose_worker(0)
    job.begin_epoch(1)  # the environment is at version 2 now
    job.end_epoch()
    job.epoch_in(1, whole=True)
    job.storage.discard(TASK, 5)
    job.storage.write_full(TASK, 4, [{UID: ({"value": ("value", {"key": 50})}, None, None, None, None)}])
    job.past = whole_at(4)  # and the environment at 2 can't get there
    job.lose_worker(1)
    job.begin_epoch(0)
    assert job.count() == 50


# -- what is not to be trusted ----------------------------------------------------------------------------------------


def rebuilt(job: Job) -> None:
    """Both workers are lost; what is on disk must not be used."""
    job.log.take()
    for worker in (0, 1):
        job.lose_worker(worker)
    job.begin_epoch(1)
    assert job.count() == 4
    assert job.log.take() == [("delta", version) for version in (1, 2, 3, 4)]
    assert job.epoch_in(0) == 4


@pytest.fixture
def at_four(job: Job) -> Job:
    for _ in range(4):
        job.epoch_in(0)
    return job


def test_an_environment_from_before_the_last_start_of_the_machine(at_four: Job, monkeypatch: Any) -> None:
    monkeypatch.setattr(environment, "_boot_id", lambda: b"another")
    monkeypatch.setattr(environment, "_open", {})
    rebuilt(at_four)


def test_an_environment_of_another_format(at_four: Job, monkeypatch: Any) -> None:
    monkeypatch.setattr(environment, "FORMAT", b"another")
    monkeypatch.setattr(environment, "_open", {})
    rebuilt(at_four)


@pytest.mark.parametrize("damage", ["garbage", "cut off", "empty", "missing", "directory missing"])
def test_a_damaged_environment(at_four: Job, damage: str) -> None:
    job = at_four
    [path] = job.environments()
    data = path / "data.mdb"
    for worker in (0, 1):
        job.lose_worker(worker)
    gc.collect()  # closes the file
    content = data.read_bytes()
    if damage == "garbage":
        data.write_bytes(b"\xa5" * len(content))
    elif damage == "cut off":
        data.write_bytes(content[: len(content) // 2])
    elif damage == "empty":
        data.write_bytes(b"")
    else:
        for file in path.iterdir():
            file.unlink()
        if damage == "directory missing":
            path.rmdir()
    rebuilt(job)


def test_an_error_of_the_store_while_it_is_read(at_four: Job) -> None:
    import lmdb

    job = at_four
    job.begin_epoch(0)
    [path] = job.environments()

    def broken(key: bytes) -> bytes:
        raise lmdb.CorruptedError("mdb_get: page is damaged")

    working = job.copy.working
    assert isinstance(working, DiskState)
    working._reader._get = broken
    with pytest.raises(RuntimeError, match=rf"state in {path} can't be read \(mdb_get: page is damaged.*rebuild"):
        job.count()
    assert not path.exists()
    job.fail_epoch(after_its_end=False)
    job.begin_epoch(0)
    assert job.count() == 4


def test_a_process_that_dies_while_it_writes(at_four: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many changes are written in several transactions: until the last one, the environment has no version."""
    job = at_four
    job.begin_epoch(0)
    for key in range(10):
        job.copy.backend.at = key
        job.copy.value.update(key)
    job.end_epoch()
    for module in (writer, state):
        monkeypatch.setattr(module, "BATCH", 3)
    monkeypatch.setattr(writer.Writer, "__exit__", lambda self, *error: self._txn.abort())
    monkeypatch.setattr(DiskState, "_see", lambda self, *of: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        job.begin_epoch(0)
    monkeypatch.undo()
    for worker in (0, 1):
        job.lose_worker(worker)
    job.log.take()
    job.begin_epoch(1)
    assert job.count() == 4
    job.copy.backend.at = 9
    assert job.copy.value.value() == 9
    assert len(job.log.take()) == 5


def test_a_disk_that_is_full(at_four: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    import lmdb

    def full(self: Any, entries: Any) -> None:
        raise lmdb.DiskError("mdb_put: No space left on device")

    job = at_four
    monkeypatch.setattr(writer.Writer, "put_all", full)
    with pytest.raises(RuntimeError, match=r"could not write keyed state to .*No space left on device"):
        job.begin_epoch(0)
    monkeypatch.undo()
    job.lose_worker(0)
    job.begin_epoch(0)
    assert job.count() == 4


# -- one writer -------------------------------------------------------------------------------------------------------


def test_whoever_waits_for_another_writer_gives_up(at_four: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_directory, "LOCK_SECONDS", 0.05)
    message = r"another process has been writing the state in .*worker of an earlier"
    with TaskDirectory(str(at_four.folder)).lock(), pytest.raises(TimeoutError, match=message):
        at_four.begin_epoch(0)


@pytest.mark.parametrize("epochs", [1, 2])
def test_two_copies_at_once(at_four: Job, epochs: int) -> None:
    """Spark may do that: a task that is slow is run twice. The slower one may be too slow."""
    job = at_four
    slow = Copy(job.machine.plan.state_of(JOB, TASK, dict))
    changes = slow.working.load(TASK, job.past, job.storage)
    for version, piece in changes:
        if UID in piece:
            slow.backend.apply(piece[UID][0])
        if version == 4:
            break  # it has read all that there is
    for _ in range(epochs):
        job.epoch_in(0)
    if epochs == 1:
        assert list(changes) == [], "the other copy has written what this one was about to write"
        assert slow.content("key")["value"] == 4
    else:
        with pytest.raises(OutdatedError, match="is at version 5 now, not at 3"):
            next(changes)
    assert job.epoch_in(1) == 4 + epochs


# -- between epochs ---------------------------------------------------------------------------------------------------


def fire(job: Job, add: int = 1) -> None:
    """A timer adds to the count."""
    with job.between_epochs():
        job.copy.value.update(job.count() + add)


def bytes_of(job: Job) -> bytes:
    [path] = job.environments()
    return (path / "data.mdb").read_bytes()


@pytest.mark.parametrize("epochs", [1, 4], ids=["before there is an environment", "later"])
def test_what_fires_belongs_to_the_next_epoch(job: Job, epochs: int) -> None:
    for _ in range(epochs):
        job.epoch_in(0)
    fire(job)
    fire(job)
    assert job.epoch_in(0) == epochs + 2, "which sees it"
    assert job.epoch_in(1) == epochs + 3, "and so does another copy"
    assert job.log.take() == [("delta", epochs + 1)], "which finds the rest in the environment"


@pytest.mark.parametrize("killed", [True, False])
@pytest.mark.parametrize("epochs", [1, 4], ids=["before there is an environment", "later"])
def test_what_fires_goes_with_its_copy(job: Job, epochs: int, killed: bool) -> None:
    for _ in range(epochs):
        job.epoch_in(0)
    fire(job, add=100)
    job.drop(killed)
    assert job.epoch_in(0) == epochs


def test_nothing_is_written_between_epochs(at_four: Job) -> None:
    before = bytes_of(at_four)
    fire(at_four)
    fire(at_four)
    assert bytes_of(at_four) == before
    at_four.begin_epoch(0)
    assert bytes_of(at_four) != before, "now it is known that the fourth epoch counts"


def test_what_fires_before_an_epoch_that_fails_is_undone(at_four: Job) -> None:
    """The environment is at the version of the fourth epoch then: without it."""
    fire(at_four, add=100)
    at_four.begin_epoch(0)
    at_four.fail_epoch(after_its_end=True)
    at_four.log.take()
    at_four.begin_epoch(1)
    assert at_four.count() == 4
    assert at_four.log.take() == []


def test_values_that_are_changed_in_place_are_kept_as_they_were(at_four: Job) -> None:
    """Between epochs a timer changes an accumulator that the last epoch has made."""
    at_four.begin_epoch(0)
    at_four.copy.value.update([1])
    at_four.end_epoch()
    with at_four.between_epochs():
        at_four.copy.backend.at = "key"
        found = at_four.copy.value.value()
        found.append(2)
        at_four.copy.value.update(found)
    at_four.begin_epoch(0)
    at_four.fail_epoch(after_its_end=True)
    at_four.begin_epoch(1)
    at_four.copy.backend.at = "key"
    assert at_four.copy.value.value() == [1]


def test_another_copy_that_has_gone_on_stops_timers(at_four: Job) -> None:
    at_four.end_epoch()
    at_four.begin_epoch(1)  # and brings the environment to a later version
    one = at_four.workers[0]
    assert one is not None
    with one.working.looking() as same:
        assert not same
    with one.working.firing() as same:
        assert not same
    assert not one.working.goes_on()


def test_another_copy_that_goes_on_after_timers_have_fired(at_four: Job) -> None:
    fire(at_four, add=100)
    assert at_four.epoch_in(1) == 4
    one = at_four.workers[0]
    assert one is not None
    with one.working.firing() as same:
        assert not same
    assert not one.working.goes_on()
    assert at_four.epoch_in(0) == 5


def test_an_environment_that_was_thrown_away_after_timers_have_fired(at_four: Job) -> None:
    fire(at_four, add=100)
    TaskDirectory(str(at_four.folder)).withdraw(str(at_four.environments()[0]))
    assert at_four.epoch_in(0) == 4


def test_between_epochs_nobody_holds_on_to_what_it_has_read(at_four: Job) -> None:
    """Else what other copies write could use no space again."""
    fire(at_four)
    working = at_four.copy.working
    assert isinstance(working, DiskState)
    with working.looking():
        pass
    environment = working._environment
    assert environment is not None
    assert environment._readers == 0


def test_what_fires_may_grow_the_environment(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "MAP_SIZE", 1 << 16)
    for number in range(5):
        job.begin_epoch(0)
        for key in range(200):
            job.copy.backend.at = key
            job.copy.value.update(f"{number} {key} " + "x" * 500)
        job.end_epoch()
        fire(job)
    job.begin_epoch(1)
    job.copy.backend.at = 199
    assert job.copy.value.value().startswith("4 199 ")


def test_small_state_is_written_as_it_was_at_the_end_of_the_epoch() -> None:
    small = ["at first"]
    plan = Machine(on_disk=True).plan
    first = Copy(plan.state_of(JOB, TASK, lambda: {UID: (None, None, tuple(small), None, None)}))
    storage = MemoryStorage()
    first.backend.at = "key"
    first.value.update(1)
    first.finish(1, storage)
    with first.working.firing() as same:
        assert same
        small.append("by a timer")
    assert first.working.goes_on()
    second = plan.state_of(JOB, TASK, dict)
    second.backend(UID, NO_TIME)
    [(version, piece)] = second.load(TASK, first.past, storage)
    assert (version, piece[UID][2]) == (1, ("at first",))
    for working in (first.working, second):
        working.close()
    plan.discard(JOB)


def test_an_error_of_the_store_between_epochs(at_four: Job) -> None:
    import lmdb

    job = at_four
    job.begin_epoch(1)
    job.end_epoch()

    def broken(key: bytes) -> bytes:
        raise lmdb.CorruptedError("mdb_get: page is damaged")

    [path] = job.environments()
    working = job.copy.working
    assert isinstance(working, DiskState)
    with job.between_epochs():
        assert working._draft is not None
        working._draft.below._get = broken
        with pytest.raises(RuntimeError, match=rf"^the keyed state in {path} can't be read \(mdb_get: page is damaged"):
            job.count()
    assert not working.goes_on()
    job.begin_epoch(1)
    assert job.count() == 4


# -- what is left behind ----------------------------------------------------------------------------------------------


def test_there_is_one_environment_at_a_time(job: Job) -> None:
    for number in range(6):
        job.epoch_in(number % 2, whole=number == 3)
    assert len(job.environments()) == 1


def test_a_copy_that_is_closed_leaves_no_half_of_a_state(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "SPILL_ENTRIES", 3)
    job.copy.backend.apply({"value": ("value", {key: key for key in range(10)})})
    [path] = job.environments()
    assert path.name.startswith(f"{os.getpid()}-")
    job.copy.working.close()
    assert job.environments() == []


def test_state_of_another_job_may_be_larger_than_memory(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Restored from a savepoint, piece by piece. The environment counts if the epoch does."""
    monkeypatch.setattr(state, "SPILL_ENTRIES", 3)
    for start in range(0, 20, 4):
        job.copy.backend.apply({"value": ("value", {key: key for key in range(start, start + 4)})})
        working = job.copy.working
        assert isinstance(working, DiskState)
        assert working.pending() <= 4
    job.end_epoch(whole=True)
    job.begin_epoch(1)
    assert job.log.take() == []
    assert sorted(job.copy.backend.table("value").keys()) == list(range(20))  # type: ignore[union-attr]


def test_what_killed_processes_were_filling_is_deleted(job: Job) -> None:
    job.epoch_in(0)
    job.begin_epoch(0)
    dead, alive = job.folder / "999999999-abc", job.folder / "1-abc"
    for path in (dead, alive):
        path.mkdir()
    job.end_epoch()
    job.past = NO_PAST
    job.lose_worker(0)
    job.epoch_in(0)
    job.begin_epoch(0)
    assert not dead.exists()
    assert alive.exists()


# -- beside the tables on disk ----------------------------------------------------------------------------------------


def test_tables_that_are_not_on_disk_come_with_the_rest(job: Job) -> None:
    """Aligned windows keep their elements in memory."""

    def buffer() -> WindowListTable:
        table: WindowListTable = job.copy.backend.table_of("buffer", WindowListTable.kind)
        return table

    for number in range(6):
        job.begin_epoch(number % 2)
        buffer().put(number, "a", [f"a{number}"])
        job.copy.backend.at = number
        job.copy.value.update(number)
        job.end_epoch()
    job.lose_worker(0)
    job.begin_epoch(0)
    rows = {number: {"a": [f"a{number}"]} for number in range(6)}
    assert buffer().rows == rows
    whole = {}
    for piece in job.copy.backend.full_pieces():
        whole.update(piece)
    assert whole["buffer"] == ("window lists", buffer().entries())


def test_an_environment_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnusableError, match="none"):
        environment.open_environment(str(tmp_path / "none"))
