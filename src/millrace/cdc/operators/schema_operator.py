"""Schemas of the sink's tables, kept in state: says what to change there, and brings rows into the form they have."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from millrace.cdc.operators.coercing import Coercion, coercion
from millrace.cdc.operators.elements import Batch, Routed, SinkChange, SinkElement
from millrace.cdc.operators.transforming import Layouts
from millrace.cdc.rules.layout import Layout
from millrace.cdc.rules.names import Surroundings
from millrace.cdc.rules.transforms import Rule
from millrace.cdc.schemas.behaving import Policy
from millrace.cdc.schemas.following import Following
from millrace.common.functions import KeyedProcessFunction, RuntimeContext
from millrace.common.state import ValueStateDescriptor
from millrace.common.typeinfo import Types
from millrace.connectors.cdc.schema import TableId, TableSchema
from millrace.relational.functions.registry import Surroundings as Around


class SchemaOperator(KeyedProcessFunction):
    """Keyed by the table of the sink: everything of a table passes here in its order, schema changes at their place."""

    def __init__(self, rules: tuple[Rule, ...], around: Surroundings, policy: Policy, lineage: str) -> None:
        self._rules, self._around, self._policy, self._lineage = rules, around, policy, lineage

    def open(self, runtime_context: RuntimeContext) -> None:
        self._layouts = Layouts(self._rules, self._around)
        self._state = runtime_context.get_state(ValueStateDescriptor("following", Types.PICKLED_BYTE_ARRAY()))
        self._coercions: dict[tuple[TableId, TableId], tuple[TableSchema, TableSchema, Coercion | None]] = {}

    def process_element(self, value: Routed, ctx: Any) -> Iterator[SinkElement]:
        known: Following = self._state.value() or Following(value.sink, lineage=self._lineage)
        element = value.element
        if isinstance(element, Batch):
            assert value.origin is not None
            after, told = known.before_rows(value.source, value.origin, self._layout_of, self._policy)
        else:
            after, told = known.after(value.source, element, self._layout_of, self._policy)
        after = replace(after, version=known.version + len(told)) if told else after
        if after is not known:
            self._state.update(after)
        for number, event in enumerate(told, known.version + 1):
            yield SinkChange(event, number, after.lineage)
        if isinstance(element, Batch):
            assert after.layout is not None
            batch = self._in_form(value, element, after.layout.schema)
            yield replace(batch, version=after.version, lineage=after.lineage)

    def _layout_of(self, table: TableId, schema: TableSchema) -> Layout:
        return self._layouts.of(table, schema).layout

    def _in_form(self, routed: Routed, batch: Batch, wanted: TableSchema) -> Batch:
        place = routed.source, routed.sink
        known = self._coercions.get(place)
        if known is None or known[0] != batch.schema or known[1] != wanted:
            found = coercion(routed.sink, batch.schema, wanted, self._policy.tolerant)
            known = self._coercions[place] = batch.schema, wanted, found
        how = known[2]
        if how is None:
            return replace(batch, table=routed.sink, schema=wanted)
        around = Around(len(batch.rows), self._around.zone, time.time_ns() // 1000)
        return replace(how.of(batch, around), table=routed.sink)
