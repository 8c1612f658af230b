"""Owner processes: a task lives in one, whatever dies or hangs around it."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.owners.driving import (
    COUNT,
    KEYS,
    Executor,
    OwnedJob,
    check,
    epoch_after_a_kill,
    eventually,
    lives,
    run_to_end,
)

from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.shared_folder import SharedFolder, offer
from millrace.common import Types
from millrace.datastream import KeyedProcessFunction, MapFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor
from millrace.metrics.report import CounterSnapshot
from millrace.spark.workers import frames, pipe
from millrace.spark.workers import processes as place
from millrace.spark.workers.pipe import SCHEMA, BatchWriter, ExactReader, OwnerLostError, read_batches
from millrace.util.folders import NotPrivateError


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    found = Executor(monkeypatch)
    yield found
    found.end()


class Counting(KeyedProcessFunction):
    """(key, how often it came so far, subtask, process); writes a file when it is closed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        (self.folder / f"opened-{self.subtask}-{os.getpid()}-{time.time_ns()}").touch()

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[int, ...]]:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value(), self.subtask, os.getpid()

    def close(self) -> None:
        (self.folder / f"closed-{self.subtask}-{os.getpid()}").touch()


def counting_job(folder: Path, parallelism: int = 2, owners: int = 2) -> OwnedJob:
    folder.mkdir(exist_ok=True)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    numbers = env.from_sequence(0, COUNT - 1).set_parallelism(1)
    return OwnedJob(numbers.key_by(lambda value: value % KEYS).process(Counting(folder)), folder / "state", owners)


def test_a_subtask_lives_in_one_process_and_opens_once(executor: Executor, tmp_path: Path) -> None:
    job = counting_job(tmp_path / "job")
    found = run_to_end(job)
    check(found)
    places = {(subtask, process) for _, _, subtask, process in found}
    assert len(places) == 2
    assert len({process for _, process in places}) == 2, "each has a core of its own"
    assert os.getpid() not in {process for _, process in places}
    assert len([name for name in os.listdir(tmp_path / "job") if name.startswith("opened")]) == 2
    assert job.coordinator.metrics.report().job("numTaskMoves") == CounterSnapshot(0)
    job.forget()


def test_owners_are_no_more_than_allowed(executor: Executor, tmp_path: Path) -> None:
    job = counting_job(tmp_path / "job", parallelism=5, owners=2)
    found = run_to_end(job)
    check(found)
    assert len({process for *_, process in found}) == 2
    job.forget()


def test_an_owner_that_is_killed_is_replaced_from_the_files(executor: Executor, tmp_path: Path) -> None:
    job = counting_job(tmp_path / "job")
    found = job.epoch()
    before = {subtask: process for _, _, subtask, process in found}
    os.kill(before[0], signal.SIGKILL)
    eventually(lambda: sum(map(lives, before.values())) == 1)
    found += epoch_after_a_kill(job) + run_to_end(job)
    check(found)
    moves = job.coordinator.metrics.report().job("numTaskMoves")
    assert isinstance(moves, CounterSnapshot)
    assert 1 <= moves.count <= 2, "the subtask, and the source's if that lived there, too"
    job.forget()


def test_a_run_whose_owner_dies_fails_and_the_next_one_succeeds(executor: Executor, tmp_path: Path) -> None:
    class Dying(MapFunction):
        def map(self, value: int) -> int:
            if not (tmp_path / "died").exists():
                (tmp_path / "died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return value

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    job = OwnedJob(env.from_sequence(0, 9).map(Dying()), tmp_path / "state")
    with pytest.raises(OwnerLostError, match="has ended"):
        job.epoch()
    job.coordinator.restart()
    assert run_to_end(job) == list(range(10))
    job.forget()


def test_a_keeper_that_is_killed_takes_its_owners_along_and_is_replaced(executor: Executor, tmp_path: Path) -> None:
    job = counting_job(tmp_path / "job")
    found = job.epoch()
    owners = {process for *_, process in found}
    os.kill(executor.keeper(), signal.SIGKILL)
    eventually(lambda: not any(map(lives, owners)))
    found += run_to_end(job)
    check(found)
    job.forget()


def test_keeper_and_owners_end_with_the_executor(executor: Executor, tmp_path: Path) -> None:
    job = counting_job(tmp_path / "job")
    processes = {process for *_, process in job.epoch()} | {executor.keeper()}
    assert all(map(lives, processes))
    executor.end()
    eventually(lambda: not any(map(lives, processes)))
    eventually(lambda: not os.path.exists(executor.folder))


def test_the_end_of_a_job_closes_its_functions_and_ends_its_owners(executor: Executor, tmp_path: Path) -> None:
    job = counting_job(tmp_path / "job")
    owners = {process for *_, process in job.epoch()}
    job.forget()
    assert not any(map(lives, owners))
    closed = {name for name in os.listdir(tmp_path / "job") if name.startswith("closed")}
    assert {int(name.split("-")[2]) for name in closed} == owners


def test_two_jobs_do_not_meet(executor: Executor, tmp_path: Path) -> None:
    one, other = counting_job(tmp_path / "one"), counting_job(tmp_path / "other")
    found, others = one.epoch(), other.epoch()
    assert not {process for *_, process in found} & {process for *_, process in others}
    one.forget()
    check(others + run_to_end(other))
    other.forget()


class Waiting(MapFunction):
    """The element 0 waits for a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def map(self, value: int) -> int:
        if not value:
            (self.folder / "waits").touch()
            eventually((self.folder / "go").exists)
        return value


def test_a_task_that_waits_holds_up_no_other_one(executor: Executor, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    slow = OwnedJob(env.from_sequence(0, 19).map(Waiting(tmp_path)), tmp_path / "slow", owners=1)
    order = slow.coordinator.plan()
    results: list[pa.RecordBatch] = []
    thread = threading.Thread(target=lambda: results.extend(slow.task((0, 0), order, [])))
    thread.start()
    eventually((tmp_path / "waits").exists)
    assert slow.task((0, 1), order, []), "the other task of the same owner"
    quick = counting_job(tmp_path / "quick")
    check(run_to_end(quick))
    assert not results
    (tmp_path / "go").touch()
    thread.join(20)
    assert results
    slow.forget()
    quick.forget()


def test_a_job_that_an_owner_cannot_load_says_why(executor: Executor, tmp_path: Path) -> None:
    job = counting_job(tmp_path / "job")
    job.payload = b"\x80\x05cno_such_module\nthing\n."
    with pytest.raises(OwnerLostError, match="No module named 'no_such_module'") as raised:
        job.epoch()
    assert not raised.value.begun
    job.forget()


def test_an_executor_with_another_directory_is_found_out(executor: Executor, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    token = offer(open_folder(str(tmp_path / "drivers")))
    elsewhere = OwnedJob(env.from_sequence(0, 9), tmp_path / "other", token=token)
    with pytest.raises(OwnerLostError, match=r"NotSharedError: .*other is not the same directory"):
        elsewhere.epoch()
    elsewhere.forget()


def test_each_process_tells_the_driver_once_what_it_has_written(executor: Executor, tmp_path: Path) -> None:
    folder = open_folder(str(tmp_path / "state"))
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = env.from_sequence(0, 99).rebalance().map(lambda number: number)
    job = OwnedJob(numbers, tmp_path / "state", token=offer(folder))
    job.epoch()
    written = [write for write in job.first_writes if write is not None]
    assert len({write.process for write in written}) == 2
    SharedFolder(folder).check(written)
    job.epoch()
    assert job.first_writes == [None] * 4
    job.forget()


def test_large_data_flows_both_ways_at_once(executor: Executor, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    texts = env.from_sequence(0, 199).map(lambda number: f"{number:03}" * 50_000)
    job = OwnedJob(texts.rebalance().map(lambda text: text + "!"), tmp_path / "state", records=1_000)
    assert run_to_end(job) == [f"{number:03}" * 50_000 + "!" for number in range(200)]
    job.forget()


def test_an_owner_works_on_the_workers_own_connection(
    executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Spark's JVM would do: one column with the fields, the end of the task right behind the data."""
    jvm, worker = socket.socketpair()
    end = b"\xff\xff\xff\xfc"
    infile, outfile = worker.makefile("rb", 65536), worker.makefile("wb", 65536)
    monkeypatch.setattr(pipe, "_files", (infile, outfile))
    job = counting_job(tmp_path / "job")
    order = job.coordinator.plan()
    rows = pa.RecordBatch.from_arrays([pa.array([0])], ["id"])
    with jvm.makefile("wb") as data:
        with pa.ipc.new_stream(data, pa.schema([("_0", pa.struct(rows.schema))])) as writer:
            writer.write_batch(pa.RecordBatch.from_arrays([rows.to_struct_array()], ["_0"]))
        data.write(end)
    assert job.task((0, 0), order, []) == []
    assert infile.read(4) == end, "the owner has read no more than its data"
    assert jvm.recv(4, socket.MSG_WAITALL) == b"\xff\xff\xff\xfa"
    batches = list(read_batches(ExactReader(jvm.fileno())))
    assert batches[0].schema.names == SCHEMA.names
    assert sum(batch.num_rows for batch in batches) >= 2
    job.forget()


def test_nothing_is_written_before_there_is_a_batch() -> None:
    ours, theirs = socket.socketpair()
    writer = BatchWriter(theirs.fileno(), wrapped=True)
    writer.write_all(iter(()))
    assert not writer.begun
    theirs.close()
    assert ours.recv(1) == b""


def test_a_folder_of_somebody_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # sockets have short names
        os.mkdir(f"{folder}/millrace-{os.getuid()}")
        os.chmod(f"{folder}/millrace-{os.getuid()}", 0o777)
        monkeypatch.setattr("tempfile.tempdir", folder)
        with pytest.raises(NotPrivateError, match="everybody"):
            place.base_folder()


def test_without_a_keeper_the_wait_has_an_end(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipe, "KEEPER_SECONDS", 0.1)
    monkeypatch.setattr(pipe, "_start_keeper", lambda process: None)
    with pytest.raises(OwnerLostError, match="did not answer"):
        pipe.connect(frames.Greeting("job", (0, 0), 1, 1, 1.0, 0.0))
