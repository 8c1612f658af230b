"""Timers of keyed process functions: when, how often, in which order, with which time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.datastream.functions import KeyedProcessFunction
from millrace.datastream.time_domain import TimeDomain
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.runtime.failure import OperatorError
from millrace.testing import (
    Element,
    EndInput,
    OperatorHarness,
    ProcessingTime,
    Record,
    Step,
    Watermark,
    WatermarkStep,
    check_variants,
)


class Commands(KeyedProcessFunction):
    """An element is (key, commands): ``+5`` registers an event timer at 5, ``-5`` deletes it, ``p+5`` by the clock.

    A timer whose time is in ``repeat`` registers another one when it fires.
    """

    def __init__(self, repeat: dict[int, int] | None = None) -> None:
        self.repeat = repeat or {}

    def process_element(self, value: tuple[str, str], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        timers = ctx.timer_service()
        for command in value[1].split():
            processing, verb, time = command.startswith("p"), command.lstrip("p")[0], int(command.lstrip("p")[1:])
            domain = "processing" if processing else "event"
            getattr(timers, f"{'register' if verb == '+' else 'delete'}_{domain}_time_timer")(time)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        timers = ctx.timer_service()
        processing = ctx.time_domain() is TimeDomain.PROCESSING_TIME
        now = timers.current_processing_time() if processing else timers.current_watermark()
        assert ctx.timestamp() == timestamp
        yield (ctx.get_current_key(), "p" if processing else "e", timestamp, now)
        if timestamp in self.repeat:
            register = timers.register_processing_time_timer if processing else timers.register_event_time_timer
            register(self.repeat[timestamp])


def harness(repeat: dict[int, int] | None = None, batch: bool = False) -> OperatorHarness:
    return OperatorHarness.for_function(Commands(repeat), key_selector=lambda value: value[0], batch=batch)


def check(script: list[Step], expected: list[Any], repeat: dict[int, int] | None = None) -> None:
    check_variants(lambda: harness(repeat), script, expected)


def test_one_timer_per_key_and_time() -> None:
    check(
        [Element(("a", "+5 +5")), Element(("b", "+5")), Element(("a", "+5")), WatermarkStep(9)],
        [Record(("a", "e", 5, 9), 5), Record(("b", "e", 5, 9), 5), Watermark(9)],
    )


def test_fires_when_the_watermark_reaches_it() -> None:
    check(
        [Element(("a", "+5")), WatermarkStep(4), WatermarkStep(5), WatermarkStep(6)],
        [Watermark(4), Record(("a", "e", 5, 5), 5), Watermark(5), Watermark(6)],
    )


def test_deleted_timers_do_not_fire() -> None:
    check([Element(("a", "+5 +6 -5")), Element(("b", "-6")), WatermarkStep(9)], [("a", "e", 6, 9)])


def test_a_deleted_timer_can_be_set_again() -> None:
    check([Element(("a", "+5 -5")), Element(("a", "+5")), WatermarkStep(9)], [("a", "e", 5, 9)])


def test_a_timer_in_the_past_fires_with_the_next_watermark() -> None:
    check(
        [WatermarkStep(10), Element(("a", "+5")), WatermarkStep(11)],
        [Watermark(10), Record(("a", "e", 5, 11), 5), Watermark(11)],
    )


def test_order_is_by_time_and_then_by_registration() -> None:
    script: list[Step] = [
        Element(("b", "+7")), Element(("a", "+7 +3")), Element(("c", "+5")), Element(("b", "+3")), WatermarkStep(7),
    ]  # fmt: skip
    check(script, [(key, "e", time, 7) for key, time in (("a", 3), ("b", 3), ("c", 5), ("b", 7), ("a", 7))])


def test_timers_set_by_a_timer() -> None:
    """In reach of the watermark they fire in the same round, in time order with the others; else later."""
    check(
        [Element(("a", "+2 +6")), WatermarkStep(8), WatermarkStep(20)],
        [
            Record(("a", "e", 2, 8), 2),
            Record(("a", "e", 4, 8), 4),
            Record(("a", "e", 6, 8), 6),
            Record(("a", "e", 1, 8), 1),  # set in the past, by the timer of 6
            Watermark(8),
            Record(("a", "e", 15, 20), 15),
            Watermark(20),
        ],
        repeat={2: 4, 6: 1, 4: 15},
    )


def test_processing_time() -> None:
    check(
        [
            Element(("a", "p+10 p+10")), Element(("b", "p+5 +3")), ProcessingTime(4), ProcessingTime(10),
            WatermarkStep(2), WatermarkStep(3), ProcessingTime(11),
        ],
        [
            Record(("b", "p", 5, 10), None),
            Record(("a", "p", 10, 10), None),
            Watermark(2),
            Record(("b", "e", 3, 3), 3),
            Watermark(3),
        ],
    )  # fmt: skip


def test_a_processing_timer_can_be_deleted() -> None:
    check([Element(("a", "p+5 p+6 p-6")), ProcessingTime(9)], [("a", "p", 5, 9)])


def test_a_processing_timer_in_the_past_fires_at_the_end_of_the_epoch() -> None:
    with harness() as h:
        h.set_processing_time(100)
        h.process_element(("a", "p+5"))
        assert h.values == []
        h.end_epoch()
        assert h.values == [("a", "p", 5, 100)]


def test_the_two_clocks_keep_their_timers_apart() -> None:
    check([Element(("a", "+5 p+5 -5")), WatermarkStep(9), ProcessingTime(9)], [("a", "p", 5, 9)])


def test_the_end_of_input_fires_event_timers_and_drops_processing_timers() -> None:
    check([Element(("a", "+500 p+5")), EndInput()], [("a", "e", 500, MAX_WATERMARK)])


def test_processing_timers_do_not_outlive_the_end_of_input() -> None:
    """Other sources may keep the job running."""
    with harness() as h:
        h.process_element(("a", "p+50"))
        h.end_input()
        assert h.num_processing_time_timers() == 0
        following = h.restored()
        for operator in (h, following):
            operator.set_processing_time(100)
            operator.end_epoch()
            assert operator.values == []


def test_batch_fires_processing_timers_at_the_end_too() -> None:
    check_variants(
        lambda: harness(batch=True),
        [Element(("a", "+500 p+7")), Element(("b", "p+5")), EndInput()],
        [("a", "e", 500, MAX_WATERMARK), ("b", "p", 5, 0), ("a", "p", 7, 0)],
    )


def test_batch_ignores_timers_that_timers_set_at_the_end() -> None:
    """Flink's batch mode quiesces the timer service there: a job with a repeating timer has to end."""
    with harness({5: 6, 500: 501}, batch=True) as h:
        h.process_element(("a", "p+5 +500"))
        h.end_input()
        assert h.values == [("a", "e", 500, MAX_WATERMARK), ("a", "p", 5, 0)]


def test_counts_of_pending_timers() -> None:
    with harness() as h:
        h.process_element(("a", "+5 +5 +7 p+8"))
        h.process_element(("b", "+5"))
        assert (h.num_event_time_timers(), h.num_processing_time_timers()) == (3, 1)
        h.process_watermark(5)
        h.set_processing_time(8)
        assert (h.num_event_time_timers(), h.num_processing_time_timers()) == (1, 0)


def test_a_failing_timer_names_time_and_key() -> None:
    class Fails(Commands):
        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
            raise ValueError("no")

    with OperatorHarness.for_function(Fails(), key_selector=lambda value: value[0]) as h:
        h.process_element(("a", "+5"))
        with pytest.raises(OperatorError) as caught:
            h.process_watermark(9)
    assert caught.value.failure.during == " in on_timer(5) of key 'a'"


# Random scripts against a list of timers that is sorted before every use.

COMMAND = st.tuples(st.sampled_from("ab"), st.sampled_from(["+", "-", "p+", "p-"]), st.integers(1, 12))
SCRIPTS = st.lists(
    COMMAND.map(lambda c: Element((c[0], f"{c[1]}{c[2]}")))
    | st.integers(0, 15).map(WatermarkStep)
    # Set in the past, a processing timer fires at the end of whatever epoch: only times beyond all clocks are alike.
    | st.integers(13, 20).map(ProcessingTime),
    max_size=14,
)


@given(SCRIPTS.filter(lambda s: not _sets_after_clock(s)))
def test_any_script_like_a_sorted_list(script: list[Step]) -> None:
    pending: list[tuple[int, int, str, str]] = []
    expected, number, watermark = [], 0, MIN_TIMESTAMP
    for step in script:
        if isinstance(step, Element):
            key, command = step.value
            processing, verb, time = command[0] == "p", command.lstrip("p")[0], int(command.lstrip("p")[1:])
            kind, number = "p" if processing else "e", number + 1
            known = [timer for timer in pending if (timer[0], timer[2], timer[3]) == (time, key, kind)]
            if verb == "-":
                pending = [timer for timer in pending if timer not in known]
            elif not known:
                pending.append((time, number, key, kind))
            continue
        if isinstance(step, WatermarkStep):
            if step.timestamp <= watermark:
                continue
            now = watermark = step.timestamp
            kind = "e"
        else:
            assert isinstance(step, ProcessingTime)
            now, kind = step.now, "p"
        due = sorted(timer for timer in pending if timer[3] == kind and timer[0] <= now)
        pending = [timer for timer in pending if timer not in due]
        expected += [Record((key, kind, time, now), time if kind == "e" else None) for time, _, key, _ in due]
        if kind == "e":
            expected.append(Watermark(now))
    check_variants(harness, script, expected)


def _sets_after_clock(script: list[Step]) -> bool:
    clocks = [n for n, step in enumerate(script) if isinstance(step, ProcessingTime)]
    timers = [n for n, step in enumerate(script) if isinstance(step, Element) and step.value[1].startswith("p")]
    return bool(clocks and timers) and max(timers) > min(clocks)
