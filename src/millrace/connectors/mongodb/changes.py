"""Rows in columns as changes of a collection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.connectors.dbapi.changes import Change
from millrace.connectors.mongodb.connection import Collection, Connected, library
from millrace.connectors.mongodb.keys import key_converter
from millrace.connectors.mongodb.values import to_bson
from millrace.connectors.stores.last_rows import last_rows
from millrace.relational.fields import Schema
from millrace.relational.rows import Rows, concat
from millrace.relational.values import to_python


@dataclass(frozen=True)
class MongoChanges(Change[Rows]):
    """Inserts a document for each row; with a key, changes the fields of the document whose ``_id`` it is.

    Fields that are no columns stay as they are, as in Flink.
    """

    collection: Collection
    columns: Schema
    keys: tuple[str, ...] = ()
    shard_keys: tuple[str, ...] = ()
    """columns that a sharded collection finds its documents by, beside the key"""
    ordered: bool = True
    bypass_validation: bool = False

    def apply(self, connection: Connected, elements: Sequence[Rows]) -> None:
        """:raises RuntimeError: MongoDB refuses; with the collection's name."""
        names = [column.name for column in self.columns]
        rows = last_rows(concat(elements), self.keys, [names.index(key) for key in self.keys], self.collection.name)
        if len(rows):
            write(self.collection, connection, list(self._operations(rows)), self.ordered, self.bypass_validation)

    def _operations(self, rows: Rows) -> Iterator[Any]:
        pymongo = library()
        names = [column.name for column in self.columns]
        values = [
            list(map(to_bson(column.type), to_python(values, column.type)))
            for column, values in zip(self.columns, rows.columns)
        ]
        documents = [dict(zip(names, row)) for row in zip(*values)]
        if not self.keys:
            yield from map(pymongo.InsertOne, documents)
            return
        key_of = key_converter(self.keys)
        for document, adds in zip(documents, rows.adds().tolist()):
            which = {"_id": key_of(document), **{name: document[name] for name in self.shard_keys}}
            if not adds:
                yield pymongo.DeleteOne(which)
                continue
            fields = {name: value for name, value in document.items() if name != "_id"}
            # $set takes no empty document.
            yield pymongo.UpdateOne(which, {"$set": fields or {"_id": which["_id"]}}, upsert=True)


def write(
    collection: Collection, connection: Connected, operations: Sequence[Any], ordered: bool, bypass_validation: bool
) -> None:
    """Write in bulk.

    :raises Exception: MongoDB refuses; with the collection, and what it says about the first operation that failed.
    """
    errors = library().errors
    try:
        connection.collection.bulk_write(
            operations, ordered=ordered, bypass_document_validation=True if bypass_validation else None
        )
    except errors.BulkWriteError as error:
        raise collection.failed(_Said(_first(error.details))) from None
    except errors.PyMongoError as error:
        raise collection.failed(error) from None


class _Said(Exception):
    """What the server said about one operation."""


def _first(details: Any) -> str:
    wrong = [*details.get("writeErrors", ()), *details.get("writeConcernErrors", ())]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return f"{wrong[0].get('errmsg', wrong[0])}{more}" if wrong else str(details)
