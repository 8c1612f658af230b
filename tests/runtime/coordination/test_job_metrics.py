"""Metrics and accumulators of a whole job: each completed epoch counts once, whatever worker ran it."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.jobs import Engine, job_of, numbers

from millrace.common import Types
from millrace.common.accumulators import Accumulator, Histogram, IntCounter, IntMaximum, ListAccumulator
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
    SinkFunction,
    SourceFunction,
)
from millrace.datastream.state import ListStateDescriptor
from millrace.metrics.metricbase import Meter
from millrace.metrics.report import CounterSnapshot, DistributionSnapshot, GaugeSnapshot, MeterSnapshot
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.runtime.coordination.job_metrics import JobMetrics
from millrace.runtime.exchange.keys import key_group, subtask_of_group
from millrace.runtime.storage import version_of
from millrace.runtime.tasks.worker import TaskCache
from millrace.testing import OperatorHarness, check_variants, run_locally, steps


class Longest(Accumulator[str, str]):
    """An accumulator of the user's own."""

    def __init__(self) -> None:
        self.text = ""

    def add(self, value: str) -> None:
        self.text = max(self.text, value, key=len)

    def get_local_value(self) -> str:
        return self.text

    def reset_local(self) -> None:
        self.text = ""

    def merge(self, other: Longest) -> None:
        self.add(other.text)


class Measuring(KeyedProcessFunction):
    """Counts in every way, and says what it reads back."""

    def open(self, runtime_context: RuntimeContext) -> None:
        group = runtime_context.get_metrics_group().add_group("mine")
        self.counter = group.counter("seen")
        self.meter = group.meter("rate")
        self.distribution = group.add_group("of", "sizes").distribution("size")
        self.last = -1
        group.gauge("last", lambda: self.last)
        self.total = runtime_context.get_int_counter("total")
        self.histogram = runtime_context.get_histogram("last digits")
        self.values = ListAccumulator()
        runtime_context.add_accumulator("values", self.values)
        self.largest = IntMaximum()
        runtime_context.add_accumulator("largest", self.largest)
        self.longest = Longest()
        runtime_context.add_accumulator("longest", self.longest)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.counter.inc()
        self.meter.mark_event()
        self.distribution.update(value)
        self.last = value
        self.total.add(value)
        self.histogram.add(value % 10)
        self.values.add(value)
        self.largest.add(value)
        self.longest.add("x" * value)
        yield self.counter.get_count(), self.distribution.get_sum(), self.total.get_local_value(), value


@given(values=st.lists(st.integers(0, 50), min_size=1, max_size=40), seed=st.integers(0, 1000))
def test_workers_that_take_turns_count_together(values: list[int], seed: int) -> None:
    draw = random.Random(seed)
    env = StreamExecutionEnvironment().set_parallelism(2)
    stream = numbers(env, values).key_by(lambda value: value % 5).process(Measuring()).name("measuring")
    run = run_locally(stream, epoch_records=draw.randrange(1, 8), workers=3, seed=seed)

    assert run.metrics.counter("measuring", "mine.seen") == len(values)
    assert run.metrics.get("measuring", "mine.of.sizes.size") == DistributionSnapshot(
        len(values), sum(values), min(values), max(values)
    )
    assert run.metrics.get("measuring", "mine.rate").count == len(values)
    assert sorted(run.accumulators.pop("values")) == sorted(values)
    assert run.accumulators == {
        "total": sum(values),
        "last digits": dict(sorted(Counter(value % 10 for value in values).items())),
        "largest": max(values),
        "longest": "x" * max(values),
    }
    # What a function reads is the history of its subtask: replayed here from what each subtask put out.
    by_subtask: dict[int, list[Any]] = {}
    for row in run.collected:
        by_subtask.setdefault(subtask_of(row[3] % 5), []).append(row)
    for rows in by_subtask.values():
        assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
        assert [row[1] for row in rows] == [sum(row[3] for row in rows[:n]) for n in range(1, len(rows) + 1)]
        assert [row[2] for row in rows] == [row[1] for row in rows]


def subtask_of(key: int) -> int:
    return subtask_of_group(key_group(key, 128), 128, 2)


def test_all_variants_agree() -> None:
    outcome = check_variants(
        lambda: OperatorHarness.for_function(Measuring(), key_selector=lambda value: value % 3),
        steps([(value, value) for value in (5, 3, 8, 13, 21)]),
    )
    assert outcome.measured == {
        "metric mine.seen": CounterSnapshot(5),
        "metric mine.of.sizes.size": DistributionSnapshot(5, 50, 3, 21),
        "accumulator total": 50,
        "accumulator last digits": {1: 1, 3: 2, 5: 1, 8: 1},
        "accumulator values": [5, 3, 8, 13, 21],
        "accumulator largest": 21,
        "accumulator longest": "x" * 21,
    }


def test_a_variant_that_loses_a_count_is_found() -> None:
    class Forgets(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.counter = runtime_context.get_metrics_group().counter("opened")
            self.counter.inc()

        def process_element(self, value: int, ctx: Any) -> None:
            pass

    with pytest.raises(AssertionError, match="metric opened"):
        check_variants(lambda: OperatorHarness.for_function(Forgets(), key_selector=lambda v: v), steps([(1, 1)] * 3))


def test_the_harness_shows_metrics_and_accumulators() -> None:
    with OperatorHarness.for_function(Measuring(), key_selector=lambda value: value) as harness:
        harness.process_elements([(4, None), (6, None)])
        assert harness.counter("mine.seen") == 2
        assert harness.metrics()["mine.last"] == GaugeSnapshot(6)
        assert harness.metrics()["mine.rate"] == MeterSnapshot(2, 2 / 60)
        assert harness.accumulators()["total"] == 10
        harness.advance_processing_time(61_000)
        assert harness.metrics()["mine.rate"] == MeterSnapshot(2, 0.0)
        with pytest.raises(TypeError, match="is no counter but a MeterSnapshot"):
            harness.counter("mine.rate")


class Flaky(MapFunction):
    """Counts, then fails on a value, once per process that keeps ``broken``."""

    broken = True

    def open(self, runtime_context: RuntimeContext) -> None:
        self.counter = runtime_context.get_metrics_group().counter("seen")
        self.sum = runtime_context.get_int_counter("sum")

    def map(self, value: int) -> int:
        self.counter.inc()
        self.sum.add(value)
        if value == 3 and Flaky.broken:
            raise RuntimeError("not yet")
        return value


def test_what_a_failed_epoch_counted_does_not_count() -> None:
    engine = Engine(job_of(lambda env: numbers(env, range(1, 6)).map(Flaky()).name("flaky"), epoch_records=2))
    try:
        Flaky.broken = True
        engine.epoch(0)
        with pytest.raises(JobFailedError):
            engine.epoch(0)
        metrics = engine.coordinator.metrics
        assert metrics.report().counter("flaky", "seen") == 2
        assert metrics.accumulators() == {"sum": 3}
        Flaky.broken = False
        while not engine.coordinator.finished:
            engine.epoch(0)
        assert metrics.report().counter("flaky", "seen") == 5
        assert metrics.accumulators() == {"sum": 15}
    finally:
        Flaky.broken = True


def test_a_driver_that_knows_nothing_learns_it_from_rebuilt_tasks() -> None:
    engine = Engine(job_of(lambda env: numbers(env, range(1, 9)).map(Flaky()).name("flaky"), epoch_records=2))
    Flaky.broken = False
    try:
        for worker in (0, 1, 0):
            engine.epoch(worker)
        engine.coordinator.metrics = JobMetrics(engine.job, lambda: 0)
        engine.workers = [TaskCache(), TaskCache()]
        engine.epoch(1)
        assert engine.coordinator.metrics.report().counter("flaky", "seen") == 8
        assert engine.coordinator.metrics.accumulators() == {"sum": 36}
    finally:
        Flaky.broken = True


def test_only_what_changed_is_stored() -> None:
    engine = Engine(job_of(lambda env: numbers(env, [9, 8, 7]).map(OnlyNines()), epoch_records=1), workers=1)
    measures = []
    for epoch in (1, 2, 3):
        engine.epoch()
        written = engine.coordinator._chains.tasks[0, 0].head == version_of(epoch, 1)
        delta = engine.storage.read_delta((0, 0), version_of(epoch, 1)) if written else {}
        # A source begins with a count of records in errors.
        measures.append([state[-1] for state in delta.values() if state[-1] is not None and state[-1].accumulators])
    assert [len(found) for found in measures] == [1, 0, 0]
    (change,) = measures[0]
    assert [metric.path for metric in change.metrics] == [("nines",)]
    assert list(change.accumulators) == ["all nines"]


class OnlyNines(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.nines = runtime_context.get_metrics_group().counter("nines")
        self.all = ListAccumulator()
        runtime_context.add_accumulator("all nines", self.all)

    def map(self, value: int) -> int:
        if value == 9:
            self.nines.inc()
            self.all.add(value)
        return value


def test_a_list_is_stored_and_sent_by_what_is_new() -> None:
    class All(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.all = ListAccumulator()
            runtime_context.add_accumulator("all", self.all)

        def map(self, value: int) -> int:
            self.all.add(value)
            return value

    engine = Engine(job_of(lambda env: numbers(env, range(100)).map(All()), epoch_records=50), workers=2)
    results = [engine.epoch(worker) for worker in (0, 0, 1)]
    measures = [report.measures for result in results for report in result.reports if report.measures]
    sent = [each.accumulators["all"] for each in measures if each.accumulators]
    contents = [(pickle.loads(change.payload).get_local_value(), change.whole) for change in sent]
    assert contents[:2] == [(list(range(50)), True), (list(range(50, 100)), False)]
    assert engine.coordinator.metrics.accumulators() == {"all": list(range(100))}


def test_accumulators_of_all_operators_merge_by_name() -> None:
    class Adds(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.sum = runtime_context.get_long_counter("sum")

        def map(self, value: int) -> int:
            self.sum.add(value)
            return value

    env = StreamExecutionEnvironment().set_parallelism(3)
    run = run_locally(numbers(env, range(10)).rebalance().map(Adds()).rebalance().map(Adds()))
    assert run.accumulators == {"sum": 90}


class HasType(MapFunction):
    def __init__(self, accumulator: Accumulator[Any, Any]) -> None:
        self.accumulator = accumulator

    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.add_accumulator("mine", self.accumulator)

    def map(self, value: int) -> int:
        return value


def test_two_types_under_one_name_name_both_operators() -> None:
    env = StreamExecutionEnvironment().set_parallelism(1)
    stream = numbers(env, [1]).map(HasType(IntCounter())).name("first").map(HasType(Histogram())).name("second")
    with pytest.raises(JobFailedError) as raised:
        run_locally(stream)
    for part in ("'mine' has two types", "IntCounter in operator 'first' at", "Histogram in operator 'second' at"):
        assert part in str(raised.value)
    assert str(raised.value).count("test_job_metrics.py:") == 2


def test_wrong_use_of_accumulators() -> None:
    class Wrong(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            assert runtime_context.get_accumulator("n") is None
            runtime_context.add_accumulator("n", IntCounter())
            assert isinstance(runtime_context.get_accumulator("n"), IntCounter)
            with pytest.raises(ValueError, match="'n' exists already"):
                runtime_context.add_accumulator("n", IntCounter())
            with pytest.raises(TypeError, match="'n' is a IntCounter, not a DoubleCounter"):
                runtime_context.get_double_counter("n")
            with pytest.raises(TypeError, match="must be an Accumulator, not 5"):
                runtime_context.add_accumulator("five", 5)  # type: ignore[arg-type]

        def map(self, value: int) -> int:
            return value

    with OperatorHarness.for_function(Wrong()) as harness:
        assert harness.accumulators() == {"n": 0}


def test_an_accumulator_that_does_not_pickle_names_itself() -> None:
    class Stubborn(Longest):
        def __getstate__(self) -> Any:
            raise ValueError("no")

    class Adds(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.add_accumulator("stubborn", Stubborn())

        def map(self, value: int) -> int:
            return value

    env = StreamExecutionEnvironment().set_parallelism(1)
    with pytest.raises(JobFailedError, match=r"(?s)operator 'Map'.*the accumulator 'stubborn' can't be pickled: no"):
        run_locally(numbers(env, [1]).map(Adds()))


# -- system metrics -----------------------------------------------------------------------------------------------


class Odd(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[int]:
        if value % 2:
            yield value


def test_system_metrics() -> None:
    now = [1_000]

    def clock() -> int:
        now[0] += 1
        return now[0]

    env = StreamExecutionEnvironment().set_parallelism(2)
    stream = numbers(env, range(10)).rebalance().process(Odd()).name("odd").uid("the-odd")
    run = run_locally(stream, epoch_records=3, workers=2, seed=4, clock=clock)
    metrics = run.metrics
    assert metrics.counter("Source: Numbers", "numRecordsOut") == 10
    assert metrics.counter("odd", "numRecordsIn") == 10
    assert metrics.counter("the-odd", "numRecordsOut") == 5
    assert sum(value.count for value in metrics.by_subtask("odd", "numRecordsOutPerSecond").values()) == 5
    assert metrics.get("odd", "numRecordsInPerSecond").rate == pytest.approx(10 / 60)
    assert set(metrics.by_subtask("odd", "currentInputWatermark").values()) == {GaugeSnapshot(2**63 - 1)}
    assert metrics.get("Source: Numbers", "currentOutputWatermark") == GaugeSnapshot(2**63 - 1)
    with pytest.raises(KeyError, match="no metric 'numRecordsIn'"):
        metrics.get("Source: Numbers", "numRecordsIn")
    assert metrics.job("numEpochs") == CounterSnapshot(len(run.epochs))
    duration = metrics.job("lastEpochDuration")
    assert isinstance(duration, GaugeSnapshot) and 0 < duration.value < now[0]


def test_a_meter_of_the_job_forgets() -> None:
    now = [0]
    engine = Engine(job_of(lambda env: numbers(env, range(4)).map(Flaky()).name("flaky")))
    engine.coordinator.metrics = JobMetrics(engine.job, lambda: now[0])
    Flaky.broken = False
    try:
        engine.epoch()
    finally:
        Flaky.broken = True
    report = engine.coordinator.metrics.report
    assert report().get("flaky", "numRecordsInPerSecond") == MeterSnapshot(4, 4 / 60)
    now[0] = 59_000
    assert report().get("flaky", "numRecordsInPerSecond") == MeterSnapshot(4, 4 / 60)
    now[0] = 61_000
    assert report().get("flaky", "numRecordsInPerSecond") == MeterSnapshot(4, 0.0)


def test_identifiers_are_flinks() -> None:
    env = StreamExecutionEnvironment().set_parallelism(1)
    stream = numbers(env, [1]).key_by(lambda value: value).process(Measuring()).name("measuring").uid("m")
    run = run_locally(stream)
    (entry,) = [entry for entry in run.metrics if entry.name == "mine.of.sizes.size"]
    assert entry.variables["<of>"] == "sizes"
    assert (entry.operator, entry.uid, entry.subtask) == ("measuring", "m", 0)
    identifier = entry.identifier()
    assert identifier.endswith(".taskmanager.spark.Flink Streaming Job.measuring.0.mine.of.sizes.size")
    assert entry.identifier("<job_name>.<operator_id>.<no>") == "Flink Streaming Job.m.<no>.mine.of.sizes.size"
    assert set(run.metrics.identifiers()) == {entry.identifier() for entry in run.metrics}


def test_a_meter_is_restored_with_its_span() -> None:
    class Rates(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.meter: Meter = runtime_context.get_metrics_group().meter("rate", 10)

        def map(self, value: int) -> float:
            self.meter.mark_event(value)
            return self.meter.get_rate()

    with OperatorHarness.for_function(Rates(), processing_time=1_000_000) as first:
        first.process_element(30)
        first.advance_processing_time(5_000)
        with first.restored() as second:
            second.process_element(1)
            assert second.values == [3.1]
            second.advance_processing_time(6_000)
            assert second.metrics()["rate"] == MeterSnapshot(31, 0.1)


class Buffering(MapFunction, CheckpointedFunction):
    """A new instance takes over whenever another worker has gone on; it adds the accumulator of its predecessor."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        descriptor = ListStateDescriptor("count", Types.INT())
        self.state = context.get_operator_state_store().get_list_state(descriptor)
        self.count = sum(self.state.get())

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = IntCounter()
        runtime_context.add_accumulator("sum", self.sum)
        self.snapshots = runtime_context.get_metrics_group().counter("snapshots")

    def map(self, value: int) -> int:
        self.count += 1
        self.sum.add(value)
        return value

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update([self.count])
        self.snapshots.inc()


def test_an_instance_that_takes_over_goes_on_with_the_accumulators() -> None:
    engine = Engine(job_of(lambda env: numbers(env, range(8)).map(Buffering()).name("buffering"), epoch_records=2))
    for worker in (0, 1, 0, 1):
        engine.epoch(worker)
    assert engine.coordinator.metrics.accumulators() == {"sum": sum(range(8))}
    assert engine.coordinator.metrics.report().counter("buffering", "snapshots") == 4, "counted in snapshot_state"


class CountingSource(SourceFunction[int]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.made = runtime_context.get_metrics_group().counter("made")

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        for value in range(5):
            self.made.inc()
            ctx.collect(value)

    def cancel(self) -> None:
        """It ends by itself."""


class CountingSink(SinkFunction[int]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = IntCounter()
        runtime_context.add_accumulator("sum", self.sum)
        self.written = runtime_context.get_metrics_group().counter("written")

    def invoke(self, value: int, context: Any) -> None:
        self.sum.add(value)
        self.written.inc()


def test_sources_and_sinks_count_too_though_they_are_opened_in_every_epoch() -> None:
    env = StreamExecutionEnvironment().set_parallelism(1)
    env.add_source(CountingSource(), "Counting").add_sink(CountingSink()).name("counted")
    run = run_locally(env)
    assert run.metrics.counter("Source: Counting", "made") == 5
    assert run.accumulators == {"sum": 10}

    numbers(env, range(9)).add_sink(CountingSink()).name("counted")
    run = run_locally(env, epoch_records=2, workers=2, seed=3)
    assert len(run.epochs) > 3
    assert run.accumulators == {"sum": 36}
    assert run.metrics.counter("Sink: counted", "written") == 9


def test_compaction_keeps_what_was_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace.runtime.coordination.snapshot.COMPACT_VERSIONS", 2)
    engine = Engine(job_of(lambda env: numbers(env, range(10)).map(OnlyNines()).name("nines"), epoch_records=2))
    while not engine.coordinator.finished:
        engine.workers = [TaskCache()]
        engine.epoch()
    assert max(len(list(files.since())) for files in engine.coordinator._chains.files().values()) < 3
    assert engine.coordinator.metrics.report().counter("nines", "nines") == 1
    assert engine.coordinator.metrics.accumulators() == {"all nines": [9]}
