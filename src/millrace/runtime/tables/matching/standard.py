"""Finds matches as the SQL standard defines them, and stores the search by key."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from millrace.relational.nodes.keyed_nodes import WITH_UNMATCHED
from millrace.relational.rex import MatchNumber, Navigation, walk
from millrace.runtime.cep.backtracking import Matcher, Partition, Row, Way
from millrace.runtime.cep.pattern_program import compile_pattern
from millrace.runtime.functions.runner import FunctionRunner
from millrace.runtime.tables.columns.keys import Key
from millrace.runtime.tables.matching.conditions import Evaluate
from millrace.runtime.tables.matching.description import Matching
from millrace.runtime.tables.matching.machine import Machine
from millrace.runtime.tables.matching.states import MatchStates
from millrace.runtime.tables.state import KeyedMap, KeyedValue


class StandardMachine(Machine):
    """Finds matches as the SQL standard defines them. Parameters as those of ``Machine``."""

    def __init__(self, matching: Matching, functions: FunctionRunner, evaluate: Evaluate) -> None:
        node = matching.node
        program = compile_pattern(node.pattern)
        super().__init__(matching, program.symbols, functions, evaluate, node.subsets)
        parts = [part for each in matching.expressions() for part in walk(each)]
        shifts = [part.shift for part in parts if isinstance(part, Navigation)]
        self._matcher = Matcher(
            program,
            self.definitions,
            node.skip,
            program.labels_of(*node.target),
            "/".join(node.target),
            node.within,
            "^" in node.anchors,
            "$" in node.anchors,
            max([0, *(-shift for shift in shifts)]),
            max([0, *shifts]),
            node.empty == WITH_UNMATCHED,
        )
        self.remembers = self._matcher.only_at_start or any(isinstance(part, MatchNumber) for part in parts)
        """whether a partition must be remembered when none of its rows is needed any more"""

    def new(self) -> Partition:
        return Partition()

    def search(self, key: Key, partition: Partition, new: Sequence[Row], horizon: int | None, ended: bool) -> None:
        partition.rows.extend(new)
        for found in self._matcher.search(partition, horizon, ended):
            self.output.add(key, found)


class StandardStates(MatchStates):
    """The rows with which a match may still begin or continue, and the progress of the search."""

    def __init__(self, machine: StandardMachine, rows: KeyedMap, searches: KeyedValue, within: int | None) -> None:
        self._machine = machine
        self._rows = rows
        """key -> number of a row in its partition -> stored row"""
        self._searches = searches
        """key -> progress of the search"""
        self._within = within

    def search(self, key: Key, new: Sequence[Row], horizon: int | None, ended: bool) -> int | None:
        known = self._searches.get(key)
        if known is None and not new:
            return None
        partition = self._load(key, known)
        before, first = partition.base, partition.base + len(partition.rows)
        self._machine.search(key, partition, new, horizon, ended)
        self._store(key, partition, before, first)
        if partition.start >= partition.base + len(partition.rows):
            return None
        if self._within is None or partition.ways is None:
            return self.ENDLESS
        return int(partition.rows[partition.start - partition.base][0]) + self._within

    def _load(self, key: Key, known: Any) -> Partition:
        if known is None:
            return self._machine.new()
        base, start, fed, ways, best, found, covered = known
        rows = [row for _, row in sorted(self._rows.items(key), key=itemgetter(0))]
        made = None if ways is None else [Way(*way) for way in ways]
        return Partition(rows, base, start, fed, made, best, found, covered)

    def _store(self, key: Key, partition: Partition, before: int, first: int) -> None:
        """Store the changes of a partition.

        :param before: number of the first row in state.
        :param first: number of the first row that is not in state yet.
        """
        for number in range(before, min(partition.base, first)):
            self._rows.remove(key, number)
        for number in range(max(first, partition.base), partition.base + len(partition.rows)):
            self._rows.put(key, number, partition.rows[number - partition.base])
        if not partition.rows and not self._machine.remembers:
            self._searches.remove(key)
            return
        ways = None if partition.ways is None else tuple(map(tuple, partition.ways))
        state = (partition.base, partition.start, partition.fed, ways, partition.best)
        self._searches.put(key, (*state, partition.found, partition.covered))
