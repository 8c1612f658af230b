"""The automaton at work on the events of one key, in the order of time.

It does what Flink's does, in the same order, with less: partial matches are a list, which stays in the order of their
first events; the start state is but a number; and a partial match that an event leaves as it is costs a look at a list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.functions.base import RuntimeContext
from millrace.runtime.cep import heap
from millrace.runtime.cep.automaton import Kind
from millrace.runtime.cep.buffer import EDGES, Nodes, Version, events_by_name, lock, paths, release
from millrace.runtime.cep.compiler import compile_pattern
from millrace.runtime.cep.conditions import ColumnCondition, Context, RichIterativeCondition
from millrace.runtime.cep.decisions import PASS, TAKE, Decisions, Move, Outcome, Question
from millrace.runtime.cep.description import PatternDescription
from millrace.runtime.cep.key_state import KeyState, Partial
from millrace.runtime.cep.skipping import Skipping

Match = dict[str, list[Any]]
"""name of a step -> its events"""
Answers = list[bool | None]
"""for each condition whether the event meets it, None where nobody has asked"""


class ConditionError(Exception):
    """A condition has failed; the cause says how, ``event`` on what."""

    def __init__(self, event: Any) -> None:
        super().__init__(event)
        self.event = event


FINAL, NORMAL, STOP = Kind.FINAL, Kind.NORMAL, Kind.STOP
MANY = 32
"""So many partial matches of a key are not looked at one by one."""
FEW = 2
"""So many of them may become none or several in place."""


def _by_first_event(partial: Partial) -> tuple[int, int]:
    return partial[3], partial[4]


class Nfa:
    """Advances the states of keys; itself it keeps nothing of them.

    :param clock: the processing time that conditions see, ms.
    :param timeouts: whether ``prune`` tells the partial matches that have timed out.
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
        """from the first event of a match, ms; 0 without"""
        windows = automaton.state_windows
        self.state_windows = {
            number: windows[state.name] for number, state in enumerate(automaton.states) if windows.get(state.name)
        }
        self._pending = {number for number, state in enumerate(automaton.states) if state.kind is Kind.PENDING}
        self.columns = [
            (number, condition)
            for number, condition in enumerate(automaton.conditions)
            if isinstance(condition, ColumnCondition)
        ]
        """the conditions that are answered beforehand, with their numbers"""
        self._unknown: Answers = [None] * len(automaton.conditions)

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the conditions."""
        for condition in self.automaton.conditions:
            if isinstance(condition, RichIterativeCondition):
                condition.set_runtime_context(runtime_context)
            condition.open(runtime_context)

    def close(self) -> None:
        for condition in self.automaton.conditions:
            condition.close()

    def answers(self, events: Sequence[Any]) -> list[Answers]:
        """For each event what the conditions on columns say of it, for ``begins`` and ``advance``."""
        unknown = self._unknown
        if not self.columns:
            return [unknown.copy() for _ in events]
        answers: list[list[Any]] = [[None] * len(events) for _ in unknown]
        for number, condition in self.columns:
            answers[number] = list(_mask(condition, events))
        return [list(row) for row in zip(*answers)]

    def begins(self, event: Any, timestamp: int, answers: Answers) -> bool:
        """Whether an event changes anything for a key of which nothing is known."""
        context = None
        if self._iterative[self._start]:
            context = _Context(self, KeyState(), None, timestamp)
        return not self._outcome(self._start, event, answers, context).unchanged

    def advance(
        self, state: KeyState, event: Any, timestamp: int, answers: Answers | None = None, begins: bool = True
    ) -> list[Match]:
        """Take the next event of a key; the matches that it completes.

        :param begins: whether the event may begin a match, too.
        """
        if answers is None:
            answers = self._unknown.copy()
        step = _Step(state, event, timestamp)
        if len(state.partials) < MANY or not self._countable:
            changed = self._follow_all(state, step, event, answers)
        else:
            changed = self._follow_some(state, step, event, answers)
        if not begins:
            return self._complete(state, step.finals) if changed else []
        at_start = _Context(self, state, None, timestamp) if self._iterative[self._start] else None
        outcome = self._outcome(self._start, event, answers, at_start)
        if not outcome.unchanged:
            changed = True
            new = step.begin(outcome)
            state.partials += new
            if state.numbers is not None:
                state.numbers += _numbers(new)
        return self._complete(state, step.finals) if changed else []

    def _follow_all(self, state: KeyState, step: _Step, event: Any, answers: Answers) -> bool:
        """Each partial match in turn; whether any changes."""
        iterative, simple = self._iterative, self.automaton.simple
        outcomes: dict[int, Outcome] = {}
        left: list[Partial] = []
        changed = False
        for partial in state.partials:
            number = partial[0]
            outcome = outcomes.get(number)
            if outcome is None:
                if iterative[number]:
                    outcome = self._outcome(number, event, answers, _Context(self, state, partial, step.time))
                    answers[simple:] = self._unknown[simple:]
                else:
                    outcome = outcomes[number] = self._outcome(number, event, answers, None)
            if outcome.unchanged:
                left.append(partial)
            else:
                changed = True
                left += step.follow(partial, outcome)
        if changed:
            state.partials, state.numbers = left, None
        return changed

    def _follow_some(self, state: KeyState, step: _Step, event: Any, answers: Answers) -> bool:
        """The same for many partial matches: most wait for an event that this one is not, and are not looked at."""
        partials, iterative, simple = state.partials, self._iterative, self.automaton.simple
        numbers = state.numbers
        if numbers is None:
            numbers = state.numbers = _numbers(partials)
        outcomes: dict[int, Outcome] = {}
        places: list[int] = []
        for number in range(len(self._roots)):
            place = numbers.find(number)
            if place < 0:
                continue
            if not iterative[number]:
                outcomes[number] = self._outcome(number, event, answers, None)
                if outcomes[number].unchanged:
                    continue
            while place >= 0:
                places.append(place)
                place = numbers.find(number, place + 1)
        places.sort()
        replaced: list[tuple[int, list[Partial]]] = []
        for place in places:
            partial = partials[place]
            outcome = outcomes.get(partial[0])
            if outcome is None:
                outcome = self._outcome(partial[0], event, answers, _Context(self, state, partial, step.time))
                answers[simple:] = self._unknown[simple:]
                if outcome.unchanged:
                    continue
            replaced.append((place, step.follow(partial, outcome)))
        if sum(len(new) != 1 for _, new in replaced) <= FEW:
            for place, new in reversed(replaced):
                partials[place : place + 1] = new
                numbers[place : place + 1] = _numbers(new)
            return bool(replaced)
        # Each of these would move all that is behind it.
        left, left_numbers, since = list[Partial](), bytearray(), 0
        for place, new in replaced:
            left += partials[since:place]
            left += new
            left_numbers += numbers[since:place]
            left_numbers += _numbers(new)
            since = place + 1
        state.partials, state.numbers = left + partials[since:], left_numbers + numbers[since:]
        return True

    def prune(self, state: KeyState, time: int) -> tuple[list[Match], list[tuple[Match, int]]]:
        """Time has come to ``time``: the matches of NOT patterns that have passed, and the partial matches that have
        timed out, each with the time when it did."""
        partials, window = state.partials, self.window
        if not self.state_windows and (not window or not partials or time - partials[0][3] < window):
            return [], []
        kept: list[Partial] = []
        passed: list[Partial] = []
        timeouts: list[tuple[Match, int]] = []
        for place, partial in enumerate(partials):
            number, version, node, first, _, last = partial
            of_state = self.state_windows.get(number)
            if of_state is not None and time - last >= of_state:
                at = last + of_state
            elif window and time - first >= window:
                at = first + window
            elif self.state_windows:
                kept.append(partial)
                continue
            else:
                # The others began later.
                kept = partials[place:]
                break
            if number in self._pending:
                passed.append(partial)
                continue
            if self.timeouts:
                timeouts.append((matched(state.nodes, node, version), at))
            release(state.nodes, node, version)
        if len(kept) == len(partials):
            return [], []
        if state.numbers is not None:
            state.numbers = None if self.state_windows else state.numbers[len(partials) - len(kept) :]
        state.partials = kept
        return self._complete(state, passed), timeouts

    def _outcome(self, number: int, event: Any, answers: Answers, context: _Context | None) -> Outcome:
        node: Any = self._roots[number]
        while node.__class__ is Question:
            condition = node.condition
            answer = answers[condition]
            if answer is None:
                try:
                    answer = answers[condition] = bool(self._filters[condition](event, context))  # type: ignore[arg-type]
                except Exception as error:
                    raise ConditionError(event) from error
            node = node.ways[answer] or self._decisions.grow(number, node, answer)
        outcome: Outcome = node
        return outcome

    def _complete(self, state: KeyState, finals: list[Partial]) -> list[Match]:
        """Matches that can be told now, in order, after which others may be dropped."""
        completed, skipping = state.completed, self._skipping
        for final in finals:
            heap.push(completed, final, _by_first_event)
        matches: list[Match] = []
        while completed:
            partials = state.partials
            if skipping.skips and partials and partials[0][3:5] < completed[0][3:5]:
                break
            _, version, node, _, _, _ = heap.pop(completed, _by_first_event)
            found = paths(state.nodes, node, version)
            if skipping.skips:
                self._skip(state, found)
            if found:
                matches.append(events_by_name(found[0]))
            release(state.nodes, node, version)
        if not state.partials and not completed:
            state.nodes.clear()  # what odd patterns have left behind
        return matches

    def _skip(self, state: KeyState, found: list[Any]) -> None:
        until, inclusive = self._skipping.until(found), self._skipping.inclusive
        if until is None:
            return
        for partials in (state.partials, state.completed):
            kept = []
            for partial in partials:
                if partial[3:5] < until or (inclusive and partial[3:5] == until):
                    release(state.nodes, partial[2], partial[1])
                else:
                    kept.append(partial)
            if len(kept) != len(partials):
                partials[:] = kept
                state.numbers = None
                if partials is state.completed:
                    heap.heapify(partials, _by_first_event)


def _mask(condition: ColumnCondition, events: Sequence[Any]) -> Sequence[bool]:
    """:raises ConditionError: it fails; with the first event that it fails for."""
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
    """The numbers of their states."""
    return bytearray([partial[0] for partial in partials])


def matched(nodes: Nodes, node: int, version: Version) -> Match:
    """What a partial match has so far."""
    found = paths(nodes, node, version)
    return events_by_name(found[0]) if found else {}


class _Step:
    """One event on its way through a key's partial matches."""

    __slots__ = ("_event", "_event_id", "_pages", "_state", "finals", "time")

    def __init__(self, state: KeyState, event: Any, time: int) -> None:
        self._state, self._event, self.time = state, event, time
        self._event_id = -1
        self._pages: dict[str, int] = {}
        self.finals: list[Partial] = []

    def follow(self, partial: Partial, outcome: Outcome) -> list[Partial]:
        """What becomes of a partial match."""
        _, version, node, first, first_id, last = partial
        nodes = self._state.nodes
        new: list[tuple[Partial, Kind]] = []
        for move in outcome.moves:
            increased = (*version[:-1], version[-1] + move.increase) if move.increase else version
            if move.kind == TAKE:
                here = self._take(move.page, node, increased)
                self._taken(new, move, here, (*increased, 0), first, first_id)
            else:
                new_version = increased if move.kind == PASS else (*increased, 0)
                lock(nodes.get(node), new_version)
                new.append(((move.target, new_version, node, first, first_id, last), move.target_kind))
        release(nodes, node, version)
        return self._sort(new)

    def begin(self, outcome: Outcome) -> list[Partial]:
        """The partial matches that begin with the event."""
        state = self._state
        new: list[tuple[Partial, Kind]] = []
        for move in outcome.moves:
            increased = (state.run + move.increase,)
            here = self._take(move.page, None, increased)
            self._taken(new, move, here, (*increased, 0), self.time, self._event_id)
        state.run += outcome.start_increase
        return self._sort(new)

    def _taken(
        self, new: list[tuple[Partial, Kind]], move: Move, node: int, version: Version, first: int, first_id: int
    ) -> None:
        """Add the partial match that has taken the event, and the match that it may be already."""
        nodes = self._state.nodes
        lock(nodes.get(node), version)
        new.append(((move.target, version, node, first, first_id, self.time), move.target_kind))
        if move.final is not None:
            lock(nodes.get(node), version)
            new.append(((move.final, version, node, first, first_id, self.time), Kind.FINAL))

    def _sort(self, new: list[tuple[Partial, Kind]]) -> list[Partial]:
        """Matches apart; the partial matches, unless a NOT pattern ends all that came of the same one."""
        if len(new) == 1 and new[0][1] is NORMAL:
            return [new[0][0]]
        nodes, retained, stopped = self._state.nodes, list[Partial](), False
        for partial, kind in new:
            if kind is FINAL:
                self.finals.append(partial)
            elif kind is STOP:
                stopped = True
                release(nodes, partial[2], partial[1])
            else:
                retained.append(partial)
        if not stopped:
            return retained
        for partial in retained:
            release(nodes, partial[2], partial[1])
        return []

    def _take(self, page: str, previous: int | None, version: Version) -> int:
        """The node of the event under a name, with an edge back; its number."""
        state = self._state
        nodes = state.nodes
        if previous is not None:
            lock(nodes.get(previous), version)
        number = self._pages.get(page, -1)
        node = nodes.get(number)
        if node is None:
            number = self._pages[page] = state.node_number
            state.node_number += 1
            node = nodes[number] = [page, self._event, self.time, self._id(), 0, []]
        node[EDGES].append([previous, version, 0])
        return number

    def _id(self) -> int:
        """The number of the event among those of its time."""
        if self._event_id < 0:
            state = self._state
            if state.time != self.time:
                state.time, state.event_number = self.time, 0
            self._event_id = state.event_number
            state.event_number += 1
        return self._event_id


class _Context(Context):
    """What a condition sees of one partial match; None is one that has not begun."""

    __slots__ = ("_matched", "_nfa", "_partial", "_state", "_time")

    def __init__(self, nfa: Nfa, state: KeyState, partial: Partial | None, time: int) -> None:
        self._nfa, self._state, self._partial, self._time = nfa, state, partial, time
        self._matched: Match | None = {} if partial is None else None

    def get_events_for_pattern(self, name: str) -> Sequence[Any]:
        found = self._matched
        if found is None:
            assert self._partial is not None
            found = self._matched = matched(self._state.nodes, self._partial[2], self._partial[1])
        return found.get(name, ())

    def timestamp(self) -> int:
        return self._time

    def current_processing_time(self) -> int:
        return self._nfa.now()
