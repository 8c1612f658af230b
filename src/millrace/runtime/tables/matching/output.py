"""The output rows of matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.nodes.keyed_nodes import ALL_ROWS, OMIT_EMPTY
from millrace.relational.rex import Ref
from millrace.relational.type_table import arrow_type
from millrace.runtime.cep.backtracking import Found
from millrace.runtime.tables.columns.keys import Key, key_columns
from millrace.runtime.tables.columns.row_codec import cell_column
from millrace.runtime.tables.matching.conditions import Evaluate
from millrace.runtime.tables.matching.description import Matching
from millrace.runtime.tables.matching.parts import Kept, Labels, Parts


class Output:
    """Collects the matches that are found, and makes columns of them at once."""

    def __init__(
        self, matching: Matching, labels: Labels, excluded: Sequence[bool], kept: Kept, evaluate: Evaluate
    ) -> None:
        self._matching = matching
        node = matching.node
        self._evaluate = evaluate
        self._all_rows = node.rows == ALL_ROWS
        self._omits_empty = self._all_rows and node.empty == OMIT_EMPTY
        self._excluded = frozenset(label for label, each in enumerate(excluded) if each)
        self._parts = Parts(kept, labels)
        self._measures = [self._parts.settle(each) for each in node.measures]
        self._key_types = [arrow_type(matching.input[index].type) for index in node.partition]
        self._passed_types = [arrow_type(matching.input[index].type) for index in node.passed]
        self._passed = [kept.cell(Ref(matching.input[index].type, index)) for index in node.passed]
        self._clear()

    def _clear(self) -> None:
        self._keys: list[Key] = []
        self._rows: list[Any] = []
        self._seen: list[list[Any]] = [[] for _ in self._parts.found]
        self._matched: list[bool] = []

    @property
    def length(self) -> int:
        """The number of collected output rows."""
        return len(self._keys)

    def settle(self) -> None:
        """Called when all expressions are known."""
        self._remember = self._parts.aggregates.settle()
        self._nothing = self._parts.aggregates.nothing

    def add(self, key: Key, found: Found) -> None:
        """Add the rows of a match, or a row that is in no match."""
        labels, rows, start = found.labels, found.rows, found.start
        if not labels:
            if labels is None or not self._omits_empty:
                self._row(key, found, b"", self._nothing, None, labels is not None)
            return
        memory = self._nothing
        if not self._all_rows:
            if memory:
                for place, label in enumerate(labels):
                    memory = self._remember(memory, rows[start + place], label)
            self._row(key, found, labels, memory, None, True)
            return
        final = self._final(found, labels)
        for place, label in enumerate(labels):
            if memory:
                memory = self._remember(memory, rows[start + place], label)
            if label not in self._excluded:
                self._row(key, found, labels[: place + 1], memory, final, True)

    def _final(self, found: Found, labels: bytes) -> list[Any]:
        """The value of each final part for the whole match; None for other parts."""
        memory = self._nothing
        if memory and any(part.is_final for part in self._parts.found):
            for place, label in enumerate(labels):
                memory = self._remember(memory, found.rows[found.start + place], label)
        at = found.start + len(labels) - 1
        return [
            part.look(found.rows, at, labels, memory, found.number) if part.is_final else None
            for part in self._parts.found
        ]

    def _row(self, key: Key, found: Found, labels: bytes, memory: Any, final: list[Any] | None, matched: bool) -> None:
        at = found.start + len(labels) - 1
        self._keys.append(key)
        self._matched.append(matched)
        if self._passed:
            self._rows.append(found.rows[max(at, found.start)])
        for index, (part, seen) in enumerate(zip(self._parts.found, self._seen)):
            if final is not None and part.is_final:
                seen.append(final[index])
            else:
                seen.append(part.look(found.rows, at, labels, memory, found.number))

    def take(self) -> tuple[list[pa.Array], int]:
        """Take all collected rows: (columns, number of rows)."""
        length = len(self._keys)
        if not length:
            return [], 0
        parts = [part.values(seen) for part, seen in zip(self._parts.found, self._seen)]
        evaluator = self._evaluate(parts, length)
        measures = [evaluator.column(each).cast(arrow_type(each.type)) for each in self._measures]
        if not all(self._matched):
            matched = pa.array(self._matched)
            measures = [pc.if_else(matched, column, pa.scalar(None, column.type)) for column in measures]
        passed = [
            cell_column([row[cell] for row in self._rows], kind) for cell, kind in zip(self._passed, self._passed_types)
        ]
        ordered = self._matching.node.ordered
        columns = [*key_columns(self._keys, self._key_types), *passed[:ordered], *measures, *passed[ordered:]]
        self._clear()
        return columns, length
