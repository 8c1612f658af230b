"""A lookup join: each row with the rows that an external table has for its key when the row arrives.

The distinct keys of a batch are looked up in one call. There is no state, so a retracted row is looked up again, and
may find something else; ``remembering_lookup_join`` stores what was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from millrace.relational.nodes import Schema
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.values import to_arrow, to_python
from millrace.runtime.tables.base import TableConfig, TableOperator
from millrace.runtime.tables.columns.keys import Ids, group_ids
from millrace.runtime.tables.columns.matching import side_by_side, with_missing
from millrace.runtime.tables.columns.ranges import ranges
from millrace.runtime.tables.joins.join_config import holds
from millrace.runtime.tables.joins.lookup_cache import Found
from millrace.runtime.tables.joins.lookups import LookupConfig, Lookups


@dataclass(frozen=True, kw_only=True)
class LookupJoin(TableConfig):
    """The description of a ``LookupJoin`` node."""

    input: Schema
    external: LookupConfig
    table: Schema
    """the columns that are read from the external table"""
    columns: tuple[int, ...] | None = None
    """indexes of those columns in a found row; None: a found row has exactly these columns"""
    kind: str
    """INNER or LEFT"""
    lookup: tuple[tuple[int, Rex], ...]
    """(column of the table, the expression it must equal)"""
    condition: Rex | None = None
    """the rest of the condition, over input and table"""

    def operator(self) -> TableOperator[Any]:
        return LookupJoinOperator(self)


C = TypeVar("C", bound=LookupJoin)


class LookupJoinOperator(TableOperator[C]):
    looks_up = True
    first_at_once = 64  # keys are asked for together

    def open(self) -> None:
        super().open()
        self._lookups = Lookups(self.config.external, self.context)
        self._lookups.open()

    def close(self) -> None:
        self._lookups.close()
        super().close()

    def receive(self, rows: Rows, input: int) -> None:
        ids, found = self.looked_up(rows)
        self.join(rows, ids, found)

    def looked_up(self, rows: Rows) -> tuple[Ids, list[Found]]:
        """(index of each row's key, the rows found for each key)."""
        evaluator = self.evaluator(rows.columns, len(rows))
        lookup = self.config.lookup
        columns = [evaluator.column(expression) for _, expression in lookup]
        ids, first = group_ids(columns, len(rows))
        values = [to_python(column.take(first), rex.type) for column, (_, rex) in zip(columns, lookup)]
        return ids, self._lookups.find(list(zip(*values)) if values else [()] * len(first))

    def join(self, rows: Rows, ids: Ids, found: Sequence[Found]) -> None:
        """Emit each row with what was found for it.

        :param ids: for each row an index into ``found``.
        """
        config = self.config
        starts = np.cumsum([0, *map(len, found)])
        at, to = ranges(starts[:-1][ids], np.diff(starts)[ids])
        content = [row for each in found for row in each]
        places = range(len(config.table)) if config.columns is None else config.columns
        table = [to_arrow([row[place] for row in content], column.type) for place, column in zip(places, config.table)]
        if config.condition is not None and len(at):
            matches = holds(self, config.condition, rows.columns, table, at, to)
            at, to = at[matches], to[matches]
        if config.kind == "LEFT":
            at, to = with_missing(at, to, len(rows))
        kinds = None if rows.kinds is None else rows.kinds[at]
        self.emit_columns(side_by_side(rows.columns, table, at, to), len(at), kinds)
