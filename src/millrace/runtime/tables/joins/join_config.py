"""The description that all joins share: the condition, divided into equal columns and the rest, and the check of
pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from millrace.relational.nodes import Schema
from millrace.relational.rex import TRUE, Call, Ref, Rex, conjunction, conjuncts, refs
from millrace.relational.type_table import alike, arrow_type
from millrace.runtime.tables.base import TableConfig, TableOperator
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.matching import take_or_null
from millrace.runtime.tables.stored_rows import StoredRows

_EQUAL = {"=": False, "IS NOT DISTINCT FROM": True}
"""function -> whether NULL equals NULL"""


@dataclass(frozen=True)
class Equalities:
    """The columns of both sides that must be equal, and the rest of the condition."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    null_safe: tuple[bool, ...]
    rest: Rex
    """the rest of the condition, over both inputs; TRUE if there is none"""


def equalities(condition: Rex, width: int) -> Equalities:
    """Find the parts ``left column = right column`` of a condition over both inputs; ``width`` is that of the left one.

    Equal expressions that are not plain columns of the same type are left in the rest: project them first.
    """
    found: list[tuple[int, int, bool]] = []
    rest: list[Rex] = []
    for part in conjuncts(condition):
        pair = _columns(part, width)
        if pair is None:
            rest.append(part)
        else:
            found.append(pair)
    left, right, null_safe = zip(*found) if found else ((), (), ())
    return Equalities(left, right, null_safe, conjunction(rest))


def _columns(part: Rex, width: int) -> tuple[int, int, bool] | None:
    if not isinstance(part, Call) or part.function not in _EQUAL:
        return None
    one, other = part.args
    if not isinstance(one, Ref) or not isinstance(other, Ref) or not alike(one.type, other.type):
        return None
    first, second = sorted((one.index, other.index))
    return (first, second - width, _EQUAL[part.function]) if first < width <= second else None


@dataclass(frozen=True, kw_only=True)
class JoinConfig(TableConfig):
    """A join of two inputs."""

    kind: str
    """INNER, LEFT, RIGHT, FULL, SEMI or ANTI"""
    left: Schema
    right: Schema
    condition: Rex
    """the join condition, over both inputs"""

    @cached_property
    def equal(self) -> Equalities:
        """The divided condition. The inputs must be partitioned by ``equal.left`` and ``equal.right``."""
        return equalities(self.condition, len(self.left))

    @property
    def left_types(self) -> list[pa.DataType]:
        return [arrow_type(column.type) for column in self.left]

    @property
    def right_types(self) -> list[pa.DataType]:
        return [arrow_type(column.type) for column in self.right]

    def side_in(self, input: int, state: str, form: str, unique: Sequence[int] | None = None) -> StoredRows:
        """The layout of a side's rows in a state."""
        return self.rows_in(state, form, input, [each.type for each in (self.left, self.right)[input]], unique)

    @property
    def keeps_left(self) -> bool:
        """Whether a left row without a partner is in the result."""
        return self.kind in ("LEFT", "FULL", "ANTI")

    @property
    def keeps_right(self) -> bool:
        return self.kind in ("RIGHT", "FULL")

    @property
    def only_left(self) -> bool:
        """Whether the result has only the columns of the left side."""
        return self.kind in ("SEMI", "ANTI")


def holds(
    operator: TableOperator[Any],
    condition: Rex,
    left: Sequence[pa.Array],
    right: Sequence[pa.Array],
    left_at: Ids,
    right_at: Ids,
    unknown: bool = False,
) -> Any:
    """For which of these pairs the condition is TRUE, as numpy Booleans. It is computed once for all pairs, on the
    columns that it reads.

    :param unknown: the result where the condition is NULL.
    """
    needed = refs(condition)
    width = len(left)
    columns = [
        (take_or_null(column, left_at if index < width else right_at) if index in needed else None)
        for index, column in enumerate([*left, *right])
    ]
    found = operator.evaluator(columns, len(left_at)).column(condition)
    return found.fill_null(unknown).to_numpy(zero_copy_only=False)


def always(condition: Rex) -> bool:
    """Whether the condition is always TRUE."""
    return condition == TRUE
