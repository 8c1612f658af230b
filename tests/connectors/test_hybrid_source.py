"""``HybridSource``: one source after the other, wherever epochs, failures and other parallelism cut in."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.jobs import Engine, job_of
from tests.runtime.listed import ListedSource

from millrace.common.source import Boundedness, SplitEnumeratorContext
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.connectors.generated_sources import DataGeneratorSource, NumberSequenceSource
from millrace.connectors.hybrid import HybridSource, SourceSwitchContext
from millrace.connectors.source_base import QueueEnumerator, RangeSplit
from millrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.runtime.coordination.coordinator import Coordinator, EpochResult, JobFailedError
from millrace.testing import run_locally

ENDLESS = Boundedness.CONTINUOUS_UNBOUNDED


class KnowsItsEnd(QueueEnumerator[RangeSplit]):
    """An enumerator that tells how far its source goes."""

    end = 0


class Numbers(NumberSequenceSource):
    def create_enumerator(
        self, context: SplitEnumeratorContext[RangeSplit], checkpoint: Sequence[RangeSplit] | None = None
    ) -> QueueEnumerator[RangeSplit]:
        plain = super().create_enumerator(context, checkpoint)
        enumerator = KnowsItsEnd(context, plain.snapshot_state(0))
        enumerator.end = self._end
        return enumerator


def following(count: int) -> Any:
    """A factory: so many numbers more."""

    def make(switch: SourceSwitchContext) -> Numbers:
        end: int = switch.get_previous_enumerator().end  # type: ignore[attr-defined]
        return Numbers(end + 1, end + count)

    return make


def chain(first: int, second: int, third: int) -> HybridSource:
    """The numbers from 1 on, by a source that is there and two that are made."""
    return HybridSource.builder(Numbers(1, first)).add_source(following(second)).add_source(following(third)).build()


SIZES = st.integers(1, 20)


@given(st.tuples(SIZES, SIZES, SIZES), st.integers(1, 4), st.integers(1, 9), st.integers(0, 99))
def test_all_of_each_source_in_their_order(
    sizes: tuple[int, int, int], parallelism: int, epoch_records: int, seed: int
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(chain(*sizes), WatermarkStrategy.no_watermarks(), "Hybrid").set_parallelism(parallelism)
    run = run_locally(stream, epoch_records=epoch_records, workers=2, seed=seed)
    assert sorted(run.collected) == list(range(1, sum(sizes) + 1))
    ends = [sizes[0], sizes[0] + sizes[1]]
    sources = [sum(value > end for end in ends) for value in run.collected]
    assert sources == sorted(sources), "nothing of a source comes before the end of the one before it"


def test_batch_mode_reads_all_too() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_runtime_mode(RuntimeExecutionMode.BATCH)
    stream = env.from_source(chain(5, 6, 7), WatermarkStrategy.no_watermarks(), "Hybrid").set_parallelism(2)
    total = stream.key_by(lambda n: 0).reduce(lambda a, b: a + b)
    assert run_locally(total).collected == [sum(range(1, 19))]


class Itself(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


def test_event_time_goes_on_from_source_to_source() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Itself())
    job = job_of(lambda env: env.from_source(chain(3, 3, 3), strategy, "Hybrid"), None)
    engine = Engine(job)
    marks: list[int] = []
    while not engine.coordinator.finished:
        result = engine.epoch()
        marks += [report.source.watermark for report in result.reports if report.source]
    assert list(dict.fromkeys(marks)) == [2, 5, 2**63 - 1]


def hybrid_job(parallelism: int, *sources: ListedSource) -> Any:
    def build(env: StreamExecutionEnvironment) -> Any:
        builder = HybridSource.builder(sources[0])
        for source in sources[1:]:
            builder.add_source(source)
        stream = env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "Hybrid")
        return stream.uid("hybrid").set_parallelism(parallelism)

    return job_of(build, 1)


def collected(result: EpochResult) -> list[Any]:
    return [value for part in result.collected for value in pickle.loads(part)]


def parts() -> tuple[ListedSource, ListedSource]:
    return ListedSource("past", [[1, 2], [3], [4]]), ListedSource("present", [[5, 6], [7], [8]])


@pytest.mark.parametrize("epochs", range(10))
@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_another_number_of_readers_takes_over(epochs: int, parallelism: int) -> None:
    before = Engine(hybrid_job(2, *parts()))
    found: list[Any] = []
    for _ in range(epochs):
        if not before.coordinator.finished:
            found += collected(before.epoch())
    left = pickle.loads(pickle.dumps(before.coordinator.snapshot(epochs))).sources["hybrid"]
    after = Engine(hybrid_job(parallelism, *parts()))
    for source in after.coordinator._sources:
        source.begin_from(left)
    while not after.coordinator.finished:
        found += collected(after.epoch())
    assert sorted(found) == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("epochs", range(8))
def test_another_driver_takes_over(epochs: int) -> None:
    engine = Engine(hybrid_job(2, *parts()))
    found: list[Any] = []
    for _ in range(epochs):
        if not engine.coordinator.finished:
            found += collected(engine.epoch())
    snapshot = pickle.loads(pickle.dumps(engine.coordinator.snapshot(epochs)))
    engine.coordinator = Coordinator(engine.job, lambda: 0, engine.storage)
    engine.coordinator.go_on(snapshot, 100)
    while not engine.coordinator.finished:
        found += collected(engine.epoch())
    assert sorted(found) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_failure_at_the_switch_repeats_it() -> None:
    engine = Engine(hybrid_job(1, ListedSource("past", [[1]]), ListedSource("present", [["fail", 2]])))
    found: list[Any] = []
    for _ in range(10):
        try:
            found += collected(engine.epoch())
        except JobFailedError:
            engine.coordinator.restart()
        if engine.coordinator.finished:
            break
    assert found == [1, "fail", 2]


def test_only_the_last_source_may_be_endless() -> None:
    endless = DataGeneratorSource(lambda n: n)
    source = HybridSource.builder(Numbers(1, 2)).add_source(endless).build()
    assert source.get_boundedness() is ENDLESS
    made = HybridSource.builder(Numbers(1, 2)).add_source(lambda switch: endless, ENDLESS).build()
    assert made.get_boundedness() is ENDLESS
    with pytest.raises(ValueError, match="can only be the last one"):
        HybridSource.builder(endless).add_source(Numbers(1, 2))
    with pytest.raises(TypeError, match="needs a Source or a function"):
        HybridSource.builder(Numbers(1, 2)).add_source(3)  # type: ignore[arg-type]


def test_pyflinks_names_are_it() -> None:
    from millrace.datastream.connectors import hybrid_source

    builder = hybrid_source.HybridSource.builder(NumberSequenceSource(1, 3))
    source = builder.add_source(NumberSequenceSource(7, 9)).build()
    assert isinstance(source, HybridSource) and hybrid_source.__all__ == ["HybridSource", "HybridSourceBuilder"]
    env = StreamExecutionEnvironment()
    env.set_parallelism(1)
    both = env.from_source(source, WatermarkStrategy.no_watermarks(), "both")
    assert run_locally(both).collected == [1, 2, 3, 7, 8, 9]
