"""``RedisSink`` of DataStreams, and where it writes, with the names that Bahir's connector of Flink has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from millrace.connectors.base import DeliveryGuarantee
from millrace.connectors.delegating import DelegatingSink
from millrace.connectors.redis.mapper import MapperEncoder, RedisMapper
from millrace.connectors.redis.places import Login, RedisCluster, RedisNode, RedisPlace, RedisSentinels, addresses
from millrace.connectors.redis.sink import RedisCommands


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
