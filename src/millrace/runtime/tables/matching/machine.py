"""The base of both ways to find matches in rows that come in order, in a stream and in Spark."""

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
    """Finds the matches of all partitions.

    :param symbols: the variable of each label of rows, and whether rows with it are excluded from the output.
    :param functions: the user's functions, open before the first row.
    :param evaluate: makes an evaluator of expressions on columns.
    :param subsets: the subsets that have rows.
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
        """The stored form of the rows of a batch."""
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
        """A partition without rows."""

    @abstractmethod
    def search(self, key: Key, partition: Any, new: Sequence[Row], horizon: int | None, ended: bool) -> None:
        """Process the next rows of a partition, and add the matches that are decided to ``output``.

        :param horizon: a lower limit of the time of later rows (ms); None: not known.
        :param ended: whether no row follows.
        """
