"""The timelines of a program as data, as text and as a picture; and running a small program without Spark, element by
element, while its operators are watched from outside.

An ``OperatorTimeline`` holds the events of an operator with windows or timers; all times are ms. Text and picture show
one row for each event on an axis of event time; in the picture event time goes to the right, the order of arrival
downwards, and the watermark is a stepped line. ``Watcher`` wraps the methods of each operator, which does not know
about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from millrace.common.state import ListStateDescriptor
from millrace.common.window import TimeWindow
from millrace.runtime.bases.process_operators import KeyedProcessBase
from millrace.runtime.clocks import now_millis
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Chunk
from millrace.runtime.failure import shorten
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.state.address import key_of
from millrace.runtime.state.working import InMemory
from millrace.runtime.storage import INITIAL
from millrace.runtime.tasks.member import Member
from millrace.runtime.tasks.task import StageTask
from millrace.runtime.tasks.worker import LiveTask
from millrace.runtime.timers import TimerId, TimerQueue
from millrace.runtime.windows.window_operator import WindowOperatorBase
from millrace.testing.local import LocalEngine, job_of
from millrace.util.charts import CHARACTER, COLOURS, LINE, WRONG, Canvas

if TYPE_CHECKING:
    from millrace.datastream.data_stream import DataStream
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment


# Timelines: events


@dataclass(frozen=True)
class Arrival:
    """An element has come.

    :ivar time: its event time, None for an element without.
    :ivar late: whether it was in no window any more, and so was dropped or went to the side output for late elements.
    """

    key: Any
    value: Any
    time: int | None
    late: bool


@dataclass(frozen=True)
class WatermarkMoved:
    """The operator's watermark has come to ``time``; ``MAX_WATERMARK`` at the end of the input."""

    time: int


@dataclass(frozen=True)
class WindowFired:
    """The window function was called.

    :ivar start: when the window begins, None for one that is not of time (global windows, windows of a count).
    :ivar end: when it ends; that moment is not part of it.
    :ivar elements: what was in it. Of a window that keeps only what its elements are folded to (``reduce``,
        ``aggregate``) those of its key that fit by their times; of a window of a count nothing then.
    :ivar results: what the function gave.
    """

    key: Any
    start: int | None
    end: int | None
    elements: tuple[Any, ...]
    results: tuple[Any, ...]


@dataclass(frozen=True)
class TimerSet:
    """A timer was set, or deleted, for a key.

    :ivar by_clock: whether it is one of processing time.
    """

    key: Any
    time: int
    by_clock: bool
    deleted: bool = False


@dataclass(frozen=True)
class TimerFired:
    """``on_timer`` was called."""

    key: Any
    time: int
    by_clock: bool


Event = Arrival | WatermarkMoved | WindowFired | TimerSet | TimerFired


@dataclass(frozen=True)
class OperatorTimeline:
    """One subtask of an operator.

    :ivar name: the operator's, with its subtask if there are several: ``"windows (1/2)"``.
    :ivar events: in their order.
    """

    name: str
    events: tuple[Event, ...]

    @property
    def late(self) -> tuple[Arrival, ...]:
        """The elements that came too late."""
        return tuple(event for event in self.events if isinstance(event, Arrival) and event.late)

    @property
    def fired(self) -> tuple[WindowFired, ...]:
        """The windows, in the order in which they fired."""
        return tuple(event for event in self.events if isinstance(event, WindowFired))


# Rows on an axis of event time

_STEPS = tuple(
    base * unit
    for unit, bases in (
        (1, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (1000, (1, 2, 5, 10, 20, 30)),
        (60_000, (1, 2, 5, 10, 20, 30)),
        (3_600_000, (1, 2, 3, 6, 12)),
        (86_400_000, (1, 2, 5, 10, 30, 100, 365, 3650)),
    )
    for base in bases
)
"""possible distances of marks on the axis (ms)"""
_MARKS = 6
"""largest number of marks"""
_DATES_FROM = 100_000_000_000
"""times from here on (ms; the year 1973) are shown as dates, those before as a number of seconds"""


@dataclass(frozen=True)
class Row:
    """One line.

    :ivar event: None for the end of the input.
    :ivar watermark: before it (ms).
    :ivar then: the watermark after it.
    """

    event: Event | None
    watermark: int
    then: int


@dataclass(frozen=True)
class Axis:
    """The stretch of event time that is shown (ms), and its marks."""

    low: int
    high: int
    step: int

    @property
    def marks(self) -> list[int]:
        return list(range(self.low, self.high + 1, self.step))

    def part(self, time: int) -> float:
        """Position of a time on the axis, from 0 to 1; times beyond its ends are at its ends."""
        return (min(max(time, self.low), self.high) - self.low) / (self.high - self.low)


def axis_of(events: Sequence[Event]) -> Axis:
    """The axis that covers all elements, windows and event-time timers."""
    times = [time for event in events for time in _times(event)] or [0]
    low, high = min(times), max(times)
    step = next((step for step in _STEPS if (high - low) / step <= _MARKS), _STEPS[-1])
    low -= low % step
    return Axis(low, max(high + -high % step, low + step), step)


def _times(event: Event) -> Iterator[int]:
    if isinstance(event, Arrival) and event.time is not None:
        yield event.time
    elif isinstance(event, WindowFired) and event.start is not None and event.end is not None:
        yield from (event.start, event.end)
    elif isinstance(event, (TimerSet, TimerFired)) and not event.by_clock and abs(event.time) < MAX_WATERMARK // 2:
        yield event.time


def rows_of(events: Sequence[Event]) -> list[Row]:
    """A row for every event except watermarks, which are shown between rows."""
    rows: list[Row] = []
    watermark = MIN_TIMESTAMP
    for event in events:
        if not isinstance(event, WatermarkMoved):
            rows.append(Row(event, watermark, watermark))
        elif event.time == MAX_WATERMARK or not rows:
            rows.append(Row(None, watermark, event.time))
        else:
            rows[-1] = Row(rows[-1].event, rows[-1].watermark, event.time)
        watermark = rows[-1].then
    return rows


def time_text(time: int) -> str:
    """A time as text."""
    if time >= _DATES_FROM:
        moment = datetime.fromtimestamp(time / 1000, timezone.utc)
        return f"{moment:%H:%M:%S}" + (f".{time % 1000:03}" if time % 1000 else "")
    for millis, unit in ((3_600_000, "h"), (60_000, "min"), (1000, "s")):
        if time and time % millis == 0:
            return f"{time // millis} {unit}"
    return f"{time / 1000:g} s" if time else "0"


def row_text(row: Row) -> str:
    """The text of a row."""
    event = row.event
    if event is None:
        return "end of input" if row.then == MAX_WATERMARK else f"watermark {time_text(row.then)}"
    if isinstance(event, Arrival):
        return shorten(event.value) + (", LATE" if event.late else "")
    if isinstance(event, WindowFired):
        results = ", ".join(map(shorten, event.results)) or "nothing"
        return f"window{_of(event.key)} fires: {results}"
    assert isinstance(event, (TimerSet, TimerFired))
    what = "fires" if isinstance(event, TimerFired) else "is deleted" if event.deleted else "is set"
    return f"timer{_of(event.key)} {'of the clock' if event.by_clock else 'for ' + time_text(event.time)} {what}"


def _of(key: object) -> str:
    return "" if key is None else f" of {shorten(key)}"


# Text

LEGEND = "o element   x late   | watermark   [==) window that fires   t timer set or deleted   T timer fires"
_LEAST = 60
_SHARE = 0.42
"""share of a line's width that the chart takes"""


def text_of(operator: OperatorTimeline, width: int) -> str:
    """A line for each element, window and timer, at its position in event time."""
    width = max(width, _LEAST)
    axis, places = axis_of(operator.events), int(width * _SHARE)
    lines = [operator.name, LEGEND, "", *(line.rstrip() for line in _head(axis, places))]
    for row in rows_of(operator.events):
        line = f"{_text_chart(row, axis, places)}  {row_text(row)}"
        lines.append(line if len(line) <= width else line[: width - 1] + "…")
    return "\n".join(lines)


def _place(axis: Axis, places: int, time: int) -> int:
    return round(axis.part(time) * (places - 1))


def _head(axis: Axis, places: int) -> list[str]:
    labels, ticks = [" "] * (places + 12), [" "] * places
    free = 0
    for mark in axis.marks:
        at, label = _place(axis, places, mark), time_text(mark)
        ticks[at] = "'"
        if at >= free:
            labels[at : at + len(label)] = label
            free = at + len(label) + 1
    return ["".join(labels), "".join(ticks)]


def _text_chart(row: Row, axis: Axis, places: int) -> str:
    cells = [" "] * places
    event = row.event
    if row.watermark != MIN_TIMESTAMP and row.watermark >= axis.low:
        cells[_place(axis, places, row.watermark)] = "|"
    if isinstance(event, WindowFired):
        start = 0 if event.start is None else _place(axis, places, event.start)
        end = places - 1 if event.end is None else _place(axis, places, event.end)
        cells[start : end + 1] = "[" + "=" * (end - start - 1) + ")"
    if isinstance(event, Arrival) and event.time is not None:
        cells[_place(axis, places, event.time)] = "x" if event.late else "o"
    elif isinstance(event, (TimerSet, TimerFired)) and not event.by_clock:
        cells[_place(axis, places, event.time)] = "T" if isinstance(event, TimerFired) else "t"
    return "".join(cells)


# Picture

_LEFT, _CHART, _GAP = 16, 460, 18
"""margins, width of the chart, distance of the texts from it, in pixels"""
_ROW = 22
_HEAD = 64
"""height of name, key and axis"""
_FOOT = 16
_MOST = 64
"""longest text that is shown (characters)"""


def picture_of(operators: Sequence[OperatorTimeline]) -> Canvas:
    """The charts of all operators, one below the other."""
    rows = [rows_of(operator.events) for operator in operators]
    longest = max((len(_shown(row)) for each in rows for row in each), default=0)
    width = _LEFT + _CHART + _GAP + max(longest, 20) * CHARACTER + _LEFT
    height = sum(_HEAD + len(each) * _ROW + _FOOT for each in rows)
    canvas = Canvas(width, height, "windows, watermark and timers of " + ", ".join(each.name for each in operators))
    top = 0.0
    for operator, its_rows in zip(operators, rows):
        _picture_chart(canvas, operator, its_rows, top)
        top += _HEAD + len(its_rows) * _ROW + _FOOT
    return canvas


def _shown(row: Row) -> str:
    text = row_text(row)
    return text if len(text) <= _MOST else text[: _MOST - 1] + "…"


def _x(axis: Axis, time: int) -> float:
    return _LEFT + axis.part(time) * _CHART


def _picture_chart(canvas: Canvas, operator: OperatorTimeline, rows: Sequence[Row], top: float) -> None:
    axis = axis_of(operator.events)
    canvas.text(_LEFT, top + LINE, operator.name, bold=True, size=12)
    canvas.text(_LEFT + _CHART, top + LINE, "event time →", anchor="end", opacity=0.75)
    bottom = top + _HEAD + len(rows) * _ROW
    for mark in axis.marks:
        canvas.line([(_x(axis, mark), top + _HEAD - 8), (_x(axis, mark), bottom)], opacity=0.18)
        canvas.text(_x(axis, mark), top + _HEAD - 14, time_text(mark), anchor="middle", size=10, opacity=0.75)
    colours = _colours(rows)
    for number, row in enumerate(rows):
        _draw(canvas, row, axis, top + _HEAD + number * _ROW, colours)
    _watermark(canvas, rows, axis, top + _HEAD)


def _colours(rows: Sequence[Row]) -> dict[str, str]:
    """A colour for each key. Keys are identified by their text, since not all can be hashed."""
    keys = dict.fromkeys(repr(row.event.key) for row in rows if isinstance(row.event, (Arrival, WindowFired, TimerSet)))
    return {key: COLOURS[number % len(COLOURS)] for number, key in enumerate(keys)}


def _draw(canvas: Canvas, row: Row, axis: Axis, top: float, colours: dict[str, str]) -> None:
    event, middle, text = row.event, top + _ROW / 2, _shown(row)
    late = isinstance(event, Arrival) and event.late
    key = getattr(event, "key", None)
    colour = WRONG if late else colours.get(repr(key), "currentColor") if event is not None else "currentColor"
    canvas.text(_LEFT + _CHART + _GAP, middle + 4, text, colour if late else "currentColor")
    if isinstance(event, WindowFired):
        start = _LEFT if event.start is None else _x(axis, event.start)
        end = _LEFT + _CHART if event.end is None else _x(axis, event.end)
        held = f"{text}; in it: {', '.join(map(repr, event.elements))}"
        canvas.rect(start, top + 3, max(end - start, 3), _ROW - 6, colour, fill=0.3, stroke=0.9, tip=held)
    elif isinstance(event, Arrival) and event.time is not None:
        mark = canvas.cross if late else canvas.dot
        mark(_x(axis, event.time), middle, colour, tip=f"{text} at {time_text(event.time)}")
    elif isinstance(event, (TimerSet, TimerFired)) and not event.by_clock:
        canvas.diamond(_x(axis, event.time), middle, colour, full=isinstance(event, TimerFired), tip=text)


def _watermark(canvas: Canvas, rows: Sequence[Row], axis: Axis, top: float) -> None:
    points: list[tuple[float, float]] = []
    for number, row in enumerate(rows):
        for time, y in ((row.watermark, top + number * _ROW), (row.watermark, top + (number + 1) * _ROW - 2)):
            if time != MIN_TIMESTAMP and time >= axis.low:
                points.append((_x(axis, time), y))
        if row.then != row.watermark and row.then >= axis.low:
            if not points:
                points.append((_LEFT, top + (number + 1) * _ROW - 2))
            points.append((_x(axis, row.then), top + (number + 1) * _ROW - 2))
    if points:
        canvas.line(points, WRONG, width=1.6, opacity=0.9)
        canvas.text(points[0][0] + 5, top - 2 if points[0][1] <= top else points[0][1] - 4, "watermark", WRONG, size=9)


# Timelines


@dataclass(frozen=True)
class Timeline:
    """What happened in the operators of a program that have windows or timers.

        >>> windows = env.from_collection([1, 2, 3]).key_by(lambda n: "all").count_window(2)
        >>> seen = timeline(windows.reduce(lambda x, y: x + y))
        >>> len(seen.operators), isinstance(seen.to_text(), str)
        (1, True)

    :ivar operators: one for each subtask, in the order of the program.
    :ivar complete: whether the program was run to its end; False: it had more elements than are recorded.
    """

    operators: tuple[OperatorTimeline, ...]
    complete: bool

    def to_text(self, width: int = 100) -> str:
        """For terminals.

        :param width: of a line, in characters; 60 at least.
        """

        return "\n\n".join(text_of(operator, width) for operator in self.operators)

    def to_svg(self, alone: bool = False) -> str:
        """A picture: event time to the right, the order of arrival downwards.

        :param alone: whether it is to be a file of its own; then it has colours for light and dark.
        """

        return picture_of(self.operators).svg(alone)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.to_svg()

    def __str__(self) -> str:
        return self.to_text()


# Running and watching


class Watcher:
    """Records the events of one operator.

    :ivar events: events so far.
    :ivar arrivals: number of elements among them.
    """

    def __init__(self, operator: KeyedProcessBase[Any]) -> None:
        """Wrap the operator; must happen before the operator is opened."""
        self.events: list[Event] = []
        self.arrivals = 0
        self._late = False
        self._process = operator.process
        self._instead(operator, "process", self._one_by_one)
        self._before(operator, "process_watermark", lambda watermark: self.events.append(WatermarkMoved(watermark)))
        if isinstance(operator, WindowOperatorBase):
            self._before(operator, "too_late", self._note_late)
            self._in_lists = isinstance(operator.strategy.contents, ListStateDescriptor)
            self._instead(operator, "function", _Spy(operator.function, self._evaluated))
        else:
            backend = operator.keyed_state()
            self._watch_timers(backend.event_timers, by_clock=False)
            self._watch_timers(backend.processing_timers, by_clock=True)

    @staticmethod
    def _instead(owner: object, name: str, other: object) -> None:
        """Replace a method of this object only."""
        setattr(owner, name, other)

    def _before(self, owner: object, name: str, note: Callable[..., object]) -> None:
        """Call ``note`` with the arguments of each call of a method, before it."""
        method = getattr(owner, name)

        def noted(*arguments: Any) -> Any:
            note(*arguments)
            return method(*arguments)

        self._instead(owner, name, noted)

    def _one_by_one(self, chunk: Chunk, input: int) -> None:
        times, keys = chunk.timestamps, chunk.keys
        for index, value in enumerate(chunk.values):
            time = None if times is None else times[index]
            key = None if keys is None else keys[index]
            arrival, place, self._late = Arrival(key, value, time, False), len(self.events), False
            self.events.append(arrival)
            self._process(Chunk([value], None if times is None else [time], None if keys is None else [key]), input)
            if self._late:
                self.events[place] = replace(arrival, late=True)
            self.arrivals += 1

    def _note_late(self, *_: object) -> None:
        self._late = True

    # -- windows --------------------------------------------------------------------------------------------------

    def _evaluated(self, key: Any, window: Any, contents: list[Any], results: tuple[Any, ...]) -> None:
        start, end = (window.start, window.end) if isinstance(window, TimeWindow) else (None, None)
        elements = contents if self._in_lists else self._arrived(key, start, end)
        self.events.append(WindowFired(key, start, end, tuple(elements), results))

    def _arrived(self, key: Any, start: int | None, end: int | None) -> list[Any]:
        """The elements that a window probably contains, if it stores only the value that they were reduced to."""
        if start is None or end is None:
            return []
        return [
            event.value
            for event in self.events
            if isinstance(event, Arrival) and not event.late and event.key == key
            if event.time is not None and start <= event.time < end
        ]

    # -- timers ---------------------------------------------------------------------------------------------------

    def _watch_timers(self, timers: TimerQueue, by_clock: bool) -> None:
        self._before(timers, "register", lambda time, at: self._set(time, at, by_clock))
        self._before(timers, "delete", lambda time, at: self._deleted(timers, time, at, by_clock))
        pop = timers.pop_due

        def popped(time: int) -> TimerId | None:
            timer = pop(time)
            if timer is not None:
                self.events.append(TimerFired(key_of(timer[1]), timer[0], by_clock))
            return timer

        self._instead(timers, "pop_due", popped)

    def _set(self, time: int, at: Any, by_clock: bool) -> None:
        self.events.append(TimerSet(key_of(at), time, by_clock))

    def _deleted(self, timers: TimerQueue, time: int, at: Any, by_clock: bool) -> None:
        if time in timers.times(at):
            self.events.append(TimerSet(key_of(at), time, by_clock, deleted=True))


class _Spy:
    """Wraps a window function, and records its calls and results."""

    def __init__(self, function: Any, told: Callable[[Any, Any, list[Any], tuple[Any, ...]], None]) -> None:
        self.function = function
        self._told = told

    def process(self, key: Any, context: Any, contents: Any) -> tuple[Any, ...]:
        contents = list(contents)
        results = tuple(self.function.process(key, context, contents) or ())
        self._told(key, context.window(), contents, results)
        return results

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)


ELEMENTS = 200
"""number of elements of a program that are recorded, over all of its operators"""
_EPOCHS = 5_000
"""number of epochs without the wanted elements after which the recording ends"""


class TimelineError(ValueError):
    """There is nothing to draw: no windows or timers, or batch mode.

    >>> timeline(env.from_collection([1]).map(str))
    Traceback (most recent call last):
        ...
    millrace.testing.timelines.running.TimelineError: the program has neither windows nor a ...
    """


class _WatchedEngine(LocalEngine):
    """A ``LocalEngine`` whose tasks are made before the first epoch, so that their operators are watched from the
    beginning."""

    def __init__(self, job: JobGraph) -> None:
        super().__init__(job, now_millis)
        self.watchers: list[tuple[Member, Watcher]] = []
        (cache,) = self._workers
        for stage, partitions in enumerate(job.partitions):
            for partition in range(partitions):
                task = StageTask(self._load(), stage, partition, self._clock)
                for member in task.members:
                    if isinstance(member.operator, KeyedProcessBase):
                        self.watchers.append((member, Watcher(member.operator)))
                task.open()
                cache.put(cache.begin(job.job_id, (stage, partition), INITIAL), LiveTask(task))


def timeline(program: StreamExecutionEnvironment | DataStream, elements: int = ELEMENTS) -> Timeline:
    """Run a program without Spark, one element at a time, and record the events of its windows and timers.

    Watermarks come after every element, so elements can be late that would be in time if all came at once.

        >>> windows = env.from_collection([1, 2, 3]).key_by(lambda n: "all").count_window(2)
        >>> timeline(windows.reduce(lambda x, y: x + y)).complete
        True

    :param elements: number of elements after which the program is stopped.
    :raises TimelineError: the program has neither windows nor a keyed process function, or is in batch mode.
    :raises JobFailedError: it failed.
    """
    return record_job(job_of(program), elements)


def record_job(job: JobGraph, elements: int = ELEMENTS) -> Timeline:
    """Run a job one element at a time, and record the events of its windows and timers."""
    if job.batch:
        raise TimelineError("in batch mode no watermark moves while elements come: run the program in streaming mode")
    engine = _WatchedEngine(replace(job, epoch_records=1, state=InMemory()))
    if not engine.watchers:
        raise TimelineError(
            "the program has neither windows nor a keyed process function on a DataStream, so there is no time to show"
        )
    for number, _ in enumerate(engine.epochs(), start=1):
        if number == _EPOCHS or sum(watcher.arrivals for _, watcher in engine.watchers) >= elements:
            break
    seen = tuple(_seen(member, watcher) for member, watcher in engine.watchers)
    return Timeline(seen, engine.coordinator.finished)


def _seen(member: Member, watcher: Watcher) -> OperatorTimeline:
    info = member.info
    name = info.name if info.parallelism == 1 else f"{info.name} ({member.subtask + 1}/{info.parallelism})"
    return OperatorTimeline(name, tuple(watcher.events))
