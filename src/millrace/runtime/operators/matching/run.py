"""One pattern at work on the events of all keys: their partial matches, and when these are due."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from millrace.runtime.cep.functions import Match
from millrace.runtime.cep.key_state import KeyState, load, store
from millrace.runtime.cep.nfa import Nfa
from millrace.runtime.operators.matching.deadlines import Deadlines
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.tables import ValueTable

Tell = Callable[[Match, int], None]
"""hears of a match (or of what has timed out), with its time (ms)"""


class PatternRun:
    """A pattern with its partial matches.

    :param nfa: the pattern.
    :param backend: of the keys; their partial matches are in its table ``name``.
    :param event_time: whether the times are those of events, not of the clock.
    :param tell: hears of each match; ``timed_out`` of each partial match that has timed out.
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
        """whether events may begin matches; else those that have begun go on"""
        self.partial_matches = self.links = 0
        self._backend, self._event_time, self._tell, self._timed_out = backend, event_time, tell, timed_out
        self.states: ValueTable = backend.value_table(name)
        self._deadlines = Deadlines(exact=not event_time or bool(nfa.state_windows))
        self._every_start = bool(nfa.state_windows and nfa.window)

    def plan(self) -> None:
        """Find out when to look at the partial matches that are there already."""
        self.forget()
        get = self.states.rows.get
        for key in list(self.states.addresses()):
            state = load(get(key))
            self._count(state, 1)
            self._look_again(key, state)

    def forget(self) -> None:
        """There are no keys any more."""
        self._deadlines.clear()
        self.partial_matches = self.links = 0

    def drop(self) -> int:
        """Give up all partial matches; how many there were."""
        dropped = self.partial_matches
        rows, touched = self.states.rows, self.states.touched
        for key in list(self.states.addresses()):
            del rows[key]
            touched[key] = None
        self.forget()
        return dropped

    def next_due(self) -> int | None:
        """When the first key must be looked at though no event comes, None for never. In processing time only."""
        return self._deadlines.next_time()

    def run(
        self,
        places: dict[Any, list[int]],
        times: list[int],
        values: list[Any],
        until: int | None,
        flush: Callable[[], None],
    ) -> None:
        """Events in the order of time, each key's one after the other, then the passing of time until ``until``.

        :param places: key -> where its events are.
        :param flush: called after each key.
        :raises ConditionError: a condition fails.
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
        """Deadlines of keys have passed, or will soon; those that have are looked at in their order."""
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
        """The first partial match times out when nothing comes any more."""
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
