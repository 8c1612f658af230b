"""Savepoints of running jobs on Spark, and jobs that begin with them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.spark.conftest import MakeEnvironment, Watch

from millrace.checkpoint.folder import RestoreError, SnapshotError
from millrace.common import Types
from millrace.common.jobs import JobStatus
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    MapFunction,
    RuntimeContext,
)
from millrace.datastream.state import ValueStateDescriptor
from millrace.spark.jobs.requests import SavepointError

COUNT = 4_000
KEYS = 7


class Number(KeyedProcessFunction):
    """Numbers the elements of a key."""

    def __init__(self, type_of_state: Any = None) -> None:
        self.type = type_of_state or Types.INT()

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", self.type))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value % KEYS} {count}"


def numbering(env: StreamExecutionEnvironment, function: Number | None = None, uid: str = "numbers") -> None:
    env.set_max_parallelism(128)
    values = env.from_sequence(0, COUNT - 1).uid("values").key_by(lambda value: value % KEYS)
    values.process(function or Number()).uid(uid).print()


def wanted() -> list[str]:
    return sorted(f"{key} {n + 1}" for key in range(KEYS) for n in range(len(range(key, COUNT, KEYS))))


def printed(watch: Watch) -> list[str]:
    return sorted(line.partition("> ")[2] or line for line in watch.lines)


@pytest.fixture
def saved(environment: MakeEnvironment, watch: Watch, tmp_path: Path) -> str:
    """A savepoint with which the job ended; what it printed is in ``watch``."""
    env = environment(2, **{"millrace.epoch.max-records": 50})
    numbering(env)
    client = env.execute_async("first")
    watch.wait_for_lines()
    path = client.stop_with_savepoint(False, str(tmp_path)).result()
    client.get_job_execution_result().result()
    assert watch.ends == [JobStatus.FINISHED]
    assert 0 < len(watch.lines) < COUNT
    return path


def restoring(environment: MakeEnvironment, path: str, parallelism: int = 2, **options: Any) -> Any:
    return environment(parallelism, **{"execution.state-recovery.path": path, **options})


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_stopped_job_goes_on(saved: str, environment: MakeEnvironment, watch: Watch, parallelism: int) -> None:
    env = restoring(environment, saved, parallelism)
    numbering(env)
    env.execute("second")
    assert printed(watch) == wanted()
    assert Path(saved).exists(), "it belongs to the user"
    (begin,) = watch.begins
    assert begin.path == saved
    assert "restored:     'KEYED PROCESS' (uid numbers): 'count'" in begin.comparison
    assert ("2 -> 1 subtasks" in begin.comparison) == (parallelism == 1)


def test_a_job_that_claims_its_savepoint_deletes_it(saved: str, environment: MakeEnvironment, watch: Watch) -> None:
    env = restoring(environment, saved, **{"execution.state-recovery.claim-mode": "CLAIM"})
    env.enable_checkpointing(10)
    numbering(env)
    env.execute("second")
    assert printed(watch) == wanted()
    assert not Path(saved).exists()


def test_a_savepoint_can_be_moved(saved: str, environment: MakeEnvironment, watch: Watch, tmp_path: Path) -> None:
    elsewhere = tmp_path / "some where" / "else"
    elsewhere.parent.mkdir()
    Path(saved).rename(elsewhere)
    env = restoring(environment, str(elsewhere))
    numbering(env)
    env.execute("second")
    assert printed(watch) == wanted()


def test_the_job_goes_on_after_a_savepoint(environment: MakeEnvironment, watch: Watch, tmp_path: Path) -> None:
    env = environment(2, **{"millrace.epoch.max-records": 50, "state.savepoints.dir": str(tmp_path)})
    numbering(env)
    client = env.execute_async("saves")
    path = Path(client.trigger_savepoint().result())
    client.get_job_execution_result().result()
    assert printed(watch) == wanted()
    assert path.parent == tmp_path
    assert json.loads((path / "_metadata").read_text())["job_name"] == "saves"
    with pytest.raises(SavepointError, match="job 'saves' is FINISHED"):
        client.trigger_savepoint().result()


def test_draining_fires_what_waits(environment: MakeEnvironment, watch: Watch, tmp_path: Path) -> None:
    class AtTheEnd(KeyedProcessFunction):
        def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
            ctx.timer_service().register_event_time_timer(10**15)

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
            yield f"key {ctx.get_current_key()}"

    def build(env: StreamExecutionEnvironment) -> None:
        env.from_sequence(0, 10**9).uid("values").key_by(lambda value: value % KEYS).process(AtTheEnd()).print()

    for drain in (False, True):
        env = environment(2, **{"millrace.epoch.max-records": 50})
        build(env)
        client = env.execute_async("drains")
        client.trigger_savepoint(str(tmp_path)).result()  # all keys have come
        client.stop_with_savepoint(drain, str(tmp_path)).result()
        client.get_job_execution_result().result()
        assert printed(watch) == (sorted(f"key {key}" for key in range(KEYS)) if drain else [])


def test_what_does_not_fit_is_told_before_anything_runs(saved: str, environment: MakeEnvironment, watch: Watch) -> None:
    before = list(watch.lines)
    env = restoring(environment, saved)
    numbering(env, uid="renamed")
    with pytest.raises(RestoreError) as caught:
        env.execute()
    text = str(caught.value)
    assert "dropped:      'KEYED PROCESS' (uid numbers)" in text
    assert "new:          'KEYED PROCESS' (uid renamed)" in text
    assert "--allowNonRestoredState" in text

    env = restoring(environment, saved)
    numbering(env, Number(Types.STRING()))
    with pytest.raises(RestoreError, match=r"state 'count' is incompatible: INT can't become STRING"):
        env.execute()

    env = restoring(environment, saved)
    numbering(env)
    env.set_max_parallelism(64)
    with pytest.raises(RestoreError, match=r"maximum parallelism is 64, but was 128"):
        env.execute()
    assert watch.lines == before


def test_state_may_be_dropped_if_that_is_said(saved: str, environment: MakeEnvironment, watch: Watch) -> None:
    first = len(watch.lines)
    env = restoring(environment, saved, **{"execution.state-recovery.ignore-unclaimed-state": "true"})
    numbering(env, uid="renamed")
    env.execute()
    assert len(watch.lines) == COUNT, "the source went on"
    assert "0 1" in {line.partition("> ")[2] for line in watch.lines[first:]}, "counting began anew"


def test_damage_is_named(saved: str, environment: MakeEnvironment, tmp_path: Path) -> None:
    state = next(file for file in Path(saved).rglob("*.parquet"))
    content = state.read_bytes()
    state.write_bytes(content[:-1])
    env = restoring(environment, saved)
    numbering(env)
    with pytest.raises(SnapshotError, match=rf"{state.name} is corrupt: it has {len(content) - 1} bytes"):
        env.execute()
    state.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    env = restoring(environment, saved)
    numbering(env)
    with pytest.raises(Exception, match=rf"{state.name} is corrupt: its checksum is wrong"):
        env.execute()
    state.unlink()
    env = restoring(environment, saved)
    numbering(env)
    with pytest.raises(SnapshotError, match=rf"{state.name} is missing"):
        env.execute()
    env = restoring(environment, str(tmp_path / "nothing"))
    numbering(env)
    with pytest.raises(SnapshotError, match="no checkpoint or savepoint"):
        env.execute()


def test_requests_that_make_no_sense(environment: MakeEnvironment, tmp_path: Path) -> None:
    env = environment(1, batch=True)
    env.from_sequence(0, 10).print()
    client = env.execute_async("batch")
    with pytest.raises(ValueError, match="batch mode, which has no savepoints"):
        client.trigger_savepoint(str(tmp_path))
    client.get_job_execution_result().result()
    env = environment(1, **{"millrace.epoch.max-records": 5})
    env.from_sequence(0, 10**6).print()
    client = env.execute_async("nowhere")
    try:
        with pytest.raises(ValueError, match=r"set execution\.checkpointing\.savepoint-dir"):
            client.trigger_savepoint()
        (tmp_path / "file").write_text("in the way")
        with pytest.raises(SavepointError, match="no savepoint at"):
            client.trigger_savepoint(str(tmp_path / "file")).result()
        assert client.get_job_status().result() is JobStatus.RUNNING, "the job does not care"
    finally:
        client.cancel().result()


@pytest.mark.parametrize("drain", [None, False, True])
def test_a_savepoint_whose_epoch_fails(
    environment: MakeEnvironment, watch: Watch, tmp_path: Path, drain: bool | None
) -> None:
    """The job goes on as if nobody had asked for it, to the end of its sources. Two epochs fail: the first one may have
    begun before it was asked for."""

    class DieTwice(MapFunction, CheckpointedFunction):
        def initialize_state(self, context: FunctionInitializationContext) -> None:
            """There is none."""

        def snapshot_state(self, context: FunctionSnapshotContext) -> None:
            deaths = len(list(tmp_path.glob("died-*")))
            if deaths < 2:
                (tmp_path / f"died-{deaths}").touch()
                os.kill(os.getpid(), signal.SIGKILL)

        def map(self, value: int) -> int:
            return value

    restarts = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "1 ms",
        "restart-strategy.fixed-delay.attempts": "2",
    }
    env = environment(1, **{"millrace.epoch.max-records": COUNT, **restarts})
    env.from_sequence(0, 3 * COUNT - 1).map(DieTwice()).print()
    client = env.execute_async("saves")
    directory = str(tmp_path / "savepoints")
    saving = client.trigger_savepoint(directory) if drain is None else client.stop_with_savepoint(drain, directory)
    with pytest.raises(SavepointError, match="the epoch failed") as caught:
        saving.result()
    assert len(str(caught.value).splitlines()) == 1
    client.get_job_execution_result().result()
    assert sorted(map(int, printed(watch))) == list(range(3 * COUNT))
    assert list(Path(directory).glob("*")) == []
