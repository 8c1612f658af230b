"""Finds matches with Flink's automaton, and stores its state by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from millrace.relational.nodes import Match
from millrace.relational.rex import Concatenation, Pattern, Repetition, Variable
from millrace.runtime.cep import key_state
from millrace.runtime.cep.backtracking import Found, Row
from millrace.runtime.cep.description import (
    ONCE,
    Context,
    Contiguity,
    IterativeCondition,
    PatternDescription,
    Quantifier,
    SimpleCondition,
    Skip,
    SkipKind,
    Step,
    Times,
)
from millrace.runtime.cep.key_state import KeyState
from millrace.runtime.cep.nfa import ConditionError, Nfa
from millrace.runtime.functions.runner import FunctionRunner
from millrace.runtime.tables.columns.keys import Key
from millrace.runtime.tables.matching.aggregates import Memory
from millrace.runtime.tables.matching.conditions import Evaluate
from millrace.runtime.tables.matching.definitions import Defined
from millrace.runtime.tables.matching.description import Matching
from millrace.runtime.tables.matching.machine import Machine
from millrace.runtime.tables.matching.states import MatchStates
from millrace.runtime.tables.state import KeyedValue

_SKIPS = {
    "PAST LAST ROW": SkipKind.SKIP_PAST_LAST_EVENT,
    "TO NEXT ROW": SkipKind.SKIP_TO_NEXT,
    "TO FIRST": SkipKind.SKIP_TO_FIRST,
    "TO LAST": SkipKind.SKIP_TO_LAST,
}
NUMBER = -1
"""index of an event's last value: the row's number among those that the automaton has taken"""
MOST_KNOWN = 4_096
"""the number of partial matches whose aggregates are remembered"""


@dataclass
class Running:
    """A partition: the automaton's state, and how many rows it has taken."""

    state: KeyState = field(default_factory=KeyState)
    rows: int = 0


class AutomatonMachine(Machine):
    """Finds matches with Flink's automaton. Parameters as those of ``Machine``."""

    def __init__(self, matching: Matching, functions: FunctionRunner, evaluate: Evaluate) -> None:
        node = matching.node
        self._names = [_variable(part).name for part in _parts(node.pattern)]
        # Flink accepts SUBSET, and then finds no rows for one.
        super().__init__(matching, [(name, False) for name in self._names], functions, evaluate, ())
        self._memories = Memories(self.definitions)
        self._nfa = Nfa(_described(node, self._names, self.definitions, self._memories), timeouts=False)

    @property
    def window(self) -> int:
        """The longest time between the first and the last row of a match (ms); 0: no limit."""
        return self._nfa.window

    def new(self) -> Running:
        return Running()

    def search(self, key: Key, partition: Running, new: Sequence[Row], horizon: int | None, ended: bool) -> None:
        nfa, state = self._nfa, partition.state
        self._memories.forget()
        for row in new:
            time = row[0]
            nfa.prune(state, time)
            event = (*row, partition.rows)
            partition.rows += 1
            try:
                matches = nfa.advance(state, event, time, 0)
            except ConditionError as error:
                raise (error.__cause__ or error) from error
            for match in matches:
                rows, labels = _in_order(self._names, match)
                self.output.add(key, Found(0, labels, 0, rows))
        if horizon is not None:
            nfa.prune(state, horizon - 1)


def _in_order(names: Sequence[str], match: dict[str, list[Row]]) -> tuple[list[Row], bytes]:
    """(the rows of a match, their labels)"""
    found = [(row[NUMBER], label, row) for label, name in enumerate(names) for row in match.get(name, ())]
    found.sort()
    return [row for _, _, row in found], bytes([label for _, label, _ in found])


# -- the pattern as the automaton has it ------------------------------------------------------------------------------


def _parts(pattern: Pattern) -> tuple[Pattern, ...]:
    return pattern.items if isinstance(pattern, Concatenation) else (pattern,)


def _variable(part: Pattern) -> Variable:
    found = part.inner if isinstance(part, Repetition) else part
    assert isinstance(found, Variable), "patterns beyond Flink's are not for the automaton"
    return found


def _described(node: Match, names: Sequence[str], definitions: Defined, memories: Memories) -> PatternDescription:
    parts = _parts(node.pattern)
    steps = []
    for label, part in enumerate(parts):
        looks = definitions.rest_of[label] is not None
        condition: IterativeCondition = OfRow(definitions, label)
        if looks:
            condition = OfMatch(definitions, names, label, memories)
        quantifier = _quantifier(part) if isinstance(part, Repetition) else ONCE
        within = node.within if label == len(parts) - 1 else None
        steps.append(Step(names[label], Contiguity.STRICT, condition, quantifier, within=within))
    target = node.target[0] if node.target else None
    return PatternDescription(tuple(steps), Skip(_SKIPS[node.skip], target, target is not None))


def _quantifier(part: Repetition) -> Quantifier:
    if (part.low, part.high) == (0, 1):
        return Quantifier(None, True)
    greedy = not part.reluctant and part.low != part.high
    times = Times(max(part.low, 1), part.high)
    return Quantifier(times, part.low == 0, greedy, Contiguity.STRICT)


class Memories:
    """The aggregates of partial matches: with one more row, the aggregate of the match before is extended.

    The rows of a match are consecutive, so a match is identified by the number of its first row and its labels, within
    one partition.
    """

    def __init__(self, definitions: Defined) -> None:
        self._definitions = definitions
        self._known: dict[tuple[int, bytes], Memory] = {}

    def forget(self) -> None:
        """Forget all aggregates, because another partition follows."""
        self._known.clear()

    def of(self, rows: Sequence[Row], labels: bytes) -> Memory:
        """The memory of these rows, at least one, with their labels."""
        definitions, known, first = self._definitions, self._known, rows[0][NUMBER]
        nothing: Memory = definitions.nothing
        if not nothing:
            return nothing
        memory = known.get((first, labels[:-1]))
        if memory is None:
            memory = nothing
            for row, label in zip(rows[:-1], labels):
                memory = definitions.remember(memory, row, label)
        memory = definitions.remember(memory, rows[-1], labels[-1])
        if len(known) >= MOST_KNOWN:
            known.clear()
        known[first, labels] = memory
        return memory


class OfRow(SimpleCondition):
    """The definition of a variable that depends on the row alone."""

    def __init__(self, definitions: Defined, label: int) -> None:
        self._definitions, self._label = definitions, label

    def filter(self, event: Any, ctx: Context | None = None) -> bool:
        return self._definitions.fits_alone(self._label, event)


class OfMatch(IterativeCondition):
    """The definition of a variable that depends on the rows before."""

    def __init__(self, definitions: Defined, names: Sequence[str], label: int, memories: Memories) -> None:
        self._definitions, self._names, self._label, self._memories = definitions, names, label, memories

    def filter(self, event: Any, ctx: Context) -> bool:
        definitions, label = self._definitions, self._label
        if not definitions.fits_alone(label, event):
            return False
        rows, labels = _in_order(self._names, {name: [*ctx.get_events_for_pattern(name)] for name in self._names})
        rows.append(event)
        labels += bytes((label,))
        memory = self._memories.of(rows, labels)
        rest = definitions.rest_of[label]
        assert rest is not None
        return rest(rows, len(rows) - 1, labels, memory, 0) is True


class AutomatonStates(MatchStates):
    """The automaton's state of each partition with partial matches."""

    def __init__(self, machine: AutomatonMachine, states: KeyedValue) -> None:
        self._machine = machine
        self._states = states
        """key -> (the automaton's state, how many rows it has taken)"""

    def search(self, key: Key, new: Sequence[Row], horizon: int | None, ended: bool) -> int | None:
        known = self._states.get(key)
        if known is None and not new:
            return None
        partition = self._machine.new() if known is None else Running(key_state.load(known[0]), known[1])
        self._machine.search(key, partition, new, horizon, ended)
        if partition.state.idle or ended:
            self._states.remove(key)
            return None
        self._states.put(key, (key_state.store(partition.state), partition.rows))
        return partition.state.partials[0][2] + self._machine.window if self._machine.window else self.ENDLESS
