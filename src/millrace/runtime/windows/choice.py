"""Chooses the operator that runs a window, the fastest one that the strategy allows, and describes windows for
savepoints: a savepoint records the form in which an operator stores its windows, and which windows it has.

Also the operator of event-time sessions with their default trigger, folded into one accumulator per key and session.
Each key has a short list of its open sessions. Nothing is moved while a session grows: the operator checks it again at
the time when it would have ended, and then it either fires or waits for its new end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import asdict
from itertools import repeat
from typing import Any

from millrace.common.functions import ProcessWindowFunction
from millrace.common.state import ListStateDescriptor
from millrace.common.window import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    ProcessingTimeTrigger,
    TimeWindow,
)
from millrace.common.window.time_windows import check_timestamp
from millrace.runtime.bases.batch_operators import EndingTimers
from millrace.runtime.bases.operator import OperatorContext, Output, failing
from millrace.runtime.bases.process_operators import Results
from millrace.runtime.elements import Chunk
from millrace.runtime.state.restoring.saved import KeyedPieces
from millrace.runtime.state.session_table import CONTENTS, END, START, SessionTable
from millrace.runtime.windows import slicing
from millrace.runtime.windows.aligned_window import (
    AlignedEventTimeWindowOperator,
    AlignedProcessingTimeWindowOperator,
    AlignedWindowBase,
    BatchAlignedEventTimeWindowOperator,
    BatchAlignedProcessingTimeWindowOperator,
)
from millrace.runtime.windows.slicing import (
    Agenda,
    CumulativeSlices,
    Slicing,
    SlidingSlices,
    TumblingSlices,
    WindowStrategy,
    slicing_of,
)
from millrace.runtime.windows.window_contents import fold_of
from millrace.runtime.windows.window_operator import (
    BatchEvictingWindowOperator,
    BatchWindowOperator,
    EvictingWindowOperator,
    WindowOperator,
    WindowOperatorBase,
)

# Sessions


class SessionWindowOperator(WindowOperatorBase):
    """Sessions with a fixed gap, or with a gap that depends on the element."""

    def __init__(self, strategy: WindowStrategy, function: ProcessWindowFunction[Any, Any, Any, Any]) -> None:
        super().__init__(strategy, function)
        assigner: Any = strategy.assigner
        self._gap_of = assigner.gap_of
        self._gap = assigner.session_gap if isinstance(assigner, EventTimeSessionWindows) else None

    def setup(self, context: OperatorContext, output: Output) -> None:
        super().setup(context, output)
        self._table: SessionTable = self._backend.table_of(slicing.CONTENTS, SessionTable.kind)
        self._fold = fold_of(self.strategy.contents)
        self._agenda: Agenda[Any] = Agenda()
        """keys to check, by the time at which a session would end"""

    def open(self) -> None:
        super().open()
        self._plan()

    def take_over_keyed(self, pieces: KeyedPieces) -> None:
        super().take_over_keyed(pieces)
        self._plan()

    def process(self, chunk: Chunk, input: int) -> None:
        found = Results()
        rows, touched, watermark = self._table.rows, self._table.touched, self.watermark
        add, fixed, gap_of = self._fold.add, self._gap, self._gap_of
        remaining = iter(chunk.values)
        try:
            for key, timestamp, value in zip(chunk.keys or (), chunk.timestamps or repeat(None), remaining):
                if timestamp is None:
                    timestamp = check_timestamp(timestamp, self.strategy.assigner)
                end = timestamp + (fixed or gap_of(value))
                sessions = rows.get(key)
                if sessions is not None:
                    session = sessions[-1]
                    # The frequent case: the last session of the key continues. It touches no other session, and has not
                    # fired yet.
                    if session[START] <= timestamp <= session[END] and session[END] > watermark + 1:
                        if end > session[END]:
                            session[END] = end
                        session[CONTENTS] = add(value, session[CONTENTS])
                        touched[key] = None
                        continue
                self._insert(key, value, timestamp, end, found)
        except Exception as error:
            raise self.context.error(error, failing(chunk.values, remaining)) from error
        self.send(found)

    def _insert(self, key: Any, value: Any, start: int, end: int, found: Results) -> None:
        """Add an element to a new session, or to the session that results from merging all sessions that it
        connects.
        """
        table, fold, timestamp = self._table, self._fold, start
        sessions = table.rows.get(key)
        if sessions is None:
            sessions = []
        # Sessions are sorted by start, and so by end: those from first to last touch the element.
        last = first = bisect_left(sessions, [end + 1])
        while first and sessions[first - 1][END] >= start:
            first -= 1
        joined = sessions[first:last]
        if joined:
            contents = joined[0][CONTENTS]
            for session in joined[1:]:
                contents = fold.merge(contents, session[CONTENTS])
            start, end = min(start, joined[0][START]), max(end, joined[-1][END])
            contents = fold.add(value, contents)
        elif self.cleanup_of(end - 1) <= self.watermark:
            self.too_late(value, timestamp, found)
            return
        else:
            contents = fold.first(value)
        session = [start, end, contents]
        sessions[first:last] = [session]
        table.rows[key] = sessions
        table.touched[key] = None
        self._look_again(key, end)
        if end - 1 <= self.watermark:
            self._evaluate(key, session, found)

    def contents_of(self, key: Any, window: Any) -> Any:
        for start, end, contents in self._table.rows.get(key, ()):
            if (start, end) == window:
                return contents
        return None

    # -- firing ---------------------------------------------------------------------------------------------------

    def fire_until(self, watermark: int) -> None:
        found, rows = Results(), self._table.rows
        for time, keys in self._agenda.due(watermark):
            for key in keys:
                if key in rows:
                    self._look(key, time, found)
        self.send(found)

    def _look(self, key: Any, time: int, found: Results) -> None:
        """Fire and drop the sessions of a key that are due at ``time`` (ms)."""
        table = self._table
        sessions = table.rows[key]
        over = 0
        for start, end, contents in sessions:
            if start > time:
                break
            try:
                if end - 1 == time and not self.fired_elsewhere(key, time):
                    self._evaluate(key, [start, end, contents], found)
                if self.cleanup_of(end - 1) <= time:
                    self.clear_window(key, TimeWindow(start, end))
                    over += 1
                else:
                    self._agenda.add(end - 1 if end - 1 > time else self.cleanup_of(end - 1), key)
            except Exception as error:
                during = f" when {TimeWindow(start, end)!r} of key {key!r} fired"
                raise self.context.error(error, during=during) from error
        if over:
            table.touched[key] = None
            if over == len(sessions):
                del table.rows[key]
            else:
                del sessions[:over]

    def _evaluate(self, key: Any, session: list[Any], found: Results) -> None:
        contents = self._fold.result(session[CONTENTS])
        if contents is not None:
            self.evaluate(key, TimeWindow(session[START], session[END]), contents, None, found)

    # -- when to look again ---------------------------------------------------------------------------------------

    def _look_again(self, key: Any, end: int) -> None:
        self._agenda.add(end - 1 if end - 1 > self.watermark else self.cleanup_of(end - 1), key)

    def _plan(self) -> None:
        """Plan checks for state changed by other copies, which have fired everything due until now."""
        keys = dict.fromkeys(self._table.applied)
        for _, due in self._agenda.due(self.watermark):
            keys.update(dict.fromkeys(due))
        for key in keys:
            for session in self._table.rows.get(key, ()):
                self._look_again(key, session[END])
        self._table.applied.clear()


class BatchSessionWindowOperator(EndingTimers, SessionWindowOperator):
    """``SessionWindowOperator`` in batch mode."""

    folds = True

    def folded_entries(self) -> int:
        return len(self._table.rows)

    def folded_keys(self) -> Collection[Any]:
        return frozenset(self._table.rows)


# The choice


def window_operator(strategy: WindowStrategy, batch: bool) -> type[WindowOperatorBase]:
    """The operator class for a window strategy."""
    if strategy.evictor is not None:
        return BatchEvictingWindowOperator if batch else EvictingWindowOperator
    fast = _fast_operator(strategy, batch) if strategy.in_memory else None
    return fast or (BatchWindowOperator if batch else WindowOperator)


def _fast_operator(strategy: WindowStrategy, batch: bool) -> type[WindowOperatorBase] | None:
    """An operator with tables of its own; None: the strategy fits none. Only exact classes count, since a subclass of
    an assigner or trigger may differ."""
    aligned = slicing_of(strategy.assigner) is not None
    if aligned and strategy.is_event_time and type(strategy.trigger) is EventTimeTrigger:
        return BatchAlignedEventTimeWindowOperator if batch else AlignedEventTimeWindowOperator
    if aligned and not strategy.is_event_time and type(strategy.trigger) is ProcessingTimeTrigger:
        return BatchAlignedProcessingTimeWindowOperator if batch else AlignedProcessingTimeWindowOperator
    sessions = type(strategy.assigner) in (EventTimeSessionWindows, DynamicEventTimeSessionWindows)
    # Sessions of whole elements store them in a list state, where a change costs only what was added.
    folded = not isinstance(strategy.contents, ListStateDescriptor)
    if sessions and folded and type(strategy.trigger) is EventTimeTrigger:
        return BatchSessionWindowOperator if batch else SessionWindowOperator
    return None


# The description in a savepoint

Described = dict[str, Any]

ALIGNED, SESSIONS, EVICTING, GENERAL = "aligned", "sessions", "evicting", "general"
"""forms of window state, see ADR 9: by window, by key, or by key and window"""
_SLICINGS: dict[str, type[Slicing]] = {
    "tumbling": TumblingSlices,
    "sliding": SlidingSlices,
    "cumulative": CumulativeSlices,
}


def describe_windows(strategy: WindowStrategy) -> Described:
    """The windows of a strategy, as plain JSON."""
    slicing = slicing_of(strategy.assigner)
    return {
        "form": _form(strategy),
        "assigner": type(strategy.assigner).__name__,
        "slicing": None if slicing is None else {"kind": _kind(slicing), **asdict(slicing)},
        "merging": strategy.is_merging,
        "time": "event" if strategy.is_event_time else "processing",
        "trigger": type(strategy.trigger).__name__,
        "fires_at_end": type(strategy.trigger) in (EventTimeTrigger, ProcessingTimeTrigger),
        "contents": "elements" if isinstance(strategy.contents, ListStateDescriptor) else "folded",
    }


def _form(strategy: WindowStrategy) -> str:
    operator = window_operator(strategy, batch=False)
    forms = {AlignedWindowBase: ALIGNED, SessionWindowOperator: SESSIONS, EvictingWindowOperator: EVICTING}
    return next((form for base, form in forms.items() if issubclass(operator, base)), GENERAL)


def _kind(slicing: Slicing) -> str:
    return next(kind for kind, cls in _SLICINGS.items() if type(slicing) is cls)


def slicing_from(described: Described) -> Slicing:
    """The slicing of an ``aligned`` description."""
    numbers = dict(described["slicing"])
    return _SLICINGS[numbers.pop("kind")](**numbers)
