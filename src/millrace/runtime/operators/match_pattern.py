"""``PatternStream.process`` and its siblings: the automaton on the events of each key, in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cmp_to_key
from itertools import compress
from operator import itemgetter
from typing import Any

from millrace.common.output_tag import OutputTag
from millrace.runtime.bases.base import NO_ELEMENT
from millrace.runtime.bases.by_key import ByKey
from millrace.runtime.bases.function import FunctionOperator
from millrace.runtime.bases.keyed import keyed_backend
from millrace.runtime.bases.process_base import Results
from millrace.runtime.cep.description import PatternDescription
from millrace.runtime.cep.fingerprint import fingerprint
from millrace.runtime.cep.functions import Match, PatternContext, PatternProcessFunction, TimedOutPartialMatchHandler
from millrace.runtime.cep.key_state import KeyState, load, store
from millrace.runtime.cep.nfa import Answers, ConditionError, Nfa
from millrace.runtime.elements import MAX_WATERMARK, Chunk
from millrace.runtime.failure import OperatorError
from millrace.runtime.operators.match_deadlines import Deadlines
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.restoring.saved import EarlierState, KeyedPieces
from millrace.runtime.state.row_buffer_table import EventBufferTable
from millrace.runtime.state.tables import ValueTable

MATCHES, WAITING = "partial-matches", "waiting-events"
FLUSH_AT = 16_384
"""Results that are handed on before all keys are through."""


class MatchContext(PatternContext):
    """What the function sees; one object per operator, changed before each call."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self.found = Results()
        self.time = 0
        self.stamp: int | None = None
        """the timestamp of what is put out; None in processing time"""

    def output(self, output_tag: OutputTag, value: Any) -> None:
        self.found.add_side(output_tag.tag_id, value, self.stamp)

    def timestamp(self) -> int:
        return self.time

    def current_processing_time(self) -> int:
        return self._clock()


class MatchPatternOperator(FunctionOperator[PatternProcessFunction]):
    """Events wait for the watermark; then each key's go through the automaton. In processing time they do at once."""

    def __init__(
        self,
        pattern: PatternDescription,
        function: PatternProcessFunction,
        event_time: bool = True,
        comparator: Callable[[Any, Any], int] | None = None,
        late_tag: str | None = None,
    ) -> None:
        super().__init__(function)
        self._pattern, self._event_time, self._late_tag = pattern, event_time, late_tag
        self._order = None if comparator is None else cmp_to_key(comparator)

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._ctx = MatchContext(context.clock)
        self._backend = keyed_backend(self, self._ctx.timestamp)
        self._states: ValueTable = self._backend.value_table(MATCHES)
        self._waiting: EventBufferTable = self._backend.table_of(WAITING, EventBufferTable.kind)
        self._timed_out = (
            self.function.process_timed_out_match if isinstance(self.function, TimedOutPartialMatchHandler) else None
        )
        self._nfa = Nfa(self._pattern, context.clock, timeouts=self._timed_out is not None)
        self._fingerprint = fingerprint(self._pattern)
        exact = not self._event_time or bool(self._nfa.state_windows)
        self._deadlines = Deadlines(exact)
        self._every_start = bool(self._nfa.state_windows and self._nfa.window)
        self._partial_matches = self._nodes = 0
        self._now = 0

    def keyed_state(self) -> KeyedStateBackend:
        return self._backend

    def open(self) -> None:
        metrics = self.context.runtime.get_metrics_group()
        self._late = metrics.counter("numLateRecordsDropped")
        metrics.gauge("numPartialMatches", lambda: self._partial_matches)
        metrics.gauge("sharedBufferEntries", lambda: self._nodes)
        try:
            self._nfa.open(self.context.runtime)
        except Exception as error:
            raise self.context.error(error, during=" in open() of a condition") from error
        super().open()
        self._plan()

    def close(self) -> None:
        if self._opened:
            self._nfa.close()
        super().close()

    # State of earlier runs

    def snapshot(self) -> Any:
        return self._fingerprint

    def restore(self, snapshot: Any) -> None:
        """The pattern is the same: a job's own snapshots are of this very program."""

    def take_over(self, earlier: EarlierState) -> None:
        for before in earlier.smalls:
            if before is not None and before != self._fingerprint:
                raise ValueError(
                    "its partial matches are of another pattern, and can't go on with this one: keep names, order, "
                    "quantifiers and windows of the patterns as they were, or change its uid and allow to drop the "
                    "state (--allowNonRestoredState)"
                )
        super().take_over(earlier)

    def take_over_keyed(self, pieces: KeyedPieces) -> None:
        super().take_over_keyed(pieces)
        self._plan()

    def _plan(self) -> None:
        """When to look at the partial matches that are there already."""
        self._deadlines.clear()
        self._partial_matches = self._nodes = 0
        get = self._states.rows.get
        for key in list(self._states.addresses()):
            state = load(get(key))
            self._count(state, 1)
            self._look_again(key, state)

    def _count(self, state: KeyState, sign: int) -> None:
        self._partial_matches += sign * len(state.partials)
        self._nodes += sign * len(state.nodes)

    def _look_again(self, key: Any, state: KeyState) -> None:
        """The first partial match times out when nothing comes any more."""
        if self._nfa.window and state.partials:
            deadline = state.partials[0][3] + self._nfa.window
            self._deadlines.add(deadline if self._event_time else deadline + 1, key)

    # Events

    def process(self, chunk: Chunk, input: int) -> None:
        keys, values = chunk.keys or [], chunk.values
        if self._event_time:
            self._waiting.add(*self._on_time(keys, chunk.timestamps, values))
            return
        now = self._now = max(self._now, self.context.clock())
        if self._order is not None:
            self._waiting.add(keys, [now] * len(keys), values)
            return
        self._run(keys, [now] * len(keys), values, None)

    def _on_time(
        self, keys: list[Any], times: list[int | None] | None, values: list[Any]
    ) -> tuple[list[Any], list[int], list[Any]]:
        if times is None or None in times:
            raise self._without_timestamp(times, values)
        stamps: list[int] = times  # type: ignore[assignment]
        watermark = self.watermark
        if min(stamps, default=watermark + 1) > watermark:
            return keys, stamps, values
        late = [time <= watermark for time in stamps]
        if self._late_tag is None:
            self._late.inc(sum(late))
        else:
            self.emit_side(self._late_tag, list(compress(values, late)), list(compress(times, late)))
        good = [not flag for flag in late]
        return list(compress(keys, good)), list(compress(stamps, good)), list(compress(values, good))

    def _without_timestamp(self, times: list[int | None] | None, values: list[Any]) -> OperatorError:
        cause = ValueError(
            "a pattern in event time needs elements with timestamps; call assign_timestamps_and_watermarks() before "
            "it, or in_processing_time() on the pattern stream"
        )
        return self.context.error(cause, values[(times or [None]).index(None)])

    def process_watermark(self, watermark: int) -> None:
        if self._event_time:
            self.watermark = watermark
            self.advance(watermark)
        super().process_watermark(watermark)

    def advance(self, time: int) -> None:
        """Event time has come to ``time``."""
        self._run(*self._waiting.take(time), time)

    def advance_processing_time(self, now: int) -> None:
        if not self._event_time:
            now = self._now = max(self._now, now)
            self._run(*self._waiting.take(now - 1), now)

    def next_due(self) -> int | None:
        return None if self._event_time else self._deadlines.next_time()

    def _run(self, keys: list[Any], times: list[int], values: list[Any], until: int | None) -> None:
        """Events in the order of time, each key's one after the other, then the passing of time until ``until``."""
        found = self._ctx.found = Results()
        places: dict[Any, list[int]] = {}
        for place, key in enumerate(keys):
            known = places.get(key)
            if known is None:
                places[key] = [place]
            else:
                known.append(place)
        if self._order is not None:
            for own in places.values():
                _sort_ties(own, times, values, self._order)
        try:
            answers = self._nfa.answers(values)
            for key, own in places.items():
                self._run_key(key, own, times, values, answers, until)
                if len(found.values) >= FLUSH_AT:
                    found.emit(self, self._event_time)
                    found = self._ctx.found = Results()
            if until is not None:
                self._pass_time(until)
        except ConditionError as error:
            cause = error.__cause__
            assert isinstance(cause, Exception)
            raise self.context.error(cause, error.event, " in a condition of the pattern") from cause
        found.emit(self, self._event_time)

    def _run_key(
        self,
        key: Any,
        places: list[int],
        times: list[int],
        values: list[Any],
        answers: list[Answers],
        until: int | None,
    ) -> None:
        nfa, rows = self._nfa, self._states.rows
        stored = rows.get(key)
        if stored is None:
            # Most events begin nothing: their keys cost nothing.
            idle = 0
            while not nfa.begins(values[places[idle]], times[places[idle]], answers[places[idle]]):
                idle += 1
                if idle == len(places):
                    return
            places = places[idle:]
            state = KeyState()
            planned = False
        else:
            state = load(stored)
            self._count(state, -1)
            planned = bool(state.partials)
        self._backend.at = key
        last = None
        started = False
        for place in places:
            time = times[place]
            if time != last:
                self._prune(state, time)
                last = time
            started |= self._advance(state, values[place], time, answers[place])
            if self._every_start and started:
                self._deadlines.add(time + nfa.window, key)
        if until is not None:
            self._prune(state, until)
        self._put(key, state, stored is not None)
        if not planned and not self._every_start:
            self._look_again(key, state)

    def _advance(self, state: KeyState, event: Any, time: int, answers: Answers) -> bool:
        run = state.run
        matches = self._nfa.advance(state, event, time, answers)
        if matches:
            self._tell(matches, time)
        return state.run != run

    def _prune(self, state: KeyState, time: int) -> None:
        matches, timeouts = self._nfa.prune(state, time)
        if matches:
            self._tell(matches, time)
        timed_out = self._timed_out
        if timed_out is not None:
            for match, at in timeouts:
                self._call(timed_out, match, at)

    def _pass_time(self, until: int) -> None:
        """Deadlines of keys have passed, or will soon; those that have are looked at in their order."""
        get, window = self._states.rows.get, self._nfa.window
        due = []
        for key in self._deadlines.due(until):
            stored = get(key)
            if stored is not None:
                state = load(stored)
                due.append((state.partials[0][3] + window, key, state))
        due.sort(key=itemgetter(0))
        for deadline, key, state in due:
            if deadline > until and not self._nfa.state_windows:
                self._look_again(key, state)
                continue
            self._count(state, -1)
            self._backend.at = key
            self._prune(state, until)
            self._put(key, state, True)
            self._look_again(key, state)

    def _put(self, key: Any, state: KeyState, known: bool) -> None:
        rows, touched = self._states.rows, self._states.touched
        if state.idle:
            if known:
                del rows[key]
                touched[key] = None
            return
        self._count(state, 1)
        rows[key] = store(state)
        touched[key] = None

    # Results

    def _tell(self, matches: list[Match], time: int) -> None:
        for match in matches:
            self._call(self.function.process_match, match, time)

    def _call(self, method: Callable[[Match, PatternContext], Iterable[Any] | None], match: Match, time: int) -> None:
        ctx = self._ctx
        ctx.time, ctx.stamp = time, time if self._event_time else None
        try:
            results = method(match, ctx)
            if results is not None:
                ctx.found.gather(results, ctx.stamp)
        except Exception as error:
            raise self.context.error(error, match or NO_ELEMENT) from error


class BatchMatchPatternOperator(ByKey, MatchPatternOperator):
    """The same in batch mode: a key's events wait until all of them have come."""

    def end_keys(self) -> None:
        if self._event_time:
            self.advance(MAX_WATERMARK)
        else:
            self.advance_processing_time(self.context.clock() + 1)
        self._backend.wipe()
        self._deadlines.clear()
        self._partial_matches = self._nodes = 0


def _sort_ties(places: list[int], times: list[int], values: list[Any], order: Callable[[Any], Any]) -> None:
    """Bring events of the same time into the order of a comparator."""
    places.sort(key=lambda place: (times[place], order(values[place])))
