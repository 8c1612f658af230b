"""Changes of rows as JSON in the forms of Debezium and Canal: an update is one message with both sides."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from millrace.cdc.operators.elements import Batch
from millrace.connectors.cdc.schema import TableId
from millrace.formats.tables.json.texts import JsonTexts
from millrace.formats.tables.times import SQL
from millrace.relational.rows import DELETE, INSERT, UPDATE_BEFORE

DEBEZIUM, CANAL = "debezium-json", "canal-json"
_TEXTS = JsonTexts(SQL, plain_decimals=True)


class Change(NamedTuple):
    """A change of one row, by the places of its sides in a batch."""

    op: str
    """``c``, ``u`` or ``d``"""
    before: int | None
    after: int | None

    @property
    def place(self) -> int:
        """The row that says which key it is."""
        if self.after is not None:
            return self.after
        assert self.before is not None
        return self.before


def changes_of(batch: Batch) -> Iterator[Change]:
    """The changes of a batch. One that changes the key is two: a deletion and an insertion."""
    kinds = batch.rows.kind_values().tolist()
    keys = [batch.rows.columns[place] for place in batch.schema.key_places]
    before: int | None = None
    for place, kind in enumerate(kinds):
        if kind == UPDATE_BEFORE:
            before = place
        elif kind == DELETE:
            yield Change("d", place, None)
        elif kind == INSERT:
            yield Change("c", None, place)
        else:
            if before is not None and any(key[before].as_py() != key[place].as_py() for key in keys):
                yield Change("d", before, None)
                yield Change("c", None, place)
            else:
                yield Change("u", None if batch.keys_only else before, place)
            before = None


def row_texts(batch: Batch) -> list[str]:
    """The rows of a batch as JSON objects."""
    fields = list(zip(batch.schema.names, batch.rows.columns, batch.schema.types))
    found: list[str] = _TEXTS.objects(fields, len(batch.rows)).to_pylist()
    return found


@dataclass(frozen=True)
class ChangeTexts:
    """Messages in one form.

    :ivar schemas: whether messages of Debezium say what types their values have.
    """

    form: str
    schemas: bool = False

    def of(self, batch: Batch) -> list[tuple[Change, str]]:
        """Each change with its message."""
        rows = row_texts(batch)
        make = self._canal(batch) if self.form == CANAL else self._debezium(batch)
        return [(change, make(change, rows)) for change in changes_of(batch)]

    def _debezium(self, batch: Batch) -> Any:
        source = json.dumps(_source(batch.table), ensure_ascii=False, separators=(",", ":"))
        front, end = "", ""
        if self.schemas:
            from millrace.cdc.sinks.connect_schema import connect_schema

            front, end = f'{{"schema":{connect_schema(batch.schema)},"payload":', "}"

        def make(change: Change, rows: list[str]) -> str:
            before = "null" if change.before is None else rows[change.before]
            after = "null" if change.after is None else rows[change.after]
            return f'{front}{{"before":{before},"after":{after},"op":"{change.op}","source":{source}}}{end}'

        return make

    def _canal(self, batch: Batch) -> Any:
        words = {"c": "INSERT", "u": "UPDATE", "d": "DELETE"}
        database = json.dumps(batch.table.schema or batch.table.namespace, ensure_ascii=False)
        table = json.dumps(batch.table.table, ensure_ascii=False)
        keys = json.dumps(list(batch.schema.primary_key), ensure_ascii=False)

        def make(change: Change, rows: list[str]) -> str:
            old = "null" if change.op != "u" or change.before is None else f"[{rows[change.before]}]"
            return (
                f'{{"old":{old},"data":[{rows[change.place]}],"type":"{words[change.op]}","database":{database},'
                f'"table":{table},"pkNames":{keys}}}'
            )

        return make


def _source(table: TableId) -> dict[str, str]:
    """Databases with schemas have both here; of others the database is ``db``, as with Debezium."""
    if table.namespace:
        return {"db": table.namespace, "schema": table.schema, "table": table.table}
    return {"db": table.schema, "table": table.table} if table.schema else {"table": table.table}
