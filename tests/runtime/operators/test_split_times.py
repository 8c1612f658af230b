"""``SplitTimes``: the lowest watermark of all splits counts, compared with a naive model."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from millrace.common.source import ReaderOutput
from millrace.common.time import Duration
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.runtime.elements import MAX_WATERMARK, Status
from millrace.runtime.operators.source import CHUNK, ReaderItem, SourceOutput, UnsentOutput, hand_on
from millrace.runtime.operators.timestamps import SplitTimes

IN_ORDER = WatermarkStrategy.for_monotonous_timestamps()
OLDEST = -(2**63)


class Sink:
    """Keeps elements and marks in one list."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def emit(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        self.items += values

    def mark(self, mark: int | Status) -> None:
        self.items.append(mark if isinstance(mark, Status) else ("watermark", mark))

    def take(self) -> list[Any]:
        items, self.items = self.items, []
        return items


def times(strategy: WatermarkStrategy = IN_ORDER) -> tuple[SplitTimes, Sink]:
    sink = Sink()
    return SplitTimes(strategy, sink.emit, sink), sink  # type: ignore[arg-type]


class AtOnce(UnsentOutput):
    """Hands on what the reader gives."""

    def __init__(self, times: SplitTimes, now: Callable[[], int]) -> None:
        super().__init__()
        self._times, self._now = times, now

    def add(self, given: ReaderItem) -> None:
        hand_on(given, self._times, self._now())


def output_to(times: SplitTimes, now: Callable[[], int] = lambda: 0) -> SourceOutput:
    return SourceOutput(AtOnce(times, now))


def read(output: ReaderOutput[Any], *timestamps: int) -> None:
    output.collect_batch([f"at {ts}" for ts in timestamps], list(timestamps))


def test_the_slowest_split_counts_until_it_ends() -> None:
    event_time, sink = times()
    output = output_to(event_time)
    fast, slow = output.create_output_for_split("fast"), output.create_output_for_split("slow")
    read(fast, 100)
    assert sink.take() == ["at 100"]
    read(slow, 10, 20)
    assert sink.take() == ["at 10", "at 20", ("watermark", 19)]
    output.release_output_for_split("slow")
    assert sink.take() == [("watermark", 99)]
    read(output.create_output_for_split("new"), 50)
    assert sink.take() == ["at 50"], "late, but the watermark does not go back"
    event_time.end()
    assert sink.take() == [("watermark", MAX_WATERMARK)]


def test_single_elements_of_a_split_are_gathered_and_its_end_lets_them_go() -> None:
    event_time, sink = times()
    output = output_to(event_time)
    split = output.create_output_for_split("a")
    for ts in range(CHUNK + 2):
        split.collect(str(ts), ts)
    assert len(sink.take()) == CHUNK + 1
    output.release_output_for_split("a")
    assert sink.take() == [str(CHUNK), str(CHUNK + 1), ("watermark", CHUNK)]


def test_a_quiet_split_becomes_idle_and_the_others_go_on() -> None:
    event_time, sink = times(IN_ORDER.with_idleness(Duration.of_millis(100)))
    clock = {"now": 0}
    output = output_to(event_time, lambda: clock["now"])
    loud, quiet = output.create_output_for_split("loud"), output.create_output_for_split("quiet")
    read(quiet, 5)
    read(loud, 50)
    assert sink.take() == ["at 5", "at 50", ("watermark", 4)]
    clock["now"] = 90
    read(loud, 60)
    event_time.clock(100)
    assert sink.take() == ["at 60", ("watermark", 59)]
    event_time.clock(200)
    assert sink.take() == [Status.IDLE]
    read(quiet, 70)
    assert sink.take() == [Status.ACTIVE, "at 70", ("watermark", 69)]


def test_the_reader_may_speak_for_all_its_splits() -> None:
    event_time, sink = times(WatermarkStrategy.no_watermarks())
    output = output_to(event_time)
    split = output.create_output_for_split("a")
    split.collect("x", 1)
    output.emit_watermark(7)
    output.mark_idle()
    split.emit_watermark(9)
    assert sink.take() == ["x", ("watermark", 7), Status.IDLE, Status.ACTIVE, ("watermark", 9)]


def test_elements_of_no_split_count_beside_the_splits() -> None:
    event_time, sink = times()
    output = output_to(event_time)
    read(output, 10)
    read(output.create_output_for_split("a"), 20)
    read(output, 30)
    assert sink.take() == ["at 10", ("watermark", 9), "at 20", "at 30", ("watermark", 19)]


def test_what_0_1_saved_goes_on() -> None:
    before, _ = times()
    read(output_to(before), 100)
    old = pickle.loads(pickle.dumps(before._rest.snapshot()))
    after, sink = times()
    after.take_over([old], 0, 1)
    read(output_to(after), 50, 102)
    assert (after.watermark, sink.take()) == (101, ["at 50", "at 102", ("watermark", 101)])


STEPS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["read", "read", "read", "end", "restore"])), max_size=30)


@given(STEPS, st.lists(st.integers(0, 100), min_size=30, max_size=30))
def test_like_the_model(steps: list[tuple[int, str]], stamps: list[int]) -> None:
    event_time, _ = times()
    output = output_to(event_time)
    highest: dict[str, int] = {}
    watermark = OLDEST
    for (number, what), timestamp in zip(steps, stamps):
        split = f"split {number}"
        if what == "read":
            read(output.create_output_for_split(split), timestamp)
            highest[split] = max(highest.get(split, OLDEST + 1), timestamp)
        elif what == "end":
            output.release_output_for_split(split)
            highest.pop(split, None)
        else:
            saved = pickle.loads(pickle.dumps(event_time.snapshot()))
            event_time, _ = times()
            event_time.restore(saved)
            output = output_to(event_time)
        if highest:
            watermark = max(watermark, min(highest.values()) - 1)
        assert event_time.watermark == watermark
