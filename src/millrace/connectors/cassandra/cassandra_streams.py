"""``CassandraCluster``, the way to the nodes of Cassandra, and ``CassandraSink`` of DataStreams, as PyFlink has it: a
statement for each element. The client library is imported when a connection is made.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import islice
from typing import Any

from millrace.connectors.dbapi import Change, fields_of, quoted
from millrace.connectors.stores import BufferedSink, Buffering, ConnectionFailed, Reachable
from millrace.connectors.write_ahead import Batch, BatchSender, WriteAheadSink
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
    """The contact points of a Cassandra cluster, and the credentials and settings of connections to it."""

    hosts: tuple[str, ...]
    port: int = PORT
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    datacenter: str | None = None
    """the data center whose nodes are asked; None: nodes of all data centers"""
    consistency: str = "LOCAL_ONE"
    timeout: float = 30.0
    """seconds for a connection, and for each answer"""
    build: Callable[[], Any] | None = None
    """makes the driver's ``Cluster`` instead of the settings above"""

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
    def explained(self, what: str) -> Iterator[None]:
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


AUXILIARY = "flink_auxiliary"
"""the keyspace for names of batches, as Flink names it"""
_WEEK_SECONDS = 7 * 24 * 60 * 60
_SOME = 1_000


class ConsistencyLevel(Enum):
    """How many nodes have to agree.

    >>> ConsistencyLevel.LOCAL_QUORUM.name
    'LOCAL_QUORUM'
    """

    ANY = 0
    ONE = 1
    TWO = 2
    THREE = 3
    QUORUM = 4
    ALL = 5
    LOCAL_QUORUM = 6
    EACH_QUORUM = 7
    SERIAL = 8
    LOCAL_SERIAL = 9
    LOCAL_ONE = 10


class ClusterBuilder:
    """Makes the driver's ``Cluster``: with users, TLS, policies. :param build: of ``cassandra.cluster``.

    >>> def connect():
    ...     raise OSError("make a cassandra.cluster.Cluster here")
    >>> builder = ClusterBuilder(connect)
    """

    def __init__(self, build: Callable[[], Any]) -> None:
        if not callable(build):
            raise TypeError("ClusterBuilder takes a function that makes a Cluster: there are no Java objects here")
        self.build = build


@dataclass(frozen=True)
class CassandraCommitter:
    """Says in which keyspace the sink records the batches that it has written.

    :ivar keyspace: created if it does not exist.

    >>> committer = CassandraCommitter("my_keyspace")
    """

    keyspace: str = AUXILIARY

    @staticmethod
    def default_checkpoint_committer(builder: ClusterBuilder, key_space: str | None = None) -> CassandraCommitter:
        """:param builder: taken; batches are marked where they are written."""
        return CassandraCommitter(key_space or AUXILIARY)


@dataclass(frozen=True)
class CassandraFailureHandler:
    """Handles an error of a write: it fails the job.

    >>> isinstance(CassandraFailureHandler.no_op(), CassandraFailureHandler)
    True
    """

    @staticmethod
    def no_op() -> CassandraFailureHandler:
        """The handler that PyFlink has: a failure fails the job."""
        return CassandraFailureHandler()


@dataclass(frozen=True)
class CassandraStatement(Change[Any]):
    """A statement with the fields of each element."""

    cluster: CassandraCluster
    query: str
    ignore_nulls: bool = False
    at_once: int = AT_ONCE

    def apply(self, connection: Connected, elements: Sequence[Any]) -> None:
        with self.cluster.explained(self.query):
            statement = connection.prepare(self.query)
            connection.all(statement, [self._bound(element) for element in elements], self.at_once)

    def _bound(self, element: Any) -> Any:
        values = fields_of(element)
        if isinstance(values, dict):
            values = tuple(values.values())
        if not self.ignore_nulls:
            return values
        from cassandra.query import UNSET_VALUE

        return tuple(UNSET_VALUE if value is None else value for value in values)


class CassandraWriteAheadSink(WriteAheadSink[Any]):
    """Keeps elements back until their checkpoint is recorded; the name of each batch is written behind it. A batch is
    written twice only if the driver dies in between, which changes nothing where rows have keys."""

    def __init__(self, statement: CassandraStatement, committer: CassandraCommitter) -> None:
        super().__init__(None)
        self._statement = statement
        self._committer = committer

    def create_sender(self) -> BatchSender[Any]:
        return _Sender(self._statement, self._committer)


class _Sender(BatchSender[Any]):
    remembers = True

    def __init__(self, statement: CassandraStatement, committer: CassandraCommitter) -> None:
        self._statement = statement
        self._connection = statement.cluster()
        keyspace = quoted(committer.keyspace, '"')
        self._table = f"{keyspace}.batches"
        with statement.cluster.explained(f"keyspace {committer.keyspace}"):
            self._connection.session.execute(
                f"CREATE KEYSPACE IF NOT EXISTS {keyspace} "
                "WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
            )
            self._connection.session.execute(f"CREATE TABLE IF NOT EXISTS {self._table} (name text PRIMARY KEY)")

    def is_sent(self, batch: Batch) -> bool:
        with self._statement.cluster.explained(self._table):
            asked = self._connection.prepare(f"SELECT name FROM {self._table} WHERE name = ?")
            return bool(list(self._connection.session.execute(asked, (batch.name,))))

    def send(self, values: Iterator[Any], batch: Batch) -> None:
        while some := list(islice(values, _SOME)):
            self._statement.apply(self._connection, some)
        with self._statement.cluster.explained(self._table):
            mark = self._connection.prepare(f"INSERT INTO {self._table} (name) VALUES (?) USING TTL {_WEEK_SECONDS}")
            self._connection.session.execute(mark, (batch.name,))

    def close(self) -> None:
        self._connection.close()


class SinkBuilder:
    """Puts a sink together and adds it to its stream."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._cluster: CassandraCluster | None = None
        self._query = ""
        self._ahead: CassandraCommitter | None = None
        self._ignore_nulls = False
        self._at_once = AT_ONCE
        self._seconds = 30.0

    def set_query(self, query: str) -> SinkBuilder:
        """:param query: with a question mark for each field of an element."""
        self._query = query
        return self

    def set_host(self, host: str, port: int = PORT) -> SinkBuilder:
        self._cluster = CassandraCluster((host,), port)
        return self

    def set_cluster_builder(self, builder: ClusterBuilder) -> SinkBuilder:
        self._cluster = CassandraCluster((), build=builder.build)
        return self

    def enable_write_ahead_log(self, committer: CassandraCommitter | None = None) -> SinkBuilder:
        self._ahead = committer or CassandraCommitter()
        return self

    def set_mapper_options(self, options: Any) -> SinkBuilder:
        """:raises NotImplementedError: they are for Java's POJOs."""
        raise NotImplementedError(
            "set_mapper_options(): there are no POJOs in Python; write a query, with its USING TTL"
        )

    def set_failure_handler(self, failure_handler: CassandraFailureHandler) -> SinkBuilder:
        """Errors fail the job, as Flink's ``no_op`` handler lets them."""
        return self

    def set_max_concurrent_requests(self, max_concurrent_requests: int, duration: Any = None) -> SinkBuilder:
        """:param duration: within which an answer has to be there: a ``Duration`` or ``timedelta``."""
        if max_concurrent_requests < 1:
            raise ValueError(f"the number of requests must be positive, got {max_concurrent_requests}")
        self._at_once = max_concurrent_requests
        if duration is not None:
            milliseconds = duration / dt.timedelta(milliseconds=1) if isinstance(duration, dt.timedelta) else None
            self._seconds = (duration.to_millis() if milliseconds is None else milliseconds) / 1000
        return self

    def enable_ignore_null_fields(self) -> SinkBuilder:
        self._ignore_nulls = True
        return self

    def build(self) -> CassandraSink:
        """:raises ValueError: the query or the host is missing."""
        if not self._query:
            raise ValueError("a CassandraSink needs set_query(...)")
        if self._cluster is None:
            raise ValueError("a CassandraSink needs set_host(...) or set_cluster_builder(...)")
        cluster = replace(self._cluster, timeout=self._seconds)
        statement = CassandraStatement(cluster, self._query, self._ignore_nulls, self._at_once)
        if self._ahead is not None:
            return CassandraSink(self._stream.sink_to(CassandraWriteAheadSink(statement, self._ahead)))
        return CassandraSink(self._stream.sink_to(BufferedSink(cluster, statement, Buffering(max_rows=_SOME), _one)))


class CassandraSink:
    """A sink that is part of a program: ``CassandraSink.add_sink(stream).set_query(...).set_host(...).build()``.

    >>> words = env.from_collection([("a", 1)], Types.ROW([Types.STRING(), Types.INT()]))
    >>> builder = CassandraSink.add_sink(words).set_query("INSERT INTO shop.words (word, n) VALUES (?, ?)")
    >>> sink = builder.set_host("node1").build()
    """

    CassandraSinkBuilder = SinkBuilder

    def __init__(self, added: Any) -> None:
        if not hasattr(added, "name"):
            raise TypeError("CassandraSink is made by CassandraSink.add_sink(stream): there are no Java objects here")
        self._added = added

    def name(self, name: str) -> CassandraSink:
        """Name the sink."""
        self._added.name(name)
        return self

    def uid(self, uid: str) -> CassandraSink:
        """An id under which state is found again."""
        self._added.uid(uid)
        return self

    def set_uid_hash(self, uid_hash: str) -> CassandraSink:
        """Accepted for programs of PyFlink."""
        self._added.set_uid_hash(uid_hash)
        return self

    def set_parallelism(self, parallelism: int) -> CassandraSink:
        """How many subtasks write."""
        self._added.set_parallelism(parallelism)
        return self

    def disable_chaining(self) -> CassandraSink:
        """Keep the sink apart from the operators before it."""
        self._added.disable_chaining()
        return self

    def slot_sharing_group(self, slot_sharing_group: Any) -> CassandraSink:
        """The slot sharing group of the sink."""
        self._added.slot_sharing_group(slot_sharing_group)
        return self

    @staticmethod
    def add_sink(input: Any) -> SinkBuilder:
        """:param input: a ``DataStream`` of tuples, lists or Rows."""
        return SinkBuilder(input)


def _one(element: Any) -> int:
    return 1
