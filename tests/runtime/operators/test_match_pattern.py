"""``MatchPatternOperator``: time, late events, keys, failures, and state of other runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millrace.cep import (
    EventComparator,
    Pattern,
    PatternProcessFunction,
    RichIterativeCondition,
    TimedOutPartialMatchHandler,
)
from millrace.common.output_tag import OutputTag
from millrace.common.time import Time
from millrace.runtime.failure import OperatorError
from millrace.runtime.state.restoring.saved import EarlierState
from millrace.testing import Element, OperatorHarness, ProcessingTime, Record, Step, check_variants, steps
from millrace.testing.patterns import pattern_harness

LATE, TIMEOUTS = OutputTag("late"), OutputTag("time-outs")
MAX = 2**63 - 1


class Told(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: dict[str, list[Any]], ctx: Any) -> Iterator[Any]:
        yield "".join(f"{name}{event[1]}" for name, events in match.items() for event in events)

    def process_timed_out_match(self, match: dict[str, list[Any]], ctx: Any) -> None:
        ctx.output(TIMEOUTS, (sorted(match), ctx.timestamp()))


def named(name: str) -> Any:
    return lambda event: event[1][0] == name


def pairs() -> Pattern:
    return Pattern.begin("a").where(named("a")).followed_by("b").where(named("b")).within(Time(10))


def harness(pattern: Pattern | None = None, **settings: Any) -> OperatorHarness:
    return pattern_harness(pattern or pairs(), Told(), lambda event: event[0], **settings)


def events(*given: tuple[str, str, int]) -> list[Any]:
    return [((key, name), time) for key, name, time in given]


TWO_KEYS = events(("x", "a1", 1), ("y", "a2", 2), ("x", "b3", 4), ("y", "c", 5), ("x", "a4", 7), ("y", "b5", 40))


def test_keys_do_not_see_each_other() -> None:
    # As in Flink: at the watermark 39 the event a4 comes first, and all that is due for its key.
    sides = {"time-outs": [(["a"], 17), (["a"], 12)]}
    found = check_variants(harness, steps(TWO_KEYS, 1), ["aa1bb3"], sides=sides, seed=1)
    assert found.records == [Record("aa1bb3", 4)]


def test_events_are_sorted_until_the_watermark() -> None:
    given = events(("x", "b2", 5), ("x", "a1", 3))
    check_variants(harness, steps(given), ["aa1bb2"])


def test_late_events_go_to_the_side_output_or_are_counted() -> None:
    script = steps(events(("x", "a1", 5), ("x", "b2", 4), ("x", "b3", 6)), 1)
    found = check_variants(lambda: harness(late_tag=LATE), script, ["aa1bb3"], sides={"late": [("x", "b2")]})
    assert "metric numLateRecordsDropped" in found.measured
    dropped = check_variants(harness, script, ["aa1bb3"])
    assert dropped.measured["metric numLateRecordsDropped"].count == 1


def test_a_comparator_orders_events_of_one_time() -> None:
    class ByName(EventComparator):
        def compare(self, left: Any, right: Any) -> int:
            return (left[1] > right[1]) - (left[1] < right[1])

    given = steps(events(("x", "b2", 5), ("x", "a1", 5)), 0)
    check_variants(harness, given[:1] + given[2:], sides={"time-outs": [(["a"], 15)]})
    check_variants(lambda: harness(comparator=ByName()), given[:1] + given[2:], ["aa1bb2"])


def test_processing_time_is_that_of_arrival_and_time_outs_come_by_the_clock() -> None:
    script: list[Step] = [
        ProcessingTime(100),
        Element(("x", "a1")),
        ProcessingTime(105),
        Element(("x", "b2")),
        Element(("x", "a3")),
        ProcessingTime(115),
        ProcessingTime(116),
    ]
    sides = {"time-outs": [(["a"], 115)]}
    check_variants(lambda: harness(event_time=False), script, ["aa1bb2"], sides=sides, watermarks=False)


def test_batch_mode_gives_the_same_key_by_key() -> None:
    with harness(batch=True) as tested:
        operator: Any = tested.operator
        tested.process_elements(sorted(TWO_KEYS, key=lambda pair: pair[0][0]))
        assert tested.take_output() == []
        operator.end_keys()
        assert tested.take_output() == [Record("aa1bb3", 4)]
        assert [each.value for each in tested.take_side_outputs()["time-outs"]] == [(["a"], 17), (["a"], 12)]


def test_keys_without_a_partial_match_leave_no_state() -> None:
    with harness() as tested:
        tested.process_elements(events(("x", "c1", 1), ("y", "b1", 2), ("z", "a1", 3)))
        tested.process_watermark(3)
        operator: Any = tested.operator
        assert list(operator.runs()[0].states.rows) == ["z"]
        assert tested.metrics()["numPartialMatches"].value == 1
        tested.process_watermark(30)
        assert not operator.runs()[0].states.rows
        assert tested.metrics()["sharedBufferEntries"].value == 0


def test_a_key_with_an_unfinished_loop_does_not_grow_under_within() -> None:
    pattern = Pattern.begin("a").where(named("a")).followed_by_any("b").next("c").where(named("c")).within(Time(20))
    with harness(pattern) as tested:
        sizes = []
        for time in range(2_000):
            tested.process_element(("x", "ab"[time % 7 > 0]), time)
            tested.process_watermark(time)
            sizes.append(tested.metrics()["sharedBufferEntries"].value)
        assert max(sizes[1_000:]) <= max(sizes[:100])


def test_conditions_are_opened_and_know_where_they_run() -> None:
    class Rich(RichIterativeCondition):
        def open(self, runtime_context: Any) -> None:
            self.names = [self.get_runtime_context().get_task_name()]

        def filter(self, event: Any, ctx: Any) -> bool:
            return bool(self.names) and ctx.timestamp() == 3 and not ctx.get_events_for_pattern("b")

    tested = lambda: harness(Pattern.begin("a").where(Rich()))
    check_variants(tested, steps(events(("x", "a1", 1), ("x", "a2", 3)), 0), ["aa2"])


def test_a_failing_condition_names_the_event() -> None:
    with harness(Pattern.begin("a").where(lambda event: event[2])) as tested:
        tested.process_element(("x", "a1"), 1)
        with pytest.raises(OperatorError, match=r"in a condition of the pattern[\s\S]*\('x', 'a1'\)"):
            tested.process_watermark(1)


def test_events_without_timestamps_are_refused_in_event_time() -> None:
    with harness() as tested, pytest.raises(OperatorError, match="needs elements with timestamps"):
        tested.process_element(("x", "a1"))


def test_state_of_another_pattern_is_refused() -> None:
    with harness() as first, harness(pairs().optional()) as other, harness() as same:
        small = first.operator.snapshot()
        earlier = EarlierState((), {}, (small, None), 0)
        same.operator.take_over(earlier)
        with pytest.raises(ValueError, match="partial matches are of another pattern"):
            other.operator.take_over(earlier)


def test_state_of_another_pattern_is_dropped_and_counted_where_that_is_allowed(caplog: Any) -> None:
    with harness() as first:
        first.process_elements(events(("x", "a1", 1), ("x", "a2", 2), ("y", "a3", 3), ("z", "a4", 9)))
        first.process_watermark(5)
        pieces = list(first.operator.keyed_state().full_pieces())
        small = first.operator.snapshot()
    other = harness(Pattern.begin("a").where(named("a")).next("c").where(named("c")))
    other.operator.take_over(EarlierState((), {}, (small,), 5, may_drop=True))
    with other, caplog.at_level("WARNING"):
        other.operator.take_over_keyed(pieces)
        other.process_elements(events(("z", "c5", 10), ("x", "c6", 11)))
        other.process_watermark(20)
        assert other.values == ["aa4cc5"]
        assert other.metrics()["numPartialMatches"].value == 0
        assert other.counter("numPartialMatchesDropped") == 3
    assert "3 partial matches of 2 keys are of another pattern" in caplog.text


def test_partial_matches_go_on_after_a_rescale() -> None:
    with harness() as first:
        first.process_elements(events(("x", "a1", 1), ("y", "a2", 2), ("x", "b3", 9)))
        first.process_watermark(5)
        pieces = list(first.operator.keyed_state().full_pieces())
        small = first.operator.snapshot()
    with harness() as second:
        second.operator.take_over(EarlierState((), {}, (small,), 5))
        second.operator.take_over_keyed(pieces)
        second.process_watermark(MAX)
        found = second.take_output()
        assert [each.value for each in found if isinstance(each, Record)] == ["aa1bb3"]
        assert [each.value for each in second.take_side_outputs()["time-outs"]] == [(["a"], 12)]
