"""``Collection``: a collection of MongoDB and the connection to it. It is read once, in parts by ranges of ``_id``,
and changed by rows in columns."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

from millrace.connectors.dbapi import Change
from millrace.connectors.mongodb.mongodb_values import key_converter, read_columns, to_bson
from millrace.connectors.stores import ConnectionFailed, PartsSource, Reachable, last_rows
from millrace.relational.rex import Schema
from millrace.relational.rows import Rows, concat, record_batch
from millrace.relational.values import to_arrow, to_python
from millrace.util.secrets import HIDDEN, mask_text

_DEADLINES = {"serverSelectionTimeoutMS": 30_000, "connectTimeoutMS": 30_000, "socketTimeoutMS": 600_000}
"""where the URI does not say otherwise"""


def library() -> Any:
    """The module ``pymongo``. :raises ImportError: with the extra that brings it."""
    try:
        import pymongo
    except ImportError:
        raise ImportError("MongoDB needs pymongo: pip install 'millrace-streaming[mongodb]'") from None
    return pymongo


@dataclass(frozen=True)
class Collection(Reachable):
    """A collection as URI, database and name."""

    uri: str = field(repr=False)
    database: str
    name: str

    def __call__(self) -> Connected:
        """:raises ConnectionFailed: no server is found, or it refuses."""
        return Connected(self)

    @property
    def place(self) -> str:
        """For messages: no secret is in it."""
        return f"MongoDB at {mask_text(self.uri.partition('?')[0])}, collection {self.database}.{self.name}"

    def masked(self, error: BaseException) -> str:
        """What an error says, without the password."""
        said = str(error).partition(", Topology Description:")[0].partition(", full error:")[0].strip()
        password = self.uri.partition("://")[2].partition("@")[0].partition(":")[2] if "@" in self.uri else ""
        return mask_text(said.replace(password, HIDDEN) if password else said)

    def is_passing(self, error: BaseException) -> bool:
        errors = library().errors
        if isinstance(error, errors.ConnectionFailure):  # also where no server is found in time
            return True
        return isinstance(error, errors.PyMongoError) and error.has_error_label("RetryableWriteError")

    def failed(self, error: BaseException) -> Exception:
        """The error for the user, without secrets: ``ConnectionFailed`` if a retry may help."""
        said = f"{self.place}: {self.masked(error)}"
        return ConnectionFailed(said, True) if self.is_passing(error) else RuntimeError(said)


class Connected:
    """A client, and the collection in it."""

    def __init__(self, collection: Collection) -> None:
        pymongo = library()
        uri = collection.uri.lower()
        deadlines = {name: ms for name, ms in _DEADLINES.items() if f"{name.lower()}=" not in uri}
        try:
            self.client: Any = pymongo.MongoClient(collection.uri, tz_aware=True, appname="millrace", **deadlines)
        except (pymongo.errors.PyMongoError, ValueError) as error:
            raise ConnectionFailed(f"{collection.place}: {collection.masked(error)}", False) from None
        self.database: Any = self.client[collection.database]
        self.collection: Any = self.database[collection.name]

    def close(self) -> None:
        self.client.close()


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
        raise collection.failed(_OperationFailed(_first_error(error.details))) from None
    except errors.PyMongoError as error:
        raise collection.failed(error) from None


class _OperationFailed(Exception):
    """What the server said about one operation."""


def _first_error(details: Any) -> str:
    wrong = [*details.get("writeErrors", ()), *details.get("writeConcernErrors", ())]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return f"{wrong[0].get('errmsg', wrong[0])}{more}" if wrong else str(details)


logger = logging.getLogger(__name__)

MEGABYTE = 1 << 20
STRATEGIES = ("default", "single", "sample", "split-vector", "sharded", "pagination")


@dataclass(frozen=True)
class Splitting:
    """How a collection is cut."""

    strategy: str = "default"
    """one of STRATEGIES"""
    size: int = 64 * MEGABYTE
    """bytes of a part"""
    samples: int = 10
    """samples that are taken for each part, if the strategy takes samples"""
    records: int | None = None
    """documents of a part, if the strategy counts documents; None: as many as ``size`` allows"""


@dataclass(frozen=True)
class MongoPart:
    """A range of ``_id`` that is still to be read."""

    split_id: str
    low: Any = None
    """the first value; None: from the beginning"""
    high: Any = None
    """the value after the last one; None: to the end"""

    def condition(self) -> dict[str, Any] | None:
        # Comparisons of expressions go by the order of all of BSON's types; others would see one type only.
        bounds: list[Any] = []
        if self.low is not None:
            bounds.append({"$gte": ["$_id", {"$literal": self.low}]})
        if self.high is not None:
            bounds.append({"$lt": ["$_id", {"$literal": self.high}]})
        return {"$expr": {"$and": bounds}} if bounds else None


def parts(connection: Connected, splitting: Splitting) -> list[MongoPart]:
    """The parts of a collection as it is now; documents that come later are in one of them, too."""
    bounds = _bounds(connection, splitting)
    ends: list[Any] = [None, *bounds, None]
    return [MongoPart(str(number), low, high) for number, (low, high) in enumerate(pairwise(ends))]


def _bounds(connection: Connected, splitting: Splitting) -> Sequence[Any]:
    strategy = splitting.strategy
    if strategy == "single":
        return ()
    if strategy in ("default", "sharded"):
        chunks = _chunks(connection)
        if chunks is not None:
            return chunks
        if strategy == "sharded":
            logger.warning("%s is not sharded by its _id: it is read in one part", connection.collection.full_name)
            return ()
        strategy = "split-vector"
    if strategy == "split-vector":
        found = _split_vector(connection, splitting)
        if found is not None:
            return found
        strategy = "sample"  # which every server lets every reader do
    statistics = _statistics(connection)
    count, size = int(statistics.get("count", 0)), int(statistics.get("size", 0))
    if not count or not size:
        return ()
    records = splitting.records or max(1, int(splitting.size * count / size))
    number = math.ceil(count / records)
    if number <= 1:
        return ()
    return _counted(connection, records) if strategy == "pagination" else _sampled(connection, splitting, number)


def _statistics(connection: Connected) -> dict[str, Any]:
    errors = library().errors
    try:
        found: dict[str, Any] = connection.database.command("collStats", connection.collection.name)
    except errors.OperationFailure as error:  # a view
        logger.warning("%s is read in one part: %s", connection.collection.full_name, error)
        return {}
    return found


def _chunks(connection: Connected) -> list[Any] | None:
    """Where the chunks of a sharded collection begin; None: it is not sharded by its ``_id``, or may not be seen."""
    errors = library().errors
    configuration = connection.client["config"]
    try:
        sharded = configuration["collections"].find_one({"_id": connection.collection.full_name})
        if not sharded or sharded.get("dropped") or list(sharded.get("key", {})) != ["_id"]:
            return None
        which = {"uuid": sharded["uuid"]} if "uuid" in sharded else {"ns": connection.collection.full_name}
        chunks = configuration["chunks"].find(which, {"min": 1}).sort("min", 1)
        return [chunk["min"]["_id"] for chunk in chunks][1:]
    except errors.OperationFailure:
        return None


def _split_vector(connection: Connected, splitting: Splitting) -> list[Any] | None:
    """None: the server has no such command, or does not let this user call it."""
    errors = library().errors
    try:
        answer = connection.database.command(
            "splitVector",
            connection.collection.full_name,
            keyPattern={"_id": 1},
            maxChunkSizeBytes=splitting.size,
        )
    except errors.OperationFailure as error:
        logger.info("splitVector: %s; samples are taken instead", error)
        return None
    return [key["_id"] for key in answer.get("splitKeys", ())]


def _sampled(connection: Connected, splitting: Splitting, number: int) -> list[Any]:
    stages = [{"$sample": {"size": splitting.samples * number}}, {"$project": {"_id": 1}}, {"$sort": {"_id": 1}}]
    found = [each["_id"] for each in connection.collection.aggregate(stages, allowDiskUse=True)]
    return _different(found[splitting.samples :: splitting.samples][: number - 1])


def _counted(connection: Connected, records: int) -> list[Any]:
    bounds: list[Any] = []
    found = connection.collection.find({}, {"_id": 1}).sort("_id", 1)
    for place, document in enumerate(found):
        if place and place % records == 0:
            bounds.append(document["_id"])
    return bounds


def _different(bounds: Sequence[Any]) -> list[Any]:
    return [bound for place, bound in enumerate(bounds) if not place or bound != bounds[place - 1]]


@dataclass(frozen=True)
class Reading:
    """What is read of a collection, and how."""

    fields: tuple[str, ...] | None = None
    """None: all"""
    conditions: Sequence[dict[str, Any]] = ()
    fetch: int = 2048
    no_timeout: bool = True
    limit: int | None = None
    """documents of each part"""
    splitting: Splitting = field(default_factory=Splitting)

    def documents(self, connection: Connected, part: MongoPart) -> Iterator[list[Any]]:
        """The documents of a part, some at a time."""
        conditions = [each for each in (*self.conditions, part.condition()) if each is not None]
        wanted = None if self.fields is None else {"_id": 0, **dict.fromkeys(self.fields, 1)}
        with _session(connection) as session, warnings.catch_warnings():
            # Without sessions a server can't keep the cursor for longer: nothing can be done about it.
            warnings.filterwarnings("ignore", message="use an explicit session", category=UserWarning)
            found = connection.collection.find(
                {"$and": conditions} if conditions else {},
                wanted,
                batch_size=self.fetch,
                no_cursor_timeout=self.no_timeout,
                limit=self.limit or 0,
                session=session,
            )
            with closing(found):
                while some := list(islice(found, self.fetch)):
                    yield some


@contextmanager
def _session(connection: Connected) -> Iterator[Any]:
    with connection.client.start_session() as session:
        try:
            connection.client.admin.command("ping", session=session)
        except library().errors.ConfigurationError:  # a server that has none
            session = None
        yield session


def all_parts(collection: Collection, splitting: Splitting) -> list[MongoPart]:
    """:raises RuntimeError: the server refuses."""
    if splitting.strategy == "single":
        return [MongoPart("0")]
    with collection_errors(collection), closing(collection()) as connection:
        return parts(connection, splitting)


@contextmanager
def collection_errors(collection: Collection) -> Iterator[None]:
    """Errors say which collection it is, and no password."""
    try:
        yield
    except library().errors.PyMongoError as error:
        raise collection.failed(error) from None
    except (ValueError, ArithmeticError) as error:
        raise ValueError(f"{collection.place}: {error}") from None


class MongoRowsSource(PartsSource[Rows, MongoPart]):
    """Reads documents as rows of these columns."""

    def __init__(self, collection: Collection, columns: Schema, reading: Reading) -> None:
        self._collection = collection
        self._columns = columns
        self._reading = reading

    def parts(self) -> list[MongoPart]:
        return all_parts(self._collection, self._reading.splitting)

    def elements(self, part: MongoPart) -> Iterator[Rows]:
        with collection_errors(self._collection), closing(self._collection()) as connection:
            for documents in self._reading.documents(connection, part):
                yield rows_of(documents, self._columns)


def rows_of(documents: Sequence[Any], columns: Schema) -> Rows:
    """Documents as rows."""
    found = zip(read_columns(documents, columns), columns)
    return Rows(record_batch([to_arrow(values, column.type) for values, column in found], len(documents)))
