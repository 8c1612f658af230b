"""The base of keyed operators that aggregate: their accumulators."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeVar

import pyarrow as pa

from millrace.relational.arrow import arrow_type
from millrace.relational.rex import AggCall, Rex
from millrace.runtime.tables.aggregates.accumulators import Accumulators
from millrace.runtime.tables.aggregates.distinct import DistinctCounts
from millrace.runtime.tables.aggregates.seen_values import MOST_FILTERS, SeenRows, SeenValues
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig

C = TypeVar("C", bound=TableConfig)


class AggregatingOperator(KeyedTableOperator[C]):
    """Has ``accumulators`` for the calls that ``setup`` passes to ``aggregate``."""

    accumulators: Accumulators

    def aggregate(
        self,
        calls: Sequence[AggCall],
        retracts: bool,
        ttl: int | None = None,
        lasting: Sequence[pa.DataType] | None = None,
    ) -> None:
        """:param ttl: as for ``keyed_map``.
        :param lasting: the types of the columns of the key, if groups are at keys and go only with their last row.
        """
        seen = None
        if lasting is not None and self._only_added(calls, retracts, self.config.state_ttl if ttl is None else ttl):
            seen = partial(self._seen, lasting)
        self.accumulators = Accumulators(calls, retracts, lambda name: self.keyed_map(name, ttl), seen, self.functions)

    def _only_added(self, calls: Sequence[AggCall], retracts: bool, ttl: int) -> bool:
        """Whether values of DISTINCT are never forgotten, and may be in columns."""
        filters = {call.filter for call in calls}
        return not retracts and not ttl and len(filters) <= MOST_FILTERS and self.backend.in_memory

    def _seen(self, keys: Sequence[pa.DataType], name: str, args: tuple[Rex, ...]) -> DistinctCounts:
        rows = SeenRows(keys, [arrow_type(arg.type) for arg in args])
        return SeenValues(args, self.backend.use(name, rows), keys)
