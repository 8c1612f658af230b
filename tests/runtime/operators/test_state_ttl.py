"""State with time to live inside operators: by the clock, by watermarks, in timers, in chunks of any size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.time import Duration
from millrace.common.typeinfo import Types
from millrace.datastream.functions import KeyedCoProcessFunction, KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.runtime.failure import OperatorError
from millrace.testing import (
    Element,
    EndInput,
    OperatorHarness,
    ProcessingTime,
    Step,
    WatermarkStep,
    check_variants,
)

TTL = 10
BY_CLOCK = StateTtlConfig.new_builder(Duration.of_millis(TTL)).build()
ON_READ = StateTtlConfig.new_builder(Duration.of_millis(TTL)).update_ttl_on_read_and_write().build()
BY_EVENTS = StateTtlConfig.new_builder(Duration.of_millis(TTL)).use_event_time().build()


def living(descriptor: StateDescriptor, config: StateTtlConfig) -> Any:
    descriptor.enable_time_to_live(config)
    return descriptor


class Remember(KeyedProcessFunction):
    """An element is (key, value): it emits what was remembered, and remembers the value unless it is None."""

    def __init__(self, config: StateTtlConfig, timer: int | None = None) -> None:
        self.config = config
        self.timer = timer

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptors = [
            ValueStateDescriptor("last", Types.INT()),
            ListStateDescriptor("all", Types.INT()),
            MapStateDescriptor("seen", Types.INT(), Types.INT()),
        ]
        for descriptor in descriptors:
            descriptor.enable_time_to_live(self.config)
        self.last = runtime_context.get_state(descriptors[0])  # type: ignore[arg-type]
        self.all = runtime_context.get_list_state(descriptors[1])  # type: ignore[arg-type]
        self.seen = runtime_context.get_map_state(descriptors[2])  # type: ignore[arg-type]

    def remembered(self, ctx: Any) -> Any:
        return (ctx.get_current_key(), self.last.value(), tuple(self.all.get()), tuple(self.seen.keys()))

    def process_element(self, value: tuple[str, int | None], ctx: Any) -> Iterator[Any]:
        yield self.remembered(ctx)
        number = value[1]
        if number is not None:
            self.last.update(number)
            self.all.add(number)
            self.seen.put(number, number)
        if self.timer is not None:
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + self.timer)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ("timer", timestamp, *self.remembered(ctx))


def harness(config: StateTtlConfig = BY_CLOCK, timer: int | None = None, batch: bool = False) -> OperatorHarness:
    return OperatorHarness.for_function(Remember(config, timer), key_selector=lambda value: value[0], batch=batch)


def expected(accesses: list[tuple[str, int | None, int]], on_read: bool) -> list[Any]:
    """What is remembered of the key when it comes: entries are (time of the last access, value)."""
    entries: dict[str, list[list[int]]] = {}
    results = []
    for key, number, now in accesses:
        alive = [entry for entry in entries.get(key, []) if entry[0] + TTL > now]
        if on_read:
            for entry in alive:
                entry[0] = now
        values = [entry[1] for entry in alive]
        results.append((key, values[-1] if values else None, tuple(values), tuple(values)))
        entries[key] = [*alive, [now, number]] if number is not None else alive
    return results


STEPS = st.lists(st.tuples(st.sampled_from("ab"), st.booleans(), st.integers(0, 12)), max_size=10)


@pytest.mark.parametrize("config", [BY_CLOCK, ON_READ])
@given(steps=STEPS)
def test_by_the_clock(config: StateTtlConfig, steps: list[tuple[str, bool, int]]) -> None:
    now, script, accesses = 0, list[Step](), []
    for number, (key, writes, pause) in enumerate(steps):
        if pause:
            now += pause
            script.append(ProcessingTime(now))
        value = number if writes else None
        script.append(Element((key, value)))
        accesses.append((key, value, now))
    check_variants(lambda: harness(config), script, expected(accesses, config is ON_READ))


@given(steps=STEPS, lag=st.integers(0, 30), marks=st.lists(st.booleans(), min_size=10, max_size=10))
def test_by_event_time_it_does_not_matter_when_watermarks_come(
    steps: list[tuple[str, bool, int]], lag: int, marks: list[bool]
) -> None:
    now, script, accesses = 0, list[Step](), []
    for number, (key, writes, pause) in enumerate(steps):
        now += pause
        value = number if writes else None
        script.append(Element((key, value), now))
        accesses.append((key, value, now))
        if marks[number]:
            script.append(WatermarkStep(now - lag))
    check_variants(lambda: harness(BY_EVENTS), script, expected(accesses, False))
    check_variants(lambda: harness(BY_EVENTS, batch=True), [*script, EndInput()], expected(accesses, False))


def test_a_late_element_counts_at_the_watermark() -> None:
    script: list[Step] = [
        Element(("a", 1), 100), WatermarkStep(150), Element(("a", None), 105), Element(("a", 2), 105),
        Element(("a", None), 101), WatermarkStep(159), Element(("a", None), 101), WatermarkStep(160),
        Element(("a", None), 101),
    ]  # fmt: skip
    nothing, two = ("a", None, (), ()), ("a", 2, (2,), (2,))
    check_variants(lambda: harness(BY_EVENTS), script, [nothing, nothing, nothing, two, two, nothing])


def test_a_timer_sees_what_was_there_at_its_own_time() -> None:
    """One watermark may pass many timers: it must not matter that it did not come step by step."""
    elements: list[Step] = [Element(("a", 1), 100), Element(("a", 2), 104)]
    states = [("a", 2, (1, 2), (1, 2)), ("a", 2, (2,), (2,))]
    wanted = [("timer", 109, *states[0]), ("timer", 113, *states[1])]
    first = [("a", None, (), ()), ("a", 1, (1,), (1,))]
    at_once, step_by_step = [WatermarkStep(1_000)], [WatermarkStep(mark) for mark in range(105, 115)]
    for marks in (at_once, step_by_step, [EndInput()]):
        check_variants(lambda: harness(BY_EVENTS, timer=9), [*elements, *marks], first + wanted)
    check_variants(lambda: harness(BY_EVENTS, timer=9, batch=True), [*elements, EndInput()], first + wanted)


def test_after_a_jump_of_the_watermark_everything_before_is_over() -> None:
    with harness(BY_EVENTS, timer=1) as operator:
        operator.process_element(("a", 1), 100)
        operator.process_watermark(500)
        operator.process_element(("a", None), 99)
        operator.process_element(("b", None), 99)
        assert operator.values[-2:] == [("a", None, (), ()), ("b", None, (), ())]
        assert operator.keys("last") == []


class TickTock(KeyedProcessFunction):
    """Reads state in a processing-time timer, whose timestamp is no event time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(living(ValueStateDescriptor("s", Types.INT()), BY_EVENTS))

    def process_element(self, value: int, ctx: Any) -> None:
        self.state.update(value)
        ctx.timer_service().register_processing_time_timer(1_000_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield self.state.value()


def test_a_processing_time_timer_is_at_the_watermark() -> None:
    script: list[Step] = [Element(7, 100), WatermarkStep(109), ProcessingTime(2_000_000)]
    check_variants(lambda: OperatorHarness.for_function(TickTock(), key_selector=lambda value: 0), script, [7])


class CoRemember(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(living(ValueStateDescriptor("s", Types.INT()), BY_EVENTS))

    def process_element1(self, value: int, ctx: Any) -> None:
        self.state.update(value)

    def process_element2(self, value: int, ctx: Any) -> Iterator[Any]:
        yield self.state.value()


def test_connected_streams() -> None:
    script: list[Step] = [Element(1, 100), Element(0, 109, input=1), Element(0, 110, input=1)]
    check_variants(lambda: OperatorHarness.for_function(CoRemember(), key_selector=lambda value: 0), script, [1, None])


# -- the harness ------------------------------------------------------------------------------------------------------


def test_what_the_harness_shows() -> None:
    with harness() as operator:
        operator.process_element(("a", 1))
        operator.set_processing_time(4)
        operator.process_element(("a", 2))
        shown = [operator.state_of("a", name) for name in ("last", "all", "seen")]
        expiries = [operator.expiry_of("a", name) for name in ("last", "all", "seen")]
        assert shown == [2, [1, 2], {1: 1, 2: 2}]
        assert expiries == [14, [10, 14], {1: 10, 2: 14}]
        operator.set_processing_time(10)
        assert [operator.state_of("a", name) for name in ("last", "all", "seen")] == [2, [2], {2: 2}]
        operator.set_processing_time(14)
        assert operator.state_of("a", "last") is operator.expiry_of("a", "last") is None
        assert operator.keys("all") == []
        assert operator.state_of("z", "last") is operator.expiry_of("z", "last") is None
        assert operator.expiry_of("a", "no such state") is None


def test_a_snapshot_keeps_the_timestamps() -> None:
    with harness() as operator:
        operator.process_element(("a", 1))
        operator.set_processing_time(4)
        operator.process_element(("b", 1))
        with operator.restored() as again:
            assert (again.expiry_of("a", "last"), again.expiry_of("b", "last")) == (10, 14)
            again.set_processing_time(10)
            with again.restored() as later:
                assert later.keys("last") == ["b"]
                table = later.operator.keyed_state().table("last")
                assert set(table.rows) == {"b"}, "expired entries are not in the snapshot"


class OneName(KeyedProcessFunction):
    def __init__(self, *ttl: bool) -> None:
        self.ttl = ttl

    def open(self, runtime_context: RuntimeContext) -> None:
        for ttl in self.ttl:
            descriptor = ValueStateDescriptor("s", Types.INT())
            if ttl:
                descriptor.enable_time_to_live(BY_CLOCK)
            self.state = runtime_context.get_state(descriptor)

    def process_element(self, value: int, ctx: Any) -> None:
        self.state.update(value)


def test_state_without_time_to_live_has_no_expiry() -> None:
    with OperatorHarness.for_function(OneName(False), key_selector=abs) as operator:
        operator.process_element(1)
        with pytest.raises(TypeError, match="state 's' has no time to live"):
            operator.expiry_of(1, "s")


@pytest.mark.parametrize("first", [True, False])
def test_with_and_without_under_one_name(first: bool) -> None:
    held, asked = ("with", "without") if first else ("without", "with")
    message = f"state 's' holds entries {held} time to live, but is asked for {asked} it"
    with pytest.raises(OperatorError, match=message):
        OperatorHarness.for_function(OneName(first, not first), key_selector=abs).open()
    with OperatorHarness.for_function(OneName(first), key_selector=abs) as operator:
        operator.process_element(1)
        snapshot = operator.snapshot()
    with pytest.raises(OperatorError, match=message):
        OperatorHarness.for_function(OneName(not first), key_selector=abs).restore(snapshot).open()
