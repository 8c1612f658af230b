"""``MongoSource`` and ``MongoSink`` of DataStreams: documents as Python dictionaries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from millrace.common.sink import Sink, SinkWriter, WriterInitContext
from millrace.common.typeinfo import TypeInformation
from millrace.connectors.dbapi import Change
from millrace.connectors.mongodb.mongodb_collection import (
    Collection,
    Connected,
    MongoPart,
    Reading,
    all_parts,
    collection_errors,
    library,
    write,
)
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.connectors.stores import BufferedSink, Buffering, PartsSource


class PartitionStrategy(Enum):
    """How a collection is cut into parts that are read side by side.

    >>> builder = MongoSource.builder().set_partition_strategy(PartitionStrategy.SAMPLE)
    """

    DEFAULT = "default"
    SINGLE = "single"
    SAMPLE = "sample"
    SPLIT_VECTOR = "split-vector"
    SHARDED = "sharded"
    PAGINATION = "pagination"


class MongoDeserializationSchema(ABC):
    """Makes an element of a document.

    >>> class Names(MongoDeserializationSchema):
    ...     def deserialize(self, document):
    ...         return document["name"]
    >>> Names().deserialize({"_id": 1, "name": "Ann"})
    'Ann'
    """

    @abstractmethod
    def deserialize(self, document: dict[str, Any]) -> Any:
        """The element of a document."""

    def get_produced_type(self) -> TypeInformation | None:
        """None: any Python object."""
        return None


class MongoSerializationSchema(ABC):
    """Makes an operation of an element: one of pymongo's (``InsertOne``, ``UpdateOne``, ``DeleteOne``, ...).

    >>> from pymongo import InsertOne
    >>> class Users(MongoSerializationSchema):
    ...     def serialize(self, element, context):
    ...         return InsertOne({"name": element})
    """

    @abstractmethod
    def serialize(self, element: Any, context: Any) -> Any:
        """What is written for an element: a model of PyMongo, such as ``InsertOne``."""


class MongoSource(PartsSource[Any, MongoPart]):
    """Reads a collection once: ``MongoSource.builder()``.

    >>> builder = MongoSource.builder().set_uri("mongodb://localhost:27017").set_database("shop")
    >>> builder = builder.set_collection("users")
    >>> source = builder.set_deserialization_schema(lambda document: document["name"]).build()
    """

    def __init__(
        self, collection: Collection, reading: Reading, convert: Callable[[Any], Any], produced: TypeInformation | None
    ) -> None:
        self._collection = collection
        self._reading = reading
        self._convert = convert
        self._produced = produced

    @staticmethod
    def builder() -> MongoSourceBuilder:
        """Begins a source; ``build()`` ends it."""
        return MongoSourceBuilder()

    def get_produced_type(self) -> TypeInformation | None:
        return self._produced

    def parts(self) -> list[MongoPart]:
        return all_parts(self._collection, self._reading.splitting)

    def elements(self, part: MongoPart) -> Iterator[Any]:
        with closing(self._collection()) as connection:
            documents = self._reading.documents(connection, part)
            while True:
                with collection_errors(self._collection):
                    some = next(documents, None)
                if some is None:
                    return
                yield from map(self._convert, some)


class MongoSourceBuilder:
    """Puts a ``MongoSource`` together.

    >>> builder = MongoSourceBuilder().set_uri("mongodb://localhost:27017").set_projected_fields("name")
    """

    def __init__(self) -> None:
        self._place = _Place()
        self._reading = Reading()
        self._schema: MongoDeserializationSchema | Callable[[Any], Any] | None = None

    def set_uri(self, uri: str) -> MongoSourceBuilder:
        """The address of the server."""
        self._place = replace(self._place, uri=uri)
        return self

    def set_database(self, database: str) -> MongoSourceBuilder:
        """The database that is read."""
        self._place = replace(self._place, database=database)
        return self

    def set_collection(self, collection: str) -> MongoSourceBuilder:
        """The collection that is read."""
        self._place = replace(self._place, collection=collection)
        return self

    def set_fetch_size(self, fetch_size: int) -> MongoSourceBuilder:
        """How many documents the server sends at once."""
        return self._read(fetch=_positive("fetch size", fetch_size))

    def set_limit(self, limit: int) -> MongoSourceBuilder:
        """:param limit: documents of each part; -1: all."""
        return self._read(limit=None if limit == -1 else _positive("limit", limit))

    def set_no_cursor_timeout(self, no_cursor_timeout: bool) -> MongoSourceBuilder:
        """Whether cursors live on while nothing is asked of them."""
        return self._read(no_timeout=no_cursor_timeout)

    def set_projected_fields(self, *fields: str) -> MongoSourceBuilder:
        """The only fields that are read."""
        return self._read(fields=fields)

    def set_partition_strategy(self, strategy: PartitionStrategy) -> MongoSourceBuilder:
        """How the collection is cut into parts."""
        return self._split(strategy=strategy.value)

    def set_partition_size(self, size: Any) -> MongoSourceBuilder:
        """:param size: a ``MemorySize``, or bytes."""
        return self._split(size=_positive("partition size", size if isinstance(size, int) else size.get_bytes()))

    def set_samples_per_partition(self, samples: int) -> MongoSourceBuilder:
        """How many samples a part has, for ``SAMPLE``."""
        return self._split(samples=_positive("number of samples", samples))

    def set_deserialization_schema(
        self, schema: MongoDeserializationSchema | Callable[[dict[str, Any]], Any]
    ) -> MongoSourceBuilder:
        """:param schema: or a function; without one, elements are the documents."""
        self._schema = schema
        return self

    def _read(self, **what: Any) -> MongoSourceBuilder:
        self._reading = replace(self._reading, **what)
        return self

    def _split(self, **what: Any) -> MongoSourceBuilder:
        return self._read(splitting=replace(self._reading.splitting, **what))

    def build(self) -> MongoSource:
        """:raises ValueError: URI, database or collection is missing."""
        schema = self._schema
        if isinstance(schema, MongoDeserializationSchema):
            return MongoSource(
                self._place.found("MongoSource"), self._reading, schema.deserialize, schema.get_produced_type()
            )
        return MongoSource(self._place.found("MongoSource"), self._reading, schema or _itself, None)


class MongoSink(Sink[Any]):
    """Writes elements in bulk: ``MongoSink.builder()``. **At least once**; where operations name documents by their
    ``_id``, repeating them changes nothing.

        >>> from pymongo import InsertOne
        >>> builder = MongoSink.builder().set_uri("mongodb://localhost:27017").set_database("shop")
        >>> builder = builder.set_collection("users")
        >>> sink = builder.set_serialization_schema(lambda user, context: InsertOne({"name": user})).build()
    """

    def __init__(self, below: BufferedSink[Any]) -> None:
        self._below = below

    @staticmethod
    def builder() -> MongoSinkBuilder:
        """Begins a sink; ``build()`` ends it."""
        return MongoSinkBuilder()

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        return self._below.create_writer(context)


@dataclass(frozen=True)
class MongoOperations(Change[Any]):
    """Elements as operations of a collection."""

    collection: Collection
    serialize: Callable[[Any, Any], Any]
    ordered: bool = True
    bypass_validation: bool = False

    def apply(self, connection: Connected, elements: Sequence[Any]) -> None:
        pymongo = library()
        made = [self.serialize(element, None) for element in elements]
        operations = [pymongo.InsertOne(each) if isinstance(each, dict) else each for each in made if each is not None]
        if operations:
            write(self.collection, connection, operations, self.ordered, self.bypass_validation)


class MongoSinkBuilder:
    """Puts a ``MongoSink`` together.

    >>> builder = MongoSinkBuilder().set_uri("mongodb://localhost:27017").set_database("shop").set_batch_size(100)
    """

    def __init__(self) -> None:
        self._place = _Place()
        self._buffering = Buffering(max_rows=1000)
        self._ordered, self._bypass = True, False
        self._schema: MongoSerializationSchema | Callable[[Any, Any], Any] | None = None

    def set_uri(self, uri: str) -> MongoSinkBuilder:
        """The address of the server."""
        self._place = replace(self._place, uri=uri)
        return self

    def set_database(self, database: str) -> MongoSinkBuilder:
        """The database that is written to."""
        self._place = replace(self._place, database=database)
        return self

    def set_collection(self, collection: str) -> MongoSinkBuilder:
        """The collection that is written to."""
        self._place = replace(self._place, collection=collection)
        return self

    def set_batch_size(self, batch_size: int) -> MongoSinkBuilder:
        """:param batch_size: operations; -1: as many as come until the interval is over, or the epoch."""
        return self._buffer(max_rows=0 if batch_size == -1 else _positive("batch size", batch_size))

    def set_batch_interval_ms(self, batch_interval_ms: int) -> MongoSinkBuilder:
        """:param batch_interval_ms: -1: none."""
        if batch_interval_ms == 0:
            return self._buffer(max_rows=1)  # each operation at once
        milliseconds = 0 if batch_interval_ms == -1 else _positive("batch interval", batch_interval_ms)
        return self._buffer(interval=milliseconds / 1000)

    def set_max_retries(self, max_retries: int) -> MongoSinkBuilder:
        """How often a failed batch is tried again."""
        if max_retries < 0:
            raise ValueError(f"the number of retries must not be negative, got {max_retries}")
        return self._buffer(retries=max_retries)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> MongoSinkBuilder:
        """:raises ValueError: for EXACTLY_ONCE, which Flink refuses, too."""
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise ValueError(
                "MongoSink writes at least once: give documents an _id of their own and replace them, then the result "
                "is the same as with exactly once"
            )
        return self

    def set_ordered_writes(self, ordered: bool) -> MongoSinkBuilder:
        """Whether the writes of a batch keep their order."""
        self._ordered = ordered
        return self

    def set_bypass_document_validation(self, bypass: bool) -> MongoSinkBuilder:
        """Whether the rules of the collection are skipped."""
        self._bypass = bypass
        return self

    def set_serialization_schema(
        self, schema: MongoSerializationSchema | Callable[[Any, Any], Any]
    ) -> MongoSinkBuilder:
        """:param schema: or a function of element and context. What it gives is one of pymongo's operations; a
        dictionary is a document to insert, None is nothing."""
        self._schema = schema
        return self

    def _buffer(self, **what: Any) -> MongoSinkBuilder:
        self._buffering = replace(self._buffering, **what)
        return self

    def build(self) -> MongoSink:
        """:raises ValueError: URI, database, collection or schema is missing."""
        schema = self._schema
        if schema is None:
            raise ValueError("a MongoSink needs set_serialization_schema(...)")
        serialize = schema.serialize if isinstance(schema, MongoSerializationSchema) else schema
        collection = self._place.found("MongoSink")
        operations = MongoOperations(collection, serialize, self._ordered, self._bypass)
        return MongoSink(BufferedSink(collection, operations, self._buffering, _one))


@dataclass(frozen=True)
class _Place:
    uri: str | None = None
    database: str | None = None
    collection: str | None = None

    def found(self, what: str) -> Collection:
        for name in ("uri", "database", "collection"):
            if not getattr(self, name):
                raise ValueError(f"a {what} needs set_{name}(...)")
        return Collection(str(self.uri), str(self.database), str(self.collection))


def _positive(what: str, value: int) -> int:
    if value < 1:
        raise ValueError(f"the {what} must be positive, got {value}")
    return value


def _itself(document: Any) -> Any:
    return document


def _one(element: Any) -> int:
    return 1
