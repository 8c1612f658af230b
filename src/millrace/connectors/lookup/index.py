"""Rows in columns that are found by the values of some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millrace.relational.types import DataType
from millrace.relational.values import to_python


class Index:
    """Rows stay in columns; only those that are found become tuples. Rows with NULL in the key are never found.

    :param columns: all of the table; empty: it has no rows.
    """

    def __init__(self, columns: Sequence[pa.Array], types: Sequence[DataType], key: Sequence[int]) -> None:
        self._columns, self._types = list(columns), list(types)
        self._places: dict[tuple[Any, ...], list[int]] = {}
        if self._columns:
            values = zip(*(to_python(self._columns[place], self._types[place]) for place in key))
            for number, each in enumerate(values):
                if None not in each:
                    self._places.setdefault(each, []).append(number)

    def find(self, keys: Sequence[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
        """The rows of each key, in their order in the table."""
        found = [self._places.get(tuple(key), ()) for key in keys]
        wanted = pa.array([number for each in found for number in each], pa.int64())
        if not len(wanted):
            return [[] for _ in keys]
        taken = (to_python(column.take(wanted), kind) for column, kind in zip(self._columns, self._types))
        rows = zip(*taken)
        return [[next(rows) for _ in each] for each in found]
