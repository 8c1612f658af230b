"""Changes as rows in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.connectors.cdc.changes import Change, ChunkRows, Relation
from millrace.connectors.cdc.database import CdcDatabase
from millrace.connectors.cdc.decoding import ChangeDecoder
from millrace.connectors.cdc.events import SchemaChangeEvent, TruncateTableEvent
from millrace.connectors.tables.cdc.metadata import CdcMetadata, Origin
from millrace.relational.fields import Field
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Rows, record_batch

ALL, UPSERT_MODE = "all", "upsert"
TRUNCATE = "t"


class _Side(NamedTuple):
    """A row that comes of a change."""

    kind: int
    image: tuple[Any, ...]
    change: Change


@dataclass(frozen=True)
class RowsDecoder(ChangeDecoder[Rows]):
    """
    :ivar table: its name in Millrace, for errors.
    :ivar wanted: of the result: a column of the captured tables, or metadata.
    :ivar mode: ``all``, or ``upsert``: without the old rows of updates.
    :ivar append_only: whatever happens is a row that is inserted.
    :ivar refuses_schemas: whether a change of a table's columns is an error.
    :ivar skipped: operations that are left out: ``c``, ``u``, ``d``, ``t``.
    """

    table: str
    wanted: tuple[Field | CdcMetadata, ...]
    mode: str = ALL
    append_only: bool = False
    refuses_schemas: bool = False
    skipped: frozenset[str] = field(default_factory=frozenset)

    def rows(self, rows: ChunkRows, database: CdcDatabase) -> list[Rows]:
        relation = rows.relation
        columns = []
        origin = Origin(relation.table, 0, INSERT)
        for each in self.wanted:
            if isinstance(each, CdcMetadata):
                columns.append(each.read([origin] * rows.count))
                continue
            place = self._place(relation, each)
            column = relation.schema.columns[place]
            columns.append(database.column(rows.columns[place], column.native, each.type, _where(relation, each)))
        return [Rows(record_batch(columns, rows.count))]

    def changes(self, events: Sequence[Change | SchemaChangeEvent], database: CdcDatabase) -> list[Rows]:
        sides: list[_Side] = []
        for event in events:
            if isinstance(event, SchemaChangeEvent):
                self._schema(event)
            elif event.op not in self.skipped:
                sides += self._sides(event)
        if not sides:
            return []
        groups: dict[int, tuple[Relation, list[int]]] = {}
        for place, side in enumerate(sides):
            relation = side.change.relation
            groups.setdefault(id(relation), (relation, []))[1].append(place)
        parts = [
            self._columns(relation, [sides[place] for place in places], database)
            for relation, places in groups.values()
        ]
        kinds = np.fromiter((side.kind for side in sides), np.uint8, len(sides))
        columns = parts[0]
        if len(parts) > 1:
            order = np.argsort(np.concatenate([places for _, places in groups.values()]), kind="stable")
            columns = [pa.concat_arrays(same).take(pa.array(order)) for same in zip(*parts)]
        only_inserts = self.append_only or not kinds.any()
        return [Rows(record_batch(columns, len(sides)), None if only_inserts else kinds)]

    def _columns(self, relation: Relation, sides: Sequence[_Side], database: CdcDatabase) -> list[pa.Array]:
        columns = []
        for each in self.wanted:
            if isinstance(each, CdcMetadata):
                columns.append(each.read([Origin(relation.table, side.change.time, side.kind) for side in sides]))
                continue
            place = self._place(relation, each)
            values = [side.image[place] for side in sides]
            native = relation.schema.columns[place].native
            columns.append(database.column(values, native, each.type, _where(relation, each)))
        return columns

    def _sides(self, change: Change) -> list[_Side]:
        op, before, after = change.op, change.before, change.after
        if op == "c":
            assert after is not None
            return [_Side(INSERT, after, change)]
        if op == "d":
            assert before is not None
            if change.before_is_key and self.mode == ALL and not self.append_only:
                raise self._no_old_row(change, "a DELETE")
            return [_Side(DELETE, before, change)]
        assert after is not None
        if self.mode == UPSERT_MODE:
            return [_Side(UPDATE_AFTER, after, change)]
        if before is None and self.append_only:
            return [_Side(UPDATE_AFTER, after, change)]
        if before is None:
            raise self._no_old_row(change, "an UPDATE")
        return [_Side(UPDATE_BEFORE, before, change), _Side(UPDATE_AFTER, after, change)]

    def _no_old_row(self, change: Change, what: str) -> ValueError:
        table = change.relation.table
        return ValueError(
            f"table {self.table}: the log of {table} does not have the old row of {what}, which 'changelog-mode' = "
            f"'all' needs: ALTER TABLE {table.short} REPLICA IDENTITY FULL (from then on), or 'changelog-mode' = "
            f"'upsert', which does without it"
        )

    def _schema(self, event: SchemaChangeEvent) -> None:
        if isinstance(event, TruncateTableEvent):
            if TRUNCATE not in self.skipped:
                raise ValueError(
                    f"table {self.table}: {event.table} was emptied by TRUNCATE, and the log does not say which rows "
                    f"that were. Leave it out ('debezium.skipped.operations' = 't') if rows from before shall stay"
                )
        elif self.refuses_schemas:
            raise ValueError(
                f"table {self.table}: the columns of {event.table} were changed, which 'schema-change.mode' = 'refuse' "
                f"does not allow: {event}"
            )

    def _place(self, relation: Relation, wanted: Field) -> int:
        try:
            return relation.schema.names.index(wanted.name)
        except ValueError:
            raise ValueError(
                f"table {self.table}: {relation.table} has no column '{wanted.name}' (here); it has "
                f"{', '.join(relation.schema.names)}"
            ) from None


def _where(relation: Relation, wanted: Field) -> str:
    return f"{relation.table}.{wanted.name}"
