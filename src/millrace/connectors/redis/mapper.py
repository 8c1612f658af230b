"""Commands for the elements of a stream: the names that Bahir's connector of Flink has."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millrace.connectors.redis.sink import CommandEncoder, Words

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
    """What is written of an element. Pickled into the tasks.

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
        """The same; the score for ZADD; a dict of fields for XADD."""

    def get_additional_key(self, data: T) -> Any:
        """In place of the description's; None: that."""
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
