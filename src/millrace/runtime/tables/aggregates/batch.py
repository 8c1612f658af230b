"""A batch of rows for accumulators."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.runtime.tables.columns.keys import Ids


class Batch(NamedTuple):
    """Rows, with the accumulator that each belongs to."""

    evaluator: Evaluator
    ids: Ids
    """number of each row's accumulator"""
    signs: pa.Array
    """int64: 1 for an added row, -1 for a retracted one"""

    def column(self, expression: Rex) -> pa.Array:
        """The values of an expression for the rows."""
        return self.evaluator.column(expression)

    def signs_where(self, condition: Rex | None) -> pa.Array:
        """The signs, but 0 for rows for which the condition is not TRUE."""
        if condition is None:
            return self.signs
        return pc.if_else(pa.array(self.evaluator.mask(condition)), self.signs, 0)


def signs_of(rows: Rows) -> pa.Array:
    """The sign of each row as int64: 1 for a row that is added to the table, -1 for one that is removed from it."""
    if rows.kinds is None:
        return pa.array(np.ones(len(rows), np.int64))
    signs: Any = np.where(rows.adds(), 1, -1).astype(np.int64)
    return pa.array(signs)
