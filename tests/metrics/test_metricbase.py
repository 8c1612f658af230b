"""Counters, meters, distributions, gauges and groups."""

from __future__ import annotations

import pickle

import pytest

from millrace.metrics import Counter, Distribution, Meter, Metric, MetricGroup
from millrace.metrics.report import CounterSnapshot, DistributionSnapshot, GaugeSnapshot, MeterSnapshot


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_counter() -> None:
    counter = Counter()
    counter.inc()
    counter.inc(5)
    counter.dec(2)
    assert counter.get_count() == 4
    assert isinstance(counter, Metric)


def test_meter_forgets_what_is_older_than_its_time_span() -> None:
    clock = Clock()
    meter = Meter(10, clock)
    meter.mark_event(30)
    clock.now += 5
    meter.mark_event()
    assert (meter.get_count(), meter.get_rate()) == (31, 3.1)
    clock.now += 5
    assert meter.get_rate() == 0.1
    clock.now += 5
    assert (meter.get_count(), meter.get_rate()) == (31, 0.0)


def test_meter_needs_little_memory() -> None:
    clock = Clock()
    meter = Meter(60, clock)
    for _ in range(10_000):
        meter.mark_event()
        clock.now += 0.01
    assert len(meter._slots) <= 60
    assert meter.get_rate() == pytest.approx(100, rel=0.02)


def test_meter_refuses_an_empty_time_span() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        Meter(0)


def test_distribution() -> None:
    distribution = Distribution()
    assert (distribution.get_min(), distribution.get_mean()) == (None, None)
    for value in (3, -1, 4):
        distribution.update(value)
    assert (distribution.get_count(), distribution.get_sum()) == (3, 6)
    assert (distribution.get_min(), distribution.get_max(), distribution.get_mean()) == (-1, 4, 2.0)


def test_groups_nest() -> None:
    root = MetricGroup(("job", "map"))
    group = root.add_group("mine").add_group("table", "orders")
    assert group.get_scope_components() == ("job", "map", "mine", "table", "orders")
    assert group.get_all_variables() == {"table": "orders"}
    assert group.add_group("deeper").get_all_variables() == {"table": "orders"}
    assert group.get_metric_identifier("n") == "job.map.mine.table.orders.n"
    assert root.add_group("mine").get_all_variables() == {}


def test_registering_again_goes_on_counting() -> None:
    group = MetricGroup()
    group.counter("n").inc(3)
    assert group.counter("n").get_count() == 3
    assert group.meter("m") is group.meter("m")
    assert group.distribution("d") is group.distribution("d")
    assert group.add_group("g") is group.add_group("g")


def test_a_gauge_registered_again_is_replaced() -> None:
    group = MetricGroup()
    group.gauge("size", lambda: 1)
    group.gauge("size", lambda: 2)
    assert group.snapshot() == {"size": GaugeSnapshot(2)}


def test_a_name_means_one_thing() -> None:
    group = MetricGroup(("op",))
    group.counter("n")
    group.add_group("g")
    with pytest.raises(ValueError, match=r"Cannot make 'op\.n' a gauge: it is a counter already"):
        group.gauge("n", lambda: 1)
    with pytest.raises(ValueError, match=r"Cannot make 'op\.n' a group: it is a counter already"):
        group.add_group("n")
    with pytest.raises(ValueError, match=r"Cannot make 'op\.g' a meter: it is a group already"):
        group.meter("g")
    with pytest.raises(TypeError, match="'size' needs a callable"):
        group.gauge("size", 5)  # type: ignore[arg-type]
    assert group.snapshot() == {"op.n": CounterSnapshot(0)}


def test_snapshot_is_plain_and_pickles_although_gauges_are_lambdas() -> None:
    group = MetricGroup(("op",))
    group.counter("n").inc(2)
    group.gauge("size", lambda: 7)
    group.add_group("mine").distribution("d").update(1.5)
    group.meter("m").mark_event(6)
    snapshot = pickle.loads(pickle.dumps(group.snapshot()))
    assert snapshot == {
        "op.n": CounterSnapshot(2),
        "op.size": GaugeSnapshot(7),
        "op.mine.d": DistributionSnapshot(1, 1.5, 1.5, 1.5),
        "op.m": MeterSnapshot(6, 0.1),
    }
    group.counter("n").inc()
    assert snapshot["op.n"].count == 2


def test_a_gauge_that_fails_does_not_fail_the_job() -> None:
    group = MetricGroup()
    group.gauge("bad", lambda: 1 // 0)
    group.counter("n").inc()
    snapshot = group.snapshot()
    assert snapshot["n"] == CounterSnapshot(1)
    assert snapshot["bad"] == GaugeSnapshot("ZeroDivisionError: integer division or modulo by zero")


def test_subtasks_add_up() -> None:
    assert CounterSnapshot(1).merge(CounterSnapshot(2)) == CounterSnapshot(3)
    assert MeterSnapshot(1, 0.5).merge(MeterSnapshot(2, 0.25)) == MeterSnapshot(3, 0.75)
    empty = DistributionSnapshot(0, 0, None, None)
    some = DistributionSnapshot(2, 5, 1, 4)
    assert empty.merge(some) == some.merge(empty) == some
    assert some.merge(DistributionSnapshot(1, 0, 0, 0)) == DistributionSnapshot(3, 5, 0, 4)
    assert empty.merge(empty) == empty


def test_another_copy_goes_on_from_a_snapshot() -> None:
    clock = Clock()
    first, second = MetricGroup(clock=clock), MetricGroup(clock=clock)
    for group in (first, second):  # the second one has registered some of it already
        group.add_group("mine").counter("n").inc(100)
    first.add_group("mine").counter("n").dec(97)
    first.add_group("table", "orders").meter("m", 10).mark_event(20)
    first.add_group("table", "orders").distribution("d").update(4)
    first.gauge("g", lambda: 5)
    clock.now += 4
    for measured in pickle.loads(pickle.dumps(list(first.measured()))):
        second.restore(measured)
    assert second.snapshot() == first.snapshot()
    orders = second.add_group("table", "orders")
    assert orders.get_all_variables() == {"table": "orders"}
    orders.meter("m").mark_event(10)
    assert orders.meter("m").get_rate() == 3.0
    clock.now += 6
    assert orders.meter("m").get_rate() == 1.0
    orders.distribution("d").update(2)
    assert second.snapshot()["table.orders.d"] == DistributionSnapshot(2, 6, 2, 4)


def test_a_clock_that_goes_back_spoils_nothing() -> None:
    clock = Clock()
    meter = Meter(10, clock)
    meter.mark_event(5)
    clock.now -= 3
    meter.mark_event(5)
    assert meter.get_rate() == 1.0
    clock.now += 13
    assert meter.get_rate() == 0.0


def test_gauges_give_numbers_and_text() -> None:
    group = MetricGroup()
    for name, value in {"none": None, "text": "t", "float": 0.5, "list": [1, 2]}.items():
        group.gauge(name, lambda value=value: value)  # type: ignore[misc]
    values = {name: snapshot.value for name, snapshot in group.snapshot().items()}  # type: ignore[union-attr]
    assert values == {"none": None, "text": "t", "float": 0.5, "list": "[1, 2]"}
