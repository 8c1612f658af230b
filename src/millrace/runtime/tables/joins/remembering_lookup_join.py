"""A lookup join of rows that change: what was found for a row is stored until the row is retracted.

So the output for a row is retracted unchanged, whatever the external table contains by then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from millrace.relational.rows import Rows
from millrace.runtime.tables.base import KeyedTableOperator
from millrace.runtime.tables.columns.keys import group
from millrace.runtime.tables.joins.lookup_cache import Found
from millrace.runtime.tables.joins.lookup_join import LookupJoin, LookupJoinOperator
from millrace.runtime.tables.stored_calls import Accumulator, StoredCalls
from millrace.runtime.tables.stored_rows import FOUND, StoredRows

REMEMBERED = "found"
"""name of the state"""


@dataclass(frozen=True, kw_only=True)
class RememberingLookupJoin(LookupJoin):
    """
    :ivar keys: the columns of the input that identify a row.
    """

    keys: tuple[int, ...]

    def operator(self) -> RememberingLookupJoinOperator:
        return RememberingLookupJoinOperator(self)

    def stored(self) -> tuple[StoredCalls, Accumulator] | None:
        types = tuple(str(column.type.nullable()) for column in self.table)
        rows = StoredRows(REMEMBERED, FOUND, "what it has found", tuple(column.name for column in self.table), types)
        layout = self.only_rows(rows)
        if layout is None or self.columns is not None or not self.input_columns:
            return None
        by = ", ".join(self.input_columns[0][place] for place in self.keys)
        return replace(layout[0], groups=(*layout[0].groups, f"rows by {by}")), ()


class RememberingLookupJoinOperator(
    LookupJoinOperator[RememberingLookupJoin], KeyedTableOperator[RememberingLookupJoin]
):
    """State: key -> what was found for its rows, the newest last. Without key columns, equal rows share one entry."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._remembered = self.keyed_value(REMEMBERED)

    def receive(self, rows: Rows, input: int) -> None:
        adds = rows.adds()
        grouped = group([rows.columns[place] for place in self.config.keys], len(rows))
        here = self._looked_up(rows.where(adds)) if adds.any() else []
        found: list[Found] = []
        places, lost = iter(here), []
        for number, (id, add) in enumerate(zip(grouped.ids.tolist(), adds.tolist())):
            key = grouped.keys[id]
            known: list[Found] = self._remembered.get(key) or []
            if add:
                found.append(next(places))
                self._remembered.put(key, [*known, found[-1]])
                continue
            if not known:
                lost.append(number)  # its time to live is over
            found.append(known[-1] if known else ())
            if len(known) > 1:
                self._remembered.put(key, known[:-1])
            else:
                self._remembered.remove(key)
        if lost:
            for number, again in zip(lost, self._looked_up(rows.take(np.array(lost)))):
                found[number] = again
        self.join(rows, np.arange(len(rows)), found)

    def _looked_up(self, rows: Rows) -> list[Found]:
        """What is found for each row now."""
        ids, found = self.looked_up(rows)
        return [found[id] for id in ids.tolist()]
