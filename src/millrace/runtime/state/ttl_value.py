"""State with one entry per address: value, reducing and aggregating state with time to live.

The heap states do the work, on entries instead of values.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.common.functions import AggregateFunction, ReduceFunction
from millrace.common.state import (
    AggregatingState,
    ReducingState,
    ValueState,
)
from millrace.runtime.state import keyed
from millrace.runtime.state.address import Addressed
from millrace.runtime.state.keyed import HeapAggregatingState, HeapReducingState, HeapValueState
from millrace.runtime.state.ttl import Entry, Expiry
from millrace.runtime.state.ttl_tables import TtlValueTable


class _OneEntry:
    """The base of the three states with one entry per address."""

    def __init__(self, backend: Addressed, table: TtlValueTable, expiry: Expiry) -> None:
        self._expiry = expiry
        self._entry = HeapValueState(backend, table)

    def _read(self) -> Entry | None:
        expiry, entry = self._expiry, self._entry
        now = expiry.access()
        return expiry.read(entry.value(), now, entry.update, entry.clear)

    def clear(self) -> None:
        self._entry.clear()


class TtlValueState(_OneEntry, ValueState[Any]):
    def value(self) -> Any:
        entry = self._read()
        return None if entry is None else entry[1]

    def update(self, value: Any) -> None:
        now = self._expiry.access()
        if value is None:
            self.clear()
            return
        old = self._entry.value()
        self._entry.update((now if old is None else max(now, old[0]), value))


class TtlReducingState(_OneEntry, ReducingState[Any]):
    def __init__(self, backend: Addressed, table: TtlValueTable, expiry: Expiry, function: ReduceFunction) -> None:
        super().__init__(backend, table, expiry)
        self._inner = HeapReducingState(backend, table, _ReduceEntries(expiry, function))
        self.absorb = self._inner.absorb

    def get(self) -> Any:
        entry = self._read()
        return None if entry is None else entry[1]

    def add(self, value: Any) -> None:
        self._inner.add((self._expiry.access(), value))


class TtlAggregatingState(_OneEntry, AggregatingState[Any, Any]):
    def __init__(self, backend: Addressed, table: TtlValueTable, expiry: Expiry, function: AggregateFunction) -> None:
        super().__init__(backend, table, expiry)
        self._inner = HeapAggregatingState(backend, table, _AggregateEntries(expiry, function))
        self.absorb = self._inner.absorb
        self._get_result = function.get_result

    def get(self) -> Any:
        entry = self._read()
        return None if entry is None else self._get_result(entry[1])

    def add(self, value: Any) -> None:
        self._expiry.access()
        self._inner.add(value)


class _ReduceEntries(ReduceFunction):
    """The user's reduce function on entries."""

    def __init__(self, expiry: Expiry, function: ReduceFunction) -> None:
        self._combine = expiry.combine
        self._reduce = function.reduce

    def reduce(self, value1: Entry, value2: Entry) -> Entry:
        return self._combine(value1, value2, self._reduce)


class _AggregateEntries(AggregateFunction):
    """The user's aggregate function with entries as accumulators."""

    def __init__(self, expiry: Expiry, function: AggregateFunction) -> None:
        self._expiry = expiry
        self._function = function

    def create_accumulator(self) -> Entry:
        return self._expiry.now(), self._function.create_accumulator()

    def add(self, value: Any, accumulator: Entry) -> Entry:
        expiry, function = self._expiry, self._function
        now = expiry.now()
        stamp, aggregated = accumulator
        if expiry.is_hidden(stamp, now):
            aggregated = function.create_accumulator()
        return max(now, stamp), function.add(value, aggregated)

    def get_result(self, accumulator: Entry) -> Any:
        return self._function.get_result(accumulator[1])

    def merge(self, acc_a: Entry, acc_b: Entry) -> Entry:
        return self._expiry.combine(acc_a, acc_b, self._function.merge)


# Kinds, which entry points name

VALUE = replace(keyed.VALUE, made=TtlValueState)
REDUCING = replace(keyed.REDUCING, made=TtlReducingState)
AGGREGATING = replace(keyed.AGGREGATING, made=TtlAggregatingState)
