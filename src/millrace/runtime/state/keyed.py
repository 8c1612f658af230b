"""The user's state objects over the heap tables.

Every object reads the address of the moment from its backend: the operator sets it once per element, the objects are
created once per operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from millrace.datastream.functions import AggregateFunction, ReduceFunction
from millrace.datastream.state import AggregatingState, ListState, MapState, ReducingState, ValueState
from millrace.runtime.state.address import Addressed
from millrace.runtime.state.tables import ABSENT, ListTable, MapTable, ValueTable


class HeapValueState(ValueState[Any]):
    def __init__(self, backend: Addressed, table: ValueTable) -> None:
        self._backend = backend
        self._rows = table.rows
        self._touched = table.touched

    def value(self) -> Any:
        return self._rows.get(self._backend.at)

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        at = self._backend.at
        self._rows[at] = value
        self._touched[at] = None

    def clear(self) -> None:
        at = self._backend.at
        if self._rows.pop(at, ABSENT) is not ABSENT:
            self._touched[at] = None


class HeapReducingState(ReducingState[Any]):
    def __init__(self, backend: Addressed, table: ValueTable, function: ReduceFunction) -> None:
        self._backend = backend
        self._rows = table.rows
        self._touched = table.touched
        self._reduce = function.reduce

    def absorb(self, others: Iterable[Any]) -> None:
        """Take in what other addresses hold, and clear it there: their windows have become this one."""
        merge_rows(self._backend.at, others, self._rows, self._touched, self._reduce)

    def get(self) -> Any:
        return self._rows.get(self._backend.at)

    def add(self, value: Any) -> None:
        at = self._backend.at
        rows = self._rows
        rows[at] = self._reduce(rows[at], value) if at in rows else value
        self._touched[at] = None

    def clear(self) -> None:
        at = self._backend.at
        if self._rows.pop(at, ABSENT) is not ABSENT:
            self._touched[at] = None


class HeapAggregatingState(AggregatingState[Any, Any]):
    def __init__(self, backend: Addressed, table: ValueTable, function: AggregateFunction) -> None:
        self._backend = backend
        self._rows = table.rows
        self._touched = table.touched
        self._function = function

    def absorb(self, others: Iterable[Any]) -> None:
        """Take in what other addresses hold, and clear it there: their windows have become this one."""
        merge_rows(self._backend.at, others, self._rows, self._touched, self._function.merge)

    def get(self) -> Any:
        at = self._backend.at
        return self._function.get_result(self._rows[at]) if at in self._rows else None

    def add(self, value: Any) -> None:
        at = self._backend.at
        rows = self._rows
        accumulator = rows[at] if at in rows else self._function.create_accumulator()
        rows[at] = self._function.add(value, accumulator)
        self._touched[at] = None

    def clear(self) -> None:
        at = self._backend.at
        if self._rows.pop(at, ABSENT) is not ABSENT:
            self._touched[at] = None


class HeapListState(ListState[Any]):
    def __init__(self, backend: Addressed, table: ListTable) -> None:
        self._backend = backend
        self._table = table

    def absorb(self, others: Iterable[Any]) -> None:
        """Take in what other addresses hold, and clear it there: their windows have become this one."""
        table = self._table
        for other in others:
            row = table.rows.pop(other, None)
            if row is not None:
                table.touched[other] = 0
                self.add_all(row)

    def get(self) -> Iterable[Any]:
        # A copy, as below: adding while walking over the list itself would never end.
        row: list[Any] = self._table.rows.get(self._backend.at, [])
        return iter(row[:])

    def add(self, value: Any) -> None:
        table, at = self._table, self._backend.at
        row = table.rows.get(at)
        if row is None:
            table.rows[at] = [value]
            table.touched[at] = 0
            return
        if at not in table.touched:
            table.touched[at] = len(row)
        row.append(value)

    def add_all(self, values: list[Any]) -> None:
        for value in values:
            self.add(value)

    def update(self, values: list[Any]) -> None:
        if not values:
            self.clear()
            return
        table, at = self._table, self._backend.at
        table.rows[at] = list(values)
        table.touched[at] = 0

    def clear(self) -> None:
        table, at = self._table, self._backend.at
        if table.rows.pop(at, None) is not None:
            table.touched[at] = 0


class HeapMapState(MapState[Any, Any]):
    def __init__(self, backend: Addressed, table: MapTable) -> None:
        self._backend = backend
        self._table = table

    def _row(self) -> dict[Any, Any]:
        return self._table.rows.get(self._backend.at) or {}

    def get(self, key: Any) -> Any:
        return self._row().get(key)

    def put(self, key: Any, value: Any) -> None:
        table, at = self._table, self._backend.at
        row, touched = table.rows.setdefault(at, {}), table.touched.setdefault(at, {})
        if key in row:
            touched.setdefault(key, False)
        else:  # a new key goes to the end, there as here
            touched[key] = touched.pop(key, False)
        row[key] = value

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        table, at = self._table, self._backend.at
        row = table.rows.get(at)
        if row is not None and key in row:
            del row[key]
            table.touched.setdefault(at, {})[key] = True
            if not row:
                self.clear()

    def contains(self, key: Any) -> bool:
        return key in self._row()

    # Views are copies: the user may change the state while he walks over it.
    def items(self) -> Iterable[tuple[Any, Any]]:
        return iter(list(self._row().items()))

    def keys(self) -> Iterable[Any]:
        return iter(list(self._row()))

    def values(self) -> Iterable[Any]:
        return iter(list(self._row().values()))

    def is_empty(self) -> bool:
        return not self._row()

    def clear(self) -> None:
        table, at = self._table, self._backend.at
        if table.rows.pop(at, None) is not None:
            table.touched.pop(at, None)
            table.cleared.add(at)


def merge_rows(
    at: Any,
    others: Iterable[Any],
    rows: dict[Any, Any],
    touched: dict[Any, None],
    merge: Callable[[Any, Any], Any],
) -> None:
    """Fold what ``others`` hold into what ``at`` holds."""
    for other in others:
        if other not in rows:
            continue
        value = rows.pop(other)
        touched[other] = None
        rows[at] = merge(rows[at], value) if at in rows else value
        touched[at] = None
