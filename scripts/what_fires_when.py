#!/usr/bin/env python
"""Writes the tables of docs/guide/time-and-watermarks.md: what fires when, as the operators do it.

    python scripts/what_fires_when.py            writes them into the page
    python scripts/what_fires_when.py --print    prints them

Each table is the protocol of one operator in a test harness, which is given the steps of a scene one by one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.common.time import Duration, Time
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import KeyedProcessFunction, OutputTag, ProcessWindowFunction
from millrace.datastream.window import (
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.runtime.operators.timestamps import AssignTimestampsOperator
from millrace.testing import OperatorHarness, Status, Watermark

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "time-and-watermarks.md"
COMMAND = "make tables"
_PART = re.compile(r"(<!-- table: (?P<name>[a-z-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)

LATE = OutputTag("late")


@dataclass(frozen=True)
class Step:
    """One thing that happens to the operator, and how the table calls it."""

    text: str
    do: Callable[[OperatorHarness], None]


@dataclass(frozen=True)
class Scene:
    """An operator and what happens to it."""

    make: Callable[[], OperatorHarness]
    steps: Sequence[Step]


# -- steps --------------------------------------------------------------------------------------------------------


def element(value: str, timestamp: int, note: str = "") -> Step:
    text = f"`{value}` at {timestamp}" + (f" ({note})" if note else "")
    return Step(text, lambda harness: harness.process_element(value, timestamp))


def chunk(*elements: tuple[str, int]) -> Step:
    names = ", ".join(f"`{value}` at {timestamp}" for value, timestamp in elements)
    return Step(names, lambda harness: harness.process_elements(elements))


def watermark(time: int, channel: int | None = None) -> Step:
    text = f"watermark {time}" + ("" if channel is None else f" on channel {channel}")
    return Step(text, lambda harness: harness.process_watermark(time, channel=(channel or 1) - 1))


def idle(channel: int) -> Step:
    return Step(
        f"channel {channel} becomes idle", lambda harness: harness.process_status(Status.IDLE, channel=channel - 1)
    )


def clock(now: int) -> Step:
    return Step(f"an epoch ends, the clock shows {now}", lambda harness: harness.set_processing_time(now))


END = Step("end of input", lambda harness: harness.end_input())


# -- functions ----------------------------------------------------------------------------------------------------


class Show(ProcessWindowFunction[str, str, Any, Any]):
    """One line per firing: the window and its elements in the order in which they came."""

    def process(self, key: Any, context: Any, elements: Iterable[str]) -> Iterator[str]:
        window = context.window()
        bounds = f"[{window.start}, {window.end}): " if isinstance(window, TimeWindow) else ""
        yield bounds + " ".join(elements)


class Obey(KeyedProcessFunction):
    """Sets and deletes timers as its elements say: ``set 3000``, ``delete 3000``, ``set clock 200``."""

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> None:
        timers, words = ctx.timer_service(), value.split()
        time = int(words[-1])
        if words[:-1] == ["set"]:
            timers.register_event_time_timer(time)
        elif words[:-1] == ["delete"]:
            timers.delete_event_time_timer(time)
        else:
            timers.register_processing_time_timer(time)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"timer {timestamp}"


def windows(
    assigner: WindowAssigner[Any, Any], lateness: int = 0, batch: bool = False, **settings: Any
) -> Callable[[], OperatorHarness]:
    late = LATE if assigner.is_event_time() else None
    return lambda: OperatorHarness.for_windows(
        assigner,
        Show(),
        allowed_lateness=lateness,
        late_tag=late,
        key_selector=lambda value: "one key",
        batch=batch,
        **settings,
    )


def timers(batch: bool = False) -> OperatorHarness:
    return OperatorHarness.for_function(Obey(), key_selector=lambda value: "one key", batch=batch)


TUMBLING = TumblingEventTimeWindows.of(Time.seconds(5))
SLIDING = SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5))
SESSIONS = EventTimeSessionWindows.with_gap(Time.seconds(3))
STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1)).with_idleness(Duration.of_minutes(1))

SCENES: dict[str, Scene] = {
    "generator": Scene(
        lambda: OperatorHarness(lambda: AssignTimestampsOperator(STRATEGY)),
        [
            chunk(("a", 1000), ("b", 3000), ("c", 2000)),
            chunk(("d", 2500)),
            chunk(("e", 9000)),
            clock(60_000),
            chunk(("f", 9500)),
            END,
        ],
    ),
    "tumbling": Scene(
        windows(TUMBLING),
        [
            element("a", 1000),
            element("b", 4999),
            element("c", 5000, "the end of a window is not part of it"),
            watermark(3999),
            element("d", 3000, "behind the watermark, but its window is open"),
            watermark(4998),
            watermark(4999),
            element("e", 2000),
            END,
        ],
    ),
    "tumbling-lateness": Scene(
        windows(TUMBLING, lateness=2000),
        [
            element("a", 1000),
            watermark(4999),
            element("b", 2000),
            watermark(6998),
            element("c", 3000),
            watermark(6999),
            element("d", 4000),
            END,
        ],
    ),
    "sliding": Scene(
        windows(SLIDING),
        [
            element("a", 1000),
            watermark(4999),
            element("b", 3000, "late for [-5000, 5000) only: not late"),
            watermark(9999),
            element("c", 4000, "late for all its windows"),
            END,
        ],
    ),
    "sliding-lateness": Scene(
        windows(SLIDING, lateness=1000),
        [element("a", 1000), watermark(4999), element("b", 3000), watermark(5999), element("c", 3000), END],
    ),
    "session": Scene(
        windows(SESSIONS),
        [
            element("a", 1000),
            element("b", 3000),
            element("c", 9000),
            watermark(5999),
            element("d", 8000, "joins `c`"),
            watermark(8500),
            element("e", 5500, "alone it would be late; it joins `d`"),
            element("f", 1000),
            END,
        ],
    ),
    "session-lateness": Scene(
        windows(SESSIONS, lateness=3000),
        [
            element("a", 1000),
            watermark(3999),
            element("b", 2000, "the session now ends at 5000"),
            watermark(4999),
            element("c", 500),
            watermark(7999),
            element("d", 1000),
            END,
        ],
    ),
    "timers": Scene(
        timers,
        [
            element("set 3000", 1000),
            element("set 4999", 1000),
            element("set 3000", 1500, "there already"),
            element("set 4000", 2000),
            element("delete 4000", 2000),
            watermark(4999),
            element("set 1000", 6000, "in the past"),
            watermark(5000),
            element("set clock 200", 6000),
            clock(250),
            element("set clock 900", 6000),
            element("set 99999", 6000),
            END,
        ],
    ),
    "channels": Scene(
        windows(TUMBLING, channels=2),
        [
            element("a", 1000, "from channel 1"),
            watermark(4999, 1),
            idle(2),
            element("b", 6000, "from channel 1"),
            watermark(3000, 2),
            element("c", 4000, "from channel 2"),
            watermark(9999, 1),
            watermark(12000, 2),
            idle(1),
            idle(2),
        ],
    ),
}
"""Name of a table in the page -> what it shows."""

PENDING: dict[str, Callable[[bool], OperatorHarness]] = {
    "event-time windows": lambda batch: windows(TUMBLING, batch=batch)(),
    "event-time sessions": lambda batch: windows(SESSIONS, batch=batch)(),
    "event-time timers": timers,
    "processing-time windows": lambda batch: windows(TumblingProcessingTimeWindows.of(Time.seconds(5)), batch=batch)(),
    "processing-time timers": timers,
    "a window of 3 elements that has 2": lambda batch: windows(CountTumblingWindowAssigner.of(3), batch=batch)(),
    "`GlobalWindows.create()`": lambda batch: windows(GlobalWindows.create(), batch=batch)(),
    "`GlobalWindows.create_with_end_of_stream_trigger()`": lambda batch: windows(
        GlobalWindows.create_with_end_of_stream_trigger(), batch=batch
    )(),
}
"""What may be pending when the input ends."""

COMMANDS = {"event-time timers": "set 99000", "processing-time timers": "set clock 99000"}


# -- tables -------------------------------------------------------------------------------------------------------


def happened(harness: OperatorHarness) -> str:
    """What came out since the last call."""
    found = [f"fires `{record.value}`" for record in harness.records]
    found += [f"`{record.value}` is late" for record in harness.take_side_outputs().get(LATE.tag_id, [])]
    harness.take_output()
    return ", ".join(found)


def sent(harness: OperatorHarness) -> str:
    """The marks among the elements since the last call."""
    marks = [item for item in harness.take_output() if isinstance(item, (Watermark, Status))]
    return ", ".join(f"watermark {shown(m.timestamp)}" if isinstance(m, Watermark) else m.name for m in marks)


def shown(time: int) -> str:
    return {MIN_TIMESTAMP: "none", MAX_WATERMARK: "MAX"}.get(time, str(time))


def protocol(scene: Scene) -> Iterator[str]:
    yield "| | arrives | watermark | what happens |\n|---|---|---|---|"
    with scene.make() as harness:
        for number, step in enumerate(scene.steps, start=1):
            step.do(harness)
            yield f"| {number} | {step.text} | {shown(harness.watermark)} | {happened(harness)} |"


def generated(scene: Scene) -> Iterator[str]:
    yield "| | arrives | is sent |\n|---|---|---|"
    with scene.make() as harness:
        for number, step in enumerate(scene.steps, start=1):
            step.do(harness)
            yield f"| {number} | {step.text} | {sent(harness)} |"


def at_the_end() -> Iterator[str]:
    yield "| pending | streaming | batch |\n|---|---|---|"
    for name, make in PENDING.items():
        cells = []
        for batch in (False, True):
            with make(batch) as harness:
                harness.process_elements([(COMMANDS.get(name, value), 1000) for value in "ab"])
                harness.end_input()
                cells.append("fires" if harness.records else "dropped")
        yield f"| {name} | {cells[0]} | {cells[1]} |"


def table(name: str) -> str:
    """The lines of a table; KeyError if there is none of this name."""
    if name == "end-of-input":
        return "\n".join(at_the_end()) + "\n"
    rows = generated if name == "generator" else protocol
    return "\n".join(rows(SCENES[name])) + "\n"


TABLES = (*SCENES, "end-of-input")


def with_tables(page: str) -> str:
    """The page with all its tables made anew. Raises ValueError if it lacks one."""
    missing = set(TABLES) - {part["name"] for part in _PART.finditer(page)}
    if missing:
        raise ValueError(f"the page has no place for the tables {sorted(missing)}")
    return _PART.sub(lambda part: f"{part[1]}{table(part['name'])}{part[3]}", page)


def main(arguments: Sequence[str]) -> None:
    if "--print" in arguments:
        for name in TABLES:
            print(f"{name}\n\n{table(name)}")
    else:
        PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
