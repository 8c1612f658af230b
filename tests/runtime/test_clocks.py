"""The machine's clock is set while a job runs: what is measured goes on, what has a time of day follows the clock."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from tests.runtime.jobs import Engine, job_of, numbers
from tests.runtime.tables.table_runs import harness as of_table
from tests.runtime.tables.table_runs import rows_of

from millrace.common import Duration, WatermarkStrategy
from millrace.datastream.functions import KeyedProcessFunction
from millrace.relational import types as t
from millrace.relational.rex import Ref
from millrace.runtime import clocks
from millrace.runtime.clocks import now_millis, steady_millis, steady_of
from millrace.runtime.coordination.checkpoints import Checkpoints, CheckpointSettings
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.runtime.operators.timestamps import AssignTimestampsOperator
from millrace.runtime.tables.watermark import WatermarkAssigner
from millrace.testing import OperatorHarness, Status

TIME = t.TimestampType(3)
HOURS = 5 * 3_600_000


class Machine:
    """A machine's two clocks (ms)."""

    def __init__(self) -> None:
        self.wall = 1_700_000_000_000
        self.passed = 0

    def passes(self, millis: int, set_by: int = 0) -> None:
        """Time passes, and the clock is set besides."""
        self.passed += millis
        self.wall += millis + set_by


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine()
    times = SimpleNamespace(time_ns=lambda: found.wall * 1_000_000, monotonic_ns=lambda: found.passed * 1_000_000)
    monkeypatch.setattr(clocks, "time", times)
    monkeypatch.setattr(clocks, "_BEGAN_MS", found.wall)
    return found


def test_what_is_measured_does_not_jump(machine: Machine) -> None:
    before = steady_millis()
    assert before == now_millis()
    machine.passes(1_000, HOURS)
    assert (steady_millis() - before, now_millis() - before) == (1_000, HOURS + 1_000)
    machine.passes(1_000, -2 * HOURS)
    assert steady_millis() - before == 2_000
    assert steady_of(now_millis) is steady_millis
    own: Callable[[], int] = lambda: 7
    assert steady_of(own) is own


def on(machine: Machine, harness: OperatorHarness) -> OperatorHarness:
    """The harness with the clocks of the machine, as a task of a job has them."""
    harness.operator.context.clock, harness.operator.context.steady = now_millis, steady_millis
    return harness


def idle(harness: OperatorHarness) -> bool:
    """Whether the stream is idle by now."""
    harness.operator.tick(now_millis())
    return [item for item in harness.output if isinstance(item, Status)][-1:] == [Status.IDLE]


@pytest.mark.parametrize("set_by", [HOURS, -HOURS])
@pytest.mark.parametrize("kind", ["stream", "table"])
def test_a_stream_is_not_quiet_because_the_clock_was_set(machine: Machine, kind: str, set_by: int) -> None:
    """Rows that come a moment later would be late; and one that is quiet is found, whatever the clock says."""
    strategy: Any = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_seconds(10))
    assigner = WatermarkAssigner(column=0, expression=Ref(TIME, 0), idle_timeout=10_000)
    made: dict[str, Callable[[], OperatorHarness]] = {
        "stream": lambda: OperatorHarness(lambda: AssignTimestampsOperator(strategy)),
        "table": lambda: of_table(assigner),
    }
    rows = {"stream": "a", "table": rows_of([(0, (dt.datetime(2024, 1, 1),))], (TIME,))}
    with made[kind]() as harness:
        on(machine, harness).process_element(rows[kind], 5)
        machine.passes(1_000, set_by)
        assert not idle(harness)
        machine.passes(8_000, -set_by)
        assert not idle(harness)
        machine.passes(1_000, set_by)
        assert idle(harness)


class Slow:
    """A store of checkpoints: while it writes, time passes and the clock is set."""

    def __init__(self, machine: Machine, millis: int, set_by: int) -> None:
        self._does = lambda: machine.passes(millis, set_by)

    def write(self, snapshot: Any) -> str:
        self._does()
        return "path"

    def delete(self, checkpoint: int) -> None:
        """Gone."""


@pytest.mark.parametrize("set_by", [HOURS, -HOURS])
@pytest.mark.parametrize(("takes", "fails"), [(59_000, False), (61_000, True)])
def test_a_checkpoint_takes_as_long_as_it_takes(machine: Machine, takes: int, fails: bool, set_by: int) -> None:
    store: Any = Slow(machine, takes, set_by)
    settings = CheckpointSettings(interval=100_000, timeout=60_000, tolerable_failures=3)
    recorder = Checkpoints(settings, store, now_millis)
    began = machine.wall
    snapshot = coordinator(now_millis).snapshot(1)
    assert (recorder.take(snapshot) is None) == fails
    (found,) = recorder.log.history()
    assert (found.duration, found.trigger_time) == (takes, began)
    assert not recorder.due(0)
    machine.passes(100_000 - takes - 1, set_by)
    assert not recorder.due(0)
    machine.passes(1, -set_by)
    assert recorder.due(0)


def coordinator(clock: Callable[[], int]) -> Coordinator:
    return Coordinator(job_of(lambda env: numbers(env, range(4)).print(), 1), clock)


@pytest.mark.parametrize("set_by", [HOURS, -HOURS])
def test_an_epoch_is_as_long_as_it_was(machine: Machine, set_by: int) -> None:
    engine = Engine(job_of(lambda env: numbers(env, range(4)).print(), 1), clock=now_millis)
    tasks = engine.tasks

    def slowly(*arguments: Any, **others: Any) -> Any:
        machine.passes(1_000, set_by)
        return tasks(*arguments, **others)

    engine.tasks = slowly  # type: ignore[method-assign]
    began = machine.wall
    engine.epoch()
    (epoch,) = engine.coordinator.history.epochs()
    assert (epoch.duration, epoch.began) == (1_000, began)


class Wakes(KeyedProcessFunction):
    """Asks to be called in a minute."""

    def process_element(self, value: Any, ctx: Any) -> None:
        service = ctx.timer_service()
        service.register_processing_time_timer(service.current_processing_time() + 60_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield timestamp


@pytest.mark.parametrize(("set_by", "fires"), [(HOURS, True), (-HOURS, False)])
def test_timers_of_processing_time_follow_the_clock(set_by: int, fires: bool) -> None:
    """As the user asked for a time of day: they fire when the clock says that it is there, no matter why, and once."""
    began = 1_700_000_000_000
    with OperatorHarness.for_function(Wakes(), key_selector=lambda word: word, processing_time=began) as harness:
        harness.process_element("a", 0)
        harness.set_processing_time(began + 1_000 + set_by)
        assert harness.values == ([began + 60_000] if fires else [])
        harness.set_processing_time(began + 60_000)
        harness.set_processing_time(began + HOURS + 60_000)
        assert harness.values == [began + 60_000]
