"""Runs the automaton of a pattern on the events of one key, in the order of time.

It finds the matches that Flink finds, in the same order, with less work: partial matches are a list in the order of
their first events, without the start state; their events are chains that share common links; and a partial match that
an event does not change costs one look at the list.

The order of matches depends on a binary heap that breaks ties as Java's ``PriorityQueue`` does. Only the ``order`` of
entries is compared, so ``heapq`` (which also sifts differently) can't be used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from millrace.common.functions.function_base import RuntimeContext
from millrace.runtime.cep.automaton import ENDS, GOES_ON, TAKE, UNCHANGED, Decisions, Kind, Outcome, Question
from millrace.runtime.cep.compiler import compile_pattern
from millrace.runtime.cep.description import (
    ColumnCondition,
    Context,
    PatternDescription,
    RichIterativeCondition,
    Skip,
    SkipKind,
)
from millrace.runtime.cep.key_state import ID, PAGE, TIME, EventId, KeyState, Link, Partial, events_by_name, path

# The heap

Order = Callable[[Any], Any]


def push(heap: list[Any], entry: Any, order: Order) -> None:
    """Add an entry."""
    place, key = len(heap), order(entry)
    heap.append(entry)
    while place:
        parent = (place - 1) >> 1
        if not key < order(heap[parent]):
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = entry


def pop(heap: list[Any], order: Order) -> Any:
    """Take the first entry out; there must be one."""
    first, last = heap[0], heap.pop()
    if heap:
        _sift_down(heap, 0, last, order)
    return first


def heapify(heap: list[Any], order: Order) -> None:
    """Make a heap of entries in any order."""
    for place in range((len(heap) >> 1) - 1, -1, -1):
        _sift_down(heap, place, heap[place], order)


def _sift_down(heap: list[Any], place: int, entry: Any, order: Order) -> None:
    key, size = order(entry), len(heap)
    while (child := 2 * place + 1) < size:
        right = child + 1
        if right < size and order(heap[right]) < order(heap[child]):
            child = right
        if not order(heap[child]) < key:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = entry


# After a match: which partial matches and matches are dropped


class SkipError(RuntimeError):
    """A match has no event to skip to, and the strategy says that this is an error."""


class Skipping:
    """Applies a skip strategy."""

    def __init__(self, skip: Skip) -> None:
        self._kind, self._name, self._throw = skip.kind, skip.name, skip.throw_on_miss
        self.skips = skip.kind is not SkipKind.NO_SKIP
        self.inclusive = skip.kind in (SkipKind.SKIP_TO_NEXT, SkipKind.SKIP_PAST_LAST_EVENT)
        """whether partial matches that begin with the event of ``until`` are dropped, too"""

    def until(self, match: Partial) -> EventId | None:
        """The event before which dropped matches begin; None: nothing is dropped.

        :raises SkipError: there is no such event in the match, or it is the first one.
        """
        _, link, first, first_id = match
        if self._kind is SkipKind.SKIP_PAST_LAST_EVENT:
            return link[TIME], link[ID]
        if self._kind is SkipKind.SKIP_TO_NEXT:
            return first, first_id
        named = [(each[TIME], each[ID]) for each in path(link) if each[PAGE] == self._name]
        found = None
        if named:
            found = named[0 if self._kind is SkipKind.SKIP_TO_FIRST else -1]
        elif self._throw:
            raise SkipError(f"Could not skip to {self._name}. No such element in the found match")
        if self._throw and found == (first, first_id):
            raise SkipError(f"Could not skip to {self._name}: it is the first element of the match")
        return found


# The automaton

Match = dict[str, list[Any]]
"""name of a step -> its events"""
Answers = list[bool | None]
"""for each condition whether it holds for the event; None: not evaluated yet"""


class ConditionError(Exception):
    """A condition has raised an error, which is the cause; ``event`` is the event it was evaluated for."""

    def __init__(self, event: Any) -> None:
        super().__init__(event)
        self.event = event


MOST_COLUMNS = 62
"""The most conditions on columns that are evaluated for all events in advance, one bit of an int64 each."""
MANY = 32
"""From this number of partial matches of a key on, only those in states that react to the event are visited."""
FEW = 2
"""The most partial matches that are inserted or removed in place; for more the list is built again."""


def _by_first_event(partial: Partial) -> tuple[int, int]:
    return partial[2], partial[3]


class Nfa:
    """Advances the states of keys. The ``KeyState`` is the caller's: this object stores nothing of a key.

    :param clock: the processing time that conditions see, ms.
    :param timeouts: whether ``prune`` returns the partial matches that have timed out.
    """

    def __init__(
        self, pattern: PatternDescription, clock: Callable[[], int] = lambda: 0, timeouts: bool = True
    ) -> None:
        self.automaton = automaton = compile_pattern(pattern)
        self._decisions = Decisions(automaton)
        self._roots, self._iterative = self._decisions.roots, self._decisions.iterative
        self._start = automaton.states.index(automaton.start)
        self._countable = len(automaton.states) <= 256
        self._filters = [condition.filter for condition in automaton.conditions]
        self._skipping = Skipping(pattern.skip)
        self.now = clock
        self.timeouts = timeouts
        self.window = automaton.window
        """the longest time between the first and the last event of a match (ms); 0: no limit"""
        windows = automaton.state_windows
        self.state_windows = {
            number: windows[state.name] for number, state in enumerate(automaton.states) if windows.get(state.name)
        }
        self._pending = {number for number, state in enumerate(automaton.states) if state.kind is Kind.PENDING}
        columns = [
            (number, condition)
            for number, condition in enumerate(automaton.conditions)
            if isinstance(condition, ColumnCondition)
        ]
        self.columns = columns[:MOST_COLUMNS]
        """the conditions that are evaluated in advance, with their numbers"""
        self._unknown: Answers = [None] * len(automaton.conditions)
        self._only_columns = len(self.columns) == len(automaton.conditions)
        self._of_code: dict[int, dict[int, Outcome]] = {}
        """code of an event -> number of a state -> outcome, filled only where all conditions are on columns"""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the conditions."""
        for condition in self.automaton.conditions:
            if isinstance(condition, RichIterativeCondition):
                condition.set_runtime_context(runtime_context)
            condition.open(runtime_context)

    def close(self) -> None:
        for condition in self.automaton.conditions:
            condition.close()

    def codes(self, events: Sequence[Any]) -> list[int]:
        """For each event the answers of the conditions on columns as the bits of a number, for ``advance``."""
        if not self.columns:
            return [0] * len(events)
        codes = np.zeros(len(events), np.int64)
        for bit, (_, condition) in enumerate(self.columns):
            codes |= np.asarray(_mask(condition, events), bool).astype(np.int64) << bit
        found: list[int] = codes.tolist()
        return found

    def advance(self, state: KeyState, event: Any, timestamp: int, code: int, begins: bool = True) -> list[Match]:
        """Process the next event of a key, and return the matches that it completes.

        :param code: the code that ``codes`` gave for the event.
        :param begins: whether the event may begin a match, too.
        """
        event_id = state.event_number if state.time == timestamp else 0
        arrival = _Arrival(event, timestamp, event_id, code, self._outcomes_of(code))
        if len(state.partials) >= MANY and self._countable:
            self._follow_some(state, arrival)
        elif state.partials:
            self._follow_all(state, arrival)
        if begins:
            start = self._start
            outcome = arrival.outcomes.get(start) or self._outcome(arrival, start, None)
            if outcome.kind != UNCHANGED:
                self._begin(state, arrival, outcome)
        if arrival.taken:
            state.time, state.event_number = timestamp, event_id + 1
        finals = arrival.finals
        return self._complete(state, finals) if finals or (arrival.changed and state.completed) else []

    def _outcomes_of(self, code: int) -> dict[int, Outcome]:
        """What states do with an event of this code, as far as it is known; filled while the event is at work."""
        outcomes = self._of_code.get(code)
        if outcomes is None:
            outcomes = {}
            if self._only_columns:  # the code answers all conditions, for later events of the same code, too
                self._of_code[code] = outcomes
        return outcomes

    def _outcome(self, arrival: _Arrival, number: int, partial: Partial | None) -> Outcome:
        """What a partial match (None: one that has not begun) in state ``number`` does with the event."""
        outcome = arrival.outcomes.get(number)
        if outcome is None:
            outcome = self._asked(arrival, number, partial)
            if not self._iterative[number]:  # the same for all partial matches in this state
                arrival.outcomes[number] = outcome
        return outcome

    def _follow_all(self, state: KeyState, arrival: _Arrival) -> None:
        """Take the event to each partial match."""
        outcomes = arrival.outcomes
        left: list[Partial] = []
        for partial in state.partials:
            number = partial[0]
            outcome = outcomes.get(number) or self._outcome(arrival, number, partial)
            if outcome.kind == UNCHANGED:
                left.append(partial)
                continue
            arrival.changed = True
            if outcome.kind != ENDS:
                arrival.taken = True
                left += _moved(partial, outcome, arrival)
        if arrival.changed:
            state.partials, state.numbers = left, None

    def _begin(self, state: KeyState, arrival: _Arrival, outcome: Outcome) -> None:
        """Let the event begin a partial match.

        :param outcome: what the start state does with the event.
        """
        arrival.changed = arrival.taken = state.begun = True
        begun = _moved((self._start, None, arrival.time, arrival.event_id), outcome, arrival)
        state.partials += begun
        if state.numbers is not None:
            state.numbers += _numbers(begun)

    def _follow_some(self, state: KeyState, arrival: _Arrival) -> None:
        """Take the event to those of many partial matches that do something with it: the others, most of them, are
        skipped by the numbers of their states."""
        partials, iterative = state.partials, self._iterative
        numbers = state.numbers
        if numbers is None:
            numbers = state.numbers = _numbers(partials)
        places: list[int] = []
        for number in range(len(self._roots)):
            place = numbers.find(number)
            if place < 0:
                continue
            if not iterative[number]:
                if self._outcome(arrival, number, partials[place]).kind == UNCHANGED:
                    continue
            while place >= 0:
                places.append(place)
                place = numbers.find(number, place + 1)
        places.sort()
        replaced: list[tuple[int, list[Partial]]] = []
        for place in places:
            partial = partials[place]
            outcome = self._outcome(arrival, partial[0], partial)
            if outcome.kind != UNCHANGED:
                replaced.append((place, _moved(partial, outcome, arrival)))
        if not replaced:
            return
        arrival.changed = arrival.taken = True
        if sum(len(new) != 1 for _, new in replaced) <= FEW:
            for place, new in reversed(replaced):
                partials[place : place + 1] = new
                numbers[place : place + 1] = _numbers(new)
            return
        # Each of these would move all that is behind it.
        left, left_numbers, since = list[Partial](), bytearray(), 0
        for place, new in replaced:
            left += partials[since:place]
            left += new
            left_numbers += numbers[since:place]
            left_numbers += _numbers(new)
            since = place + 1
        state.partials, state.numbers = left + partials[since:], left_numbers + numbers[since:]

    def prune(self, state: KeyState, time: int) -> tuple[list[Match], list[tuple[Match, int]]]:
        """Advance time to ``time`` (ms): returns the matches of NOT patterns whose time limit has passed, and the
        partial matches that have timed out, each with the time of its time-out."""
        partials, window = state.partials, self.window
        if not self.state_windows and (not window or not partials or time - partials[0][2] < window):
            return [], []
        kept: list[Partial] = []
        passed: list[Partial] = []
        timeouts: list[tuple[Match, int]] = []
        for place, partial in enumerate(partials):
            number, link, first, _ = partial
            of_state = self.state_windows.get(number)
            if of_state is not None and time - link[TIME] >= of_state:
                at = link[TIME] + of_state
            elif window and time - first >= window:
                at = first + window
            elif self.state_windows:
                kept.append(partial)
                continue
            else:
                # All others began later.
                kept = partials[place:]
                break
            if number in self._pending:
                passed.append(partial)
            elif self.timeouts:
                timeouts.append((events_by_name(link), at))
        if len(kept) == len(partials):
            return [], []
        if state.numbers is not None:
            state.numbers = None if self.state_windows else state.numbers[len(partials) - len(kept) :]
        state.partials = kept
        return self._complete(state, passed), timeouts

    def _asked(self, arrival: _Arrival, number: int, partial: Partial | None) -> Outcome:
        """What a state does with the event; ``partial`` (None: one that has not begun) is what conditions see."""
        node: Any = self._roots[number]
        context = None
        if arrival.answers is None:
            arrival.answers = self.answers(arrival.code)
        answers = arrival.answers
        if self._iterative[number]:
            context = _Context(self, partial, arrival.time)
            simple = self.automaton.simple
            answers[simple:] = self._unknown[simple:]
        while node.__class__ is Question:
            condition = node.condition
            answer = answers[condition]
            if answer is None:
                try:
                    answer = answers[condition] = bool(self._filters[condition](arrival.event, context))  # type: ignore[arg-type]
                except Exception as error:
                    raise ConditionError(arrival.event) from error
            node = node.ways[answer] or self._decisions.grow(number, node, answer)
        outcome: Outcome = node
        return outcome

    def answers(self, code: int) -> Answers:
        """The answers of the conditions on columns, from the bits of ``code``; None for the other conditions."""
        answers = self._unknown.copy()
        for bit, (number, _) in enumerate(self.columns):
            answers[number] = bool(code >> bit & 1)
        return answers

    def _complete(self, state: KeyState, finals: list[Partial]) -> list[Match]:
        """The matches that can be emitted now, in order. The skip strategy may drop others after each of them."""
        completed, skipping = state.completed, self._skipping
        for final in finals:
            push(completed, final, _by_first_event)
        matches: list[Match] = []
        while completed:
            partials = state.partials
            if skipping.skips and partials and partials[0][2:] < completed[0][2:]:
                break
            match = pop(completed, _by_first_event)
            if skipping.skips:
                self._skip(state, match)
            matches.append(events_by_name(match[1]))
        return matches

    def _skip(self, state: KeyState, match: Partial) -> None:
        until, inclusive = self._skipping.until(match), self._skipping.inclusive
        if until is None:
            return
        for partials in (state.partials, state.completed):
            kept = [each for each in partials if each[2:] > until or (each[2:] == until and not inclusive)]
            if len(kept) != len(partials):
                partials[:] = kept
                state.numbers = None
                if partials is state.completed:
                    heapify(partials, _by_first_event)


def _mask(condition: ColumnCondition, events: Sequence[Any]) -> Sequence[bool]:
    """The answers of a condition for events.

    :raises ConditionError: the condition fails; with the first event for which it does.
    """
    try:
        return condition.mask(events)
    except Exception as error:
        for event in events:
            try:
                condition.mask([event])
            except Exception as of_one:
                raise ConditionError(event) from of_one
        raise ConditionError(None) from error


def _numbers(partials: list[Partial]) -> bytearray:
    """The state number of each partial match."""
    return bytearray([partial[0] for partial in partials])


class _Arrival:
    """An event of a key on its way through the partial matches."""

    __slots__ = ("answers", "changed", "code", "event", "event_id", "finals", "outcomes", "taken", "time")

    def __init__(self, event: Any, time: int, event_id: int, code: int, outcomes: dict[int, Outcome]) -> None:
        self.event, self.time, self.event_id, self.code = event, time, event_id, code
        self.outcomes = outcomes
        """number of a state -> what it does with the event, unless that depends on the partial match"""
        self.answers: Answers | None = None
        """made when a condition is asked"""
        self.finals: list[Partial] = []
        """the matches that the event completes"""
        self.changed = False
        """has any partial match begun, moved or ended?"""
        self.taken = False
        """is the event in a partial match, so that it needs an id of its own?"""


def _moved(partial: Any, outcome: Outcome, arrival: _Arrival) -> list[Partial]:
    """The partial matches that replace one when it takes the event: none if a NOT pattern ends it. Matches go to
    ``arrival.finals``.

    :param partial: its link is None if it begins with the event.
    """
    _, link, first, first_id = partial
    event, time, event_id = arrival.event, arrival.time, arrival.event_id
    if outcome.kind == GOES_ON:
        return [(outcome.target, (link, outcome.page, event, time, event_id), first, first_id)]
    left: list[Partial] = []
    stopped = False
    taken: Link | None = None
    for move in outcome.moves:
        here = link
        if move.kind == TAKE:
            if taken is None or taken[1] != move.page:
                taken = (link, move.page, event, time, event_id)
            here = taken
        kind = move.target_kind
        if kind is Kind.FINAL:
            arrival.finals.append((move.target, here, first, first_id))
        elif kind is Kind.STOP:
            stopped = True
        else:
            left.append((move.target, here, first, first_id))
        if move.final is not None:
            arrival.finals.append((move.final, here, first, first_id))
    return [] if stopped else left


class _Context(Context):
    """The context of conditions for one partial match; None: no match has begun."""

    __slots__ = ("_matched", "_nfa", "_partial", "_time")

    def __init__(self, nfa: Nfa, partial: Partial | None, time: int) -> None:
        self._nfa, self._partial, self._time = nfa, partial, time
        self._matched: Match | None = {} if partial is None else None

    def get_events_for_pattern(self, name: str) -> Sequence[Any]:
        found = self._matched
        if found is None:
            assert self._partial is not None
            found = self._matched = events_by_name(self._partial[1])
        return found.get(name, ())

    def timestamp(self) -> int:
        return self._time

    def current_processing_time(self) -> int:
        return self._nfa.now()
