"""The base of keyed operators with accumulators."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from millrace.relational.functions.aggregates.registry import Folding, accumulation
from millrace.relational.rex import AggCall, Rex
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.runtime.functions.runner import FunctionRunner
from millrace.runtime.tables.aggregates.accumulators import Accumulators, once
from millrace.runtime.tables.aggregates.append_only_distinct import MOST_FILTERS, SeenRows, SeenValues
from millrace.runtime.tables.aggregates.distinct import DistinctCounts
from millrace.runtime.tables.aggregates.extremum import ColumnExtremum
from millrace.runtime.tables.aggregates.value_rows import ChangingValues, ValueRows
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig
from millrace.runtime.tables.state import KeyedMap
from millrace.runtime.tables.stored_calls import StoredCalls

C = TypeVar("C", bound=TableConfig)


class Aggregates(Protocol):
    """The description of an operator that aggregates."""

    @property
    def key_types(self) -> tuple[DataType, ...]: ...

    @property
    def calls(self) -> tuple[AggCall, ...]: ...

    @property
    def retracts(self) -> bool: ...


def stored_calls(
    config: TableConfig, of: Aggregates, state: str, shape: str = ""
) -> tuple[StoredCalls, tuple[Any, ...]] | None:
    """The layout of an operator's accumulators in its state, and the accumulator of no rows; None: not known.

    :param of: the ``config`` of the operator, which may be of several classes.
    :param shape: what contains the accumulators.
    """
    if not config.meaning or len(config.call_texts) != len(of.calls):
        return None
    accumulators = Accumulators(of.calls, of.retracts, lambda name: _Unused(), functions=Described())
    groups = tuple(part for part in config.meaning if part not in config.call_texts and not _OF_RESULT.match(part))
    keys = tuple(str(each.nullable()) for each in of.key_types)
    calls, names = accumulators.stored(config.call_texts), config.result_names
    if len(names) >= len(keys) + len(calls):
        calls = tuple(replace(call, name=name) for call, name in zip(calls, names[len(keys) :]))
    layout = StoredCalls(state, groups, keys, calls, shape, key_names=names[: len(keys)])
    return layout, accumulators.zero


_OF_RESULT = re.compile("types |properties=")
"""parts of a meaning that don't affect the state"""


class Described(FunctionRunner):
    """A function runner whose functions are only described, never opened."""

    def __init__(self) -> None:
        super().__init__(None, {})  # type: ignore[arg-type]

    def of(self, wrapper: Any) -> Any:
        return wrapper.function


class _Unused(KeyedMap):
    """A state that is never used, for accumulators that are only described."""

    def get(self, at: Any, key: Any) -> Any:
        raise NotImplementedError

    def put(self, at: Any, key: Any, value: Any) -> None:
        raise NotImplementedError

    def remove(self, at: Any, key: Any) -> None:
        raise NotImplementedError

    def items(self, at: Any) -> list[tuple[Any, Any]]:
        raise NotImplementedError

    def clear(self, at: Any) -> None:
        raise NotImplementedError


class AggregatingOperator(KeyedTableOperator[C]):
    """An operator with ``accumulators`` for the calls that ``setup`` passes to ``aggregate``."""

    accumulators: Accumulators

    def aggregate(
        self,
        calls: Sequence[AggCall],
        retracts: bool,
        ttl: int | None = None,
        lasting: Sequence[pa.DataType] | None = None,
    ) -> None:
        """:param ttl: as for ``keyed_map``.
        :param lasting: the types of the key columns, if groups are stored by key and removed only with their last row.
        """
        entries, seen = (lambda name: self.keyed_map(name, ttl)), None
        forgets = self.config.state_ttl if ttl is None else ttl
        extremum: Callable[[str, AggCall, Sequence[pa.DataType]], ColumnExtremum] | None = None
        if lasting is not None and retracts:
            extremum = partial(self._changing_extremum, lasting, ttl)
            seen = partial(self._changing, lasting, ttl)
        elif lasting is not None and len({call.filter for call in calls}) <= MOST_FILTERS:
            seen = partial(self._seen, lasting, ttl)
        elif not retracts and not forgets:  # where values are forgotten, each time that one comes counts
            seen = partial(once, entries)
        self.accumulators = Accumulators(calls, retracts, entries, seen, self.functions, extremum)

    def _changing(
        self, keys: Sequence[pa.DataType], ttl: int | None, name: str, args: tuple[Rex, ...]
    ) -> DistinctCounts:
        types = [arrow_type(arg.type) for arg in args]
        return ChangingValues(args, types, keys, partial(self._value_rows, keys, ttl, name))

    def _changing_extremum(
        self, keys: Sequence[pa.DataType], ttl: int | None, name: str, call: AggCall, types: Sequence[pa.DataType]
    ) -> ColumnExtremum:
        folding = accumulation(call, False)
        assert isinstance(folding, Folding)
        return ColumnExtremum(folding, types, keys, partial(self._value_rows, keys, ttl, name))

    def _value_rows(
        self,
        keys: Sequence[pa.DataType],
        ttl: int | None,
        name: str,
        values: Sequence[pa.DataType],
        counts: int,
        bare: bool,
    ) -> ValueRows:
        return self.backend.use(name, ValueRows(keys, values, counts, bare, self.expiry(ttl)))

    def _seen(self, keys: Sequence[pa.DataType], ttl: int | None, name: str, args: tuple[Rex, ...]) -> DistinctCounts:
        rows = SeenRows(keys, [arrow_type(arg.type) for arg in args], self.expiry(ttl))
        return SeenValues(args, self.backend.use(name, rows), keys)
