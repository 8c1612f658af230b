"""What the tests of window join and co-group share: streams, windows, and which elements a window holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from millrace.common.time import Duration, Time
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.datastream import DataStream, ProcessFunction, RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from millrace.testing import run_locally

Element = tuple[str, int, int]
"""(key, time, number)"""

SIDE = st.lists(st.tuples(st.sampled_from("ab"), st.integers(-5, 25)), max_size=8).map(
    lambda pairs: [(key, time, number) for number, (key, time) in enumerate(pairs)]
)
LAG = 40
"""No element is that far out of order."""


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class WithTimestamp(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timestamp()


def key_of(element: Element) -> str:
    return element[0]


def stamped(env: StreamExecutionEnvironment, elements: list[Element], lag: int = LAG) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(lag))
    stream = env.from_collection(elements).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(SecondField())
    )
    return stream.set_parallelism(1)


@dataclass(frozen=True)
class Windows:
    """An assigner, and by other means the windows (start, end) of a key's times."""

    assigner: Callable[[], WindowAssigner[Any, Any]]
    windows_of: Callable[[list[int]], list[tuple[int, int]]]


def aligned(size: int, slide: int, offset: int) -> Callable[[list[int]], list[tuple[int, int]]]:
    def windows_of(times: list[int]) -> list[tuple[int, int]]:
        starts = range(-100 * slide + offset, 100 * slide, slide)
        return [(start, start + size) for start in starts if any(start <= time < start + size for time in times)]

    return windows_of


def sessions(gap: int) -> Callable[[list[int]], list[tuple[int, int]]]:
    def windows_of(times: list[int]) -> list[tuple[int, int]]:
        ordered = sorted(set(times))
        begins = [time for before, time in zip([None, *ordered], ordered) if before is None or time - before > gap]
        return [(begin, max(t for t in ordered if begin <= t < after) + gap) for begin, after in pairwise(begins)]

    return windows_of


def pairwise(begins: list[int]) -> list[tuple[int, int]]:
    return list(zip(begins, [*begins[1:], 10**9]))


WINDOWS = {
    "tumbling": Windows(
        lambda: TumblingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(2)), aligned(5, 5, 2)
    ),
    "sliding": Windows(
        lambda: SlidingEventTimeWindows.of(Time.milliseconds(6), Time.milliseconds(2)), aligned(6, 2, 0)
    ),
    "session": Windows(lambda: EventTimeSessionWindows.with_gap(Time.milliseconds(3)), sessions(3)),
}


Group = tuple[list[Element], list[Element], int]


def groups(left: list[Element], right: list[Element], windows: Windows) -> list[Group]:
    """Both sides' elements of each key and window, with the window's end."""
    found = []
    for key in sorted({key_of(element) for element in left + right}):
        sides = [[element for element in side if key_of(element) == key] for side in (left, right)]
        for start, end in windows.windows_of([time for side in sides for _, time, _ in side]):
            first, second = ([element for element in side if start <= element[1] < end] for side in sides)
            found.append((first, second, end))
    return found


def run(
    build: Callable[[StreamExecutionEnvironment], DataStream], parallelism: int, epoch_records: int | None, batch: bool
) -> list[Any]:
    """The results with their timestamps."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    if batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    stream = build(env).process(WithTimestamp())
    return run_locally(stream, epoch_records=None if batch else epoch_records, workers=2, seed=5).collected
