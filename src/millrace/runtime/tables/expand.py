"""GROUPING SETS: each row once for every set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millrace.relational.rex import Rex
from millrace.relational.rows import Rows, concat, record_batch
from millrace.runtime.tables.base import TableConfig, TableOperator


@dataclass(frozen=True, kw_only=True)
class Expand(TableConfig):
    """Each row gives one output row per projection. For GROUPING SETS these are the columns, with NULL for keys outside
    of the set, and the number of the set."""

    projections: tuple[tuple[Rex, ...], ...]
    """the output columns of each projection; all projections have the same types"""

    def operator(self) -> ExpandOperator:
        return ExpandOperator(self)


class ExpandOperator(TableOperator[Expand]):
    """The output rows of one input row are neighbours, so an old row of an update stays before its new one."""

    def receive(self, rows: Rows, input: int) -> None:
        count, sets = len(rows), len(self.config.projections)
        evaluator = self.evaluator(rows.columns, count)
        parts = [
            Rows(record_batch([evaluator.column(each) for each in projection], count), rows.kinds)
            for projection in self.config.projections
        ]
        places = np.arange(sets * count).reshape(sets, count).T.ravel()
        self.emit_rows(concat(parts).take(pa.array(places)))
