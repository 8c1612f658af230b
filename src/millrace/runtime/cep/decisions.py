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


@dataclass(frozen=True)
class Move:
    """One way on for a partial match."""

    kind: int
    increase: int
    """of the last digit of its version"""
    target: int
    """number of the state"""
    target_kind: Kind
    page: str
    """under which name the event is taken"""
    final: int | None
    """number of the final state that is reached without a further event"""


@dataclass(frozen=True)
class Outcome:
    """What a partial match in a state becomes."""

    moves: tuple[Move, ...]
    start_increase: int
    """of the version of the start state"""
    unchanged: bool
    """whether a partial match stays as it is; at the start: whether none begins"""


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
        edges = _edges(state, answers)
        takes = sum(edge.action is Action.TAKE for _, edge in edges)
        ignores = sum(edge.action is Action.IGNORE and edge.target is not state for _, edge in edges)
        to_stay = ignores + max(1, takes) if takes or ignores else 0
        at_start = state.kind is Kind.START
        moves = []
        takes_left, ignores_left = max(0, takes - 1), ignores
        for source, edge in edges:
            if edge.action is Action.TAKE:
                moves.append(self._move(TAKE, takes_left, edge.target, source.page, _final(edge.target, answers)))
                takes_left -= 1
            elif at_start:
                continue
            elif edge.target is state:
                moves.append(self._move(PASS, to_stay, state))
            else:
                moves.append(self._move(LEAVE, max(0, takes - 1) + ignores_left, edge.target))
                ignores_left -= 1
        stays = len(moves) == 1 and moves[0].kind == PASS and moves[0].increase == 0
        return Outcome(tuple(moves), to_stay, not moves if at_start else stays)

    def _move(self, kind: int, increase: int, target: State, page: str = "", final: State | None = None) -> Move:
        number = None if final is None else self._numbers[id(final)]
        return Move(kind, increase, self._numbers[id(target)], target.kind, page, number)


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
