"""Rows in order become matches, whoever keeps them: the operator of a stream, or a task of Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millrace.relational.nodes.matches import WITH_UNMATCHED
from millrace.relational.matching import MatchNumber, Navigation
from millrace.relational.rex import walk
from millrace.runtime.cep.backtracking import Matcher, Partition, Row
from millrace.runtime.cep.pattern_program import compile_pattern
from millrace.runtime.functions.runner import FunctionRunner
from millrace.runtime.tables.columns.keys import Ids, Key
from millrace.runtime.tables.columns.row_codec import cell_values
from millrace.runtime.tables.matching.conditions import Evaluate
from millrace.runtime.tables.matching.definitions import Defined
from millrace.runtime.tables.matching.description import Matching
from millrace.runtime.tables.matching.output import Output
from millrace.runtime.tables.matching.parts import Kept, Labels


class Machine:
    """What all partitions share.

    :param functions: those of the user; open before the first row.
    :param evaluate: makes what computes expressions on columns.
    """

    def __init__(self, matching: Matching, functions: FunctionRunner, evaluate: Evaluate) -> None:
        node = matching.node
        self._evaluate = evaluate
        self._kept = Kept(functions)
        program = compile_pattern(node.pattern)
        labels = Labels([name for name, _ in program.symbols], node.subsets)
        definitions = Defined(dict(node.defines), labels, self._kept, evaluate)
        excluded = [each for _, each in program.symbols]
        self.output = Output(matching, labels, excluded, self._kept, evaluate)
        definitions.settle()
        self.output.settle()
        self._definitions = definitions
        parts = [part for each in matching.expressions() for part in walk(each)]
        self._numbered = any(isinstance(part, MatchNumber) for part in parts)
        shifts = [part.shift for part in parts if isinstance(part, Navigation)]
        self.matcher = Matcher(
            program,
            definitions,
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

    def rows(self, columns: Sequence[pa.Array], times: Ids) -> list[Row]:
        """What is kept of the rows of a batch."""
        length = len(times)
        evaluator = self._evaluate(columns, length)
        masks = self._definitions.masks(lambda: evaluator, length)
        cells: list[list[Any]] = [cell_values(evaluator.column(each)) for each in self._kept.expressions]
        for each in self._kept.aggregates:
            inputs = [evaluator.column(one) for one in each.inputs]
            cells.append(each.cells(inputs, length))
        return list(zip(times.tolist(), masks, *cells))

    def new(self) -> Partition:
        """A partition without rows."""
        return Partition()

    def search(self, key: Key, partition: Partition, horizon: int | None, ended: bool) -> None:
        """Add what is decided now to ``output``. Parameters as those of ``Matcher.search``."""
        for found in self.matcher.search(partition, horizon, ended):
            self.output.add(key, found)

    @property
    def remembers(self) -> bool:
        """Whether a partition counts for something when none of its rows is of interest any more."""
        return self._numbered or self.matcher.only_at_start
