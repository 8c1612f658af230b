"""Routes and transforms: what happened to tables of the source, for each table of the sink that it is for."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from millrace.cdc.operators.computing import transformed
from millrace.cdc.operators.elements import Batch, Element, Routed
from millrace.cdc.rules.names import Surroundings
from millrace.cdc.rules.routing import Router
from millrace.cdc.rules.tables import Applied, applied
from millrace.cdc.rules.transforms import Rule
from millrace.common.functions import FlatMapFunction, RuntimeContext
from millrace.connectors.cdc.schema import TableId, TableSchema
from millrace.relational.functions.registry import Surroundings as Around
from millrace.runtime.bases.base import OperatorContext
from millrace.runtime.functions.runner import FunctionRunner


class Layouts:
    """What the rules make of tables, remembered for each schema."""

    def __init__(self, rules: tuple[Rule, ...], around: Surroundings) -> None:
        self._rules, self._around = rules, around
        self._known: dict[TableId, tuple[TableSchema, Applied]] = {}

    def of(self, table: TableId, schema: TableSchema) -> Applied:
        known = self._known.get(table)
        if known is not None and (known[0] is schema or known[0] == schema):
            return known[1]
        found = applied(self._rules, table, schema, self._around)
        self._known[table] = schema, found
        return found


class Transforming(FlatMapFunction):
    """Rows come out transformed, changes of schemas as they were: the next operator knows what they mean."""

    def __init__(self, rules: tuple[Rule, ...], router: Router, around: Surroundings) -> None:
        self._rules, self._router, self._around = rules, router, around
        self._runner: FunctionRunner | None = None

    def open(self, runtime_context: RuntimeContext) -> None:
        self._layouts = Layouts(self._rules, self._around)
        self._targets: dict[TableId, tuple[TableId, ...]] = {}
        functions: Mapping[str, Any] = self._around.functions
        if functions:
            self._runner = _runner(runtime_context, [each.wrapper for each in functions.values()])
            self._runner.open()

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()

    def flat_map(self, value: Element) -> Iterator[Routed]:
        if not isinstance(value, Batch):
            for sink in self._to(value.table):
                yield Routed(sink, value.table, value)
            return
        around = Around(len(value.rows), self._around.zone, time.time_ns() // 1000)
        batch = transformed(value, self._layouts.of(value.table, value.schema), around, self._runner)
        if batch is not None:
            for sink in self._to(value.table):
                yield Routed(sink, value.table, batch, value.schema)

    def _to(self, table: TableId) -> tuple[TableId, ...]:
        found = self._targets.get(table)
        if found is None:
            found = self._targets[table] = self._router.targets(table)
        return found


def _runner(runtime: Any, wrappers: list[Any]) -> FunctionRunner:
    context = OperatorContext(runtime, "Transform", "the pipeline", None, {}, lambda: time.time_ns() // 1_000_000)
    return FunctionRunner(context, {}, wrappers)
