"""What a state does with an event, as a tree of questions that grows as they are answered.

Conditions are asked in the order and only as far as the transitions need the answers. What then is to be done depends
on the answers alone, so it is worked out once and kept at the leaf.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from millrace.runtime.cep.automaton import Action, Automaton, Kind, State, Test, Transition

PASS, LEAVE, TAKE = 0, 1, 2
"""kinds of ``Move``: stay and pass over the event, go on without it, take it"""


@dataclass(frozen=True, slots=True)
class Move:
    """One way on for a partial match."""

    kind: int
    target: int
    """number of the state"""
    target_kind: Kind
    page: str
    """under which name the event is taken"""
    final: int | None
    """number of the final state that is reached without a further event"""


UNCHANGED, ENDS, GOES_ON, SEVERAL = range(4)
"""kinds of ``Outcome``: a partial match stays as it is (at the start: none begins); it is no more; it takes the event
and goes on to one state; anything else"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a partial match in a state becomes."""

    kind: int
    moves: tuple[Move, ...]
    target: int
    """of GOES_ON: where to, and under which name the event is taken"""
    page: str


class Question:
    """A condition whose answer decides how to go on."""

    __slots__ = ("answers", "condition", "ways")

    def __init__(self, condition: int, answers: dict[int, bool]) -> None:
        self.condition = condition
        self.answers = answers
        """those on the way here"""
        self.ways: list[Question | Outcome | None] = [None, None]
        """for False and True; None until it was needed"""


class _Unanswered(Exception):
    def __init__(self, condition: int) -> None:
        self.condition = condition


class Decisions:
    """The trees of all states."""

    def __init__(self, automaton: Automaton) -> None:
        self._numbers = {id(state): number for number, state in enumerate(automaton.states)}
        self._states = automaton.states
        self.roots: list[Question | Outcome] = [self._node(state, {}) for state in automaton.states]
        self.iterative = [
            any(number >= automaton.simple for number in _asked(state)) for state in automaton.states
        ]
        """for each state whether it may ask a condition that looks at more than the event"""

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
    """The states, and those that look at the same event after them."""
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
