"""What was captured as batches: a naive reading of the same changes gives the same rows in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millrace.cdc.elements import Batch
from millrace.cdc.pipeline_sources import BatchDecoder
from millrace.connectors.cdc.changes import Change, Relation
from millrace.connectors.cdc.events import Column, TableId, TableSchema, TruncateTableEvent
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from millrace.relational.types import IntType

SCHEMA = TableSchema((Column("id", IntType(False)), Column("n", IntType())), ("id",))
RELATIONS = [Relation(TableId("db", "app", name), SCHEMA) for name in ("t1", "t2")]


class Numbers:
    """A database whose log has numbers."""

    def column(self, values: Sequence[Any], native: str, kind: Any, where: str) -> pa.Array:
        return pa.array(values, pa.int32())


rows = st.tuples(st.integers(0, 5), st.integers(0, 5))
changes = st.tuples(st.sampled_from("cud"), st.sampled_from(RELATIONS), rows, rows, st.booleans())


@given(st.lists(st.one_of(changes, st.just(None)), max_size=30))
def test_each_table_has_its_changes_in_order(drawn: list[Any]) -> None:
    events: list[Any] = []
    expected: dict[str, list[Any]] = {"app.t1": [], "app.t2": []}
    for each in drawn:
        if each is None:
            events.append(TruncateTableEvent(RELATIONS[0].table))
            expected["app.t1"].append("truncated")
            continue
        op, relation, before, after, has_before = each
        name = relation.table.short
        old = before if op == "d" or (op == "u" and has_before) else None
        events.append(Change(op, relation, old, after if op != "d" else None, None, len(events)))
        if old is not None:
            expected[name].append((DELETE if op == "d" else UPDATE_BEFORE, *old, len(events) - 1))
        if op != "d":
            expected[name].append((INSERT if op == "c" else UPDATE_AFTER, *after, len(events) - 1))
    found: dict[str, list[Any]] = {"app.t1": [], "app.t2": []}
    for element in BatchDecoder().changes(events, Numbers()):  # type: ignore[arg-type]
        if isinstance(element, Batch):
            columns = [each.to_pylist() for each in element.rows.columns]
            values = zip(element.rows.kind_values().tolist(), *columns, element.times.tolist())
            found[str(element.table)] += values
        else:
            found[str(element.table)].append("truncated")
    assert found == expected


def test_tables_with_their_database() -> None:
    change = Change("c", RELATIONS[0], None, (1, 2), None, 0)
    (batch,) = BatchDecoder(namespaces=True).changes([change], Numbers())  # type: ignore[arg-type]
    assert str(batch.table) == "db.app.t1"
