"""The base of operators that look for patterns: buffered events, the automaton of each key, calls of the user's
function.

A ``PatternRun`` runs one pattern on the events of all keys: it has their partial matches, and knows when keys must be
checked for time-outs although no event comes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from itertools import compress
from operator import itemgetter
from typing import Any

from millrace.common.output_tag import OutputTag
from millrace.runtime.bases.operator import NO_ELEMENT
from millrace.runtime.bases.process_operators import FunctionOperator, Results, keyed_backend
from millrace.runtime.cep.functions import Match, PatternContext, PatternProcessFunction, TimedOutPartialMatchHandler
from millrace.runtime.cep.key_state import KeyState, load, store
from millrace.runtime.cep.nfa import ConditionError, Nfa
from millrace.runtime.elements import Chunk
from millrace.runtime.failure import OperatorError
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.row_buffer_table import EventBufferTable
from millrace.runtime.state.tables import ValueTable
from millrace.runtime.windows.slicing import Agenda

# Deadlines of partial matches

SLOT_BITS = 7
"""Keys with deadlines within the same 128 ms share a list, so that a key takes little memory."""


class Deadlines:
    """Keys by deadline (ms). It is no state: after a restore the operator adds the keys of its partial matches again.

    :param exact: whether keys come out at their exact deadline; else they may come out up to 128 ms early, possibly
        several times, and must be added again.
    """

    def __init__(self, exact: bool) -> None:
        self._exact: Agenda[Any] | None = Agenda() if exact else None
        self._slots: dict[int, list[Any]] = {}

    def add(self, time: int, key: Any) -> None:
        if self._exact is not None:
            self._exact.add(time, key)
            return
        slot = time >> SLOT_BITS
        keys = self._slots.get(slot)
        if keys is None:
            self._slots[slot] = [key]
        else:
            keys.append(key)

    def due(self, now: int) -> Iterable[Any]:
        """Remove and return the keys to check, each once."""
        if self._exact is not None:
            found: dict[Any, None] = {}
            for _, keys in self._exact.due(now):
                found.update(dict.fromkeys(keys))
            return found
        last = now >> SLOT_BITS
        slots = sorted(slot for slot in self._slots if slot <= last)
        return dict.fromkeys(key for slot in slots for key in self._slots.pop(slot))

    def next_time(self) -> int | None:
        """The earliest deadline (ms); None: there is none. For exact deadlines only."""
        return None if self._exact is None else self._exact.next_time()

    def clear(self) -> None:
        self._slots.clear()
        if self._exact is not None:
            self._exact.clear()


# One pattern at work

Tell = Callable[[Match, int], None]
"""called with a match, or a partial match that has timed out, and its time (ms)"""


class PatternRun:
    """A pattern with its partial matches.

    :param nfa: the automaton of the pattern.
    :param backend: the keyed state; partial matches are in its table ``name``.
    :param event_time: True for event time, False for processing time.
    :param tell: called with each match.
    :param timed_out: called with each partial match that has timed out.
    """

    def __init__(
        self,
        nfa: Nfa,
        backend: KeyedStateBackend,
        name: str,
        event_time: bool,
        tell: Tell,
        timed_out: Tell | None,
    ) -> None:
        self.nfa = nfa
        self.begins = True
        """whether events may begin matches; else only partial matches continue"""
        self.partial_matches = self.links = 0
        self._backend, self._event_time, self._tell, self._timed_out = backend, event_time, tell, timed_out
        self.states: ValueTable = backend.value_table(name)
        self._deadlines = Deadlines(exact=not event_time or bool(nfa.state_windows))
        self._every_start = bool(nfa.state_windows and nfa.window)

    def plan(self) -> None:
        """Register the deadlines of the partial matches in the state."""
        self.forget()
        get = self.states.rows.get
        for key in list(self.states.addresses()):
            state = load(get(key))
            self._count(state, 1)
            self._look_again(key, state)

    def forget(self) -> None:
        """Forget the deadlines of all keys, whose state was deleted."""
        self._deadlines.clear()
        self.partial_matches = self.links = 0

    def drop(self) -> int:
        """Drop all partial matches; returns how many there were."""
        dropped = self.partial_matches
        rows, touched = self.states.rows, self.states.touched
        for key in list(self.states.addresses()):
            del rows[key]
            touched[key] = None
        self.forget()
        return dropped

    def next_due(self) -> int | None:
        """When the first key must be checked although no event comes (ms); None: never. In processing time only."""
        return self._deadlines.next_time()

    def run(
        self,
        places: dict[Any, list[int]],
        times: list[int],
        values: list[Any],
        until: int | None,
        flush: Callable[[], None],
    ) -> None:
        """Process events in the order of time, key by key, then let time pass until ``until`` (ms).

        :param places: key -> indexes of its events.
        :param flush: called after each key.
        :raises ConditionError: a condition has raised an error.
        """
        if places and (self.begins or self.partial_matches):
            codes = self.nfa.codes(values)
            for key, own in places.items():
                self._run_key(key, own, times, values, codes, until)
                flush()
        if until is not None:
            self._pass_time(until)

    def _run_key(
        self,
        key: Any,
        places: list[int],
        times: list[int],
        values: list[Any],
        codes: list[int],
        until: int | None,
    ) -> None:
        nfa, begins = self.nfa, self.begins
        stored = self.states.rows.get(key)
        if stored is None:
            if not begins:
                return
            state = KeyState()
        else:
            state = load(stored)
            self._count(state, -1)
        planned = bool(state.partials)
        self._backend.at = key
        window, state_windows, advance = nfa.window, nfa.state_windows, nfa.advance
        last = None
        state.begun = False
        for place in places:
            time = times[place]
            if time != last:
                partials = state.partials
                if partials and (state_windows or (window and time - partials[0][2] >= window)):
                    self._prune(state, time)
                last = time
            for match in advance(state, values[place], time, codes[place], begins):
                self._tell(match, time)
            if self._every_start and state.begun:
                self._deadlines.add(time + window, key)
        if until is not None:
            self._prune(state, until)
        self._put(key, state, stored is not None, len(places))
        if not planned and not self._every_start:
            self._look_again(key, state)

    def _prune(self, state: KeyState, time: int) -> None:
        matches, timeouts = self.nfa.prune(state, time)
        for match in matches:
            self._tell(match, time)
        timed_out = self._timed_out
        if timed_out is not None:
            for match, at in timeouts:
                timed_out(match, at)

    def _pass_time(self, until: int) -> None:
        """Check the keys whose deadlines have passed, or will soon, for time-outs in the order of their deadlines."""
        get, window = self.states.rows.get, self.nfa.window
        due = []
        for key in self._deadlines.due(until):
            stored = get(key)
            if stored is not None:
                state = load(stored)
                due.append((state.partials[0][2] + window, key, state))
        due.sort(key=itemgetter(0))
        for deadline, key, state in due:
            if deadline > until and not self.nfa.state_windows:
                self._look_again(key, state)
                continue
            self._count(state, -1)
            self._backend.at = key
            self._prune(state, until)
            self._put(key, state, True, 0)
            self._look_again(key, state)

    def _look_again(self, key: Any, state: KeyState) -> None:
        """Register the deadline at which the key's first partial match times out if no event comes."""
        if self.nfa.window and state.partials:
            deadline = state.partials[0][2] + self.nfa.window
            self._deadlines.add(deadline if self._event_time else deadline + 1, key)

    def _put(self, key: Any, state: KeyState, known: bool, events: int) -> None:
        rows, touched = self.states.rows, self.states.touched
        if state.idle:
            if known:
                del rows[key]
                touched[key] = None
            return
        rows[key] = store(state, events)
        self._count(state, 1)
        touched[key] = None

    def _count(self, state: KeyState, sign: int) -> None:
        self.partial_matches += sign * len(state.partials)
        self.links += sign * state.kept


# The operators' base

MATCHES, WAITING = "partial-matches", "waiting-events"
FLUSH_AT = 16_384
"""The number of gathered results that are emitted before all keys are done."""


class MatchContext(PatternContext):
    """What the user's function sees of a match; one object per operator, changed before each call."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self.found = Results()
        self.time = 0
        self.stamp: int | None = None
        """the timestamp of emitted elements (ms); None in processing time"""

    def output(self, output_tag: OutputTag, value: Any) -> None:
        self.found.add_side(output_tag.tag_id, value, self.stamp)

    def timestamp(self) -> int:
        return self.time

    def current_processing_time(self) -> int:
        return self._clock()


class PatternOperator(FunctionOperator[PatternProcessFunction]):
    """Runs patterns on keyed events. In event time, events wait for the watermark and then go through the automatons,
    key by key; in processing time they do so at once."""

    def __init__(
        self,
        function: PatternProcessFunction,
        event_time: bool,
        comparator: Callable[[Any, Any], int] | None,
        late_tag: str | None,
    ) -> None:
        super().__init__(function)
        self._event_time, self._late_tag = event_time, late_tag
        self._order = None if comparator is None else cmp_to_key(comparator)

    @abstractmethod
    def runs(self) -> Sequence[PatternRun]:
        """The patterns that run at present."""

    def new_context(self) -> MatchContext:
        """A new context for calls of the user's function."""
        return MatchContext(self.context.clock)

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.ctx = self.new_context()
        self.backend = keyed_backend(self, self.ctx.timestamp)
        self._events: EventBufferTable = self.backend.table_of(WAITING, EventBufferTable.kind)
        self.hears_timeouts = isinstance(self.function, TimedOutPartialMatchHandler)
        self._now = 0

    def keyed_state(self) -> KeyedStateBackend:
        return self.backend

    def open(self) -> None:
        metrics = self.context.runtime.get_metrics_group()
        self._late = metrics.counter("numLateRecordsDropped")
        metrics.gauge("numPartialMatches", lambda: sum(run.partial_matches for run in self.runs()))
        metrics.gauge("sharedBufferEntries", lambda: sum(run.links for run in self.runs()))
        super().open()

    # Events

    def process(self, chunk: Chunk, input: int) -> None:
        keys, values = chunk.keys or [], chunk.values
        if self._event_time:
            self._events.add(*self._on_time(keys, chunk.timestamps, values))
            return
        now = self._now = max(self._now, self.context.clock())
        if self._order is not None:
            self._events.add(keys, [now] * len(keys), values)
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
        """Event time has advanced to ``time`` (ms)."""
        self._run(*self._events.take(time), time)

    def advance_processing_time(self, now: int) -> None:
        if not self._event_time:
            now = self._now = max(self._now, now)
            self._run(*self._events.take(now - 1), now)

    def next_due(self) -> int | None:
        if self._event_time:
            return None
        return min((due for run in self.runs() if (due := run.next_due()) is not None), default=None)

    def _run(self, keys: list[Any], times: list[int], values: list[Any], until: int | None) -> None:
        """Run events in the order of time through all patterns, then let time pass until ``until`` (ms)."""
        self.ctx.found = Results()
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
            for run in self.runs():
                run.run(places, times, values, until, self._flush)
        except ConditionError as error:
            cause = error.__cause__
            assert isinstance(cause, Exception)
            raise self.context.error(cause, error.event, " in a condition of the pattern") from cause
        self.ctx.found.emit(self, self._event_time)

    def _flush(self) -> None:
        found = self.ctx.found
        if len(found.values) >= FLUSH_AT:
            found.emit(self, self._event_time)
            self.ctx.found = Results()

    # Results

    def tell(self, match: Match, time: int) -> None:
        """Process a match: call the user's function."""
        self._call(self.function.process_match, match, time)

    def tell_timeout(self, match: Match, time: int) -> None:
        """Process a partial match that has timed out."""
        self._call(self.function.process_timed_out_match, match, time)  # type: ignore[attr-defined]

    def _call(self, method: Callable[[Match, PatternContext], Iterable[Any] | None], match: Match, time: int) -> None:
        ctx = self.ctx
        ctx.time, ctx.stamp = time, time if self._event_time else None
        try:
            results = method(match, ctx)
            if results is not None:
                ctx.found.gather(results, ctx.stamp)
        except Exception as error:
            raise self.context.error(error, match or NO_ELEMENT) from error


def _sort_ties(places: list[int], times: list[int], values: list[Any], order: Callable[[Any], Any]) -> None:
    """Sort events with equal timestamps by the user's comparator."""
    places.sort(key=lambda place: (times[place], order(values[place])))
