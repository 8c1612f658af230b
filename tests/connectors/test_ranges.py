"""Sources of numbered elements: number sequences, collections, generators."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.source import Boundedness
from millrace.common.typeinfo import Types
from millrace.connectors import generated_sources, source_base
from millrace.connectors.generated_sources import (
    CollectionSource,
    DataGeneratorSource,
    GeneratorFunction,
    NumberSequenceSource,
    RateLimiterStrategy,
)
from millrace.connectors.source_base import split_range
from millrace.testing.connectors.runtime import Clock, SourceRun, read_all

budgets = st.lists(st.one_of(st.none(), st.integers(1, 50)), max_size=20)


@pytest.fixture(autouse=True, scope="module")
def small_batches() -> object:
    """Batches of 7, so that small inputs are cut as well."""
    patch = pytest.MonkeyPatch()
    patch.setattr(source_base, "BATCH", 7)
    patch.setattr(generated_sources, "BATCH", 7)
    yield
    patch.undo()


@given(st.integers(-5, 5), st.integers(0, 100), st.integers(1, 12))
def test_ranges_are_contiguous_and_even(start: int, size: int, parts: int) -> None:
    cut = split_range(start, start + size, parts)
    assert [number for part in cut for number in part] == list(range(start, start + size))
    assert not cut or max(map(len, cut)) - min(map(len, cut)) <= 1
    assert [len(part) for part in cut] == sorted((len(part) for part in cut), reverse=True)


@given(st.integers(-100, 100), st.integers(0, 120), st.integers(1, 5), budgets)
def test_number_sequence_reads_each_number_once(
    start: int, size: int, parallelism: int, cuts: list[int | None]
) -> None:
    run = SourceRun(NumberSequenceSource(start, start + size), parallelism)
    by_subtask = run.to_end(iter(cuts))
    # Subtasks hold neighbouring ranges, so put behind each other they are the sequence.
    assert [number for numbers in by_subtask for number in numbers] == list(range(start, start + size + 1))


def test_number_sequence_needs_start_before_end() -> None:
    with pytest.raises(ValueError, match="start <= end, got start=2, end=1"):
        NumberSequenceSource(2, 1)
    source = NumberSequenceSource(1, 1)
    assert source.get_boundedness() is Boundedness.BOUNDED
    assert source.get_produced_type() == Types.LONG()
    assert read_all(source) == [1]


@given(st.lists(st.one_of(st.integers(), st.text(), st.tuples(st.integers()))), st.integers(1, 5), budgets)
def test_collection_reads_each_value_once(values: list[object], parallelism: int, cuts: list[int | None]) -> None:
    by_subtask = SourceRun(CollectionSource(values), parallelism).to_end(iter(cuts))
    assert [value for part in by_subtask for value in part] == values


def test_collection_for_readers_carries_no_values() -> None:
    source = CollectionSource([1, 2, 3], Types.INT())
    light = source.for_readers()
    assert light.get_produced_type() == Types.INT()
    with pytest.raises(RuntimeError, match="has no values"):
        SourceRun(light).plan()


def test_a_restored_checkpoint_repeats_what_followed_it() -> None:
    run = SourceRun(CollectionSource(range(30)), 2)
    run.epoch(5)
    state = run.state()
    run.epoch(5)
    after = run.records()
    again = SourceRun(CollectionSource(range(30)), 2)
    again.restore(state)
    again.epoch(5)
    assert [part[:7] + repeated for part, repeated in zip(after, again.records(), strict=True)] == after


@given(st.integers(0, 80), st.integers(1, 4), budgets)
def test_generator_makes_each_element_once(count: int, parallelism: int, cuts: list[int | None]) -> None:
    by_subtask = SourceRun(DataGeneratorSource(str, count), parallelism).to_end(iter(cuts))
    assert [value for part in by_subtask for value in part] == [str(index) for index in range(count)]


def test_unbounded_generator_interleaves_indexes() -> None:
    source = DataGeneratorSource(lambda_free_square, None, type_info=Types.LONG())
    assert source.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
    run = SourceRun(source, 2)
    run.epoch(14)
    run.epoch(7)
    assert run.records() == [[n * n for n in range(0, 42, 2)], [n * n for n in range(1, 42, 2)]]


def lambda_free_square(index: int) -> int:
    return index * index


def test_generator_function_is_opened_and_closed() -> None:
    assert read_all(DataGeneratorSource(Prefixed(), 3)) == ["open-0", "open-1", "open-2"]


class Prefixed(GeneratorFunction[str]):
    prefix = "closed"

    def open(self, context: object) -> None:
        self.prefix = "open"

    def map(self, index: int) -> str:
        return f"{self.prefix}-{index}"


@given(st.lists(st.integers(0, 3000), max_size=15), st.integers(1, 4), st.floats(0.5, 60))
def test_events_per_second_follow_the_clock(steps: list[int], parallelism: int, rate: float) -> None:
    clock = Clock()
    run = SourceRun(DataGeneratorSource(int, None, RateLimiterStrategy.per_second(rate)), parallelism, clock)
    run.epoch()
    assert run.records() == [[]] * parallelism
    for step in steps:
        clock.now += step
        run.epoch()
        due = int(sum(steps[: run.epochs - 1]) * (rate / parallelism) / 1000)
        assert [len(part) for part in run.records()] == [due] * parallelism


def test_a_long_pause_is_not_made_up_for() -> None:
    clock = Clock()
    run = SourceRun(DataGeneratorSource(int, None, RateLimiterStrategy.per_second(1)), 1, clock)
    run.epoch()
    clock.now += 3_600_000
    run.epoch()
    assert len(run.records()[0]) == 300
    clock.now += 2000
    run.epoch()
    assert len(run.records()[0]) == 302


def test_events_per_checkpoint() -> None:
    run = SourceRun(DataGeneratorSource(int, 25, RateLimiterStrategy.per_checkpoint(11)), 2)
    lengths = []
    while len(run.ended) < 2:
        run.epoch()
        lengths.append([len(part) for part in run.records()])
    assert lengths == [[6, 5], [12, 10], [13, 12]]
    with pytest.raises(ValueError, match=r"per_checkpoint\(1\) leaves nothing for some of 2 subtasks"):
        SourceRun(DataGeneratorSource(int, 25, RateLimiterStrategy.per_checkpoint(1)), 2).plan()
    for wrong in (RateLimiterStrategy.per_second, RateLimiterStrategy.per_checkpoint):
        with pytest.raises(ValueError, match="positive"):
            wrong(0)
    with pytest.raises(ValueError, match="negative"):
        DataGeneratorSource(int, -1)
