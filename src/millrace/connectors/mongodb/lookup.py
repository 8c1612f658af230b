"""``MongoLookup``: the documents of many keys by one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millrace.connectors.mongodb.connection import Collection, Connected
from millrace.connectors.mongodb.keys import as_id
from millrace.connectors.mongodb.scan import told
from millrace.connectors.mongodb.values import read_columns, to_bson
from millrace.connectors.stores.buffered import Buffering
from millrace.connectors.stores.lookup import Found, StoreLookup, by_key
from millrace.relational.fields import Schema


class MongoLookup(StoreLookup):
    """Asks a collection for the documents of keys.

    :param key: which of the columns are the key.
    """

    def __init__(
        self,
        collection: Collection,
        columns: Schema,
        key: Sequence[int],
        options: Mapping[str, str],
        asking: Buffering,
    ) -> None:
        super().__init__(collection, options, asking)
        self._collection = collection
        self._columns = columns
        self._key = tuple(columns[place] for place in key)
        self._places = tuple(key)

    def ask(self, connection: Connected, keys: Sequence[tuple[Any, ...]]) -> Sequence[Found]:
        with told(self._collection):
            wanted = {"_id": 0, **{column.name: 1 for column in self._columns}}
            documents = list(connection.collection.find(self._condition(keys), wanted))
            rows = zip(*read_columns(documents, self._columns))
        return by_key(rows, self._places, keys)  # a document may have a key as another type, whose text is none

    def _condition(self, keys: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
        convert = [to_bson(column.type) for column in self._key]
        if len(self._key) == 1:
            return {self._key[0].name: {"$in": [value for (key,) in keys for value in _forms(convert[0](key))]}}
        names = [column.name for column in self._key]
        return {
            "$or": [
                {name: {"$in": _forms(each(value))} for name, each, value in zip(names, convert, key)} for key in keys
            ]
        }


def _forms(value: Any) -> list[Any]:
    """What a document may have for a key: a text with the digits of an ObjectId may be one."""
    other = as_id(value)
    return [value] if other is value else [value, other]
