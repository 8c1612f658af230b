"""``CassandraCluster``: nodes of Cassandra, and the way to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from millrace.connectors.stores.buffered import Reachable
from millrace.connectors.stores.problems import ConnectionFailed
from millrace.util.secrets import HIDDEN, mask_text

PORT = 9042
AT_ONCE = 64
"""statements in flight"""


def library() -> Any:
    """The module ``cassandra`` with ``cassandra.cluster``. :raises ImportError: with the extra that brings it."""
    try:
        import cassandra
        import cassandra.cluster
        import cassandra.concurrent
    except ImportError:
        raise ImportError("Cassandra needs cassandra-driver: pip install 'millrace-streaming[cassandra]'") from None
    return cassandra


@dataclass(frozen=True)
class CassandraCluster(Reachable):
    """Nodes to ask first, and as whom to come."""

    hosts: tuple[str, ...]
    port: int = PORT
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    datacenter: str | None = None
    """whose nodes are asked; None: all"""
    consistency: str = "LOCAL_ONE"
    timeout: float = 30.0
    """seconds for a connection, and for each answer"""
    build: Callable[[], Any] | None = None
    """makes the driver's ``Cluster`` in place of all that"""

    def __call__(self) -> Connected:
        """:raises ConnectionFailed: no node is there, or it refuses."""
        return Connected(self)

    @property
    def place(self) -> str:
        """For messages: no secret is in it."""
        return f"Cassandra at {','.join(self.hosts)}:{self.port}" if self.build is None else "Cassandra"

    def masked(self, error: BaseException) -> str:
        """What an error says, without the password."""
        inner = getattr(error, "errors", None)
        said = "; ".join(f"{host}: {each}" for host, each in inner.items()) if isinstance(inner, dict) and inner else ""
        text = said or str(error).strip() or type(error).__name__
        return mask_text(text.replace(self.password, HIDDEN) if self.password else text)

    def is_passing(self, error: BaseException) -> bool:
        known = library()
        inner = getattr(error, "errors", None)
        if isinstance(inner, dict) and any(isinstance(each, known.AuthenticationFailed) for each in inner.values()):
            return False
        return isinstance(
            error,
            (
                known.cluster.NoHostAvailable,
                known.connection.ConnectionException,
                known.OperationTimedOut,
                known.RequestExecutionException,
            ),
        )

    @contextmanager
    def told(self, what: str) -> Iterator[None]:
        """Errors say where, and no password. :param what: that is read or written."""
        known = library()
        try:
            yield
        except (
            known.cluster.NoHostAvailable,
            known.connection.ConnectionException,
            known.DriverException,
            known.protocol.ErrorMessage,
        ) as error:
            text = f"{self.place}, {what}: {self.masked(error)}"
            raise ConnectionFailed(text, True) if self.is_passing(error) else RuntimeError(text) from None
        except (ValueError, TypeError, ArithmeticError) as error:
            raise ValueError(f"{self.place}, {what}: {error}") from None

    def cluster(self) -> Any:
        """The driver's ``Cluster``."""
        if self.build is not None:
            return self.build()
        known = library()
        from cassandra.auth import PlainTextAuthProvider
        from cassandra.policies import DCAwareRoundRobinPolicy, RoundRobinPolicy, TokenAwarePolicy

        nodes = RoundRobinPolicy() if self.datacenter is None else DCAwareRoundRobinPolicy(self.datacenter)
        profile = known.cluster.ExecutionProfile(
            load_balancing_policy=TokenAwarePolicy(nodes),
            consistency_level=known.ConsistencyLevel.name_to_value[self.consistency],
            request_timeout=self.timeout,
        )
        return known.cluster.Cluster(
            list(self.hosts),
            port=self.port,
            auth_provider=None if self.user is None else PlainTextAuthProvider(self.user, self.password or ""),
            execution_profiles={known.cluster.EXEC_PROFILE_DEFAULT: profile},
            connect_timeout=self.timeout,
            control_connection_timeout=self.timeout,
        )


class Connected:
    """A session, and the statements that were prepared in it."""

    def __init__(self, place: CassandraCluster) -> None:
        known = library()
        self.cluster: Any = place.cluster()
        try:
            self.session: Any = self.cluster.connect()
        except BaseException as error:
            self.cluster.shutdown()
            if not isinstance(error, (known.cluster.NoHostAvailable, known.DriverException)):
                raise
            raise ConnectionFailed(f"{place.place}: {place.masked(error)}", place.is_passing(error)) from None
        self._prepared: dict[str, Any] = {}

    def prepare(self, statement: str) -> Any:
        if statement not in self._prepared:
            self._prepared[statement] = self.session.prepare(statement)
        return self._prepared[statement]

    def all(self, statement: Any, rows: Sequence[Sequence[Any]], at_once: int = AT_ONCE) -> list[Any]:
        """The results of a statement with each row of parameters, several at a time.

        :raises Exception: the first error.
        """
        known = library()
        if not rows:
            return []
        found = known.concurrent.execute_concurrent_with_args(self.session, statement, rows, concurrency=at_once)
        return [result for _, result in found]

    def close(self) -> None:
        self.cluster.shutdown()
