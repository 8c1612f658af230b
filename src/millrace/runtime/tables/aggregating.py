"""The base of keyed operators that aggregate: their accumulators, and the life of the user's functions in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from millrace.relational.rex import AggCall
from millrace.runtime.tables.accumulators import Accumulators
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig
from millrace.runtime.tables.user_functions import TaskFunctionContext

C = TypeVar("C", bound=TableConfig)


class AggregatingOperator(KeyedTableOperator[C]):
    """Has ``accumulators`` for the calls that ``setup`` passes to ``aggregate``."""

    accumulators: Accumulators

    def aggregate(self, calls: Sequence[AggCall], retracts: bool, ttl: int | None = None) -> None:
        """:param ttl: as for ``keyed_map``."""
        self.accumulators = Accumulators(calls, retracts, lambda name: self.keyed_map(name, ttl))
        self._opened: list[tuple[str, Any]] = []

    def open(self) -> None:
        super().open()
        metrics = self.config.environment.configuration.get("python.metric.enabled", "true") == "true"
        for name, function in self.accumulators.functions:
            try:
                function.open(TaskFunctionContext(self.context.runtime, metrics))
            except Exception as error:
                raise self.context.error(error, during=f" in open() of {name}") from error
            self._opened.append((name, function))

    def close(self) -> None:
        opened, self._opened = self._opened, []
        for name, function in opened:
            try:
                function.close()
            except Exception as error:
                raise self.context.error(error, during=f" in close() of {name}") from error
        super().close()
