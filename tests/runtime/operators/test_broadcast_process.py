"""``BroadcastProcessOperator`` and ``KeyedBroadcastProcessOperator``: who may read and write what, in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.typeinfo import Types
from millrace.datastream.functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    RuntimeContext,
)
from millrace.datastream.output_tag import OutputTag
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, ReadOnlyBroadcastState
from millrace.datastream.time_domain import TimeDomain
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.runtime.failure import OperatorError
from millrace.testing import (
    Element,
    EndInput,
    OperatorHarness,
    Outcome,
    ProcessingTime,
    Record,
    Status,
    Step,
    Watermark,
    WatermarkStep,
    check_variants,
    run_script,
)

INT = Types.INT()
FACTORS = MapStateDescriptor("factors", Types.STRING(), INT)
OFFSETS = MapStateDescriptor("offsets", Types.STRING(), INT)
UNDECLARED = MapStateDescriptor("typo", Types.STRING(), INT)
SEEN = ListStateDescriptor("seen", INT)
BROADCAST = 1
"""the input of the broadcast side"""

Value = tuple[str, int]


class Compute(BroadcastProcessFunction[Value, Value, Any]):
    """value * factor + offset of its letter. A broadcast ("F", n) or ("O", n) sets the factor or offset of "F", "O"."""

    MISSING = OutputTag("missing")

    def process_element(self, value: Value, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        name, number = value
        factor, offset = ctx.get_broadcast_state(FACTORS), ctx.get_broadcast_state(OFFSETS)
        if name in factor:
            yield (name, number * factor[name] + (offset[name] or 0), ctx.timestamp(), ctx.current_watermark())
        else:
            yield self.MISSING, value

    def process_broadcast_element(self, value: Value, ctx: BroadcastProcessFunction.Context) -> Iterator[Any]:
        name, number = value
        state = ctx.get_broadcast_state(OFFSETS if name.isupper() else FACTORS)
        if number:
            state.put(name.lower(), number)
        elif name.lower() in state:
            state.remove(name.lower())
            yield ("forgot", name, ctx.timestamp(), ctx.current_watermark())


def computing(batch: bool = False) -> OperatorHarness:
    return OperatorHarness.for_function(Compute(), batch=batch, broadcast_state_descriptors=[FACTORS, OFFSETS])


ELEMENTS = st.tuples(st.sampled_from("ab"), st.integers(1, 3), st.none() | st.integers(0, 50)).map(
    lambda e: Element((e[0], e[1]), e[2], 0)
)
RULES = st.tuples(st.sampled_from("aAbB"), st.integers(0, 3), st.none() | st.integers(0, 50)).map(
    lambda e: Element((e[0], e[1]), e[2], BROADCAST)
)
MARKS = st.tuples(st.integers(0, 60), st.integers(0, 1)).map(lambda w: WatermarkStep(*w))


def computed(script: list[Step]) -> tuple[list[Any], list[Any]]:
    """What ``Compute`` gives, and the side output, in plain Python."""
    factors: dict[str, int] = {}
    offsets: dict[str, int] = {}
    marks = [MIN_TIMESTAMP, MIN_TIMESTAMP]
    results: list[Any] = []
    missing: list[Any] = []
    for step in script:
        if isinstance(step, WatermarkStep):
            before = min(marks)
            marks[step.input] = max(marks[step.input], step.timestamp)
            if min(marks) > before:
                results.append(Watermark(min(marks)))
        elif isinstance(step, Element):
            name, number = step.value
            rules = offsets if name.isupper() else factors
            if step.input != BROADCAST and name not in factors:
                missing.append(Record(step.value, step.timestamp))
            elif step.input != BROADCAST:
                result = (name, number * factors[name] + offsets.get(name, 0), step.timestamp, min(marks))
                results.append(Record(result, step.timestamp))
            elif number:
                rules[name.lower()] = number
            elif rules.pop(name.lower(), None) is not None:
                results.append(Record(("forgot", name, step.timestamp, min(marks)), step.timestamp))
    return results, missing


@given(st.lists(ELEMENTS | RULES | MARKS, max_size=12))
def test_the_broadcast_side_writes_what_the_other_side_reads(script: list[Step]) -> None:
    results, missing = computed(script)
    outcome = check_variants(computing, script, sides={"missing": missing})
    assert outcome.items == results


def test_state_can_be_looked_at() -> None:
    with computing() as harness:
        harness.process_elements([(("a", 2), None), (("B", 3), None)], input=BROADCAST)
        assert harness.broadcast_state_of("factors") == {"a": 2}
        assert harness.broadcast_state_of("offsets") == {"b": 3}
        assert harness.broadcast_state_of("typo") == {}


def test_a_restored_copy_has_all_rules() -> None:
    with computing() as harness:
        harness.process_elements([(("a", 2), None), (("b", 3), None), (("a", 5), None)], input=BROADCAST)
        restored = harness.restored()
    assert restored.broadcast_state_of("factors") == {"a": 5, "b": 3}


class Collect(KeyedBroadcastProcessFunction[str, Value, Any, Any]):
    """Gathers numbers by key. When the sum of a key's numbers reaches a limit, or a timer fires, it lets them go.

    Broadcast: ("limit", n) sets the limit, ("flush", n) lets go what all keys have.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_list_state(SEEN)

    def process_element(
        self, value: Value, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[tuple[Any, ...]]:
        self.seen.add(value[1])
        limit = ctx.get_broadcast_state(FACTORS)["limit"]
        if limit is not None and sum(self.seen.get()) >= limit:
            yield ("full", ctx.get_current_key(), list(self.seen.get()), ctx.timestamp())
            self.seen.clear()
        elif ctx.timestamp() is not None:
            ctx.timer_service().register_event_time_timer((ctx.timestamp() or 0) + 10)

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterator[tuple[Any, ...]]:
        limit = ctx.get_broadcast_state(FACTORS).get("limit")
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        yield ("late", ctx.get_current_key(), list(self.seen.get()), timestamp, limit)
        self.seen.clear()

    def process_broadcast_element(
        self, value: Value, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterator[tuple[Any, ...]]:
        what, number = value
        if what == "limit":
            ctx.get_broadcast_state(FACTORS).put("limit", number)
            return
        flushed: list[tuple[str, list[int]]] = []

        def flush(key: str, state: Any) -> None:
            flushed.append((key, list(state.get())))
            state.clear()

        ctx.apply_to_keyed_state(SEEN, flush)
        yield ("flushed", sorted(flushed), number, ctx.current_watermark())


def collecting(batch: bool = False) -> OperatorHarness:
    return OperatorHarness.for_function(
        Collect(), lambda value: value[0], batch=batch, broadcast_state_descriptors=[FACTORS]
    )


def collected(script: list[Step]) -> list[Any]:
    """What ``Collect`` gives, in plain Python."""
    seen: dict[str, list[int]] = {}
    limit: int | None = None
    timers: list[tuple[int, str]] = []
    marks = [MIN_TIMESTAMP, MIN_TIMESTAMP]
    results: list[Any] = []
    for step in script:
        if isinstance(step, WatermarkStep):
            before = min(marks)
            marks[step.input] = max(marks[step.input], step.timestamp)
            now = min(marks)
            if now == before:
                continue
            for time, key in sorted((timer for timer in timers if timer[0] <= now), key=lambda timer: timer[0]):
                results.append(Record(("late", key, seen.pop(key, []), time, limit), time))
            timers = [timer for timer in timers if timer[0] > now]
            results.append(Watermark(now))
        elif isinstance(step, Element) and step.input != BROADCAST:
            key, number = step.value
            seen.setdefault(key, []).append(number)
            if limit is not None and sum(seen[key]) >= limit:
                results.append(Record(("full", key, seen.pop(key), step.timestamp), step.timestamp))
            elif step.timestamp is not None and (step.timestamp + 10, key) not in timers:
                timers.append((step.timestamp + 10, key))
        elif isinstance(step, Element):
            what, number = step.value
            if what == "limit":
                limit = number
            else:
                results.append(Record(("flushed", sorted(seen.items()), number, min(marks)), step.timestamp))
                seen = {}
    return results


ORDERS = st.tuples(st.sampled_from(["limit", "limit", "flush"]), st.integers(1, 6), st.none() | st.integers(0, 50)).map(
    lambda e: Element((e[0], e[1]), e[2], BROADCAST)
)


@given(st.lists(ELEMENTS | ORDERS | MARKS, max_size=12))
def test_beside_keyed_state_and_timers(script: list[Step]) -> None:
    assert check_variants(collecting, script).items == collected(script)


def test_the_watermark_is_the_minimum_of_both_sides() -> None:
    script: list[Step] = [WatermarkStep(5, 0), WatermarkStep(3, BROADCAST), EndInput()]
    expected = [Watermark(3), Watermark(5), Watermark(MAX_WATERMARK), Status.FINISHED]
    # The other side ends first: then the broadcast side's watermark is the minimum, and it is older.
    check_variants(computing, script, [expected[0], *expected[2:]])


# -- what is refused ----------------------------------------------------------------------------------------------


class Does(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """What it is told, on the side that it is told on."""

    def __init__(self, side: int, what: Callable[[Any, Any], Any]) -> None:
        self.side = side
        self.what = what

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_list_state(SEEN)

    def process_element(self, value: Any, ctx: Any) -> None:
        if self.side == 0:
            self.what(ctx, self.seen)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        if self.side == BROADCAST:
            self.what(ctx, self.seen)


REFUSED: list[tuple[int, Callable[[Any, Any], Any], str]] = [
    (0, lambda ctx, seen: ctx.get_broadcast_state(FACTORS).put("a", 1), "put() on broadcast state 'factors': only "),
    (0, lambda ctx, seen: ctx.get_broadcast_state(FACTORS).clear(), "clear() on broadcast state 'factors': only "),
    (
        0,
        lambda ctx, seen: ctx.get_broadcast_state(UNDECLARED),
        "ValueError: broadcast state 'typo' is not declared; declared are 'factors', 'offsets'. Give the descriptors "
        "of all states to broadcast()",
    ),
    (1, lambda ctx, seen: ctx.get_broadcast_state(UNDECLARED), "broadcast state 'typo' is not declared; declared are"),
    (1, lambda ctx, seen: ctx.get_current_key(), "A broadcast element belongs to no key"),
    (1, lambda ctx, seen: seen.add(1), "A broadcast element belongs to no key: keyed state can be read and written in"),
    (1, lambda ctx, seen: list(seen.get()), "for all keys with ctx.apply_to_keyed_state(descriptor, function)"),
    (1, lambda ctx, seen: ctx.timer_service().register_event_time_timer(1), "Timers belong to keys"),
    (1, lambda ctx, seen: ctx.timer_service().delete_processing_time_timer(1), "Timers belong to keys"),
]


@pytest.mark.parametrize(("side", "what", "text"), REFUSED)
def test_what_a_side_may_not_do(side: int, what: Callable[[Any, Any], Any], text: str) -> None:
    harness = OperatorHarness.for_function(
        Does(side, what), lambda value: value, broadcast_state_descriptors=[FACTORS, OFFSETS]
    ).open()
    harness.process_element("x", input=1 - side)
    with pytest.raises(OperatorError) as caught:
        harness.process_elements([("x", None), ("y", None)], input=side)
    assert text in caught.value.failure.cause
    assert caught.value.failure.element == "'x'"


def test_no_key_is_left_behind_by_apply_to_keyed_state() -> None:
    def apply_and_go_on(ctx: Any, seen: Any) -> None:
        ctx.apply_to_keyed_state(SEEN, lambda key, state: state.add(1))
        seen.add(2)

    harness = OperatorHarness.for_function(
        Does(BROADCAST, apply_and_go_on), lambda value: value, broadcast_state_descriptors=[FACTORS]
    ).open()
    with pytest.raises(OperatorError, match="A broadcast element belongs to no key"):
        harness.process_element("x", input=BROADCAST)


class Peeks(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        view = ctx.get_broadcast_state(FACTORS)
        assert isinstance(view, ReadOnlyBroadcastState)
        yield (value, sorted(view), ctx.current_processing_time())

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(FACTORS).put_all({value: 1})


def peeking(batch: bool = False) -> OperatorHarness:
    return OperatorHarness.for_function(Peeks(), batch=batch, broadcast_state_descriptors=(FACTORS,))


def test_the_clock_without_keys() -> None:
    script: list[Step] = [Element("a"), ProcessingTime(7), Element("r", input=BROADCAST), Element("b")]
    check_variants(peeking, script, [("a", [], 0), ("b", ["r"], 7)])


def test_timers_need_a_keyed_stream() -> None:
    class Timer(Peeks):
        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            ctx.timer_service().register_event_time_timer(1)
            yield from ()

    harness = OperatorHarness.for_function(Timer(), broadcast_state_descriptors=[FACTORS]).open()
    with pytest.raises(OperatorError, match="Setting timers is only supported on a keyed stream"):
        harness.process_element(1)


def test_the_harness_wants_a_key_selector_where_a_job_has_one() -> None:
    with pytest.raises(TypeError, match="Collect needs a key_selector"):
        OperatorHarness.for_function(Collect())
    with pytest.raises(TypeError, match="Compute runs on a stream that is not keyed"):
        OperatorHarness.for_function(Compute(), lambda value: value)


# -- batch mode ---------------------------------------------------------------------------------------------------


def broadcast_first(script: list[Step]) -> list[Step]:
    rules = [step for step in script if isinstance(step, Element) and step.input == BROADCAST]
    others = [step for step in script if isinstance(step, Element) and step.input != BROADCAST]
    return [*rules, *others]


@given(st.lists(ELEMENTS | RULES, max_size=12))
def test_batch_mode_takes_the_broadcast_side_first(script: list[Step]) -> None:
    results, missing = computed(broadcast_first(script))
    expected = [*results, Watermark(MAX_WATERMARK), Status.FINISHED]
    check_variants(lambda: computing(batch=True), [*script, EndInput()], expected, sides={"missing": missing})


@given(st.lists(ELEMENTS | ORDERS, max_size=12))
def test_batch_mode_with_keys_and_timers(script: list[Step]) -> None:
    end: list[Step] = [WatermarkStep(MAX_WATERMARK, side) for side in (0, 1)]
    expected = [*collected([*broadcast_first(script), *end]), Status.FINISHED]
    check_variants(lambda: collecting(batch=True), [*script, EndInput()], expected)


@pytest.mark.parametrize("first_to_end", [0, 1])
def test_nothing_waits_once_the_broadcast_side_has_ended(first_to_end: int) -> None:
    with peeking(batch=True) as harness:
        harness.process_element("a")
        harness.process_element("r", input=BROADCAST)
        assert harness.values == []
        harness.end_input(first_to_end)
        if first_to_end == BROADCAST:
            assert harness.values == [("a", ["r"], 0)]
            harness.process_element("b")
            assert harness.values[1:] == [("b", ["r"], 0)]
        harness.end_input(1 - first_to_end)
        assert harness.values[0] == ("a", ["r"], 0)
        assert harness.output[-2:] == [Watermark(MAX_WATERMARK), Status.FINISHED]


def test_processing_time_timers_fire_at_the_end_in_batch_mode_only() -> None:
    class Late(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
        def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> None:
            ctx.timer_service().register_processing_time_timer(50)

        def process_broadcast_element(self, value: Any, ctx: Any) -> None:
            """Nothing to do."""

        def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterator[Any]:
            yield (ctx.get_current_key(), timestamp, ctx.time_domain())

    def run(batch: bool) -> Outcome:
        return run_script(
            lambda: OperatorHarness.for_function(
                Late(), lambda value: value, batch=batch, broadcast_state_descriptors=[FACTORS]
            ),
            [Element(1), Element(2), EndInput()],
        )

    assert run(batch=False).values == []
    assert run(batch=True).values == [(key, 50, TimeDomain.PROCESSING_TIME) for key in (1, 2)]


def test_other_functions_have_no_broadcast_state() -> None:
    class Other(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            """Nothing to do."""

    with pytest.raises(TypeError, match="KeyedProcessOperator has no operator state"):
        OperatorHarness.for_function(Other(), lambda value: value).broadcast_state_of("factors")
