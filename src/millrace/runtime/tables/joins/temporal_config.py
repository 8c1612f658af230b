"""A temporal join: each left row with the version of a right row that is valid at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from millrace.relational.rex import Call, Ref, Rex, conjunction
from millrace.relational.rows import Rows
from millrace.relational.types import BooleanType
from millrace.runtime.tables.base import KeyedTableOperator
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.matching import side_by_side
from millrace.runtime.tables.joins.join_config import Equalities, JoinConfig, always, equalities, holds
from millrace.runtime.tables.stored_calls import StoredCalls
from millrace.runtime.tables.stored_rows import ROW, VERSIONS, WAITING

if TYPE_CHECKING:
    from millrace.runtime.tables.base import TableOperator

LEFT, RIGHT = "left", "right"
"""names of the states"""


@dataclass(frozen=True, kw_only=True)
class TemporalJoin(JoinConfig):
    """The description of a ``TemporalJoin`` node; ``kind`` is INNER or LEFT."""

    left_time: int
    right_time: int | None
    """column of the versions' time; None: processing time, the newest version"""
    right_key: tuple[int, ...]

    @cached_property
    def equal(self) -> Equalities:
        """Only equalities with the key of the right table: a version is found by its key, and the rest of the condition
        is checked afterwards."""
        width = len(self.left)
        found = equalities(self.condition, width)
        places = [found.right.index(column) for column in self.right_key if column in found.right]
        if len(places) < len(self.right_key):
            raise ValueError(
                "a temporal join needs its condition to have every column of the right table's primary key"
            )
        others = [place for place in range(len(found.right)) if place not in places]
        rest = [found.rest] if not always(found.rest) else []
        rest += [self._equality(found.left[each], found.right[each], found.null_safe[each]) for each in others]
        return Equalities(
            tuple(found.left[each] for each in places),
            self.right_key,
            tuple(found.null_safe[each] for each in places),
            conjunction(rest),
        )

    def _equality(self, left: int, right: int, null_safe: bool) -> Rex:
        name = "IS NOT DISTINCT FROM" if null_safe else "="
        one, other = Ref(self.left[left].type, left), Ref(self.right[right].type, len(self.left) + right)
        return Call(BooleanType(), name, (one, other))

    def operator(self) -> TableOperator[Any]:
        from millrace.runtime.tables.joins.temporal_join import NewestJoinOperator, TemporalJoinOperator

        return NewestJoinOperator(self) if self.right_time is None else TemporalJoinOperator(self)

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        if self.right_time is None:
            return self.only_rows(self.side_in(1, RIGHT, ROW))
        return self.only_rows(self.side_in(0, LEFT, WAITING), self.side_in(1, RIGHT, VERSIONS))


def emit_versions(operator: KeyedTableOperator[TemporalJoin], rows: Rows, versions: list[pa.Array], found: Ids) -> None:
    """Emit the left rows with their versions (positions, -1 for none), if the rest of the condition holds."""
    config = operator.config
    asked = np.flatnonzero(found >= 0)
    if len(asked) and not always(config.equal.rest):
        matches = holds(operator, config.equal.rest, rows.columns, versions, asked, found[asked])
        found = found.copy()
        found[asked[~matches]] = -1
    left = np.arange(len(rows)) if config.kind == "LEFT" else np.flatnonzero(found >= 0)
    kinds = None if rows.kinds is None else rows.kinds[left]
    operator.emit_columns(side_by_side(rows.columns, versions, left, found[left]), len(left), kinds)
