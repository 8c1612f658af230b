"""Compiles a pattern to states and transitions, and checks the rules for whole patterns.

As in Flink, states are made from the last step to the first one: this order decides the names of a step's states, and
the order of transitions decides in which order matches are found. What looks odd here (the time limit of a loop is on
all of its states but one; a greedy loop narrows the tests of the states behind it) is what Flink's automaton does.
Rules for single calls are checked where the pattern is built.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from millrace.runtime.cep.automaton import Action, Automaton, Kind, Numbering, State, Test, both, negated
from millrace.runtime.cep.description import Contiguity, MalformedPatternException, PatternDescription, Step, Times

# Checks


def check_pattern(pattern: PatternDescription) -> None:
    """Check the names of the steps, and the target of the skip strategy.

    :raises MalformedPatternException: a rule is broken.
    """
    if not pattern.steps:
        raise MalformedPatternException("A pattern needs at least one step")
    seen: set[str] = set()
    for step in single_steps(pattern.steps):
        if step.name in seen:
            raise MalformedPatternException(f"Duplicate pattern name: {step.name}. Names must be unique.")
        seen.add(step.name)
    target = pattern.skip.name
    if target is not None and all(step.group is not None or step.name != target for step in pattern.steps):
        why = f"{target} is inside a group" if target in seen else f"there is no pattern {target}"
        raise MalformedPatternException(
            f"The pattern name specified in AfterMatchSkipStrategy can not be found in the given Pattern: {why}"
        )


def check_windows(pattern: PatternDescription, window: int | None, state_windows: dict[str, int]) -> None:
    """Check the time limits between events against that of the whole match, and that a NOT pattern at the end has a
    time limit.

    :raises MalformedPatternException: a rule is broken.
    """
    for name, length in state_windows.items():
        if window is not None and length > window:
            raise MalformedPatternException(
                f"The window between the previous and the current event of {name.partition(':')[0]} ({length} ms) is "
                f"larger than the window between the first and the last event ({window} ms)"
            )
    last = pattern.steps[-1]
    if last.contiguity is Contiguity.NOT_FOLLOW and not (window or state_windows.get(last.name)):
        raise MalformedPatternException(
            f"NotFollowedBy is not supported without windowTime as a last part of a Pattern: {last.name} needs within()"
        )


def check_automaton(automaton: Automaton) -> None:
    """Check for automatons that can't run: a NOT pattern before the first event, a loop over nothing.

    :raises MalformedPatternException: a rule is broken.
    """
    for state in _proceeding(automaton.start):
        if state.kind is Kind.STOP:
            raise MalformedPatternException(
                f"The NOT pattern {state.page} may come first, since all that is before it may be left out"
            )
    for state in automaton.states:
        if any(target is state for first in _targets(state) for target in _proceeding(first)):
            raise MalformedPatternException(
                f"A group that repeats must take an event in each round: all of its patterns may be left out, "
                f"{state.page} among them"
            )


def single_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """The steps that are not groups, including those in groups."""
    for step in steps:
        if step.group is None:
            yield step
        else:
            yield from single_steps(step.group)


def _targets(state: State) -> list[State]:
    return [each.target for each in state.transitions if each.action is Action.PROCEED]


def _proceeding(state: State) -> Iterator[State]:
    """The state itself, and all states that see the same event through PROCEED transitions."""
    seen, waiting = {id(state)}, [state]
    while waiting:
        here = waiting.pop()
        yield here
        for target in _targets(here):
            if id(target) not in seen:
                seen.add(id(target))
                waiting.append(target)


# The compiler

END = "$endState$"
PROCEED, TAKE, IGNORE = Action.PROCEED, Action.TAKE, Action.IGNORE


def compile_pattern(pattern: PatternDescription) -> Automaton:
    """The automaton of a pattern.

    :raises MalformedPatternException: the pattern breaks a rule.
    """
    check_pattern(pattern)
    builder = _Builder(pattern.steps)
    sink = builder.create(END, END, Kind.FINAL)
    sink = builder.behind_first(_Place(pattern.steps, None), sink)
    start = builder.step(_Place(pattern.steps, None).at(0), sink)
    start.kind = Kind.START
    check_windows(pattern, builder.window, builder.state_windows)
    numbering = builder.numbering
    automaton = Automaton(
        tuple(builder.states), start, numbering.conditions, numbering.simple, builder.window or 0, builder.state_windows
    )
    check_automaton(automaton)
    return automaton


@dataclass(frozen=True)
class _Place:
    """A step in its sequence; ``group`` is the group that contains the sequence."""

    steps: tuple[Step, ...]
    group: Step | None
    index: int = 0
    following: Step | None = None
    """the step that was compiled before this one"""

    @property
    def step(self) -> Step:
        return self.steps[self.index]

    def at(self, index: int) -> _Place:
        following = self.steps[index + 1] if index + 1 < len(self.steps) else self.following
        return _Place(self.steps, self.group, index, following)

    @property
    def heads_group(self) -> bool:
        return self.group is not None and self.index == 0


class _Builder:
    """Builds the states of a pattern; holds those built so far."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self.states: list[State] = []
        self.state_windows: dict[str, int] = {}
        self.window = steps[-1].within
        self.numbering = Numbering(steps)
        self._names: set[str] = set()
        self._stops: dict[str, State] = {}
        self._first_of_loop: dict[int, bool] = {}
        """group -> whether the states being made belong to its first round"""
        self._originals: dict[str, State] = {}
        """state after a greedy loop with ``until`` -> the state before its tests were narrowed"""

    # Sequences and steps

    def behind_first(self, place: _Place, sink: State) -> State:
        """Make the states of all steps of a sequence except the first; returns the one that the first step leads to."""
        for index in range(len(place.steps) - 1, 0, -1):
            here = place.at(index)
            if here.step.contiguity is Contiguity.NOT_FOLLOW:
                sink = self._not_follow(here, sink)
            elif here.step.contiguity is Contiguity.NOT_NEXT:
                sink = self._not_next(here, sink)
            else:
                sink = self.step(here, sink)
            within = place.steps[index - 1].within
            if within is not None and (self.window is None or within < self.window):
                self.window = within
        return sink

    def _not_follow(self, place: _Place, sink: State) -> State:
        """Make the state of a NOT pattern, which has one only at the end: others are added to the states before
        (``_add_stops``)."""
        if sink.kind is not Kind.FINAL or not (place.step.within_previous is not None or self.window):
            return sink
        waiting = self._create(place, Kind.PENDING, taking=True)
        excluded = self._take_test(place)
        waiting.add(PROCEED, self._stop(place.step.name, excluded), excluded)
        waiting.add(IGNORE, waiting, negated(excluded))
        return waiting

    def _not_next(self, place: _Place, sink: State) -> State:
        state = self._create(place, Kind.NORMAL, taking=True)
        excluded = self._take_test(place)
        stop = self._stop(place.step.name, excluded)
        state.add(IGNORE if sink.kind is Kind.FINAL else PROCEED, sink, negated(excluded))
        state.add(PROCEED, stop, excluded)
        return state

    def step(self, place: _Place, sink: State) -> State:
        """Make the states of a step that is not a NOT pattern; returns the first of them."""
        step, times = place.step, place.step.quantifier.times
        if step.quantifier.looping:
            self._set_first_of_loop(step, False)
            loop = self._loop(place, self._without_nots(place, sink))
            self._set_first_of_loop(step, True)
            first = self._times(place, loop, sink, Times(_least(times), _least(times)))
        elif times is not None:
            first = self._times(place, sink, sink, times)
        else:
            optional = step.quantifier.optional
            first = self._single(place, sink, sink, self._take_test(place), self._ignore_test(place), optional)
        self._add_stops(place, first)
        return first

    def _times(self, place: _Place, sink: State, after: State, times: Times) -> State:
        step, quantifier = place.step, place.step.quantifier
        until = self._until(step)
        inner = self._with_until(self._inner_ignore_test(place), until, False)
        take = self._with_until(self._take_test(place), until, True)
        assert take is not None
        most = times.least if times.most is None else times.most
        last = sink
        self._set_first_of_loop(step, False)
        if quantifier.greedy and most != times.least:
            if until is not None:
                self._originals[sink.name] = self._copy(sink)
            _narrow(sink, take)
        for _ in range(times.least, most):
            last = self._single(place, last, after, take, inner, True)
            self._add_stop_to_loop(place, last)
        for _ in range(times.least - 1):
            last = self._single(place, last, None, take, inner, False)
            self._add_stop_to_loop(place, last)
        self._set_first_of_loop(step, True)
        return self._single(place, last, after, take, self._ignore_test(place), quantifier.optional)

    def _single(
        self, place: _Place, sink: State, after: State | None, take: Test, ignore: Test | None, optional: bool
    ) -> State:
        """Make a state that takes one event and leads to ``sink``; the state of an optional step leads to ``after``,
        too."""
        step = place.step
        if step.group is not None:
            return self._group(place, sink, after, optional)
        state = self._create(place, Kind.NORMAL, taking=True)
        sink = self._without_nots(place, sink)
        state.add(TAKE, sink, take)
        if optional:
            assert after is not None
            always = self._always(place)
            until = self._until(step) if step.quantifier.greedy else None
            if until is not None:
                state.add(PROCEED, self._originals.get(after.name, after), both(always, until))
                always = both(always, negated(until))
            state.add(PROCEED, after, always)
        if ignore is not None:
            waiting = state
            if optional or self._heads_optional_group(place):
                waiting = self._create(place, Kind.NORMAL, taking=False)
                waiting.add(TAKE, sink, take)
                waiting.add(IGNORE, waiting, ignore)
                self._add_stops(place, waiting)
            state.add(IGNORE, waiting, ignore)
        return state

    def _loop(self, place: _Place, sink: State) -> State:
        """Make the state that takes any number of events."""
        step = place.step
        if step.group is not None:
            return self._group_loop(place, sink)
        until = self._until(step)
        ignore = self._with_until(self._inner_ignore_test(place), until, False)
        take = self._with_until(self._take_test(place), until, True)
        always = self._always(place)
        state = self._create(place, Kind.NORMAL, taking=True)
        if step.quantifier.greedy:
            if until is not None:
                original = self._originals[sink.name] = self._copy(sink)
                state.add(PROCEED, original, both(always, until))
                always = both(always, negated(until))
            state.add(PROCEED, sink, always)
            _narrow(sink, self._take_test(place))
        else:
            state.add(PROCEED, sink, always)
        state.add(TAKE, state, take)
        self._add_stop_to_loop(place, state)
        if ignore is not None:
            waiting = self._create(place, Kind.NORMAL, taking=False)
            waiting.add(TAKE, state, take)
            waiting.add(IGNORE, waiting, ignore)
            state.add(IGNORE, waiting, ignore)
            self._add_stop_to_loop(place, waiting)
        return state

    def _group(self, place: _Place, sink: State, after: State | None, optional: bool) -> State:
        always = self._always(place)
        first = self._inside(place, sink)
        if optional:
            assert after is not None
            first.add(PROCEED, after, always)
        return first

    def _group_loop(self, place: _Place, sink: State) -> State:
        always = self._always(place)
        again = self._create(place, Kind.NORMAL, taking=True)
        first = self._inside(place, again)
        first.add(PROCEED, sink, always)
        again.add(PROCEED, first, always)
        return first

    def _inside(self, place: _Place, sink: State) -> State:
        assert place.step.group is not None
        inner = _Place(place.step.group, place.step, following=place.following)
        return self.step(inner.at(0), self.behind_first(inner, sink))

    # States

    def create(self, name: str, page: str, kind: Kind) -> State:
        """Make a state with a unique name."""
        unique, count = name, 0
        while unique in self._names:
            unique, count = f"{name}:{count}", count + 1
        self._names.add(unique)
        state = State(unique, page, kind)
        self.states.append(state)
        return state

    def _create(self, place: _Place, kind: Kind, taking: bool) -> State:
        """Make a state of a step. If it takes events, the step's time limit since the event before applies to it."""
        step, times = place.step, place.step.quantifier.times
        state = self.create(step.name, step.name, kind)
        if taking:
            window = step.within_previous if times is None else times.window if state.name != step.name else None
            if window is not None:
                self.state_windows[state.name] = window
        return state

    def _copy(self, state: State) -> State:
        copy = self.create(state.page, state.page, state.kind)
        for each in state.transitions:
            copy.add(each.action, copy if each.target is state else each.target, each.test)
        return copy

    def _without_nots(self, place: _Place, state: State) -> State:
        """A state after an optional step, for the case that the step has matched: the NOT patterns before the step
        don't apply any more."""
        excluded = [step.name for step in _nots_before(place)]
        if not excluded or not place.step.quantifier.optional:
            return state
        copy = self.create(state.name, state.page, state.kind)
        for each in state.transitions:
            if each.action is not PROCEED:
                copy.add(each.action, copy if each.target is state else each.target, each.test)
            elif each.target.kind is not Kind.STOP:
                copy.add(PROCEED, self._without_nots(place, each.target), each.test)
            elif each.target.name not in excluded:
                copy.add(PROCEED, each.target, each.test)
        return copy

    def _stop(self, name: str, excluded: Test) -> State:
        stop = self._stops.get(name)
        if stop is None:
            stop = self._stops[name] = self.create(name, name, Kind.STOP)
            stop.add(TAKE, stop, excluded)
        return stop

    def _add_stops(self, place: _Place, state: State) -> None:
        """Add the events that NOT patterns right before a step exclude."""
        for step in _nots_before(place):
            excluded = self._test_of(step, place.group)
            state.add(PROCEED, self._stop(step.name, excluded), excluded)

    def _add_stop_to_loop(self, place: _Place, state: State) -> None:
        following = place.following
        if following is not None and following.contiguity is Contiguity.NOT_FOLLOW:
            excluded = self._test_of(following, place.group)
            state.add(PROCEED, self._stop(following.name, excluded), excluded)

    # Tests

    def _until(self, step: Step) -> Test | None:
        return None if step.until is None else self.numbering.test(step.until)

    def _with_until(self, test: Test | None, until: Test | None, taking: bool) -> Test | None:
        """``test``, as long as ``until`` has not held. None is a missing test: for taking it becomes the test that
        ``until`` has not held, otherwise it stays None."""
        if until is None:
            return test
        if test is not None:
            return both(negated(until), test)
        return negated(until) if taking else None

    def _in_group(self, test: Test | None, group: Step | None, taking: bool) -> Test | None:
        return test if group is None else self._with_until(test, self._until(group), taking)

    def _test_of(self, step: Step, group: Step | None) -> Test:
        return self._in_group(self.numbering.test(step.condition), group, True)

    def _take_test(self, place: _Place) -> Test:
        return self._test_of(place.step, place.group)

    def _always(self, place: _Place) -> Test:
        return self._in_group(True, place.group, True)

    def _ignore_test(self, place: _Place) -> Test | None:
        """The test for events that may be skipped before the step; None: none may be skipped."""
        contiguity = place.step.contiguity
        if place.heads_group:
            group = place.group
            assert group is not None
            first = self._first_of_loop.get(id(group), True)
            contiguity = group.contiguity if first else group.quantifier.inner
        return self._passing(place, contiguity)

    def _inner_ignore_test(self, place: _Place) -> Test | None:
        """The test for events that may be skipped between two repetitions of the step; None: none may be skipped."""
        quantifier = place.step.quantifier
        if place.heads_group:
            assert place.group is not None
            quantifier = place.group.quantifier
        return self._passing(place, quantifier.inner)

    def _passing(self, place: _Place, contiguity: Contiguity) -> Test | None:
        test: Test | None = None
        if contiguity is Contiguity.RELAXED:
            test = negated(self.numbering.test(place.step.condition))
        elif contiguity is Contiguity.RELAXED_ANY:
            test = True
        return self._in_group(test, place.group, False)

    # Groups

    def _set_first_of_loop(self, step: Step, first: bool) -> None:
        if step.group is not None:
            self._first_of_loop[id(step)] = first

    def _heads_optional_group(self, place: _Place) -> bool:
        if not place.heads_group:
            return False
        assert place.group is not None
        return self._first_of_loop.get(id(place.group), True) and place.group.quantifier.optional


def _least(times: Times | None) -> int:
    assert times is not None
    return times.least


def _narrow(state: State, take: Test) -> None:
    """Narrow all transitions that leave this state to events that a greedy loop does not take."""
    for each in state.transitions:
        each.test = both(each.test, negated(take))


def _nots_before(place: _Place) -> list[Step]:
    """The NOT patterns that apply before a step: those right before it, and those before optional steps in front of
    it.
    """
    found = []
    for index in range(place.index - 1, -1, -1):
        step = place.steps[index]
        if step.contiguity is Contiguity.NOT_FOLLOW:
            found.append(step)
        elif not step.quantifier.optional:
            break
    return found
