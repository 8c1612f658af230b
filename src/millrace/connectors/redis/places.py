"""Where Redis is: one server, a cluster, or whichever server sentinels name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from millrace.connectors.redis.connection import redis_library


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
        """For a client."""
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
        more = {**self.login.arguments, **once()}
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
    """The server that sentinels call the master of a name."""

    master: str
    sentinels: tuple[tuple[str, int], ...]
    database: int = 0
    login: Login = Login()
    password: str | None = field(default=None, repr=False)
    """of the sentinels"""

    transactions = True

    def connect(self) -> Any:
        known: dict[str, Any] = {"socket_timeout": self.login.timeout, "socket_connect_timeout": self.login.timeout}
        if self.password is not None:
            known["password"] = self.password
        finder = redis_library().Sentinel(list(self.sentinels), sentinel_kwargs=known)
        return finder.master_for(self.master, db=self.database, **self.login.arguments, **once())

    def __str__(self) -> str:
        return f"{self.master} of {','.join(f'{host}:{port}' for host, port in self.sentinels)}"


def once() -> dict[str, Any]:
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
