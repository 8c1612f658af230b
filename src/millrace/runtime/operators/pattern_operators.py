"""Operators that look for patterns: ``PatternStream.process`` and its variants, and ``CEP.dynamic_patterns``. They
buffer events, run the automaton of each key and call the user's function.

A ``PatternRun`` runs one pattern on the events of all keys, in the order of time: it has their partial matches, and
knows when keys must be checked for time-outs although no event comes. An operator of ``CEP.dynamic_patterns`` has
several patterns, which messages replace while the job runs. The set of patterns is broadcast state: every subtask gets
the same messages. An old version that may finish its matches stays in a subtask as long as this has partial matches of
it; after a rescale all subtasks take over such versions.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple
from functools import cmp_to_key
from itertools import compress
from operator import itemgetter
from typing import Any

from millrace.common.output_tag import OutputTag
from millrace.common.state import ListStateDescriptor, MapStateDescriptor
from millrace.common.typeinfo import Types
from millrace.runtime.bases.batch_operators import ByKey
from millrace.runtime.bases.operator import NO_ELEMENT, OperatorContext, Output
from millrace.runtime.bases.process_operators import FunctionOperator, Results, keyed_backend
from millrace.runtime.cep.description import PatternDescription, PatternReader, PatternUpdate, fingerprint
from millrace.runtime.cep.functions import Match, PatternContext, PatternProcessFunction, TimedOutPartialMatchHandler
from millrace.runtime.cep.key_state import KeyState, load, store
from millrace.runtime.cep.nfa import ConditionError, Nfa
from millrace.runtime.elements import MAX_WATERMARK, Chunk
from millrace.runtime.failure import OperatorError
from millrace.runtime.operators.two_input_operators import BROADCAST_INPUT, BroadcastFirst
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.operator_state import OperatorStateBackend
from millrace.runtime.state.restoring.saved import EarlierState, KeyedPieces
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

    def setup(self, context: OperatorContext, output: Output) -> None:
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


# One pattern

_log = logging.getLogger(__name__)


class MatchPatternOperator(PatternOperator):
    """Looks for one pattern."""

    def __init__(
        self,
        pattern: PatternDescription,
        function: PatternProcessFunction,
        event_time: bool = True,
        comparator: Callable[[Any, Any], int] | None = None,
        late_tag: str | None = None,
    ) -> None:
        super().__init__(function, event_time, comparator, late_tag)
        self._pattern = pattern
        self._of_another = False
        """whether the restored state belongs to another pattern"""

    def setup(self, context: OperatorContext, output: Output) -> None:
        super().setup(context, output)
        nfa = Nfa(self._pattern, context.clock, timeouts=self.hears_timeouts)
        timed_out = self.tell_timeout if self.hears_timeouts else None
        self._pattern_run = PatternRun(nfa, self.backend, MATCHES, self._event_time, self.tell, timed_out)
        self._fingerprint = fingerprint(self._pattern)

    def runs(self) -> Sequence[PatternRun]:
        return (self._pattern_run,)

    def open(self) -> None:
        try:
            self._pattern_run.nfa.open(self.context.runtime)
        except Exception as error:
            raise self.context.error(error, during=" in open() of a condition") from error
        super().open()
        self._pattern_run.plan()

    def close(self) -> None:
        if self._opened:
            self._pattern_run.nfa.close()
        super().close()

    # State of earlier runs

    def snapshot(self) -> Any:
        return self._fingerprint

    def restore(self, snapshot: Any) -> None:
        """Restore a snapshot of this same job, and so of the same pattern."""

    def take_over(self, earlier: EarlierState) -> None:
        self._of_another = any(before not in (None, self._fingerprint) for before in earlier.smalls)
        if self._of_another and not earlier.may_drop:
            raise ValueError(
                "its partial matches are of another pattern, and can't go on with this one: keep names, order, "
                "quantifiers and windows of the patterns as they were, or allow to drop them "
                "(--allowNonRestoredState): then it begins without, and events that wait for the watermark are kept"
            )
        super().take_over(earlier)

    def take_over_keyed(self, pieces: KeyedPieces) -> None:
        super().take_over_keyed(self._without_matches(pieces) if self._of_another else pieces)
        self._pattern_run.plan()

    def _without_matches(self, pieces: KeyedPieces) -> KeyedPieces:
        """The state without partial matches of another pattern; logs how many there were."""
        keys = partials = 0
        for piece in pieces:
            _, dropped = piece.get(MATCHES, (None, {}))
            keys += len(dropped)
            partials += sum(len(load(stored).partials) for stored in dropped.values())
            yield {name: state for name, state in piece.items() if name != MATCHES}
        self.context.runtime.get_metrics_group().counter("numPartialMatchesDropped").inc(partials)
        _log.warning(
            "%s: %s partial matches of %s keys are of another pattern than this one, and are dropped",
            self.context.name,
            partials,
            keys,
        )


class BatchMatchPatternOperator(ByKey, MatchPatternOperator):
    """``MatchPatternOperator`` in batch mode: a key's events wait until all of them have come."""

    def end_keys(self) -> None:
        if self._event_time:
            self.advance(MAX_WATERMARK)
        else:
            self.advance_processing_time(self.context.clock() + 1)
        self.backend.wipe()
        self._pattern_run.forget()


# Patterns that change while the job runs

_FIELDS = Types.TUPLE([Types.STRING(), Types.LONG(), Types.STRING(), Types.STRING()])
PATTERNS = MapStateDescriptor("patterns", Types.STRING(), _FIELDS)
ENDING = ListStateDescriptor("ending-patterns", _FIELDS)
Version = tuple[str, int]


class MatchPatternsContext(MatchContext):
    """What the user's function sees of a match, with the id and version of its pattern."""

    def __init__(self, clock: Callable[[], int]) -> None:
        super().__init__(clock)
        self.update = PatternUpdate("", 0, None)

    def pattern_id(self) -> str | None:
        return self.update.id

    def pattern_version(self) -> int | None:
        return self.update.version

    def function_name(self) -> str:
        return self.update.function


class MatchPatternsOperator(PatternOperator):
    """Looks for several patterns, which messages on input 1 replace while the job runs.

    :param finish: whether an old version finishes the matches that it has begun; else these are dropped.
    :param refused_tag: side output for (id, version, reason) of patterns that can't be used; None: such a pattern fails
        the job.
    """

    def __init__(
        self,
        reader: PatternReader,
        function: PatternProcessFunction,
        event_time: bool = True,
        comparator: Callable[[Any, Any], int] | None = None,
        late_tag: str | None = None,
        refused_tag: str | None = None,
        finish: bool = False,
    ) -> None:
        super().__init__(function, event_time, comparator, late_tag)
        self._reader, self._refused_tag, self._finish = reader, refused_tag, finish

    def new_context(self) -> MatchPatternsContext:
        self._seen = MatchPatternsContext(self.context.clock)
        return self._seen

    def setup(self, context: OperatorContext, output: Output) -> None:
        super().setup(context, output)
        self._operator_state = states = self._operator_state or OperatorStateBackend()
        self._known = states.get_broadcast_state(PATTERNS)
        self._ending = states.get_union_list_state(ENDING)
        self._running: dict[Version, PatternRun] = {}
        self._updates: dict[Version, PatternUpdate] = {}
        self._ended_since = False

    def runs(self) -> Sequence[PatternRun]:
        return tuple(self._running.values())

    def open(self) -> None:
        metrics = self.context.runtime.get_metrics_group()
        metrics.gauge("numPatterns", lambda: len(self._running))
        self._dropped = metrics.counter("numPartialMatchesDropped")
        self._ignored = metrics.counter("numPatternUpdatesIgnored")
        super().open()
        for fields in list(self._known.values()):
            self._go_on(PatternUpdate(*fields))
        for fields in dict.fromkeys(map(tuple, self._ending.get())):
            if fields[:2] not in self._running:
                self._go_on(PatternUpdate(*fields)).begins = False
        self._plan()

    def _go_on(self, update: PatternUpdate) -> PatternRun:
        try:
            return self._start(update)
        except Exception as error:
            raise self.context.error(error, during=f" to go on with the pattern {update.id!r} of its state") from error

    def close(self) -> None:
        for run in self.runs():
            run.nfa.close()
        super().close()

    def take_over_keyed(self, pieces: KeyedPieces) -> None:
        super().take_over_keyed(pieces)
        self._plan()

    def _plan(self) -> None:
        for run in self.runs():
            run.plan()

    def before_snapshot(self, checkpoint_id: int) -> None:
        super().before_snapshot(checkpoint_id)
        if self._ended_since:
            self._ended_since = False
            self._ending.update(
                [astuple(self._updates[version]) for version, run in self._running.items() if not run.begins]
            )

    # Messages

    def process(self, chunk: Chunk, input: int) -> None:
        if input != BROADCAST_INPUT:
            super().process(chunk, input)
            return
        for message in chunk.values:
            self._hear(message)

    def _hear(self, message: Any) -> None:
        try:
            found = self._reader.updates(message)
        except Exception as error:
            self._refuse(PatternUpdate("", 0, None), error, message)
            return
        for update in found.updates:
            try:
                self._change(update, found.whole)
            except Exception as error:
                self._refuse(update, error, message)
        if found.whole:
            ids = {update.id for update in found.updates}
            for id in [id for id in self._known.keys() if id not in ids]:  # noqa: SIM118 - a state is no dict
                self._end(id)

    def _refuse(self, update: PatternUpdate, error: Exception, message: Any) -> None:
        if self._refused_tag is None:
            raise self.context.error(error, message, " in a message about patterns") from error
        reason = f"{type(error).__name__}: {error}"
        self.emit_side(self._refused_tag, [(update.id, update.version, reason)], None)

    def _change(self, update: PatternUpdate, whole: bool) -> None:
        """Apply an update. :raises ValueError: it can't be used; nothing has changed then."""
        current = self._current(update.id)
        if update.pattern is None:
            if current is not None:
                self._end(update.id)
            return
        if current is not None:
            if update == current:
                return
            if update.version == current.version:
                raise ValueError(
                    f"pattern {update.id!r} is known in version {update.version}, with another text or function: a "
                    f"change needs another version"
                )
            if update.version < current.version and not whole:
                self._ignored.inc()
                return
        version = (update.id, update.version)
        again = self._running.get(version)
        if again is not None and self._updates[version] == update:
            self._end(update.id)
            again.begins = True
        else:
            nfa = self._nfa(update)
            if again is not None:
                self._stop(version)
            self._end(update.id)
            self._add(update, nfa)
        self._ended_since = True
        self._known.put(update.id, astuple(update))

    def _current(self, id: str) -> PatternUpdate | None:
        fields = self._known.get(id)
        return None if fields is None else PatternUpdate(*fields)

    def _end(self, id: str) -> None:
        """Stop looking for the current version of a pattern."""
        current = self._current(id)
        if current is None:
            return
        self._known.remove(id)
        version = (id, current.version)
        if self._finish and self._running[version].partial_matches:
            self._running[version].begins = False
            self._ended_since = True
        else:
            self._stop(version)

    def _stop(self, version: Version) -> None:
        run = self._running.pop(version)
        del self._updates[version]
        self._dropped.inc(run.drop())
        run.nfa.close()
        self._ended_since = True

    # Patterns at work

    def _nfa(self, update: PatternUpdate) -> Nfa:
        nfa = Nfa(self._reader.pattern(update), self.context.clock, timeouts=self.hears_timeouts)
        nfa.open(self.context.runtime)
        return nfa

    def _start(self, update: PatternUpdate) -> PatternRun:
        return self._add(update, self._nfa(update))

    def _add(self, update: PatternUpdate, nfa: Nfa) -> PatternRun:
        version = (update.id, update.version)
        name = f"{MATCHES} of {update.id} in version {update.version}"

        def tell(match: Match, time: int) -> None:
            self._seen.update = update
            self.tell(match, time)

        def timed_out(match: Match, time: int) -> None:
            self._seen.update = update
            self.tell_timeout(match, time)

        run = PatternRun(nfa, self.backend, name, self._event_time, tell, timed_out if self.hears_timeouts else None)
        self._updates[version] = update
        # Sorted by id and version, so that the order is the same after a restore.
        self._running = dict(sorted([*self._running.items(), (version, run)], key=itemgetter(0)))
        return run

    def _run(self, keys: list[Any], times: list[int], values: list[Any], until: int | None) -> None:
        super()._run(keys, times, values, until)
        for version, run in list(self._running.items()):
            if not run.begins and not run.partial_matches:
                self._stop(version)


class BatchMatchPatternsOperator(BroadcastFirst, MatchPatternsOperator):
    """``MatchPatternsOperator`` in batch mode: the messages come first."""
