"""The client of Redis: for one server, a cluster, or the server that sentinels name; it reconnects when its
connection is lost. Also writes the commands of an epoch together with the epoch's name in one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from millrace.connectors.write_ahead import Batch, BatchSender
from millrace.util.secrets import mask_text

_MISSING = "redis can't be imported, which the Redis connector needs: pip install 'millrace-streaming[redis]' ({})"
_SECONDS = 30


def redis_library() -> Any:
    """:raises ImportError: it is not installed."""
    try:
        import redis as found
    except ImportError as error:
        raise ImportError(_MISSING.format(error)) from error
    return found


@dataclass(frozen=True)
class RedisServer:
    """
    :ivar url: ``redis://host:port/database``, ``rediss://`` with TLS; may hold user and password.
    """

    url: str = field(repr=False)

    transactions = True

    def __post_init__(self) -> None:
        """:raises ValueError: the URL is none of Redis."""
        if urlsplit(self.url).scheme not in ("redis", "rediss", "unix"):
            raise ValueError(f"a Redis server is redis://host:port, rediss:// or unix://, not {self}")

    def connect(self) -> Any:
        """A client that gives bytes. Waits 30 seconds for an answer."""
        return redis_library().Redis.from_url(self.url, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS)

    def telling(self) -> AbstractContextManager[None]:
        """As ``telling``, of this server."""
        return telling(str(self))

    def __str__(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


@contextmanager
def telling(where: str) -> Iterator[None]:
    """What goes wrong with the connection is said with the server's address.

    :raises ConnectionError: the server does not answer, or does not let us in.
    """
    library = redis_library()
    try:
        yield
    except (library.ConnectionError, library.TimeoutError, OSError) as error:
        raise ConnectionError(f"Redis at {where}: {mask_text(str(error)) or type(error).__name__}") from None


class RedisPlace(Protocol):
    """Travels into tasks."""

    @property
    def transactions(self) -> bool:
        """Whether commands about any keys can be one transaction."""

    def connect(self) -> Any:
        """A client that gives bytes, and waits a while for answers."""


@dataclass(frozen=True)
class Login:
    """
    :ivar timeout: seconds, for connections and answers.
    """

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    timeout: float = 30.0
    tls: bool = False

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments for a client's constructor."""
        found: dict[str, Any] = {"socket_timeout": self.timeout, "socket_connect_timeout": self.timeout}
        if self.user is not None:
            found["username"] = self.user
        if self.password is not None:
            found["password"] = self.password
        return {**found, "ssl": True} if self.tls else found


@dataclass(frozen=True)
class RedisNode:
    """One server."""

    host: str
    port: int = 6379
    database: int = 0
    login: Login = Login()

    transactions = True

    def connect(self) -> Any:
        more = {**self.login.arguments, **no_retries()}
        return redis_library().Redis(host=self.host, port=self.port, db=self.database, **more)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class RedisCluster:
    """Servers that each have a part of the keys. A transaction is about keys of one server, so there are none."""

    nodes: tuple[tuple[str, int], ...]
    login: Login = Login()

    transactions = False

    def connect(self) -> Any:
        library = redis_library()
        nodes = [library.cluster.ClusterNode(host, port) for host, port in self.nodes]
        return library.RedisCluster(startup_nodes=nodes, **self.login.arguments)

    def __str__(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self.nodes)


@dataclass(frozen=True)
class RedisSentinels:
    """The server that sentinels report as the master with a name."""

    master: str
    sentinels: tuple[tuple[str, int], ...]
    database: int = 0
    login: Login = Login()
    password: str | None = field(default=None, repr=False)
    """the password of the sentinels"""

    transactions = True

    def connect(self) -> Any:
        known: dict[str, Any] = {"socket_timeout": self.login.timeout, "socket_connect_timeout": self.login.timeout}
        if self.password is not None:
            known["password"] = self.password
        finder = redis_library().Sentinel(list(self.sentinels), sentinel_kwargs=known)
        return finder.master_for(self.master, db=self.database, **self.login.arguments, **no_retries())

    def __str__(self) -> str:
        return f"{self.master} of {','.join(f'{host}:{port}' for host, port in self.sentinels)}"


def no_retries() -> dict[str, Any]:
    """For a client: it tries once, since who uses it tries again."""
    redis_library()
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    return {"retry": Retry(NoBackoff(), 0)}


def addresses(text: str, port: int) -> tuple[tuple[str, int], ...]:
    """``host:port,host:port``.

    :param port: of hosts without one.
    :raises ValueError: a port is none.
    """
    found = []
    for each in filter(None, (part.strip() for part in text.split(","))):
        host, mark, number = each.rpartition(":")
        if mark and not number.isdigit():
            raise ValueError(f"an address is host:port, not '{each}'")
        found.append((host, int(number)) if mark else (each, port))
    if not found:
        raise ValueError("there is no address: host:port, with commas between several")
    return tuple(found)


T = TypeVar("T")

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 0.5
"""Seconds before the first retry; each later one waits that much longer."""


class Retrying:
    """
    :param what: uses it, for errors.
    """

    def __init__(self, place: RedisPlace, retries: int, what: str = "Redis") -> None:
        self._place, self._retries, self._what = place, retries, what
        self._client: Any = None

    def run(self, work: Callable[[Any], T]) -> T:
        """What ``work`` does with the client; all of it again if the connection is lost.

        :raises ConnectionError: there is none to be had.
        :raises RuntimeError: the server refuses.
        """
        library = redis_library()
        passing = (library.ConnectionError, library.TimeoutError, library.exceptions.ClusterDownError, OSError)
        for attempt in range(self._retries + 1):
            try:
                if self._client is None:
                    self._client = self._place.connect()
                return work(self._client)
            except library.AuthenticationError as error:
                self.close()
                raise ConnectionError(self._message(error)) from error
            except passing as error:
                self.close()
                if attempt == self._retries:
                    raise ConnectionError(self._message(error)) from error
                logger.warning("%s; trying again", self._message(error))
                time.sleep(PAUSE_SECONDS * (attempt + 1))
            except library.RedisError as error:
                self.close()
                raise RuntimeError(self._message(error)) from error
        raise AssertionError("not reached")

    def _message(self, error: Exception) -> str:
        return f"{self._what} at {self._place}: {mask_text(str(error)) or type(error).__name__}"

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):
                client.close()


MARK_SECONDS = 7 * 24 * 60 * 60
"""how long the server remembers which batches it has"""


class MarkedBatches(BatchSender[Any]):
    """
    :param place: says for people where it is, without a password.
    :param add: puts the commands of an element into a pipeline.
    """

    remembers = True

    def __init__(self, place: RedisPlace, add: Callable[[Any, Any], None]) -> None:
        self._client, self._add, self._where = place.connect(), add, str(place)

    def send(self, values: Iterator[Any], batch: Batch) -> None:
        pipeline = self._client.pipeline(transaction=True)
        for value in values:
            self._add(pipeline, value)
        pipeline.set(_mark(batch), 1, ex=MARK_SECONDS)
        with telling(self._where):
            pipeline.execute()

    def is_sent(self, batch: Batch) -> bool:
        with telling(self._where):
            return bool(self._client.exists(_mark(batch)))

    def close(self) -> None:
        self._client.close()


def _mark(batch: Batch) -> str:
    return f"millrace:written:{batch.name}"
