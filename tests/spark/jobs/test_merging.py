"""Whole states and savepoints that a process beside the driver makes from the files of tasks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.spark.conftest import MakeEnvironment, Watch
from tests.spark.jobs.test_savepoints import KEYS, Number, printed

from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.metadata import read_metadata
from millrace.common import Types, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream.state import ListStateDescriptor
from millrace.runtime.coordination import compactions, snapshot
from millrace.runtime.coordination.snapshot import TaskFiles, WholeFile
from millrace.runtime.storage import TaskId
from millrace.spark.jobs import beside
from millrace.spark.jobs.beside import MergingProcess

pytestmark = pytest.mark.spark
_write = MergingProcess.write


class Noted:
    """A value of a class of the program."""

    def __init__(self, number: int) -> None:
        self.number = number


class Noting(Number):
    """Has values in its state whose class only the program knows."""

    def open(self, runtime_context: Any) -> None:
        super().open(runtime_context)
        self.notes = runtime_context.get_list_state(ListStateDescriptor("notes", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        if not value % 40:
            self.notes.add(Noted(value))
        assert all(note.number % KEYS == value % KEYS for note in self.notes.get())
        yield from super().process_element(value, ctx)


RATE = 300


def numbering(env: StreamExecutionEnvironment, function: Number | None = None) -> None:
    """Goes on until it is stopped."""
    env.set_max_parallelism(128)
    source = DataGeneratorSource(lambda index: index, 1 << 30, RateLimiterStrategy.per_second(RATE))
    values = env.from_source(source, WatermarkStrategy.no_watermarks(), "values").uid("values")
    values.key_by(lambda value: value % KEYS).process(function or Number()).uid("numbers").print()


def check(watch: Watch) -> None:
    """Each key has counted from 1 without a gap, and nothing twice."""
    found: dict[str, list[int]] = {}
    for line in printed(watch):
        key, _, count = line.partition(" ")
        found.setdefault(key, []).append(int(count))
    assert len(found) == KEYS
    for counts in found.values():
        assert sorted(counts) == list(range(1, len(counts) + 1))


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Future[WholeFile]]:
    """The whole states that were asked for; that happens often, and none is too small for it."""
    monkeypatch.setattr(compactions, "SMALL_BYTES", 0)
    monkeypatch.setattr(snapshot, "COMPACT_VERSIONS", 4)
    found: list[Future[WholeFile]] = []

    def write(process: MergingProcess, task: TaskId, files: TaskFiles) -> Future[WholeFile]:
        found.append(_write(process, task, files))
        return found[-1]

    monkeypatch.setattr(MergingProcess, "write", write)
    return found


def checkpointing(make: MakeEnvironment, tmp_path: Path, **options: Any) -> StreamExecutionEnvironment:
    options = {
        "millrace.epoch.max-records": 50,
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        **options,
    }
    env = make(2, **options)
    env.enable_checkpointing(10)
    return env


@pytest.mark.parametrize("execution", ["flow", "spark-jobs"])
def test_a_job_goes_on_beside_it(
    environment: MakeEnvironment, watch: Watch, tmp_path: Path, written: list[Future[WholeFile]], execution: str
) -> None:
    env = checkpointing(environment, tmp_path, **{"millrace.epoch.execution": execution})
    numbering(env, Noting())
    client = env.execute_async("first")
    watch.wait_for_lines(5 * KEYS)  # each key has state
    begun = client.trigger_savepoint(str(tmp_path))
    metadata = read_metadata(open_folder(begun.result()))
    assert sum(file.rows for saved in metadata.saved.values() for file in saved.files if file.state == "count") == KEYS
    number = client.checkpoint(full=True).result()
    taken = next(stats for stats in client.get_checkpoints() if stats.checkpoint_id == number)
    assert taken.path is not None
    kept = read_metadata(open_folder(taken.path)).tasks
    assert all(files.first > metadata.id for files in kept.values()), "it needs no file from before the request"
    assert any(files.stored is not None for files in kept.values())
    path = client.stop_with_savepoint(False, str(tmp_path)).result()
    client.get_job_execution_result().result()
    before = len(watch.lines)
    assert [future for future in written if future.done() and future.exception() is None]
    again = environment(2, **{"execution.state-recovery.path": path})
    numbering(again, Noting())
    second = again.execute_async("second")
    until = time.monotonic() + 60
    while len(watch.lines) < before + 50 and time.monotonic() < until:
        time.sleep(0.1)
    second.cancel().result()
    assert len(watch.lines) > before
    check(watch)


def test_it_is_killed(
    environment: MakeEnvironment, watch: Watch, tmp_path: Path, written: list[Future[WholeFile]]
) -> None:
    """The tasks write their whole states themselves, and the next ones are made by another process."""
    env = checkpointing(environment, tmp_path)
    numbering(env)
    client = env.execute_async("killed")
    watch.wait_for_lines()
    killed: set[int] = set()
    until = time.monotonic() + 90
    while len(killed) < 2 and time.monotonic() < until:
        life = client.runner._merging.life
        process = None if life is None else life.process
        if process is not None and process.pid not in killed and written:
            killed.add(process.pid)
            os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.05)
    assert len(killed) == 2
    client.stop_with_savepoint(False, str(tmp_path)).result()
    client.get_job_execution_result().result()
    assert any(future.done() and future.exception() is not None for future in written)
    check(watch)


ANSWERS = """
import os, socket
from millrace.spark.workers.frames import Merged, receive, send
connection = socket.socket(fileno=os.dup(0))
receive(connection)
try:
    while True:
        send(connection, Merged(receive(connection)[0].number, None, "refused"))
except EOFError:
    os._exit(7)
"""


def test_it_ends_when_it_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next request begins another one."""
    begin, begun = subprocess.Popen, list[Any]()

    def answering(_: Any, **options: Any) -> Any:
        begun.append(begin([sys.executable, "-c", ANSWERS], **options))
        return begun[-1]

    monkeypatch.setattr(beside, "IDLE_SECONDS", 0.2)
    monkeypatch.setattr(subprocess, "Popen", answering)
    process = MergingProcess(SimpleNamespace(encode=bytes), "", [], lambda: None)  # type: ignore[arg-type]
    for count in (1, 2):
        with pytest.raises(RuntimeError, match="refused"):
            process.write((0, 0), None).result(60)  # type: ignore[arg-type]
        assert begun[-1].wait(60) == 7
        until = time.monotonic() + 60
        while process.life is not None and time.monotonic() < until:
            time.sleep(0.01)
        assert process.life is None
        assert len(begun) == count
    process.close()
