"""What was captured of a database as batches of columns: a batch for the changes of each table, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from millrace.cdc.operators.elements import Batch, Element
from millrace.connectors.cdc.changes import Change, ChunkRows, Relation
from millrace.connectors.cdc.database import CdcDatabase
from millrace.connectors.cdc.decoding import ChangeDecoder
from millrace.connectors.cdc.events import CreateTableEvent, SchemaChangeEvent
from millrace.connectors.cdc.schema import TableId
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Rows, record_batch


class _Gathered:
    """The changes of one table between two changes of its schema."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.rows: list[tuple[Any, ...]] = []
        self.kinds: list[int] = []
        self.times: list[int] = []
        self.keys_only = False

    def add(self, change: Change) -> None:
        self.keys_only = self.keys_only or change.before_is_key
        if change.before is not None and change.op != "c":
            self.rows.append(change.before)
            self.kinds.append(DELETE if change.op == "d" else UPDATE_BEFORE)
        if change.after is not None and change.op != "d":
            self.rows.append(change.after)
            self.kinds.append(INSERT if change.op == "c" else UPDATE_AFTER)
        self.times += [change.time] * (len(self.rows) - len(self.times))


class BatchDecoder(ChangeDecoder[Element]):
    """Batches and changes of schemas. Between two of these the order of tables does not matter, that within one does.

    A batch has the schema of its rows, so that of a table need not be told once more.

    :param namespaces: whether tables are known by their database, too, where there are schemas below it.
    """

    def __init__(self, namespaces: bool = False) -> None:
        self._namespaces = namespaces

    def _called(self, table: TableId) -> TableId:
        return table if self._namespaces else replace(table, namespace="")

    def rows(self, rows: ChunkRows, database: CdcDatabase) -> list[Element]:
        table, schema = self._called(rows.relation.table), rows.relation.schema
        # Also of a table without rows, which is made nevertheless.
        found: list[Element] = [CreateTableEvent(table, schema)]
        if rows.count:
            columns = [
                database.column(values, column.native, column.type, f"{table}.{column.name}")
                for values, column in zip(rows.columns, schema.columns)
            ]
            found.append(Batch(table, schema, Rows(record_batch(columns, rows.count))))
        return found

    def changes(self, events: Sequence[Change | SchemaChangeEvent], database: CdcDatabase) -> list[Element]:
        found: list[Element] = []
        waiting: dict[int, _Gathered] = {}
        for event in events:
            if isinstance(event, SchemaChangeEvent):
                found += self._made(waiting, database)
                waiting = {}
                found.append(replace(event, table=self._called(event.table)))
            else:
                waiting.setdefault(id(event.relation), _Gathered(event.relation)).add(event)
        return found + self._made(waiting, database)

    def _made(self, waiting: dict[int, _Gathered], database: CdcDatabase) -> list[Element]:
        found: list[Element] = []
        for each in waiting.values():
            table, schema = self._called(each.relation.table), each.relation.schema
            columns = []
            for place, column in enumerate(schema.columns):
                values = [row[place] for row in each.rows]
                columns.append(database.column(values, column.native, column.type, f"{table}.{column.name}"))
            rows = Rows(record_batch(columns, len(each.rows)), np.array(each.kinds, np.uint8))
            found.append(Batch(table, schema, rows, each.keys_only, np.array(each.times, np.int64)))
        return found
