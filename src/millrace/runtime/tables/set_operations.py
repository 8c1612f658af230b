"""UNION, INTERSECT and EXCEPT of changing tables: the number of a row's copies in each input gives that in the
result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import DELETE, INSERT, Rows
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig
from millrace.runtime.tables.columns.keys import group

Counts = Sequence[int]
"""number of copies of a row in each input"""

_RESULTS: dict[tuple[str, bool], Callable[[Counts], int]] = {
    ("UNION", False): lambda counts: int(sum(counts) > 0),
    ("INTERSECT", False): lambda counts: int(min(counts) > 0),
    ("INTERSECT", True): lambda counts: max(0, min(counts)),
    ("EXCEPT", False): lambda counts: int(counts[0] > 0 and max(counts[1:]) <= 0),
    ("EXCEPT", True): lambda counts: max(0, counts[0] - sum(counts[1:])),
}


@dataclass(frozen=True, kw_only=True)
class SetOperation(TableConfig):
    """A ``SetOp`` node over two or more inputs, which are partitioned by all their columns. UNION ALL needs no
    operator: its inputs are merged."""

    kind: str
    all: bool
    inputs: int = 2

    def operator(self) -> SetOperator:
        return SetOperator(self)


class SetOperator(KeyedTableOperator[SetOperation]):
    """Computes set operations. A batch counts as a whole: a row that is added and removed within it is not seen."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._counts = self.keyed_value("counts")
        """row -> number of its copies in each input"""
        self._result = _RESULTS[self.config.kind, self.config.all]

    def receive(self, rows: Rows, input: int) -> None:
        grouped = group(rows.columns, len(rows))
        changes = np.bincount(grouped.ids, np.where(rows.adds(), 1, -1), len(grouped.keys)).astype(np.int64)
        result, nowhere = self._result, (0,) * self.config.inputs
        differences = []
        for key, change in zip(grouped.keys, changes.tolist()):
            before = self._counts.get(key) or nowhere
            after = (*before[:input], before[input] + change, *before[input + 1 :])
            if after == nowhere:
                self._counts.remove(key)
            elif change:
                self._counts.put(key, after)
            differences.append(result(after) - result(before))
        difference = np.array(differences, np.int64)
        chosen = np.repeat(np.arange(len(difference)), np.abs(difference))
        if not len(chosen):
            return
        batch = rows.batch.take(pa.array(grouped.first[chosen]))
        kinds = np.where(difference[chosen] < 0, DELETE, INSERT).astype(np.uint8)
        self.emit_rows(Rows(batch, kinds if kinds.any() else None))
