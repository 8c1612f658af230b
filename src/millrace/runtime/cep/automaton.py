"""States and transitions that a pattern is compiled to, and expressions over its conditions."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from millrace.runtime.cep.conditions import IterativeCondition

Test = Any
"""When a transition can be taken: True, the number of a condition, or ("not", Test), ("and" | "or", Test, Test)"""


class Kind(Enum):
    """What a state is."""

    START = "start"
    NORMAL = "normal"
    PENDING = "pending"
    """a match once its window has passed: a NOT pattern is at the end"""
    FINAL = "final"
    STOP = "stop"
    """a NOT pattern has matched"""


class Action(Enum):
    """What a transition does with the event."""

    TAKE = "take"
    """the event becomes part of the match"""
    IGNORE = "ignore"
    """the event is passed over"""
    PROCEED = "proceed"
    """to another state, which looks at the same event"""


@dataclass(eq=False)
class Transition:
    """A way out of a state. Compiling a greedy loop narrows the tests of those behind it."""

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
    """each once, the simple ones first; ``Test`` numbers them"""
    simple: int
    """how many of them look at the event alone"""
    window: int
    """from the first event of a match, ms; 0 without"""
    state_windows: dict[str, int]
    """from the event before, by the name of the state"""


def negated(test: Test) -> Test:
    return ("not", test)


def both(left: Test, right: Test) -> Test:
    """``left and right``, in this order; what is always true falls away."""
    if left is True:
        return right
    return left if right is True else ("and", left, right)
