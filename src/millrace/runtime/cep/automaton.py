"""The states and transitions that a pattern is compiled to, and what a state does with an event.

Conditions become numbered tests: combined conditions are taken apart, and equal conditions share one number. What a
state does with an event is a decision tree that grows as conditions are evaluated: only the conditions that the
transitions need, in their order. The outcome depends on the answers alone, so it is worked out once and stored in the
leaf.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from millrace.runtime.cep.description import (
    AndCondition,
    IterativeCondition,
    NotCondition,
    OrCondition,
    SimpleCondition,
    Step,
)

Test = Any
"""When a transition can be taken: True, the number of a condition, or ("not", Test), ("and" | "or", Test, Test)"""


class Kind(Enum):
    """The kind of a state."""

    START = "start"
    NORMAL = "normal"
    PENDING = "pending"
    """a match as soon as its time limit has passed, because a NOT pattern is at the end"""
    FINAL = "final"
    STOP = "stop"
    """a NOT pattern has matched"""


class Action(Enum):
    """What a transition does with the event."""

    TAKE = "take"
    """the event becomes part of the match"""
    IGNORE = "ignore"
    """the event is skipped"""
    PROCEED = "proceed"
    """another state looks at the same event"""


@dataclass(eq=False)
class Transition:
    """A transition out of a state. Compiling a greedy loop narrows the tests of the states behind the loop."""

    action: Action
    target: State
    test: Test


@dataclass(eq=False)
class State:
    """A state; its transitions are looked at in their order."""

    name: str
    """unique: the step's name, then that with ":0", ":1", ... (partial matches and windows go by it)"""
    page: str
    """the name of the step"""
    kind: Kind
    transitions: list[Transition] = field(default_factory=list)

    def add(self, action: Action, target: State, test: Test) -> None:
        self.transitions.append(Transition(action, target, test))


@dataclass(frozen=True, eq=False)
class Automaton:
    """A compiled pattern."""

    states: tuple[State, ...]
    start: State
    conditions: tuple[IterativeCondition, ...]
    """the distinct conditions, simple ones first; the numbers of a ``Test`` are indexes into it"""
    simple: int
    """number of simple conditions, which look at the event alone"""
    window: int
    """the longest time between the first and the last event of a match (ms); 0: no limit"""
    state_windows: dict[str, int]
    """name of a state -> the longest time since the event before (ms)"""


def negated(test: Test) -> Test:
    return ("not", test)


def both(left: Test, right: Test) -> Test:
    """``left and right``, evaluated in this order; a part that is always true is left out."""
    if left is True:
        return right
    return left if right is True else ("and", left, right)


# Conditions as numbered tests


class Numbering:
    """Numbers the conditions of a pattern, simple ones first."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        found: dict[int, IterativeCondition] = {}
        for condition in conditions_of(steps):
            found[id(condition)] = condition
        simple = [each for each in found.values() if isinstance(each, SimpleCondition)]
        others = [each for each in found.values() if not isinstance(each, SimpleCondition)]
        self.conditions = (*simple, *others)
        self.simple = len(simple)
        self._numbers = {id(condition): number for number, condition in enumerate(self.conditions)}

    def test(self, condition: IterativeCondition | None) -> Test:
        """The numbered test for a condition; None is always true."""
        if condition is None:
            return True
        if isinstance(condition, AndCondition):
            return ("and", self.test(condition.left), self.test(condition.right))
        if isinstance(condition, OrCondition):
            return ("or", self.test(condition.left), self.test(condition.right))
        if isinstance(condition, NotCondition):
            return ("not", self.test(condition.negated))
        return self._numbers[id(condition)]


def conditions_of(steps: tuple[Step, ...]) -> list[IterativeCondition]:
    """The conditions of all steps, with combined ones taken apart."""
    found: list[IterativeCondition] = []
    for step in steps:
        for condition in (step.condition, step.until):
            if condition is not None:
                found += _leaves(condition)
        found += conditions_of(step.group or ())
    return found


def _leaves(condition: IterativeCondition) -> list[IterativeCondition]:
    if isinstance(condition, (AndCondition, OrCondition)):
        return [*_leaves(condition.left), *_leaves(condition.right)]
    if isinstance(condition, NotCondition):
        return _leaves(condition.negated)
    return [condition]


# Decisions of a state

PASS, LEAVE, TAKE = 0, 1, 2
"""kinds of ``Move``: stay in the state without the event, leave it without the event, take the event"""


@dataclass(frozen=True, slots=True)
class Move:
    """A transition of a partial match, possibly over several states."""

    kind: int
    target: int
    """number of the state"""
    target_kind: Kind
    page: str
    """name of the step that takes the event"""
    final: int | None
    """number of the final state that is reached without a further event"""


UNCHANGED, ENDS, GOES_ON, SEVERAL = range(4)
"""kinds of ``Outcome``: the partial match is unchanged (at the start: none begins); it ends; it takes the event and
goes to one state; anything else"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a partial match becomes when its state sees an event."""

    kind: int
    moves: tuple[Move, ...]
    target: int
    """the next state, for the kind GOES_ON; ``page`` is the step that takes the event"""
    page: str


class Question:
    """A condition whose answer decides how the tree continues."""

    __slots__ = ("answers", "condition", "ways")

    def __init__(self, condition: int, answers: dict[int, bool]) -> None:
        self.condition = condition
        self.answers = answers
        """number of a condition -> its answer, on the path from the root to this question"""
        self.ways: list[Question | Outcome | None] = [None, None]
        """the nodes for the answers False and True; None: not worked out yet"""


class _Unanswered(Exception):
    def __init__(self, condition: int) -> None:
        self.condition = condition


class Decisions:
    """The decision trees of all states."""

    def __init__(self, automaton: Automaton) -> None:
        self._numbers = {id(state): number for number, state in enumerate(automaton.states)}
        self._states = automaton.states
        self.roots: list[Question | Outcome] = [self._node(state, {}) for state in automaton.states]
        self.iterative = [any(number >= automaton.simple for number in _asked(state)) for state in automaton.states]
        """for each state, whether it may evaluate a condition that looks at more than the event"""

    def grow(self, state: int, question: Question, answer: bool) -> Question | Outcome:
        """The way on from a question that was not taken before."""
        node = self._node(self._states[state], {**question.answers, question.condition: answer})
        question.ways[answer] = node
        return node

    def _node(self, state: State, answers: dict[int, bool]) -> Question | Outcome:
        try:
            return self._outcome(state, answers)
        except _Unanswered as unanswered:
            return Question(unanswered.condition, answers)

    def _outcome(self, state: State, answers: dict[int, bool]) -> Outcome:
        at_start = state.kind is Kind.START
        moves = []
        for source, edge in _edges(state, answers):
            if edge.action is Action.TAKE:
                moves.append(self._move(TAKE, edge.target, source.page, _final(edge.target, answers)))
            elif not at_start:
                moves.append(self._move(PASS if edge.target is state else LEAVE, edge.target))
        return _outcome_of(tuple(moves), at_start)

    def _move(self, kind: int, target: State, page: str = "", final: State | None = None) -> Move:
        number = None if final is None else self._numbers[id(final)]
        return Move(kind, self._numbers[id(target)], target.kind, page, number)


def _outcome_of(moves: tuple[Move, ...], at_start: bool) -> Outcome:
    if not moves:
        return Outcome(UNCHANGED if at_start else ENDS, moves, -1, "")
    first = moves[0]
    if len(moves) > 1 or first.final is not None:
        return Outcome(SEVERAL, moves, -1, "")
    if first.kind == PASS:
        return Outcome(UNCHANGED, moves, -1, "")
    goes_on = first.kind == TAKE and first.target_kind not in (Kind.FINAL, Kind.STOP)
    return Outcome(GOES_ON, moves, first.target, first.page) if goes_on else Outcome(SEVERAL, moves, -1, "")


def _edges(state: State, answers: dict[int, bool]) -> list[tuple[State, Transition]]:
    """The transitions that take or ignore the event, with the states that they leave, in Flink's order."""
    found, waiting = [], [state]
    while waiting:
        here = waiting.pop()
        for each in here.transitions:
            if _holds(each.test, answers):
                if each.action is Action.PROCEED:
                    waiting.append(each.target)
                else:
                    found.append((here, each))
    return found


def _final(state: State, answers: dict[int, bool]) -> State | None:
    """The final state that can be proceeded to."""
    waiting = [state]
    while waiting:
        for each in waiting.pop().transitions:
            if each.action is Action.PROCEED and _holds(each.test, answers):
                if each.target.kind is Kind.FINAL:
                    return each.target
                waiting.append(each.target)
    return None


def _holds(test: Test, answers: dict[int, bool]) -> bool:
    if test is True:
        return True
    if isinstance(test, int):
        if test not in answers:
            raise _Unanswered(test)
        return answers[test]
    if test[0] == "not":
        return not _holds(test[1], answers)
    if test[0] == "and":
        return _holds(test[1], answers) and _holds(test[2], answers)
    return _holds(test[1], answers) or _holds(test[2], answers)


def _asked(state: State) -> set[int]:
    """The conditions that a state may ask about one event."""
    found: set[int] = set()
    taken: list[State] = []
    for here in _proceeding([state]):
        for each in here.transitions:
            found |= _numbers(each.test)
            if each.action is Action.TAKE:
                taken.append(each.target)
    for here in _proceeding(taken):
        for each in here.transitions:
            if each.action is Action.PROCEED:
                found |= _numbers(each.test)
    return found


def _proceeding(states: list[State]) -> Iterator[State]:
    """The given states, and all states that see the same event through PROCEED transitions."""
    waiting, seen = list(states), set(map(id, states))
    while waiting:
        here = waiting.pop()
        yield here
        for each in here.transitions:
            if each.action is Action.PROCEED and id(each.target) not in seen:
                seen.add(id(each.target))
                waiting.append(each.target)


def _numbers(test: Any) -> set[int]:
    if test is True:
        return set()
    if isinstance(test, int):
        return {test}
    return set().union(*map(_numbers, test[1:]))
