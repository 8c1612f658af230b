"""``Stopwatch``: every moment of an epoch is counted for exactly one slot."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.bases.epoch_protocol import OperatorReport
from millrace.runtime.tasks import task_figures
from millrace.runtime.tasks.task_figures import OTHER, READING, REST, Stopwatch, sort_slot, work_slot
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


def test_a_context_counts_for_its_slot_and_then_for_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    watch = Stopwatch(1)
    watch.start()
    working, sorting = watch.during(work_slot(0)), watch.during(sort_slot(0))
    for _ in range(2):
        with working:
            clock.passes(10)
            with sorting:
                clock.passes(3)
            clock.passes(20)
        clock.passes(1)
    watch.switch(OTHER)
    assert watch.of_operator(0) == (60, 6, 0)
    assert watch.of_task().other == 2


def test_the_time_of_a_task_that_fails_counts_for_the_operator_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    watch = Stopwatch(1)
    watch.start()
    with pytest.raises(ValueError, match="failed"), watch.during(work_slot(0)):
        raise ValueError("failed")
    clock.passes(5)
    watch.switch(OTHER)
    assert watch.of_operator(0) == (5, 0, 0)


def test_the_time_until_the_next_item_counts_for_a_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    watch = Stopwatch(0)
    watch.start()

    def packets() -> Iterator[str | None]:
        for packet in ("a", None, "b"):
            clock.passes(100)
            yield packet
        clock.passes(7)

    found = []
    for packet in watch.each(packets(), READING):
        found.append(packet)
        clock.passes(1)
    assert found == ["a", None, "b"]
    assert (watch.of_task().read, watch.of_task().other) == (307, 3)


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
