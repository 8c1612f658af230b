"""``Stopwatch``: every moment of an epoch is counted for exactly one slot."""

from __future__ import annotations

import time
from typing import Any

import pytest

from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.bases.epoch_protocol import OperatorReport
from millrace.runtime.tasks import task_figures
from millrace.runtime.tasks.task_figures import OTHER, REST, Stopwatch, sort_slot, work_slot
from millrace.testing import run_locally


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0
        monkeypatch.setattr(task_figures, "perf_counter_ns", lambda: self.now)

    def passes(self, microseconds: int) -> None:
        self.now += microseconds * 1000


def test_slots_nest_and_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    watch = Stopwatch(2)
    clock.passes(500)  # before the epoch
    watch.start()
    clock.passes(1)
    outside = watch.switch(work_slot(0))
    clock.passes(10)
    inside = watch.switch(sort_slot(0))
    clock.passes(3)
    assert watch.switch(inside) == sort_slot(0)
    deeper = watch.switch(work_slot(1))
    clock.passes(100)
    watch.switch(deeper)
    clock.passes(20)
    watch.switch(outside)
    clock.passes(4)
    watch.switch(OTHER)
    assert (watch.of_operator(0), watch.of_operator(1)) == ((30, 3, 0), (100, 0, 0))
    assert watch.of_task().other == 5
    assert watch.spent[REST] == 0
    watch.stop()
    clock.passes(700)
    watch.start()
    assert sum(watch.spent) == 0


def slow(value: int) -> int:
    time.sleep(0.002)
    return value


def test_the_time_of_a_slow_function_is_its_operators() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_sequence(1, 20).map(lambda n: n).name("fast")
    numbers.map(slow).name("slow").disable_chaining().key_by(lambda n: n).map(lambda n: n).name("after").print()
    run = run_locally(env, epoch_records=10)
    reports: list[OperatorReport] = [report for epoch in run.epochs for report in epoch.reports]
    took: dict[int, Any] = {}
    for report in reports:
        took[report.operator] = took.get(report.operator, 0) + report.times.work
    slowest = max(took, key=lambda operator: took[operator])
    assert took[slowest] >= 20 * 2_000
    assert sum(took.values()) - took[slowest] < took[slowest]
    phases = run.epochs[0].phases
    assert phases.keys() == {"plan", "start", "read", "process", "exchange", "record", "commit"}
    assert phases["process"] >= 20
