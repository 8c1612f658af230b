"""The tutorial's programs with the sources that they are written with: a function that sleeps between its elements.

They sleep less here, and the clicks are fewer; nothing depends on how long anything takes.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from millrace.common.time import Duration, Time
from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from millrace.datastream.functions import (
    KeyedProcessFunction,
    ProcessAllWindowFunction,
    ProcessFunction,
    RuntimeContext,
    SourceFunction,
)
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.testing import run_locally


class Click(NamedTuple):
    user: str
    url: str
    timestamp: int


class ClickSource(SourceFunction[Click]):
    """Random users on random pages until it is cancelled, or has clicked often enough."""

    def __init__(self, clicks: int, pause_ms: int = 3) -> None:
        self.clicks, self.pause_ms = clicks, pause_ms
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext[Click]) -> None:
        draw, now = random.Random(7), 1_000_000
        while self.running and self.clicks:
            now += draw.randrange(1, 900)
            click = Click(draw.choice(["Mary", "Alice", "Bob"]), draw.choice(["./home", "./cart", "./fav"]), now)
            ctx.collect_with_timestamp(click, now)
            ctx.emit_watermark(now - 1)
            self.clicks -= 1
            time.sleep(self.pause_ms / 1000)

    def cancel(self) -> None:
        self.running = False


def clicks(env: StreamExecutionEnvironment, count: int = 60) -> DataStream:
    return env.set_parallelism(1).add_source(ClickSource(count))


def drawn(count: int = 60) -> list[Click]:
    """The clicks of that source."""
    found: list[Click] = []

    class Context:
        def collect_with_timestamp(self, element: Click, timestamp: int) -> None:
            found.append(element)

        def emit_watermark(self, timestamp: int) -> None: ...

    ClickSource(count, 0).run(Context())  # type: ignore[arg-type]
    return found


MARY, BOB = OutputTag("Mary"), OutputTag("Bob")


class ByUser(ProcessFunction):
    def process_element(self, value: Click, ctx: ProcessFunction.Context) -> Iterator[Any]:
        tags = {"Mary": MARY, "Bob": BOB}
        if value.user in tags:
            yield tags[value.user], (value.user, value.url)
        else:
            yield value


def test_a_stream_is_split_by_user() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    rest = clicks(env).process(ByUser())
    rest.map(lambda click: click.user).union(
        rest.get_side_output(MARY).map(lambda pair: pair[0]), rest.get_side_output(BOB).map(lambda pair: pair[0])
    ).print()
    printed = Counter(run_locally(env).printed)
    assert printed == Counter(click.user for click in drawn())


def top_two(urls: Iterable[str]) -> list[tuple[str, int]]:
    return sorted(Counter(urls).items(), key=lambda pair: (-pair[1], pair[0]))[:2]


class TopTwo(ProcessAllWindowFunction):
    def process(self, context: ProcessAllWindowFunction.Context, elements: Any) -> Iterator[Any]:
        yield context.window().end, top_two(elements)


class OwnTime(TimestampAssigner):
    def extract_timestamp(self, value: Click, record_timestamp: int) -> int:
        return value.timestamp


def test_the_most_visited_pages_of_every_ten_seconds() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    in_order = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(0)).with_timestamp_assigner(OwnTime())
    urls = clicks(env).assign_timestamps_and_watermarks(in_order).map(lambda click: click.url)
    found = run_locally(urls.window_all(TumblingEventTimeWindows.of(Time.seconds(10))).process(TopTwo())).collected
    windows: dict[int, list[str]] = {}
    for click in drawn():
        windows.setdefault(click.timestamp // 10_000 * 10_000 + 10_000, []).append(click.url)
    assert found == [(end, top_two(seen)) for end, seen in sorted(windows.items())]


class PageViews(KeyedProcessFunction):
    """Says a user's count ten seconds after a click, not at every click."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", Types.LONG()))

    def process_element(self, value: Click, ctx: KeyedProcessFunction.Context) -> None:
        self.count.update((self.count.value() or 0) + 1)
        if self.timer.value() is None:
            self.timer.update(ctx.timestamp() + 10_000)
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10_000)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[str, int]]:
        self.timer.clear()
        yield ctx.get_current_key(), self.count.value()


def test_counts_come_every_ten_seconds_of_event_time() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    found = run_locally(clicks(env).key_by(lambda click: click.user).process(PageViews())).collected
    counts, due = Counter[str](), dict[str, int]()
    expected: list[tuple[str, int]] = []
    for user, timestamp in [*((click.user, click.timestamp) for click in drawn()), ("nobody", 2**62)]:
        counts[user] += 1
        due.setdefault(user, timestamp + 10_000)
        for _, passed in sorted((when, passed) for passed, when in due.items() if when <= timestamp - 1):
            expected.append((passed, counts[passed]))
            del due[passed]
    assert found == expected


class EmitAndWait(SourceFunction[str]):
    """As the tutorial shows timers: an element, a pause, the end. Here the pause lasts until the timer has fired."""

    fired = False

    def run(self, ctx: SourceFunction.SourceContext[str]) -> None:
        ctx.collect("a")
        while not EmitAndWait.fired:
            time.sleep(0.002)


class OneTimer(KeyedProcessFunction):
    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        now = ctx.timer_service().current_processing_time()
        ctx.timer_service().register_processing_time_timer(now + 50)
        yield f"{value} arrives at {now}"

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        EmitAndWait.fired = True
        yield f"the timer is of {timestamp}"


def test_a_timer_on_the_clock_fires_while_the_source_sleeps() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    EmitAndWait.fired = False
    arrived, fired = run_locally(env.add_source(EmitAndWait()).key_by(lambda value: True).process(OneTimer())).collected
    assert int(fired.split()[-1]) == int(arrived.split()[-1]) + 50
