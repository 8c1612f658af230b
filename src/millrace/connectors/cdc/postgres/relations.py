"""The tables that the log tells of, with the schemas that they have at its places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.connectors.cdc.changes import Relation
from millrace.connectors.cdc.events import SchemaChangeEvent, changed
from millrace.connectors.cdc.postgres import catalog
from millrace.connectors.cdc.postgres.pgoutput import Described
from millrace.connectors.cdc.schema import Column, TableId, TableSchema
from millrace.connectors.jdbc.metadata.postgresql import type_of


@dataclass(frozen=True, eq=False)
class Told:
    """A table as messages call it. :ivar relation: None: it is not captured. :ivar keys: places of the primary key.

    :ivar whole: whether old rows are there as a whole.
    """

    relation: Relation | None
    keys: tuple[int, ...] = ()
    whole: bool = False


class Relations:
    """By the numbers that messages have for tables.

    :param wanted: the captured tables, as they are at the place where the log is begun.
    :param asking: gives a connection for questions.
    """

    def __init__(self, namespace: str, wanted: Sequence[Relation], asking: Callable[[], Any]) -> None:
        self._namespace = namespace
        self._known: dict[TableId, Relation] = {each.table: each for each in wanted}
        self._told: dict[int, Told] = {}
        self._names: dict[int, TableId] = {}
        self._asking = asking

    def forget(self) -> None:
        """The server starts over, and tells all tables again."""
        self._told.clear()

    def __getitem__(self, number: int) -> Told:
        return self._told[number]

    def take(self, described: Described) -> None:
        """What a message says of a table. :raises RuntimeError: a captured table has another name now."""
        table = TableId(self._namespace, described.schema, described.name)
        before = self._names.get(described.number)
        if before is not None and before != table and before in self._known:
            raise RuntimeError(
                f"table {before} was renamed to {table}, and what happens to it would be lost: give it its name "
                f"back, or capture the new name with a job of its own"
            )
        self._names[described.number] = table
        known = self._known.get(table)
        if known is None:
            self._told[described.number] = Told(None)
            return
        schema = self._schema(described, known.schema)
        relation = known if _same(schema, known.schema) else Relation(table, schema)
        keys = tuple(schema.names.index(name) for name in schema.primary_key)
        self._told[described.number] = Told(relation, keys, described.identity == "f")

    def follow(self, told: Told) -> tuple[SchemaChangeEvent, ...]:
        """A change of a table is read: what is new about its schema."""
        relation = told.relation
        assert relation is not None
        known = self._known[relation.table]
        if relation is known:
            return ()
        self._known[relation.table] = relation
        return changed(relation.table, known.schema, relation.schema)

    def _schema(self, described: Described, known: TableSchema) -> TableSchema:
        connection = self._asking()
        natives = catalog.native_types(connection, [(kind, modifier) for _, kind, modifier, _ in described.columns])
        before = {column.name: column for column in known.columns}
        columns = []
        for (name, kind, _, _), native in zip(described.columns, natives):
            earlier = before.get(name)
            if native is None:
                raise RuntimeError(
                    f"column '{name}' of table {described.schema}.{described.name} has a type (number {kind}) that the "
                    f"database does not have any more"
                )
            if earlier is not None and earlier.native == native:
                columns.append(earlier)
            else:
                columns.append(Column(name, type_of(native), native))
        names = {column.name for column in columns}
        key = catalog.key_of(connection, described.number)
        if not key or not names.issuperset(key):
            key = known.primary_key if names.issuperset(known.primary_key) else ()
        return TableSchema(tuple(columns), key, known.comment)


def _same(one: TableSchema, other: TableSchema) -> bool:
    """Whether rows mean the same: NOT NULL and defaults make no difference to the log."""
    return one.primary_key == other.primary_key and [(each.name, each.native) for each in one.columns] == [
        (each.name, each.native) for each in other.columns
    ]
