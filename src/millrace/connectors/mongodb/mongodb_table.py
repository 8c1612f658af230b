"""``'connector' = 'mongodb'``: a collection is read, looked up by one query for many keys, and written.

Conditions in MongoDB's language leave out no document that is wanted; all are checked again afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.mongodb.mongodb_collection import (
    MEGABYTE,
    STRATEGIES,
    Collection,
    Connected,
    MongoChanges,
    MongoRowsSource,
    Reading,
    Splitting,
    collection_errors,
)
from millrace.connectors.mongodb.mongodb_values import as_id, problem, read_columns, to_bson
from millrace.connectors.stores import BufferedSink, Buffering, Found, StoreLookup, by_key
from millrace.connectors.tables.store_table import LOOKUP, SINK, StoreOptions, lookup_source, no_metadata
from millrace.relational.rex import Call, Literal, Ref, Rex, Schema
from millrace.relational.rows import Rows
from millrace.relational.sources import (
    INSERT_ONLY,
    UPSERT,
    LookupTableSource,
    TableContext,
    TableFactory,
    TableSink,
    TableSource,
)
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import CharType
from millrace.util.exceptions import TableException

_OPERATORS = {"=": "$eq", "<>": "$ne", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NUMBERS = (Family.INTEGER, Family.DECIMAL)
_TIMES = (Family.TIMESTAMP, Family.INSTANT)
_ORDERED = (*_NUMBERS, *_TIMES)


def conditions(filters: Sequence[Rex], columns: Schema) -> list[dict[str, Any]]:
    """As much of the filters as MongoDB can check."""
    return [found for each in filters if (found := _condition(each, columns)) is not None]


def _condition(rex: Rex, columns: Schema) -> dict[str, Any] | None:
    if not isinstance(rex, Call):
        return None
    if rex.function in ("AND", "OR"):
        parts = [_condition(each, columns) for each in rex.args]
        known = [each for each in parts if each is not None]
        if rex.function == "OR" and len(known) < len(parts):
            return None
        return {"$and" if rex.function == "AND" else "$or": known} if known else None
    if rex.function in ("IS NULL", "IS NOT NULL"):
        name = _name(rex.args[0], columns)
        return None if name is None else {name: {"$eq" if rex.function == "IS NULL" else "$ne": None}}
    if rex.function == "BETWEEN" and not rex.option("symmetric"):
        value, low, high = rex.args
        return _all([_comparison(">=", value, low, columns), _comparison("<=", value, high, columns)], "$and")
    if rex.function == "IN":
        value, *choices = rex.args
        return _all([_comparison("=", value, choice, columns) for choice in choices], "$or")
    if rex.function in _OPERATORS and len(rex.args) == 2:
        return _comparison(rex.function, *rex.args, columns)
    return None


def _all(parts: Sequence[dict[str, Any] | None], operator: str) -> dict[str, Any] | None:
    return None if None in parts else {operator: list(parts)}


def _comparison(function: str, left: Rex, right: Rex, columns: Schema) -> dict[str, Any] | None:
    if isinstance(left, Literal):
        left, right, function = right, left, _MIRRORED[function]
    name = _name(left, columns)
    if name is None or not isinstance(right, Literal) or right.value is None:
        return None
    kind, other = family_of(left.type), family_of(right.type)
    if kind is not other and not {kind, other} <= set(_NUMBERS):
        return None
    if kind is Family.TEXT:  # one of a fixed length is filled up when it is read
        return None if isinstance(left.type, CharType) else _text(function, name, right.value)
    if kind not in _ORDERED and not (kind is Family.BOOLEAN and function in ("=", "<>")):
        return None
    try:
        found = {name: {_OPERATORS[function]: to_bson(right.type)(right.value)}}
    except ValueError:  # BSON has no such value
        return None
    # Comparisons find values of one type only, and there are two for times.
    return {"$or": [found, {name: {"$type": "timestamp"}}]} if kind in _TIMES else found


def _text(function: str, name: str, value: str) -> dict[str, Any] | None:
    """Only equality: texts have an order of their own there. What is no text there, but read as one (an ObjectId, a
    document) is equal to nothing but itself."""
    if function != "=":
        return None
    if value.lstrip().startswith("{"):  # may be a document that is read as a text
        return None
    known = [value] if as_id(value) == value else [value, as_id(value)]
    return {name: {"$in": known}}


def _name(rex: Rex, columns: Schema) -> str | None:
    """A field whose name MongoDB does not take apart."""
    if not isinstance(rex, Ref) or rex.index >= len(columns):
        return None
    name = columns[rex.index].name
    return None if "." in name or name.startswith("$") else name


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
        with collection_errors(self._collection):
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


SCAN = (
    "scan.fetch-size",
    "scan.cursor.no-timeout",
    "scan.partition.strategy",
    "scan.partition.size",
    "scan.partition.samples",
    "scan.partition.record-size",
    "scan.parallelism",
    "filter.handling.policy",
)
WRITING = (
    "sink.retry.interval",
    "sink.delivery-guarantee",
    "sink.ordered-writes",
    "ordered-writes",
    "sink.bypass-document-validation",
)
BUFFERING = Buffering(max_rows=1000)


class MongoFactory(TableFactory):
    identifier = "mongodb"
    extra = "mongodb"
    required = ("uri", "database", "collection")
    optional = (*SCAN, *LOOKUP, "lookup.retry.interval", *SINK, *WRITING)

    def source(self, table: TableContext) -> TableSource:
        return MongoTableSource(table)

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        collection, options = _opened(table)
        return lookup_source(
            self,
            table,
            key,
            lambda: MongoLookup(collection, table.columns, key, table.options, options.asking),
        )

    def sink(self, table: TableContext) -> TableSink:
        return MongoTableSink(table)


class MongoTableSource(TableSource):
    """Reads the fields that are wanted of the documents that pass those filters that MongoDB understands."""

    def __init__(self, table: TableContext) -> None:
        self._columns = table.columns
        self._collection, options = _opened(table)
        strategy = options.given.get("scan.partition.strategy", "default").lower().replace("_", "-")
        if strategy not in STRATEGIES:
            raise options.problem("scan.partition.strategy", f"is one of {', '.join(STRATEGIES)}")
        self._splitting = Splitting(
            strategy,
            max(1, options.size("scan.partition.size", 64 * MEGABYTE)),
            max(1, options.not_negative("scan.partition.samples", 10)),
            options.size("scan.partition.record-size", 0) or None,
        )
        self._fetch = options.not_negative("scan.fetch-size", 2048) or 2048
        self._no_timeout = "scan.cursor.no-timeout" not in options.given or options.flag("scan.cursor.no-timeout")
        self.uses_filters = options.one_of("filter.handling.policy", "always", ("always", "never")) == "always"

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        wanted = tuple(self._columns[place] for place in columns)
        passed = conditions(filters, self._columns) if self.uses_filters else []
        names = tuple(column.name for column in wanted)
        reading = Reading(names, passed, self._fetch, self._no_timeout, splitting=self._splitting)
        return MongoRowsSource(self._collection, wanted, reading)


class MongoTableSink(TableSink):
    """Inserts documents, or keeps one for each key of a table with PRIMARY KEY."""

    def __init__(self, table: TableContext) -> None:
        self._collection, options = _opened(table)
        self.keys = table.primary_key
        self.kinds = UPSERT if table.primary_key else INSERT_ONLY
        self.parallelism = options.parallelism
        if table.primary_key and "_id" not in table.primary_key and any(each.name == "_id" for each in table.columns):
            raise TableException(
                f"table {table.summary}: the PRIMARY KEY becomes the _id of documents, so a column '_id' must be the "
                f"PRIMARY KEY, or have another name"
            )
        options.one_of("sink.delivery-guarantee", "at-least-once", ("at-least-once", "none"))
        ordered = next((name for name in ("sink.ordered-writes", "ordered-writes") if name in options.given), None)
        self._changes = MongoChanges(
            self._collection,
            table.columns,
            table.primary_key,
            table.partition_keys,
            ordered is None or options.flag(ordered),
            options.flag("sink.bypass-document-validation"),
        )
        self._buffering = options.buffering(BUFFERING)

    def stream(self) -> Sink[Rows]:
        return BufferedSink(self._collection, self._changes, self._buffering, len)


def _opened(table: TableContext) -> tuple[Collection, StoreOptions]:
    no_metadata(table)
    wrong = problem(table.columns)
    if wrong is not None:
        raise TableException(f"table {table.summary}, {wrong}")
    options = StoreOptions(table)
    given = options.given
    if not given["uri"].startswith(("mongodb://", "mongodb+srv://")):
        raise TableException(f"table {table.summary}: 'uri' begins with mongodb:// or mongodb+srv://")
    return Collection(given["uri"], given["database"], given["collection"]), options
