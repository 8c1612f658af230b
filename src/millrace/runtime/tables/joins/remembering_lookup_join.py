"""A lookup join of rows that change: what was found for a row is stored until the row is retracted.

So the output for a row is retracted unchanged, whatever the external table contains by then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from millrace.relational.rows import Rows
from millrace.runtime.tables.base import KeyedTableOperator
from millrace.runtime.tables.columns.keys import group
from millrace.runtime.tables.joins.lookup_cache import Found
from millrace.runtime.tables.joins.lookup_join import LookupJoin, LookupJoinOperator


@dataclass(frozen=True, kw_only=True)
class RememberingLookupJoin(LookupJoin):
    """
    :ivar keys: the columns of the input that identify a row.
    """

    keys: tuple[int, ...]

    def operator(self) -> RememberingLookupJoinOperator:
        return RememberingLookupJoinOperator(self)


class RememberingLookupJoinOperator(
    LookupJoinOperator[RememberingLookupJoin], KeyedTableOperator[RememberingLookupJoin]
):
    """State: key -> what was found for its rows, the newest last. Without key columns, equal rows share one entry."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._remembered = self.keyed_value("found")

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
