"""Random programs whose epochs end in the middle of anything, stopped with a savepoint while something waits in sources
and at gates, and restored with any parallelism of each of their steps."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.checkpoint.jobs import SavedJob, Sum, collecting
from tests.endings import Countdown, now_and_then, small_pieces
from tests.programs import Program, build, expected, programs

from millrace.common import Time
from millrace.common.functions import ProcessWindowFunction
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.datastream import DataStream, KeyedStream, StreamExecutionEnvironment
from millrace.datastream.window import EventTimeSessionWindows, EventTimeTrigger, SlidingEventTimeWindows
from millrace.runtime.operators.job_graph import JobGraph

_numbers = itertools.count()


def job_of(program: Program, at_once: int, epoch_records: int | None) -> JobGraph:
    return collecting(lambda env: build(program, env.disable_operator_chaining(), at_once), 1, 128, epoch_records)


class Number(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


@given(programs(), st.none() | st.integers(1, 9), st.sampled_from([1, 3, 100]), st.randoms(use_true_random=False))
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_the_result_is_the_same(
    tmp_path: Path, program: Program, epoch_records: int | None, at_once: int, random: Random
) -> None:
    # How often a broadcast element comes is decided by the parallelism, and a reader with several splits does not read
    # them in the order of time.
    fixed = {"broadcast", "source"} if any(node.kind == "windows" for node in program.nodes) else {"broadcast"}
    again = Program(
        tuple(n if n.kind in fixed else replace(n, parallelism=random.randint(1, 3)) for n in program.nodes)
    )
    folder = tmp_path / str(next(_numbers))
    with small_pieces():
        first = SavedJob(job_of(program, at_once, epoch_records), folder / "first", finish=now_and_then(random))
        for _ in range(random.randint(0, 5)):
            if not first.coordinator.finished:
                first.epoch()
        if first.coordinator.finished:
            assert Counter(first.collected) == expected(program)
            return
        first.epoch(folder / "savepoint")
        second = SavedJob(job_of(again, at_once, epoch_records), folder / "second", finish=now_and_then(random))
        second.restore(str(folder / "savepoint"))
        found = Counter(first.collected) + Counter(second.finish())
    assert found == expected(program)


def test_something_waits(tmp_path: Path) -> None:
    """Behind a source that gives much at a time, and at the gate of what comes behind an exchange."""
    left = [40]

    def finish() -> bool:
        left[0] -= 1
        return left[0] <= 0

    def program(env: StreamExecutionEnvironment) -> DataStream:
        numbers = env.from_collection(list(range(100))).set_parallelism(1)
        return numbers.rebalance().map(lambda n: n + 1).set_parallelism(2)

    with small_pieces():
        first = SavedJob(collecting(program, 2, epoch_records=None), tmp_path / "first", finish=finish)
        result = first.epoch(tmp_path / "savepoint")
        assert result.more and 0 < len(first.collected) < 100
        second = SavedJob(collecting(program, 3, epoch_records=None), tmp_path / "second")
        second.restore(str(tmp_path / "savepoint"))
        assert sorted(first.collected + second.finish()) == list(range(1, 101))


@pytest.mark.parametrize("stops", [1, 2, 5, 20, 100])
def test_wherever_it_stops_a_broadcast_stream_comes_once_to_each(stops: int, tmp_path: Path) -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        return env.from_collection(list(range(9))).set_parallelism(1).broadcast().map(lambda n: n).set_parallelism(2)

    with small_pieces():
        first = SavedJob(collecting(program, 1, epoch_records=None), tmp_path / "first", finish=Countdown(stops))
        first.epoch(tmp_path / "savepoint")
        second = SavedJob(collecting(program, 1, epoch_records=None), tmp_path / "second")
        second.restore(str(tmp_path / "savepoint"))
        assert Counter(first.collected + second.finish()) == Counter(list(range(9)) * 2)


class Shape(NamedTuple):
    """Windows that keep something when they have fired."""

    windows: Callable[[KeyedStream], DataStream]
    expected: Callable[[], Iterator[tuple[int, int]]]
    """(key, sum) of each window of each key, of the numbers up to 24 with the key n % 7 and n as their time"""


class WithKey(ProcessWindowFunction):
    def process(self, key: int, context: Any, elements: Iterable[int]) -> Iterator[tuple[int, int]]:
        yield key, sum(elements)


COUNT, KEYS = 24, 7
SLIDING = SlidingEventTimeWindows.of(Time.milliseconds(8), Time.milliseconds(4))


def of_sliding() -> Iterator[tuple[int, int]]:
    for start in range(-4, COUNT, 4):
        for key in range(KEYS):
            if found := [n for n in range(max(start, 0), min(start + 8, COUNT)) if n % KEYS == key]:
                yield key, sum(found)


def of_sessions() -> Iterator[tuple[int, int]]:
    """Numbers of a key are 7 apart."""
    return ((n % KEYS, n) for n in range(COUNT))


SHAPES = {
    "lateness": Shape(lambda s: s.window(SLIDING).allowed_lateness(100).process(WithKey()), of_sliding),
    "slices": Shape(lambda s: s.window(SLIDING).aggregate(Sum(), WithKey()), of_sliding),
    "trigger": Shape(
        lambda s: s.window(SLIDING).trigger(EventTimeTrigger.create()).allowed_lateness(100).process(WithKey()),
        of_sliding,
    ),
    "sessions": Shape(
        lambda s: (
            s.window(EventTimeSessionWindows.with_gap(Time.milliseconds(5))).allowed_lateness(100).process(WithKey())
        ),
        of_sessions,
    ),
}


def windows(shape: Shape, parallelism: int) -> JobGraph:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())
        numbers = env.from_collection(list(range(COUNT))).set_parallelism(1).assign_timestamps_and_watermarks(timed)
        return shape.windows(numbers.set_parallelism(1).key_by(lambda n: n % KEYS))

    return collecting(program, parallelism, epoch_records=9)


@pytest.mark.draw(6)
@pytest.mark.parametrize("parallelism", [1, 3, 4])
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("stops", range(6, 40, 4))
def test_wherever_it_stops_windows_fire_once(stops: int, name: str, parallelism: int, tmp_path: Path) -> None:
    """Subtasks of one operator may have come to different watermarks, and one of the next job gets keys of several. It
    is stopped again in the middle of that, and goes on with yet another number."""
    shape, finish = SHAPES[name], Countdown()
    with small_pieces():
        first = SavedJob(windows(shape, 2), tmp_path / "first", finish=finish)
        first.epoch()
        finish.left = stops
        first.epoch(tmp_path / "one")
        second = SavedJob(windows(shape, parallelism), tmp_path / "second", finish=finish)
        second.restore(str(tmp_path / "one"))
        finish.left = stops // 3
        second.epoch(tmp_path / "two")
        third = SavedJob(windows(shape, parallelism % 3 + 1), tmp_path / "third")
        third.restore(str(tmp_path / "two"))
        found = Counter(first.collected + second.collected + third.finish())
    assert found == Counter(shape.expected())
