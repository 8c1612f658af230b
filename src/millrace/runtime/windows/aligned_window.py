"""Tumbling, sliding and cumulative windows with their default trigger: the same windows for every key.

There are no timers: a window fires for all its keys at once. ``window_operator`` runs all other windows; where both can
run a window, both give the same results.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import repeat
from typing import Any

from millrace.common.functions import ProcessWindowFunction
from millrace.common.output_tag import OutputTag
from millrace.common.state import AggregatingStateDescriptor, ListStateDescriptor
from millrace.common.window.time_windows import check_timestamp
from millrace.runtime.bases.batch_operators import EndingTimers
from millrace.runtime.bases.operator import OperatorContext, Output, failing
from millrace.runtime.bases.process_operators import Results
from millrace.runtime.elements import MAX_WATERMARK, Chunk
from millrace.runtime.state.restoring.saved import KeyedPieces
from millrace.runtime.state.window_tables import WindowListTable, WindowTable
from millrace.runtime.windows.slicing import CONTENTS, Agenda, WindowStrategy, slicing_of
from millrace.runtime.windows.window_contents import Layout, SliceLayout, Target, WindowLayout, fold_of, may_share
from millrace.runtime.windows.window_operator import WindowOperatorBase

SLICES = "window-slices"
"""name of the state with shared slices"""

FIRE, DROP = 0, 1
"""what happens to a window at a time; in this order, if both happen at the same time"""


EVIDENCE = 64
"""Number of elements in the first piece for windows that may share slices, because these elements decide it."""


class AlignedWindowBase(WindowOperatorBase):
    """Stores contents by window, and fires whole windows."""

    def __init__(self, strategy: WindowStrategy, function: ProcessWindowFunction[Any, Any, Any, Any]) -> None:
        super().__init__(strategy, function)
        slicing = slicing_of(strategy.assigner)
        assert slicing is not None
        self._slicing = slicing

    def setup(self, context: OperatorContext, output: Output) -> None:
        super().setup(context, output)
        contents, backend = self.strategy.contents, self._backend
        self._fold = fold_of(contents)
        self._in_lists = isinstance(contents, ListStateDescriptor)
        table = backend.table_of(CONTENTS, "window lists" if self._in_lists else "windows")
        self._own = WindowLayout(self._slicing, table)
        self._layout: Layout = self._own
        self._shared: SliceLayout | None = None
        """the layout with shared slices, if the elements show that windows may share them; None: they may not"""
        self._decided = False
        # In processing time a clock may go back to windows that have fired, whose slices are still needed.
        if self._event_time and self._slicing.worth_sharing and isinstance(contents, AggregatingStateDescriptor):
            self._shared = SliceLayout(self._slicing, backend.table_of(SLICES, "windows"), self._fold, self._own)
            self.first_at_once = EVIDENCE

        self._agenda: Agenda[tuple[int, int]] = Agenda()
        """(FIRE or DROP, end of the window)"""

    def open(self) -> None:
        super().open()
        self._plan()

    def take_over_keyed(self, pieces: KeyedPieces) -> None:
        super().take_over_keyed(pieces)
        self._plan()
        if self._shared is not None:
            self._shared.put_together()

    # -- what is to come ------------------------------------------------------------------------------------------

    def _plan(self) -> None:
        """Plan the windows of restored state, or of other subtasks' state."""
        if self._shared is not None and self._shared.table.rows:
            self._layout, self._decided = self._shared, True
        self._layout.forget()
        self._agenda.clear()
        for end in self._layout.ends():
            self._schedule(end)

    def choose_layout(self, chunk: Chunk) -> None:
        """Share slices from now on, if these elements show that this is correct."""
        if self._shared is None or self._decided:
            return
        shares = may_share(self._fold, chunk.keys or [], chunk.values, bool(self.context.midst))
        self._decided = shares is not None
        if shares:
            self._layout = self._shared

    def _schedule(self, end: int) -> None:
        if not self.has_passed(end - 1):
            self._agenda.add(end - 1, (FIRE, end))
        if not self.has_passed(self.cleanup_of(end - 1)):
            self._agenda.add(self.cleanup_of(end - 1), (DROP, end))

    def has_passed(self, time: int) -> bool:
        """Whether everything due at ``time`` (ms) has been done."""
        raise NotImplementedError

    def advance(self, now: int) -> None:
        """Fire and drop the windows that are due at ``now`` (ms)."""
        found = Results()
        for _, entries in self._agenda.due(now):
            for action, end in sorted(entries):
                at_once = self.cleanup_of(end - 1) == end - 1
                if action == FIRE:
                    self._fire(end, found, clears=at_once)
                else:
                    self._drop(end, clears=not at_once)
        self.send(found)

    def fold_in(self, chunk: Chunk, times: Iterable[int | None]) -> None:
        """Add the elements of a chunk to the windows that contain their times (ms)."""
        self.choose_layout(chunk)
        found = Results()
        offset, size = self._slicing.offset, self._slicing.slice_size
        add, first, in_lists = self._fold.add, self._fold.first, self._in_lists
        targets_of: dict[int, tuple[list[Target], list[int]]] = {}
        last: int | None = None
        targets: list[Target] = []
        passed: list[int] = []
        remaining = iter(chunk.values)
        try:
            for key, timestamp, value in zip(chunk.keys or (), times, remaining):
                if timestamp is None:
                    timestamp = check_timestamp(timestamp, self.strategy.assigner)
                start = timestamp - (timestamp - offset) % size
                if start != last:
                    last = start
                    if start not in targets_of:
                        targets_of[start] = self.open_windows(start)
                    targets, passed = targets_of[start]
                for row, touched in targets:
                    known = row.get(key, row)  # which is no accumulator
                    if touched is not None:
                        if known is row or not in_lists:
                            touched[key] = 0
                        elif key not in touched:
                            touched[key] = len(known)
                    row[key] = first(value) if known is row else add(value, known)
                if passed:
                    for end in passed:
                        self.fire_for(key, end, timestamp, found)
                elif not targets and self.is_late(timestamp):
                    self.too_late(value, timestamp, found)
        except Exception as error:
            raise self.context.error(error, failing(chunk.values, remaining)) from error
        self.send(found)

    def open_windows(self, slice_start: int) -> tuple[list[Target], list[int]]:
        """Where an element of the slice is added, and the windows that fire for it at once: they have ended, but accept
        late elements."""
        raise NotImplementedError

    # -- contents -------------------------------------------------------------------------------------------------

    def targets(self, slice_start: int, ends: list[int]) -> list[Target]:
        """Where an element of a slice is added, so that it is in the windows with these ends."""
        for end in ends:
            self._schedule(end)
        return self._layout.targets(slice_start, ends)

    def contents_of(self, key: Any, window: Any) -> Any:
        end = window.end
        if window != self._slicing.window(end) or self.has_passed(self.cleanup_of(end - 1)):
            return None
        return self._layout.contents(end).get(key)

    def fire_for(self, key: Any, end: int, timestamp: int, found: Results) -> None:
        """Call the window function for one key."""
        contents = self._fold.result(self._layout.contents_of(end, key))
        if contents is not None:
            self.evaluate(key, self._slicing.window(end), contents, timestamp, found)

    def _fire(self, end: int, found: Results, clears: bool) -> None:
        """Call the window function for all keys of a window; ``evaluate``, which does it for one key, is inlined
        here.
        """
        window, contents_of, process = self._slicing.window(end), self._fold.result, self.function.process
        context, clears = self._window_context, clears and self._clears
        values, enter, gather = found.values, context.enter, found.gather
        add, known = values.append, len(values)
        rows = self._layout.contents(end)
        if self.ahead is not None:
            rows = {key: each for key, each in rows.items() if not self.fired_elsewhere(key, end - 1)}
        for key, accumulator in rows.items():
            try:
                contents = contents_of(accumulator)
                if contents is not None:
                    enter(key, window)
                    for result in process(key, context, contents) or ():
                        if result.__class__ is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                            gather((result,), end - 1)
                        else:
                            add(result)
                if clears:
                    self.clear_window(key, window)
            except Exception as error:
                raise self.context.error(error, during=f" when {window!r} of key {key!r} fired") from error
        found.timestamps.extend([end - 1] * (len(values) - known))

    def _drop(self, end: int, clears: bool) -> None:
        if clears and self._clears:
            window = self._slicing.window(end)
            for key in self._layout.contents(end):
                try:
                    self.clear_window(key, window)
                except Exception as error:
                    raise self.context.error(error, during=f" in clear() of {window!r} of key {key!r}") from error
        self._layout.drop(end)


class AlignedEventTimeWindowOperator(AlignedWindowBase):
    """Aligned windows in event time, with allowed lateness."""

    def process(self, chunk: Chunk, input: int) -> None:
        self.fold_in(chunk, chunk.timestamps or repeat(None))

    def open_windows(self, slice_start: int) -> tuple[list[Target], list[int]]:
        ends = [end for end in self._slicing.window_ends(slice_start) if self.cleanup_of(end - 1) > self.watermark]
        return self.targets(slice_start, ends), [end for end in ends if end - 1 <= self.watermark]

    def has_passed(self, time: int) -> bool:
        return time <= self.watermark

    def fire_until(self, watermark: int) -> None:
        self.advance(watermark)


class AlignedProcessingTimeWindowOperator(AlignedWindowBase):
    """Aligned windows in processing time: the clock at the arrival of a chunk decides for all its elements."""

    def process(self, chunk: Chunk, input: int) -> None:
        now = self.context.clock()
        self.advance(now)
        self.fold_in(chunk, repeat(now))

    def open_windows(self, slice_start: int) -> tuple[list[Target], list[int]]:
        return self.targets(slice_start, self._slicing.window_ends(slice_start)), []

    def has_passed(self, time: int) -> bool:
        return False

    def advance_processing_time(self, now: int) -> None:
        self.advance(now)

    def next_due(self) -> int | None:
        return self._agenda.next_time()

    def end_input(self) -> None:
        # As in Flink, windows that have not fired when the input ends never do.
        for end in list(self._layout.table.rows):
            self._layout.table.drop(end)
        self._agenda.clear()


class _BatchAligned(EndingTimers, AlignedWindowBase):
    """Aligned windows in batch mode, for both kinds of time; without list contents they hold the folded values of all
    keys."""

    @property
    def folds(self) -> bool:  # type: ignore[override]
        return not self._in_lists

    def folded_entries(self) -> int:
        return sum(len(row) for table in self._tables() for row in table.rows.values())

    def folded_keys(self) -> Collection[Any]:
        return {key for table in self._tables() for row in table.rows.values() for key in row}

    def _tables(self) -> list[WindowTable | WindowListTable]:
        shared = [] if self._shared is None else [self._shared.table]
        return [self._own.table, *shared]


class BatchAlignedEventTimeWindowOperator(_BatchAligned, AlignedEventTimeWindowOperator):
    """``AlignedEventTimeWindowOperator`` in batch mode."""


class BatchAlignedProcessingTimeWindowOperator(_BatchAligned, AlignedProcessingTimeWindowOperator):
    """``AlignedProcessingTimeWindowOperator`` in batch mode: at the end of the input all windows fire, as in Flink."""

    def fire_until(self, watermark: int) -> None:
        if watermark == MAX_WATERMARK:
            self.advance(MAX_WATERMARK)
