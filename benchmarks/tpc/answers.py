"""Whether two answers to a query are the same: rows by what ORDER BY decides, numbers by what their types can hold.

Of rows that ORDER BY does not tell apart any may come first, and with LIMIT any may be left out. So the columns that it
names must be equal row by row, and each row must be one of DuckDB's whole answer, without LIMIT.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import duckdb

from benchmarks.tpc.data import Workload
from benchmarks.tpc.dialect import Query

RELATIVE = 1e-6
"""between numbers that were computed in another order, or as DOUBLE in one place and as DECIMAL in another"""
Row = tuple[Any, ...]
_LIMIT = re.compile(r"\bLIMIT\s+\d+\s*;?\s*$", re.IGNORECASE)


class Oracle:
    """DuckDB on the same files. NULL is the least value, as in Flink."""

    def __init__(self, workload: Workload) -> None:
        self._connection = duckdb.connect()
        self._connection.execute("SET default_null_order = 'NULLS_FIRST_ON_ASC_LAST_ON_DESC'")
        for name, path in workload.tables.items():
            self._connection.execute(f"CREATE VIEW {name} AS SELECT * FROM '{path}'")

    def difference(self, query: Query, rows: Sequence[Row], scales: Sequence[int | None], order: Sequence[int]) -> str:
        """What is wrong with an answer, or nothing.

        :param scales: of its columns, if they are DECIMAL: the last digit may be rounded otherwise.
        :param order: the columns that ORDER BY names, as far as they are in the answer.
        """
        expected = self._rows(query.original)
        alike = _Alike(scales)
        if len(rows) != len(expected):
            return f"{len(rows)} rows, not {len(expected)}"
        for place, (row, wanted) in enumerate(zip(rows, expected)):
            if len(row) != len(wanted):
                return f"{len(row)} columns, not {len(wanted)}"
            if not all(alike.values(row[at], wanted[at], at) for at in order):
                return f"row {place} is {row}, not {wanted}"
        whole, limited = _LIMIT.subn("", query.original)
        left = alike.without(rows, self._rows(whole) if limited else expected)
        return f"not in DuckDB's answer: {left[0]}" if left else ""

    def _rows(self, text: str) -> list[Row]:
        return self._connection.execute(text).fetchall()


class _Alike:
    def __init__(self, scales: Sequence[int | None]) -> None:
        self._absolute = [1e-9 if scale is None else 1.001 * 10.0**-scale for scale in scales]

    def values(self, one: Any, other: Any, column: int) -> bool:
        if _is_number(one) and _is_number(other):
            return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=self._absolute[column])
        return bool(_plain(one) == _plain(other))

    def without(self, rows: Sequence[Row], expected: Sequence[Row]) -> list[Row]:
        """The rows that are not among the expected ones, of which each counts once."""
        places: dict[Row, list[Row]] = {}
        for wanted in expected:
            places.setdefault(_exact(wanted), []).append(wanted)
        missing = []
        for row in rows:
            candidates = places.get(_exact(row), [])
            found = next((each for each in candidates if self._rows(row, each)), None)
            if found is None:
                missing.append(row)
            else:
                candidates.remove(found)
        return missing

    def _rows(self, one: Row, other: Row) -> bool:
        return all(self.values(*both, column) for column, both in enumerate(zip(one, other)))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _exact(row: Row) -> Row:
    """The values that must be equal: all but numbers, of which only NULL shows."""
    return tuple(0 if _is_number(value) else _plain(value) for value in row)


def _plain(value: Any) -> Any:
    return value.date() if isinstance(value, dt.datetime) and value.time() == dt.time() else value
