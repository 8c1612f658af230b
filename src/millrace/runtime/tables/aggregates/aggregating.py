"""The base of keyed operators with accumulators."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from millrace.relational.rex import AggCall, Rex
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.runtime.functions.runner import FunctionRunner
from millrace.runtime.tables.aggregates.accumulators import Accumulators, once
from millrace.runtime.tables.aggregates.append_only_distinct import MOST_FILTERS, SeenRows, SeenValues
from millrace.runtime.tables.aggregates.distinct import DistinctCounts
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
    return StoredCalls(state, groups, keys, accumulators.stored(config.call_texts), shape), accumulators.zero


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
        if lasting is not None and self._only_added(calls, retracts, forgets):
            seen = partial(self._seen, lasting)
        elif not retracts and not forgets:  # where values are forgotten, each time that one comes counts
            seen = partial(once, entries)
        self.accumulators = Accumulators(calls, retracts, entries, seen, self.functions)

    def _only_added(self, calls: Sequence[AggCall], retracts: bool, ttl: int) -> bool:
        """Whether DISTINCT values are never removed, so that they may be in columns."""
        filters = {call.filter for call in calls}
        return not retracts and not ttl and len(filters) <= MOST_FILTERS and self.backend.in_memory

    def _seen(self, keys: Sequence[pa.DataType], name: str, args: tuple[Rex, ...]) -> DistinctCounts:
        rows = SeenRows(keys, [arrow_type(arg.type) for arg in args])
        return SeenValues(args, self.backend.use(name, rows), keys)
