"""``RedisSink``, with the names of Bahir's connector for Flink: turns elements into commands and sends them, at
least once or exactly once."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.redis.redis_client import (
    Login,
    MarkedBatches,
    RedisCluster,
    RedisNode,
    RedisPlace,
    RedisSentinels,
    Retrying,
    addresses,
)
from millrace.connectors.sink_base import DelegatingSink, DeliveryGuarantee, Patience
from millrace.connectors.write_ahead import BatchSender, WriteAheadSink

Words = tuple[Any, ...]
"""a command: its name, then bytes, texts and numbers"""

MOST_COMMANDS = 1_000
"""The most commands that are sent together."""


class CommandEncoder(ABC):
    """Turns elements into commands. Pickled into the tasks."""

    @abstractmethod
    def commands(self, element: Any) -> Iterable[Words]: ...


class RedisCommands(Sink[Any]):
    """**At least once**: an epoch ends when the server has answered all commands; one that failed is sent again. That
    changes nothing where commands say what is to be (SET, HSET, SADD, ZADD, DEL), and counts twice where they add
    (INCRBY, LPUSH).

    ``RedisCommands.of`` makes one of these, or one that writes exactly once.
    """

    def __init__(self, place: RedisPlace, encoder: CommandEncoder, retries: int, what: str = "Redis") -> None:
        self._place, self._encoder, self._retries, self._what = place, encoder, retries, what

    @staticmethod
    def of(
        place: RedisPlace,
        encoder: CommandEncoder,
        *,
        guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE,
        log_directory: str | None = None,
        retries: int = 3,
        what: str = "Redis",
    ) -> Sink[Any]:
        """
        :param guarantee: ``EXACTLY_ONCE``: commands wait until the checkpoint is recorded; the server takes those of an
            epoch and its name in one transaction.
        :param log_directory: where large epochs wait; None: in the checkpoint.
        :raises ValueError: exactly once, in a cluster.
        """
        if guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return RedisCommands(place, encoder, retries, what)
        if not place.transactions:
            raise ValueError("a cluster of Redis has no transactions over all its keys: it is written at least once")
        return ExactCommands(place, encoder, log_directory)

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        retrying = Retrying(self._place, self._retries, self._what)
        return _Writer(retrying, self._encoder, Patience(context.current_processing_time))


class _Writer(SinkWriter[Any]):
    def __init__(self, retrying: Retrying, encoder: CommandEncoder, patience: Patience) -> None:
        self._retrying, self._encoder, self._patience = retrying, encoder, patience
        self._waiting: list[Words] = []

    def write(self, element: Any, context: SinkWriterContext) -> None:
        self._patience.begin()
        self._waiting += self._encoder.commands(element)
        if len(self._waiting) >= MOST_COMMANDS:
            self._send()

    def end_slice(self, now: int) -> None:
        if self._patience.is_over(now):
            self._send()

    def flush(self, end_of_input: bool) -> None:
        self._send()

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._patience.end()
        for begin in range(0, len(waiting), MOST_COMMANDS):
            self._retrying.run(partial(_execute, commands=waiting[begin : begin + MOST_COMMANDS]))

    def close(self) -> None:
        self._retrying.close()


def _execute(client: Any, commands: Sequence[Words]) -> None:
    pipeline = client.pipeline(transaction=False)
    for words in commands:
        pipeline.execute_command(*words)
    pipeline.execute()


class ExactCommands(WriteAheadSink[Any]):
    """Exactly once, by a write-ahead log of commands."""

    def __init__(self, place: RedisPlace, encoder: CommandEncoder, log_directory: str | None) -> None:
        super().__init__(log_directory)
        self._place, self._encoder = place, encoder

    def create_writer(self, context: WriterInitContext) -> Any:
        return _Encoding(super().create_writer(context), self._encoder)

    def create_sender(self) -> BatchSender[Any]:
        return MarkedBatches(self._place, _add)


def _add(pipeline: Any, words: Words) -> None:
    pipeline.execute_command(*words)


class _Encoding(SinkWriter[Any]):
    """Hands on commands in place of elements."""

    def __init__(self, below: SinkWriter[Any], encoder: CommandEncoder) -> None:
        self._below, self._encoder = below, encoder

    def write(self, element: Any, context: SinkWriterContext) -> None:
        for words in self._encoder.commands(element):
            self._below.write(words, context)

    def flush(self, end_of_input: bool) -> None:
        self._below.flush(end_of_input)

    def prepare_commit(self) -> list[Any]:
        return self._below.prepare_commit()

    def close(self) -> None:
        self._below.close()


T = TypeVar("T")


class RedisDataType(enum.Enum):
    """What a key holds.

    >>> RedisDataType.HASH.name
    'HASH'
    """

    STRING = "STRING"
    HASH = "HASH"
    LIST = "LIST"
    SET = "SET"
    SORTED_SET = "SORTED_SET"
    STREAM = "STREAM"
    HYPER_LOG_LOG = "HYPER_LOG_LOG"
    PUBSUB = "PUBSUB"


class RedisCommand(enum.Enum):
    """What is done with an element. Those about a part of a key (HSET, ZADD, ...) find the key in the description's
    ``additional_key``, or in the mapper's, and the part in ``get_key_from_data``.

        >>> RedisCommand.HSET.get_redis_data_type()
        <RedisDataType.HASH: 'HASH'>
    """

    LPUSH = ("LPUSH", RedisDataType.LIST)
    RPUSH = ("RPUSH", RedisDataType.LIST)
    SADD = ("SADD", RedisDataType.SET)
    SREM = ("SREM", RedisDataType.SET)
    SET = ("SET", RedisDataType.STRING)
    SETEX = ("SETEX", RedisDataType.STRING)
    INCRBY = ("INCRBY", RedisDataType.STRING)
    INCRBY_EX = ("INCRBY_EX", RedisDataType.STRING)
    DECRBY = ("DECRBY", RedisDataType.STRING)
    DESCRBY_EX = ("DESCRBY_EX", RedisDataType.STRING)
    INCRBYFLOAT = ("INCRBYFLOAT", RedisDataType.STRING)
    DEL = ("DEL", RedisDataType.STRING)
    PFADD = ("PFADD", RedisDataType.HYPER_LOG_LOG)
    PUBLISH = ("PUBLISH", RedisDataType.PUBSUB)
    ZADD = ("ZADD", RedisDataType.SORTED_SET)
    ZINCRBY = ("ZINCRBY", RedisDataType.SORTED_SET)
    ZREM = ("ZREM", RedisDataType.SORTED_SET)
    HSET = ("HSET", RedisDataType.HASH)
    HINCRBY = ("HINCRBY", RedisDataType.HASH)
    HINCRBYFLOAT = ("HINCRBYFLOAT", RedisDataType.HASH)
    HDEL = ("HDEL", RedisDataType.HASH)
    XADD = ("XADD", RedisDataType.STREAM)

    def get_redis_data_type(self) -> RedisDataType:
        """The type of Redis that the command is about."""
        return self.value[1]

    @property
    def needs_additional_key(self) -> bool:
        """Whether the command needs a name beside the key."""
        return self.get_redis_data_type() in (RedisDataType.HASH, RedisDataType.SORTED_SET, RedisDataType.STREAM)


_WITH_TTL = (RedisCommand.SETEX, RedisCommand.INCRBY_EX, RedisCommand.DESCRBY_EX)
_WITHOUT_VALUE = (RedisCommand.DEL, RedisCommand.HDEL, RedisCommand.ZREM)


@dataclass(frozen=True)
class RedisCommandDescription:
    """A command, and what all elements have in common.

        >>> RedisCommandDescription(RedisCommand.HSET, "totals").get_additional_key()
        'totals'

    :ivar additional_key: the hash, the sorted set or the stream.
    :ivar additional_ttl: seconds after which the key is gone.
    """

    command: RedisCommand
    additional_key: str | None = None
    additional_ttl: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.command, RedisCommand):
            raise TypeError(f"a RedisCommandDescription is about a RedisCommand, not {self.command!r}")

    def get_command(self) -> RedisCommand:
        """The command."""
        return self.command

    def get_additional_key(self) -> str | None:
        """The name of the hash or sorted set; None: the command needs none."""
        return self.additional_key

    def get_additional_ttl(self) -> int | None:
        """After how many seconds the key expires; None: never."""
        return self.additional_ttl


class RedisMapper(ABC, Generic[T]):
    """Takes the key and value of a command out of an element. Pickled into the tasks.

    >>> class Totals(RedisMapper):
    ...     def get_command_description(self):
    ...         return RedisCommandDescription(RedisCommand.HSET, "totals")
    ...     def get_key_from_data(self, data):
    ...         return data[0]
    ...     def get_value_from_data(self, data):
    ...         return data[1]
    >>> Totals().get_key_from_data(("pens", 3))
    'pens'
    """

    @abstractmethod
    def get_command_description(self) -> RedisCommandDescription:
        """The command that all elements are written by."""

    @abstractmethod
    def get_key_from_data(self, data: T) -> Any:
        """Bytes, a text or a number."""

    @abstractmethod
    def get_value_from_data(self, data: T) -> Any:
        """The value for the command: bytes, a text or a number; the score for ZADD; a dict of fields for XADD."""

    def get_additional_key(self, data: T) -> Any:
        """The additional key to use instead of the description's; None: use that one."""
        return None

    def get_additional_ttl(self, data: T) -> int | None:
        """In place of the description's; None: that."""
        return None


class MapperEncoder(CommandEncoder):
    """:raises ValueError: the description lacks something that each element would need."""

    def __init__(self, mapper: RedisMapper[Any]) -> None:
        self._mapper = mapper
        self._description = mapper.get_command_description()

    def commands(self, element: Any) -> Iterable[Words]:
        mapper, description = self._mapper, self._description
        command = description.command
        key = mapper.get_key_from_data(element)
        value = None if command in _WITHOUT_VALUE else mapper.get_value_from_data(element)
        outer = mapper.get_additional_key(element)
        outer = description.additional_key if outer is None else outer
        ttl = mapper.get_additional_ttl(element)
        ttl = description.additional_ttl if ttl is None else ttl
        if command.needs_additional_key and outer is None:
            raise ValueError(f"{command.name} needs an additional key, of the RedisCommandDescription or the mapper")
        if command in _WITH_TTL and ttl is None:
            raise ValueError(f"{command.name} needs a time to live: additional_ttl of the RedisCommandDescription")
        words = _words(command, outer, key, value)
        if command is RedisCommand.SETEX or (command is RedisCommand.SET and ttl is not None):
            yield (*words, "EX", ttl)
            return
        yield words
        if ttl is not None and command not in (RedisCommand.PUBLISH, RedisCommand.DEL):
            yield "EXPIRE", words[1], ttl


def _words(command: RedisCommand, outer: Any, key: Any, value: Any) -> Words:
    name = command.name.removesuffix("_EX").replace("DESCRBY", "DECRBY")
    if command is RedisCommand.SETEX:
        return "SET", key, value
    if command is RedisCommand.XADD:
        fields = value.items() if isinstance(value, dict) else [(key, value)]
        return (name, outer, "*", *(word for pair in fields for word in pair))
    if command in (RedisCommand.ZADD, RedisCommand.ZINCRBY):
        return name, outer, value, key
    if command is RedisCommand.DEL:
        return name, key
    if command.needs_additional_key:
        return (name, outer, key) if command in _WITHOUT_VALUE else (name, outer, key, value)
    return name, key, value


@dataclass(frozen=True)
class _Given:
    host: str = ""
    port: int = 6379
    database: int = 0
    login: Login = field(default_factory=Login)
    nodes: tuple[tuple[str, int], ...] = ()
    master: str = ""
    sentinel_password: str | None = field(default=None, repr=False)


class _Builder:
    def __init__(self) -> None:
        self._given = _Given()

    def _set(self, **values: Any) -> Any:
        self._given = replace(self._given, **values)
        return self

    def _login(self, **values: Any) -> Any:
        return self._set(login=replace(self._given.login, **values))

    def set_timeout(self, timeout: int) -> Any:
        """Of connections and answers, in ms."""
        if timeout <= 0:
            raise ValueError(f"the timeout must be more than 0, got {timeout}")
        return self._login(timeout=timeout / 1000)

    def set_user(self, user: str) -> Any:
        return self._login(user=user)

    def set_password(self, password: str) -> Any:
        return self._login(password=password)

    def set_ssl(self, ssl: bool) -> Any:
        return self._login(tls=ssl)

    def set_max_total(self, max_total: int) -> Any:
        """Without effect: each subtask has one connection."""
        return self

    def set_max_idle(self, max_idle: int) -> Any:
        """Without effect."""
        return self

    def set_min_idle(self, min_idle: int) -> Any:
        """Without effect."""
        return self


@dataclass(frozen=True)
class FlinkJedisConfigBase:
    """Where Redis is; made by the builder of a subclass.

    >>> isinstance(FlinkJedisPoolConfig.Builder().set_host("localhost").build(), FlinkJedisConfigBase)
    True
    """

    place: RedisPlace


class FlinkJedisPoolConfig(FlinkJedisConfigBase):
    """One server: ``FlinkJedisPoolConfig.Builder().set_host("localhost").build()``.

    >>> config = FlinkJedisPoolConfig.Builder().set_host("localhost").set_port(6379).build()
    """

    class Builder(_Builder):
        """Puts it together."""

        def set_host(self, host: str) -> Any:
            return self._set(host=host)

        def set_port(self, port: int) -> Any:
            return self._set(port=port)

        def set_database(self, database: int) -> Any:
            return self._set(database=database)

        def build(self) -> FlinkJedisPoolConfig:
            """:raises ValueError: no host."""
            given = self._given
            if not given.host:
                raise ValueError("FlinkJedisPoolConfig needs set_host()")
            return FlinkJedisPoolConfig(RedisNode(given.host, given.port, given.database, given.login))


class FlinkJedisClusterConfig(FlinkJedisConfigBase):
    """A cluster: ``FlinkJedisClusterConfig.Builder().set_nodes([("localhost", 7000)]).build()``.

    >>> config = FlinkJedisClusterConfig.Builder().set_nodes({("node1", 6379)}).build()
    """

    class Builder(_Builder):
        """Puts it together."""

        def set_nodes(self, nodes: Iterable[tuple[str, int]]) -> Any:
            """Some of the cluster's servers; they know the others."""
            return self._set(nodes=tuple((str(host), int(port)) for host, port in nodes))

        def build(self) -> FlinkJedisClusterConfig:
            """:raises ValueError: no nodes."""
            if not self._given.nodes:
                raise ValueError("FlinkJedisClusterConfig needs set_nodes()")
            return FlinkJedisClusterConfig(RedisCluster(self._given.nodes, self._given.login))


class FlinkJedisSentinelConfig(FlinkJedisConfigBase):
    """The server that sentinels name: ``...Builder().set_master_name("m").set_sentinels(["localhost:26379"])``.

    >>> builder = FlinkJedisSentinelConfig.Builder().set_master_name("main").set_sentinels({"node1:26379"})
    """

    class Builder(_Builder):
        """Puts it together."""

        def set_master_name(self, master_name: str) -> Any:
            return self._set(master=master_name)

        def set_sentinels(self, sentinels: Iterable[str]) -> Any:
            """``host:port`` of each."""
            return self._set(nodes=addresses(",".join(sentinels), 26379))

        def set_sentinel_password(self, password: str) -> Any:
            return self._set(sentinel_password=password)

        def set_database(self, database: int) -> Any:
            return self._set(database=database)

        def build(self) -> FlinkJedisSentinelConfig:
            """:raises ValueError: no name, no sentinels."""
            given = self._given
            if not given.master or not given.nodes:
                raise ValueError("FlinkJedisSentinelConfig needs set_master_name() and set_sentinels()")
            place = RedisSentinels(given.master, given.nodes, given.database, given.login, given.sentinel_password)
            return FlinkJedisSentinelConfig(place)


class RedisSink(DelegatingSink):
    """A command for each element: ``stream.add_sink(RedisSink(config, mapper))``.

        >>> class Totals(RedisMapper):
        ...     def get_command_description(self):
        ...         return RedisCommandDescription(RedisCommand.SET)
        ...     def get_key_from_data(self, data):
        ...         return data[0]
        ...     def get_value_from_data(self, data):
        ...         return data[1]
        >>> config = FlinkJedisPoolConfig.Builder().set_host("localhost").build()
        >>> sink = env.from_collection([("pens", "3")]).add_sink(RedisSink(config, Totals()))

    :param guarantee: ``EXACTLY_ONCE``: commands wait until the checkpoint is recorded; the server takes those of an
        epoch and its name in one transaction.
    :param log_directory: where large epochs wait then; None: in the checkpoint.
    """

    def __init__(
        self,
        config: FlinkJedisConfigBase,
        mapper: RedisMapper[Any],
        *,
        guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE,
        log_directory: str | None = None,
        retries: int = 3,
    ) -> None:
        self._sink = RedisCommands.of(
            config.place,
            MapperEncoder(mapper),
            guarantee=guarantee,
            log_directory=log_directory,
            retries=retries,
        )
