"""Which column is what of a command, by their order: a key, a part of it, a value."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Kind(enum.Enum):
    """What the keys of a table hold."""

    STRING = "a value"
    HASH = "fields with values, a row each"
    WHOLE_HASH = "fields, of which each is a column"
    LIST = "a list"
    SET = "a set"
    SORTED = "a set with scores"
    STREAM = "a stream"
    OTHER = "something that is not looked up"


@dataclass(frozen=True)
class CommandLayout:
    """
    :ivar columns: what they are called here, in their order; () for a key and any fields.
    :ivar key: those that say which row it is; (): all rows are new ones.
    :ivar deletes: the command that takes a row back; "": none does.
    :ivar adds: whether the command adds a number, so that the negative number takes it back.
    """

    name: str
    kind: Kind
    columns: tuple[str, ...]
    key: tuple[int, ...] = ()
    deletes: str = ""
    adds: bool = False

    @property
    def has_value(self) -> bool:
        return self.columns[-1:] == ("value",)


_KEYED = ("key", "value")
_FIELD = ("key", "field", "value")
_COMMANDS = (
    CommandLayout("SET", Kind.STRING, _KEYED, (0,), "DEL"),
    CommandLayout("HSET", Kind.HASH, _FIELD, (0, 1), "HDEL"),
    CommandLayout("HMSET", Kind.WHOLE_HASH, (), (0,), "DEL"),
    CommandLayout("LPUSH", Kind.LIST, _KEYED),
    CommandLayout("RPUSH", Kind.LIST, _KEYED),
    CommandLayout("SADD", Kind.SET, _KEYED, (0, 1), "SREM"),
    CommandLayout("ZADD", Kind.SORTED, ("key", "score", "member"), (0, 2), "ZREM"),
    CommandLayout("PFADD", Kind.OTHER, _KEYED),
    CommandLayout("PUBLISH", Kind.OTHER, _KEYED),
    CommandLayout("XADD", Kind.STREAM, ()),
    CommandLayout("INCRBY", Kind.STRING, ("key", "number"), adds=True),
    CommandLayout("INCRBYFLOAT", Kind.STRING, ("key", "number"), adds=True),
    CommandLayout("DECRBY", Kind.STRING, ("key", "number"), adds=True),
    CommandLayout("HINCRBY", Kind.HASH, ("key", "field", "number"), adds=True),
    CommandLayout("HINCRBYFLOAT", Kind.HASH, ("key", "field", "number"), adds=True),
    CommandLayout("ZINCRBY", Kind.SORTED, ("key", "number", "member"), adds=True),
    CommandLayout("DEL", Kind.STRING, ("key",)),
    CommandLayout("HDEL", Kind.HASH, ("key", "field")),
    CommandLayout("SREM", Kind.SET, ("key", "member")),
    CommandLayout("ZREM", Kind.SORTED, ("key", "member")),
)
COMMANDS = {each.name: each for each in _COMMANDS}
"""that write"""
_READING = {
    "GET": "SET",
    "HGET": "HSET",
    "HGETALL": "HMSET",
    "HMGET": "HMSET",
    "LRANGE": "RPUSH",
    "SMEMBERS": "SADD",
    "ZSCORE": "ZADD",
}
"""commands that read -> those that write the same"""
NAMES = (*COMMANDS, *_READING)


def layout_of(command: str) -> CommandLayout:
    """:raises ValueError: there is no such command."""
    name = command.upper()
    found = COMMANDS.get(_READING.get(name, name))
    if found is None:
        raise ValueError(f"'command' is one of {', '.join(NAMES)}, not '{command}'")
    return found
