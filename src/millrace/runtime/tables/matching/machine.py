"""What makes matches of rows that come in order, in a stream and in Spark."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millrace.runtime.cep.backtracking import Row
from millrace.runtime.functions.runner import FunctionRunner
from millrace.runtime.tables.columns.keys import Ids, Key
from millrace.runtime.tables.columns.row_codec import cell_values
from millrace.runtime.tables.matching.conditions import Evaluate
from millrace.runtime.tables.matching.definitions import Defined
from millrace.runtime.tables.matching.description import Matching
from millrace.runtime.tables.matching.output import Output
from millrace.runtime.tables.matching.parts import Kept, Labels

Subsets = Sequence[tuple[str, tuple[str, ...]]]


class Machine(ABC):
    """What all partitions share.

    :param symbols: the variable of each label of rows, and whether rows with it are excluded from the output.
    :param functions: those of the user; open before the first row.
    :param evaluate: makes what computes expressions on columns.
    :param subsets: that have rows.
    """

    def __init__(
        self,
        matching: Matching,
        symbols: Sequence[tuple[str, bool]],
        functions: FunctionRunner,
        evaluate: Evaluate,
        subsets: Subsets,
    ) -> None:
        node = matching.node
        self._evaluate = evaluate
        self._kept = Kept(functions)
        labels = Labels([name for name, _ in symbols], subsets)
        self.definitions = Defined(dict(node.defines), labels, self._kept, evaluate)
        self.output = Output(matching, labels, [each for _, each in symbols], self._kept, evaluate)
        self.definitions.settle()
        self.output.settle()

    def rows(self, columns: Sequence[pa.Array], times: Ids) -> list[Row]:
        """What is kept of the rows of a batch."""
        length = len(times)
        evaluator = self._evaluate(columns, length)
        masks = self.definitions.masks(evaluator, length)
        cells: list[list[Any]] = [cell_values(evaluator.column(each)) for each in self._kept.expressions]
        for each in self._kept.aggregates:
            inputs = [evaluator.column(one) for one in each.inputs]
            cells.append(each.cells(inputs, length))
        return list(zip(times.tolist(), masks, *cells))

    @abstractmethod
    def new(self) -> Any:
        """A partition of which nothing is known."""

    @abstractmethod
    def search(self, key: Key, partition: Any, new: Sequence[Row], horizon: int | None, ended: bool) -> None:
        """Take rows that follow, and add what is decided then to ``output``.

        :param horizon: no row comes any more with a time (ms) before it; None: not known.
        :param ended: no row comes any more.
        """
