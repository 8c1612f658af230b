"""Open windows move to another operator in the middle of a script: it goes on as if it had run from the beginning."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest.mock import Mock, patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ids import shown
from tests.rings import examples
from tests.runtime.windows.windowing import (
    AGGREGATE,
    AGGREGATE_LIST,
    LATE,
    PROCESS,
    REDUCE_PROCESS,
    Mode,
    Seen,
    key_of,
    play,
    scripts,
)

from millrace.checkpoint.window_forms import WindowFormError, check_windows, convert_windows
from millrace.common.time import Time
from millrace.datastream.window import (
    CountTrigger,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    ProcessingTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from millrace.runtime.bases.operator import event_time_of
from millrace.runtime.state.backend import KeyedDelta, KeyedStateBackend, only_keys
from millrace.runtime.state.restoring.saved import EarlierState
from millrace.runtime.windows import aligned_window
from millrace.runtime.windows.choice import describe_windows, window_operator
from millrace.runtime.windows.slicing import CONTENTS, WindowStrategy
from millrace.testing import Element, EndInput, OperatorHarness, ProcessingTime, Record, Step
from millrace.testing.operators import window_spec

ms = Time.milliseconds


class SameTrigger(EventTimeTrigger):
    """Does the same, but the fast operators can't know."""


class SameProcessingTrigger(ProcessingTimeTrigger):
    pass


class SameTumbling(TumblingEventTimeWindows):
    """The same windows, but the fast operators can't know."""


class SameSliding(SlidingEventTimeWindows):
    pass


class SameCumulative(CumulativeEventTimeWindows):
    pass


class SameSessions(EventTimeSessionWindows):
    pass


class SameProcessing(TumblingProcessingTimeWindows):
    pass


@dataclass(frozen=True)
class Program:
    """A window operator of a job."""

    strategy: WindowStrategy
    function: Any

    def run(self, script: Sequence[Step]) -> list[Seen]:
        """What comes out at every step."""
        with self._harness() as harness:
            return self._play_all(harness, script)

    def _play_all(self, harness: OperatorHarness, script: Sequence[Step]) -> list[Seen]:
        seen = self._play(harness, script)
        if script and isinstance(script[-1], EndInput):
            assert harness.operator.keyed_state().full() == {}, "nothing stays behind"
        return seen

    def _harness(self, now: int = 0) -> OperatorHarness:
        kind = window_operator(self.strategy, batch=False)
        return OperatorHarness(lambda: kind(self.strategy, self.function), key_selectors=[key_of], processing_time=now)

    def _play(self, harness: OperatorHarness, script: Sequence[Step]) -> list[Seen]:
        seen = []
        for step in script:
            play(harness, step)
            records = [item for item in harness.take_output() if isinstance(item, Record)]
            late = [record.value for record in harness.take_side_outputs().get(LATE.tag_id, [])]
            seen.append(Seen(records, late))
        return seen

    def saved(self, script: Sequence[Step]) -> Saved:
        """The state after a script."""
        described = json.loads(json.dumps(describe_windows(self.strategy)))
        with self._harness() as harness:
            self._play(harness, script)
            state = only_keys(harness.operator.keyed_state().full(), lambda key: True)  # goes with that of others
            return Saved([state], described, harness.operator.watermark, harness.processing_time)

    def go_on(self, saved: Saved, script: Sequence[Step]) -> list[Seen]:
        """What comes out after this operator took the state over."""
        harness = self._harness(saved.now)
        harness._gate.begin_at(saved.watermark)
        harness.operator.take_over(EarlierState((), {}, (), saved.watermark))
        pieces = convert_windows(
            copy.deepcopy(saved.pieces), saved.described, self.strategy, event_time_of(None, saved.watermark)
        )  # functions change accumulators in place
        with harness:
            harness.operator.take_over_keyed(pieces)
            return self._play_all(harness, script)


@dataclass(frozen=True)
class Saved:
    pieces: list[KeyedDelta]
    described: Any
    watermark: int
    now: int

    def full(self) -> KeyedDelta:
        backend = KeyedStateBackend()
        for piece in self.pieces:
            backend.apply(piece)
        return backend.full()

    def __add__(self, other: Saved) -> Saved:
        return Saved(self.pieces + other.pieces, self.described, self.watermark, self.now)


def program(assigner: Any, mode: Mode, lateness: int = 0, **given: Any) -> Program:
    tag = LATE if assigner.is_event_time() else None
    chosen = {**mode.settings, "allowed_lateness": lateness, "late_tag": tag, "key_selector": key_of, **given}
    spec = window_spec(assigner, chosen.pop("function", None), **chosen)
    return Program(spec.strategy, spec.function)


def form(program: Program) -> str:
    found: str = describe_windows(program.strategy)["form"]
    return found


def check_move(before: Program, after: Program, script: Sequence[Step], place: int) -> None:
    """The part of the script after ``place`` gives what it gives when one operator has done it all."""
    expected = after.run(script)[place:]
    found = after.go_on(before.saved(script[:place]), script[place:])
    for step, mine, wanted in zip(script[place:], found, expected, strict=True):
        assert mine.by_key() == wanted.by_key(), step
        assert mine.late == wanted.late, step


ALIGNED = {
    "tumbling": (TumblingEventTimeWindows.of(ms(10)), SameTumbling.of(ms(10))),
    "tumbling, shifted": (TumblingEventTimeWindows.of(ms(10), ms(3)), SameTumbling.of(ms(10), ms(3))),
    "sliding": (SlidingEventTimeWindows.of(ms(12), ms(4)), SameSliding.of(ms(12), ms(4))),
    "cumulative": (CumulativeEventTimeWindows.of(ms(20), ms(5)), SameCumulative.of(ms(20), ms(5))),
}
MODES = [PROCESS, REDUCE_PROCESS, AGGREGATE_LIST]
LATENESS = st.sampled_from([0, 4, 25])


@cache
def aligned_programs(name: str, mode: str, lateness: int) -> tuple[Program, Program, Program]:
    """The same windows by the fast operator, and twice by the general one: because of the trigger, of the assigner."""
    assigner, same = ALIGNED[name]
    chosen = next(each for each in MODES if each.name == mode)
    fast = program(assigner, chosen, lateness)
    triggered = program(assigner, chosen, lateness, trigger=SameTrigger())
    assigned = program(same, chosen, lateness)
    assert [form(fast), form(triggered), form(assigned)] == ["aligned", "general", "general"]
    return fast, triggered, assigned


@pytest.mark.parametrize("name", ALIGNED)
@pytest.mark.parametrize("mode", MODES, ids=repr)
@pytest.mark.parametrize("shares", [False, True], ids=["own", "slices"])
@settings(max_examples=examples(30))
@given(script=scripts(size=20), lateness=LATENESS, data=st.data())
def test_aligned_windows_become_general_and_come_back(
    name: str, mode: Mode, shares: bool, script: list[Step], lateness: int, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(script)))
    fast, triggered, assigned = aligned_programs(name, mode.name, lateness)
    with patch.object(aligned_window, "may_share", lambda *args: shares):
        check_move(fast, triggered, script, place)
        check_move(fast, assigned, script, place)
        check_move(assigned, fast, script, place)
        check_move(fast, fast, script, place)


@pytest.mark.parametrize("mode", [REDUCE_PROCESS, AGGREGATE_LIST], ids=repr)
@settings(max_examples=examples(60))
@given(script=scripts(size=20), lateness=LATENESS, data=st.data())
def test_sessions_become_general_and_come_back(
    mode: Mode, script: list[Step], lateness: int, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(script)))
    fast = program(EventTimeSessionWindows.with_gap(ms(5)), mode, lateness)
    triggered = program(EventTimeSessionWindows.with_gap(ms(5)), mode, lateness, trigger=SameTrigger())
    assigned = program(SameSessions.with_gap(ms(5)), mode, lateness)
    assert [form(fast), form(triggered), form(assigned)] == ["sessions", "general", "general"]
    check_move(fast, triggered, script, place)
    check_move(fast, assigned, script, place)
    check_move(assigned, fast, script, place)


@settings(max_examples=examples(60))
@given(times=st.lists(st.integers(0, 12), min_size=1, max_size=10), data=st.data())
@pytest.mark.parametrize("mode", MODES, ids=repr)
def test_windows_of_processing_time_move_too(mode: Mode, times: list[int], data: st.DataObject) -> None:
    script: list[Step] = []
    now = 0
    for number, by in enumerate(times):
        script.append(Element((number % 2, number), None))
        script.append(ProcessingTime(now := now + by))
    place = data.draw(st.integers(0, len(script)))
    fast = program(TumblingProcessingTimeWindows.of(ms(10)), mode)
    triggered = program(TumblingProcessingTimeWindows.of(ms(10)), mode, trigger=SameProcessingTrigger())
    assigned = program(SameProcessing.of(ms(10)), mode)
    assert [form(fast), form(triggered), form(assigned)] == ["aligned", "general", "general"]
    check_move(fast, triggered, script, place)
    check_move(assigned, fast, script, place)


@pytest.mark.parametrize("name", ["sliding", "cumulative"])
@settings(max_examples=examples(100))
@given(script=scripts(size=24), lateness=LATENESS, data=st.data())
def test_subtasks_that_shared_slices_and_others_become_one(
    name: str, script: list[Step], lateness: int, data: st.DataObject
) -> None:
    """Each key was alone in its subtask; from some place on, its windows shared slices."""
    place = data.draw(st.integers(0, len(script)))
    fast, general, _ = aligned_programs(name, AGGREGATE_LIST.name, lateness)
    parts = []
    for key in (0, 1):
        not_yet = [None] * data.draw(st.integers(0, 10))
        own = [step for step in script[:place] if not isinstance(step, Element) or step.value[0] == key]
        with patch.object(aligned_window, "may_share", Mock(side_effect=[*not_yet, *[True] * len(script)])):
            parts.append(fast.saved(own))
    expected = general.run(script)[place:]
    for after in (fast, general):
        found = after.go_on(parts[0] + parts[1], script[place:])
        assert [each.by_key() for each in found] == [each.by_key() for each in expected]


def test_a_savepoint_that_tells_nothing_shows_its_form() -> None:
    script: list[Step] = [Element((0, 1), 3), Element((0, 3), 15), Element((1, 2), 16)]
    fast = program(TumblingEventTimeWindows.of(ms(10)), AGGREGATE)
    general = program(TumblingEventTimeWindows.of(ms(10)), AGGREGATE, trigger=SameTrigger())
    sessions = program(EventTimeSessionWindows.with_gap(ms(5)), AGGREGATE)
    merging = program(SameSessions.with_gap(ms(5)), AGGREGATE)
    for before, after in (
        *((fast, general), (general, general), (fast, fast)),
        *((sessions, merging), (merging, sessions), (sessions, sessions)),
    ):
        saved = before.saved(script)
        converted = KeyedStateBackend()
        for piece in convert_windows(saved.pieces, None, after.strategy, event_time_of(None, saved.watermark)):
            converted.apply(piece)
        assert converted.full() == after.saved(script).full()


def test_other_state_of_the_function_is_left_alone() -> None:
    fast = program(TumblingEventTimeWindows.of(ms(10)), AGGREGATE)
    general = program(TumblingEventTimeWindows.of(ms(10)), AGGREGATE, trigger=SameTrigger())
    own: KeyedDelta = {"own": ("value", {"a": 1})}
    pieces = [own, {**own, **fast.saved([Element((0, 1), 3)]).pieces[0]}]
    found = list(convert_windows(pieces, describe_windows(fast.strategy), general.strategy, event_time_of(None, 0)))
    assert [piece.get("own") for piece in found] == [own["own"], own["own"], None]
    assert set(found[-1]) == {CONTENTS, "\0event-time-timers"}


def test_general_windows_pass_as_they_come() -> None:
    """State on disk may be larger than memory."""
    general = program(TumblingEventTimeWindows.of(ms(10)), PROCESS, trigger=CountTrigger.of(3))
    read = []

    def pieces() -> Any:
        for number in range(3):
            read.append(number)
            yield {CONTENTS: ("list", {number: (0, [1])})}

    found = convert_windows(pieces(), describe_windows(general.strategy), general.strategy, event_time_of(None, 0))
    next(found)
    assert read == [0]


# -- what can't be ----------------------------------------------------------------------------------------------------

TUMBLING = TumblingEventTimeWindows.of(ms(10))
DRAIN = "stop the earlier job with --drain, so that no window is open, or give the window another uid: it begins empty"


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        (
            program(TUMBLING, PROCESS),
            program(TUMBLING, AGGREGATE),
            f"its windows had contents 'elements' and have 'folded' now; {DRAIN}",
        ),
        (
            program(TumblingProcessingTimeWindows.of(ms(10)), PROCESS),
            program(TUMBLING, PROCESS),
            f"its windows had time 'processing' and have 'event' now; {DRAIN}",
        ),
        (
            program(EventTimeSessionWindows.with_gap(ms(10)), AGGREGATE),
            program(TUMBLING, AGGREGATE, trigger=SameTrigger()),
            f"its windows had merging windows True and have False now; {DRAIN}",
        ),
        (
            program(TUMBLING, PROCESS),
            program(SlidingEventTimeWindows.of(ms(10), ms(5)), PROCESS),
            f"open windows of TumblingEventTimeWindows (offset 0, size 10 ms) can't be told from those of "
            f"SlidingEventTimeWindows (offset 0, size 10, slide 5 ms); keep the earlier windows, or {DRAIN}",
        ),
        (
            program(TUMBLING, PROCESS, trigger=CountTrigger.of(3)),
            program(TUMBLING, PROCESS),
            f"its trigger was CountTrigger, whose work EventTimeTrigger can't go on with; keep it, or {DRAIN}",
        ),
        (program(TUMBLING, PROCESS), program(TUMBLING, PROCESS), None),
        (program(TUMBLING, PROCESS), program(TUMBLING, PROCESS, trigger=CountTrigger.of(3)), None),
        (
            program(EventTimeSessionWindows.with_gap(ms(10)), AGGREGATE),
            program(EventTimeSessionWindows.with_gap(ms(20)), AGGREGATE),
            None,
        ),
    ],
    ids=shown,
)
def test_what_cannot_go_on_is_told_before_anything_is_read(
    before: Program, after: Program, problem: str | None
) -> None:
    described = describe_windows(before.strategy)
    assert check_windows(described, after.strategy) == problem
    if problem is not None:
        with pytest.raises(WindowFormError) as raised:
            list(convert_windows([], described, after.strategy, event_time_of(None, 0)))
        assert str(raised.value) == problem


def test_an_evictor_keeps_elements_in_another_way() -> None:
    from millrace.datastream.window import CountEvictor

    plain, evicting = program(TUMBLING, PROCESS), program(TUMBLING, PROCESS, evictor=CountEvictor.of(2))
    assert check_windows(describe_windows(plain.strategy), evicting.strategy) == (
        f"it has got an evictor, for which elements are kept in another way; remove the evictor, or {DRAIN}"
    )
    assert check_windows(describe_windows(evicting.strategy), plain.strategy) == (
        f"it has lost an evictor, for which elements are kept in another way; keep the evictor, or {DRAIN}"
    )
    assert check_windows(describe_windows(evicting.strategy), evicting.strategy) is None


def test_open_windows_of_another_size_are_named() -> None:
    saved = program(SameTumbling.of(ms(7)), PROCESS).saved([Element((0, 1), 8)])
    fast = program(TUMBLING, PROCESS)
    assert check_windows(saved.described, fast.strategy) is None
    with pytest.raises(WindowFormError) as raised:
        list(convert_windows(saved.pieces, saved.described, fast.strategy, event_time_of(None, 0)))
    assert str(raised.value) == (
        f"TimeWindow(start=7, end=14) of key 0 is open, which is no window of TumblingEventTimeWindows (offset 0, size "
        f"10 ms); keep the earlier windows, or {DRAIN}"
    )


def test_which_windows_are_open_must_be_known() -> None:
    saved = program(TUMBLING, PROCESS).saved([Element((0, 1), 8)])
    now = program(SameTumbling.of(ms(10)), PROCESS).strategy
    with pytest.raises(WindowFormError, match="the savepoint does not tell which windows are open in it"):
        list(convert_windows(saved.pieces, None, now, event_time_of(None, 0)))


def test_windows_of_another_size_go_on_in_the_general_form() -> None:
    """As in Flink: what is open keeps its bounds, new elements go to new windows."""
    before = program(TUMBLING, PROCESS)
    after = program(TumblingEventTimeWindows.of(ms(15)), PROCESS, trigger=SameTrigger())
    saved = before.saved([Element((0, 1), 12)])
    found = after.go_on(saved, [Element((0, 2), 16), EndInput()])
    results = [record.value[1:3] for each in found for record in each.records]
    assert results == [((10, 20), ((0, 1),)), ((15, 30), ((0, 2),))]
