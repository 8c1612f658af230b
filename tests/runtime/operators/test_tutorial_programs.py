"""Programs of the Flink tutorial whose results were verified on Flink: PT, P9, P14, P15."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any, NamedTuple

from millrace.common.typeinfo import Types
from millrace.datastream.functions import KeyedCoProcessFunction, KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.testing import (
    Element,
    EndInput,
    OperatorHarness,
    Step,
    Watermark,
    WatermarkStep,
    check_variants,
    steps,
)


class Event(NamedTuple):
    user: str
    url: str
    timestamp: int


HOME, CART, PROD = "./home", "./cart", "./prod?id=1"
FX = [
    Event("Mary", HOME, 500), Event("Bob", CART, 1000), Event("Alice", HOME, 1500), Event("Mary", PROD, 2000),
    Event("Bob", CART, 3000), Event("Alice", HOME, 4999), Event("Mary", CART, 5000), Event("Bob", HOME, 6000),
    Event("Alice", CART, 7000), Event("Mary", CART, 9000), Event("Bob", PROD, 10000), Event("Alice", PROD, 11000),
    Event("Mary", HOME, 12000), Event("Bob", PROD, 13000), Event("Alice", PROD, 14000), Event("Mary", HOME, 15000),
    Event("Bob", PROD, 16000), Event("Alice", HOME, 17000), Event("Mary", HOME, 18000),
]  # fmt: skip
STAMPED = [(event, event.timestamp) for event in FX]


class TimerProbe(KeyedProcessFunction):
    """PT."""

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        timers = ctx.timer_service()
        yield f"sees {timers.current_watermark()}"
        if value == ("dup", 1000):
            for _ in range(3):
                timers.register_event_time_timer(4999)
            timers.register_event_time_timer(500)
            timers.register_event_time_timer(6000)
            timers.delete_event_time_timer(6000)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield f"{ctx.get_current_key()} fires {timestamp} at {ctx.timer_service().current_watermark()}"


def test_pt_timer_probe() -> None:
    elements = [("dup", 1000), ("dup", 5000), ("dup", 5001), ("other", 9000)]
    check_variants(
        lambda: OperatorHarness.for_function(TimerProbe(), key_selector=lambda value: value[0]),
        steps([(element, element[1]) for element in elements], watermark_lag=1),
        [
            f"sees {MIN_TIMESTAMP}",
            "dup fires 500 at 999",
            "sees 999",
            "dup fires 4999 at 4999",
            "sees 4999",
            "sees 5000",
        ],
    )


class Match(KeyedCoProcessFunction):
    """P9, with the two streams in states of their own."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.app = runtime_context.get_state(ValueStateDescriptor("app", Types.PICKLED_BYTE_ARRAY()))
        self.other = runtime_context.get_state(ValueStateDescriptor("third-party", Types.PICKLED_BYTE_ARRAY()))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        yield from self._match(value, self.app, self.other, ctx)

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        yield from self._match(value, self.other, self.app, ctx)

    def _match(self, value: Any, mine: Any, theirs: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        if theirs.value() is not None:
            yield f"{value[0]} 对账成功"
            theirs.clear()
        else:
            mine.update(value)
            ctx.timer_service().register_event_time_timer(value[2] + 5000)

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[str]:
        if self.app.value() is not None:
            yield f"{self.app.value()[0]}对账失败,订单的第三方支付信息未到"
        if self.other.value() is not None:
            yield f"{self.other.value()[0]}对账失败,订单的app支付信息未到"
        self.app.clear()
        self.other.clear()


APP = [("order-1", "app", 1000), ("order-2", "app", 2000)]
THIRD_PARTY = [("order-1", "third-party", 3000), ("order-3", "third-party", 4000)]
BILLS = [
    "order-1 对账成功",
    "order-2对账失败,订单的第三方支付信息未到",
    "order-3对账失败,订单的app支付信息未到",
]


def bills() -> OperatorHarness:
    return OperatorHarness.for_function(
        Match(), key_selector=lambda value: value[0], key_selector2=lambda value: value[0]
    )


def test_p9_bill_check_periodic() -> None:
    script = [Element(v, v[2], input) for input, stream in enumerate((APP, THIRD_PARTY)) for v in stream]
    check_variants(bills, [*script, EndInput()], BILLS)


def test_p9_bill_check_with_a_watermark_after_every_element() -> None:
    script: list[Step] = []
    for input, stream in enumerate((APP, THIRD_PARTY)):
        for value in stream:
            script += [Element(value, value[2], input), WatermarkStep(value[2] - 1, input)]
    outcome = check_variants(bills, [*script, EndInput()], BILLS)
    # The app stream's watermark holds back until its end; 3999 is what the other one had reached by then.
    marks = [item.timestamp for item in outcome.items if isinstance(item, Watermark)]
    assert marks == [1999, 3999, MAX_WATERMARK]


class PageViews(KeyedProcessFunction):
    """P14."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.pv = runtime_context.get_state(ValueStateDescriptor("pv", Types.LONG()))
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", Types.LONG()))

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        self.pv.update((self.pv.value() or 0) + 1)
        if self.timer.value() is None:
            at = value.timestamp + 10_000
            ctx.timer_service().register_event_time_timer(at)
            self.timer.update(at)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"{timestamp} 用户 {ctx.get_current_key()} 的PV是:{self.pv.value()}"
        self.timer.clear()


def page_views() -> OperatorHarness:
    return OperatorHarness.for_function(PageViews(), key_selector=lambda event: event.user)


def test_p14_periodic() -> None:
    expected = [f"10500 用户 Mary 的PV是:{7}", f"11000 用户 Bob 的PV是:{6}", f"11500 用户 Alice 的PV是:{6}"]
    check_variants(page_views, steps(STAMPED), expected)


def test_p14_with_a_watermark_after_every_element() -> None:
    counts = [(10500, "Mary", 4), (11000, "Bob", 4), (11500, "Alice", 4), (22000, "Mary", 7), (23000, "Bob", 6)]
    expected = [f"{at} 用户 {user} 的PV是:{pv}" for at, user, pv in [*counts, (24000, "Alice", 6)]]
    check_variants(page_views, steps(STAMPED, watermark_lag=1), expected)


def stamp(millis: int) -> str:
    """As java.sql.Timestamp prints it, in UTC."""
    return datetime.datetime.fromtimestamp(millis / 1000, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S.0")


class FakeWindow(KeyedProcessFunction):
    """P15."""

    def __init__(self, size: int) -> None:
        self.size = size

    def open(self, runtime_context: RuntimeContext) -> None:
        self.pv = runtime_context.get_map_state(MapStateDescriptor("window-pv", Types.LONG(), Types.LONG()))

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        start = value.timestamp - value.timestamp % self.size
        ctx.timer_service().register_event_time_timer(start + self.size - 1)
        self.pv.put(start, (self.pv.get(start) or 0) + 1)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        start = timestamp + 1 - self.size
        yield f"{ctx.get_current_key()}:{stamp(start)}~{stamp(timestamp + 1)}:{self.pv.get(start)}"
        self.pv.remove(start)


WINDOWS = [
    (0, HOME, 3), (0, CART, 2), (0, PROD, 1), (5, CART, 3), (5, HOME, 1), (10, PROD, 4), (10, HOME, 1),
    (15, HOME, 3), (15, PROD, 1),
]  # fmt: skip


def test_p15_fake_window() -> None:
    expected = [f"{url}:{stamp(s * 1000)}~{stamp(s * 1000 + 5000)}:{pv}" for s, url, pv in WINDOWS]
    assert "./home:1970-01-01 00:00:00.0~1970-01-01 00:00:05.0:3" in expected
    for script in (steps(STAMPED), steps(STAMPED, watermark_lag=1)):
        outcome = check_variants(
            lambda: OperatorHarness.for_function(FakeWindow(5000), key_selector=lambda event: event.url), script
        )
        assert sorted(outcome.values) == sorted(expected)
        starts = [value.split("~")[0].split(":", 1)[1] for value in outcome.values]
        assert starts == sorted(starts), "windows come in time order"
