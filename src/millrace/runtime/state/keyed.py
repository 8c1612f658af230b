"""The user's state objects over tables in memory or on disk.

Each object takes the current address from its backend: the operator sets it once per element, and the objects are
created once per operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from typing import Any

from millrace.common.functions import AggregateFunction, ReduceFunction
from millrace.common.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from millrace.runtime.exchange.keys import NEVER_NAN, with_one_nan
from millrace.runtime.state.address import Addressed
from millrace.runtime.state.state_kinds import StateKind
from millrace.runtime.state.tables import ABSENT, ListTable, MapTable, ValueTable

_NOTHING: dict[Any, Any] = {}


class _OneRow:
    """Mixed into states with one value per address."""

    def __init__(self, backend: Addressed, table: ValueTable) -> None:
        self._backend = backend
        self._rows = table.rows
        self._touched = table.touched

    def clear(self) -> None:
        at = self._backend.at
        if self._rows.pop(at, ABSENT) is not ABSENT:
            self._touched[at] = None


class _MergedRow(_OneRow):
    """Mixed into states that merge each element into one value."""

    def __init__(self, backend: Addressed, table: ValueTable, merge: Callable[[Any, Any], Any]) -> None:
        super().__init__(backend, table)
        self._merge = merge

    def absorb(self, others: Iterable[Any]) -> None:
        """Merge the values at other addresses into this one and clear them, because their windows were merged."""
        merge_rows(self._backend.at, others, self._rows, self._touched, self._merge)


class HeapValueState(_OneRow, ValueState[Any]):
    def value(self) -> Any:
        return self._rows.get(self._backend.at)

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        at = self._backend.at
        self._rows[at] = value
        self._touched[at] = None


class HeapReducingState(_MergedRow, ReducingState[Any]):
    def __init__(self, backend: Addressed, table: ValueTable, function: ReduceFunction) -> None:
        super().__init__(backend, table, function.reduce)

    def get(self) -> Any:
        return self._rows.get(self._backend.at)

    def add(self, value: Any) -> None:
        at = self._backend.at
        rows = self._rows
        rows[at] = self._merge(rows[at], value) if at in rows else value
        self._touched[at] = None


class HeapAggregatingState(_MergedRow, AggregatingState[Any, Any]):
    def __init__(self, backend: Addressed, table: ValueTable, function: AggregateFunction) -> None:
        super().__init__(backend, table, function.merge)
        self._function = function

    def get(self) -> Any:
        at = self._backend.at
        return self._function.get_result(self._rows[at]) if at in self._rows else None

    def add(self, value: Any) -> None:
        at = self._backend.at
        rows = self._rows
        accumulator = rows[at] if at in rows else self._function.create_accumulator()
        rows[at] = self._function.add(value, accumulator)
        self._touched[at] = None


class HeapListState(ListState[Any]):
    def __init__(self, backend: Addressed, table: ListTable) -> None:
        self._backend = backend
        self._table = table

    def absorb(self, others: Iterable[Any]) -> None:
        """Merge the lists at other addresses into this one and clear them, because their windows were merged."""
        table = self._table
        for other in others:
            row = table.row(other)
            if row is not None:
                table.remove(other)
                self.add_all(row)

    def get(self) -> Iterable[Any]:
        # A copy, as below: adding while iterating over the list itself would never end.
        row: list[Any] | None = self._table.row(self._backend.at)
        return iter(()) if row is None else iter(row[:])

    def add(self, value: Any) -> None:
        self._table.append(self._backend.at, value)

    def add_all(self, values: list[Any]) -> None:
        append, at = self._table.append, self._backend.at
        for value in values:
            append(at, value)

    def update(self, values: list[Any]) -> None:
        if values:
            self._table.replace(self._backend.at, values)
        else:
            self.clear()

    def clear(self) -> None:
        self._table.remove(self._backend.at)


class HeapMapState(MapState[Any, Any]):
    def __new__(cls, backend: Addressed, table: MapTable) -> HeapMapState:
        return super().__new__(_DictsOfMemory if cls is HeapMapState and table.in_memory else cls)

    def __init__(self, backend: Addressed, table: MapTable) -> None:
        self._backend = backend
        self._table = table
        self._get, self._put, self._remove, self._row_at = table.get, table.put, table.remove_key, table.row

    def _row(self) -> dict[Any, Any]:
        return self._row_at(self._backend.at) or _NOTHING

    def get(self, key: Any) -> Any:
        return self._get(self._backend.at, key if key.__class__ in NEVER_NAN else with_one_nan(key))

    def put(self, key: Any, value: Any) -> None:
        self._put(self._backend.at, key if key.__class__ in NEVER_NAN else with_one_nan(key), value)

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        put, at = self._table.put, self._backend.at
        for key, value in dict_value.items():
            put(at, with_one_nan(key), value)

    def remove(self, key: Any) -> None:
        self._remove(self._backend.at, with_one_nan(key))

    def contains(self, key: Any) -> bool:
        return self._table.contains(self._backend.at, with_one_nan(key))

    # Views are copies: the user may change the state while iterating over it.
    def items(self) -> Iterable[tuple[Any, Any]]:
        return iter([*self._row().items()])

    def keys(self) -> Iterable[Any]:
        return iter([*self._row()])

    def values(self) -> Iterable[Any]:
        return iter([*self._row().values()])

    def is_empty(self) -> bool:
        return self._table.is_empty(self._backend.at)

    def clear(self) -> None:
        self._table.remove(self._backend.at)


class _DictsOfMemory(HeapMapState):
    """A map state that reads the dicts of a table in memory directly."""

    def __init__(self, backend: Addressed, table: MapTable) -> None:
        super().__init__(backend, table)
        self._rows = table.rows

    def _row(self) -> dict[Any, Any]:
        return self._rows.get(self._backend.at) or _NOTHING

    def get(self, key: Any) -> Any:
        row = self._rows.get(self._backend.at)
        return None if row is None else row.get(key if key.__class__ in NEVER_NAN else with_one_nan(key))

    def contains(self, key: Any) -> bool:
        return with_one_nan(key) in self._rows.get(self._backend.at, _NOTHING)

    def remove(self, key: Any) -> None:
        at, key = self._backend.at, with_one_nan(key)
        if key in self._rows.get(at, _NOTHING):
            self._remove(at, key)

    def items(self) -> Iterable[tuple[Any, Any]]:
        row = self._rows.get(self._backend.at)
        return iter(()) if row is None else iter([*row.items()])

    def is_empty(self) -> bool:
        return self._backend.at not in self._rows


def merge_rows(
    at: Any,
    others: Iterable[Any],
    rows: MutableMapping[Any, Any],
    touched: dict[Any, None],
    merge: Callable[[Any, Any], Any],
) -> None:
    """Merge the values at ``others`` into the value at ``at``."""
    for other in others:
        if other not in rows:
            continue
        value = rows.pop(other)
        touched[other] = None
        rows[at] = merge(rows[at], value) if at in rows else value
        touched[at] = None


# Kinds, which entry points name

VALUE = StateKind(ValueStateDescriptor, "value", HeapValueState)
REDUCING = StateKind(
    ReducingStateDescriptor, "value", HeapReducingState, lambda descriptor: (descriptor.get_reduce_function(),)
)
AGGREGATING = StateKind(
    AggregatingStateDescriptor, "value", HeapAggregatingState, lambda descriptor: (descriptor.get_agg_function(),)
)
LIST = StateKind(ListStateDescriptor, "list", HeapListState)
MAP = StateKind(MapStateDescriptor, "map", HeapMapState)
