"""LedgerSink tells what was committed, and survives kill -9 at any moment."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.connectors.exactly_once import ELEMENTS, ExactlyOnce, test_case

from millrace.common.sink import Sink
from millrace.common.typeinfo import Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Ledger, LedgerEntry, LedgerSink, read_ledger, run_locally
from millrace.testing.connectors.runtime import SinkRun
from millrace.testing.connectors.sinks import Driver, Point

ROOT = Path(__file__).parents[2]
KILLS = 8


class Directory:
    def __init__(self, path: Path) -> None:
        self.path = path

    def sink(self) -> Sink[Any]:
        return LedgerSink(self.path)

    def committed(self) -> list[int]:
        return read_ledger(self.path).records

    def left_over(self) -> list[str]:
        return [*read_ledger(self.path).prepared, *map(str, self.path.glob("*.tmp"))]

    def killed(self, writer: Any, flushed: bool) -> None: ...

    def close(self) -> None: ...


class Ledgers(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Directory:
        return Directory(directory)


TestLedgers = test_case(Ledgers)


def test_what_is_lost_and_doubled() -> None:
    ledger = Ledger((LedgerEntry("a", 1, 0, (1, [2], "x")), LedgerEntry("b", 1, 1, (1,))), ())
    assert ledger.records == [1, [2], "x", 1]
    ledger.check(["x", 1, [2], 1])
    assert ledger.lost([1, 1, 1, [2], [3], "x"]) == [1, [3]]
    assert ledger.doubled([1, [2], [3]]) == [1, "x"]
    with pytest.raises(AssertionError, match=r"4 records committed, 3 expected; lost 1 \(\[3\]\), doubled or not"):
        ledger.check([1, [2], [3]])
    with pytest.raises(AssertionError, match=r"24 expected; lost 20 \(10, .*, 19, \.\.\.\), doubled .* 0$"):
        ledger.check([*ledger.records, *range(10, 30)])


def test_entries_tell_epoch_and_subtask(tmp_path: Path) -> None:
    assert read_ledger(tmp_path / "none") == Ledger((), ())
    run = SinkRun(LedgerSink(tmp_path / "new"), parallelism=2)
    run.epoch(["a", "b", "c"])
    run.epoch(["d"])
    run.epoch([])
    found = [(entry.epoch, entry.subtask, entry.records) for entry in read_ledger(tmp_path / "new").entries]
    assert found == [(1, 0, ("a", "c")), (1, 1, ("b",)), (2, 0, ("d",))]


def test_an_engine_that_breaks_the_rules_is_told(tmp_path: Path) -> None:
    run = Driver(LedgerSink(tmp_path), ELEMENTS)
    run.epoch(1)
    (name,) = run.pending
    assert read_ledger(tmp_path).prepared == (name,)
    committer = run.committer
    committer.abort([name])
    with pytest.raises(AssertionError, match=f"{name} is to be committed, but it is not prepared"):
        committer.commit([name])
    run.pending.clear()
    run.epoch(1)
    run.checkpoint()
    with pytest.raises(AssertionError, match="is to be aborted, but it is committed"):
        committer.abort([entry.name for entry in read_ledger(tmp_path).entries])


def test_on_commit_may_fail(tmp_path: Path) -> None:
    seen: list[str] = []

    def on_commit(name: str) -> None:
        seen.append(name)
        if len(seen) == 2:
            raise RuntimeError("half of it")

    run = Driver(LedgerSink(tmp_path, on_commit=None), ELEMENTS, parallelism=3)
    run.committer = LedgerSink(tmp_path, on_commit).create_committer()
    run.epoch(30)
    with pytest.raises(RuntimeError, match="half of it"):
        run.checkpoint()
    assert len(read_ledger(tmp_path).entries) == 2
    run.recover()
    read_ledger(tmp_path).check(range(30))
    assert len(seen) == 5


def test_a_recovery_deletes_only_what_is_its_own(tmp_path: Path) -> None:
    runs = [
        Driver(LedgerSink(tmp_path).for_operator(uid), ELEMENTS, job_id=job_id)
        for uid, job_id in (("a", "1"), ("b", "1"), ("a", "2"))
    ]
    for run in runs:
        run.epoch(2)
        run.epoch(2, fail=(Point.KILLED_AFTER_PREPARE, 0))
    for left, run in zip((5, 4, 3), runs):
        run.recover()
        assert len(read_ledger(tmp_path).prepared) == left


def test_in_a_program(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    stream = env.from_collection(list(range(50)), Types.INT())
    stream.sink_to(LedgerSink(tmp_path)).uid("one")
    stream.sink_to(LedgerSink(tmp_path)).uid("two")
    run_locally(env, epoch_records=6, workers=3, seed=3)
    read_ledger(tmp_path).check([*range(50)] * 2)
    assert not read_ledger(tmp_path).prepared


def test_kill_9_at_any_moment(tmp_path: Path) -> None:
    """A process that plays driver and tasks of three sinks, killed again and again, and started anew."""
    dice = random.Random()
    kills = 0
    while True:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.testing.ledger_job", str(tmp_path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "recovering\n"
        if kills < KILLS:
            time.sleep(dice.uniform(0.0, 0.15))
            process.kill()
        said, _ = process.communicate()
        if said == "finished\n":
            break
        assert process.returncode in (0, -signal.SIGKILL)
        kills += process.returncode == -signal.SIGKILL
    assert kills == KILLS
