"""``Collection``: a collection of MongoDB, and the way to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from millrace.connectors.stores.buffered import Reachable
from millrace.connectors.stores.problems import ConnectionFailed
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
        """What users are told when MongoDB refuses."""
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
