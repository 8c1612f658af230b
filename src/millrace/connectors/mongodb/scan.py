"""``MongoRowsSource``: the documents of a collection as rows, read once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from millrace.connectors.mongodb.connection import Collection, Connected, library
from millrace.connectors.mongodb.splitting import MongoPart, Splitting, parts
from millrace.connectors.mongodb.values import read_columns
from millrace.connectors.stores.parts import PartsSource
from millrace.relational.fields import Schema
from millrace.relational.rows import Rows, record_batch
from millrace.relational.values import to_arrow


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
    with told(collection), closing(collection()) as connection:
        return parts(connection, splitting)


@contextmanager
def told(collection: Collection) -> Iterator[None]:
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
        with told(self._collection), closing(self._collection()) as connection:
            for documents in self._reading.documents(connection, part):
                yield rows_of(documents, self._columns)


def rows_of(documents: Sequence[Any], columns: Schema) -> Rows:
    """Documents as rows."""
    found = zip(read_columns(documents, columns), columns)
    return Rows(record_batch([to_arrow(values, column.type) for values, column in found], len(documents)))
