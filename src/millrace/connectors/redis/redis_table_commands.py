"""Turns rows of a table into commands of Redis, a batch at a time, and answers into rows: the order of the columns
says which is the key, a part of it, or the value. Looks up many keys in one round trip."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from millrace.connectors.redis.redis_client import RedisPlace, Retrying
from millrace.connectors.redis.redis_sink import CommandEncoder, Words
from millrace.relational.functions.casts import column_of_texts, column_texts
from millrace.relational.rex import Schema
from millrace.relational.rows import Rows
from millrace.relational.sources import DecodingFormat, EncodingFormat, LookupTableSource
from millrace.relational.type_table import Family, arrow_type, family_of
from millrace.relational.types import BooleanType, DataType
from millrace.relational.values import to_arrow, to_python


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
"""command that writes -> its layout"""
_READING = {
    "GET": "SET",
    "HGET": "HSET",
    "HGETALL": "HMSET",
    "HMGET": "HMSET",
    "LRANGE": "RPUSH",
    "SMEMBERS": "SADD",
    "ZSCORE": "ZADD",
}
"""command that reads -> command that writes the same data"""
NAMES = (*COMMANDS, *_READING)


def layout_of(command: str) -> CommandLayout:
    """:raises ValueError: there is no such command."""
    name = command.upper()
    found = COMMANDS.get(_READING.get(name, name))
    if found is None:
        raise ValueError(f"'command' is one of {', '.join(NAMES)}, not '{command}'")
    return found


SEPARATOR = b"\x01"
"""between the columns of a row that is one value"""


def words_of(column: pa.Array, kind: DataType) -> list[bytes | None]:
    """Bytes as they are, all else as text: what CAST gives, but ``true`` and ``false``."""
    if family_of(kind) is Family.BYTES:
        found: list[bytes | None] = column.to_pylist()
        return found
    texts = column_texts(column, kind)
    small = isinstance(kind, BooleanType)
    return [None if each is None else (each.lower() if small else each).encode() for each in texts]


def column_of(words: Sequence[bytes | None], kind: DataType, name: str) -> pa.Array:
    """:raises ValueError: a word is no value of the type."""
    if family_of(kind) is Family.BYTES:
        return pa.array(list(words), arrow_type(kind))
    try:
        return column_of_texts([None if each is None else each.decode() for each in words], kind)
    except ValueError as error:
        raise ValueError(f"column '{name}' {kind}: {error}") from None


Found = list[list[tuple[Any, ...]]]
"""For each key, the rows that were found."""


@dataclass(frozen=True)
class Shape:
    """
    :ivar format: of values that are whole rows; ``whole``: their columns are one after the other.
    :ivar first: of the elements of a list, ``last`` likewise.
    """

    layout: CommandLayout
    columns: Schema
    whole: bool = False
    format: DecodingFormat | None = None
    first: int = 0
    last: int = -1

    @property
    def values_are_rows(self) -> bool:
        return self.whole or self.format is not None


def ask(client: Any, shape: Shape, asked: Mapping[int, Sequence[Any]], one_server: bool) -> Found:
    """
    :param asked: column -> the words that it is compared with; the first column is there.
    :param one_server: whether all keys are in one place.
    """
    kind, keys = shape.layout.kind, asked[0]
    if kind is Kind.STRING and one_server:
        return _values(keys, client.mget(list(keys)))
    pipeline = client.pipeline(transaction=False)
    if kind is Kind.STRING:
        for key in keys:
            pipeline.get(key)
        return _values(keys, pipeline.execute())
    if kind is Kind.WHOLE_HASH:
        names = [field.name for field in shape.columns[1:]]
        for key in keys:
            pipeline.hmget(key, names)
        found = zip(keys, pipeline.execute())
        return [[(key, *each)] if any(value is not None for value in each) else [] for key, each in found]
    if kind is Kind.LIST:
        for key in keys:
            pipeline.lrange(key, shape.first, shape.last)
        return [[(key, each) for each in values] for key, values in zip(keys, pipeline.execute())]
    parts = asked.get(_PLACE_OF_PART[kind])
    return _all_parts(pipeline, kind, keys) if parts is None else _one_part(pipeline, kind, keys, parts)


_PLACE_OF_PART = {Kind.HASH: 1, Kind.SET: 1, Kind.SORTED: 2}


def _values(keys: Sequence[Any], found: Sequence[Any]) -> Found:
    return [[] if each is None else [(key, each)] for key, each in zip(keys, found)]


def _all_parts(pipeline: Any, kind: Kind, keys: Sequence[Any]) -> Found:
    """Rows of all fields or members of each key."""
    for key in keys:
        if kind is Kind.HASH:
            pipeline.hgetall(key)
        elif kind is Kind.SET:
            pipeline.smembers(key)
        else:
            pipeline.zrange(key, 0, -1, withscores=True)
    found = zip(keys, pipeline.execute())
    if kind is Kind.SET:
        return [[(key, part) for part in sorted(parts)] for key, parts in found]
    if kind is Kind.HASH:
        return [[(key, part, value) for part, value in pairs.items()] for key, pairs in found]
    return [[(key, _number(score), part) for part, score in pairs] for key, pairs in found]


def _one_part(pipeline: Any, kind: Kind, keys: Sequence[Any], parts: Sequence[Any]) -> Found:
    """The row of the field or member that each key is asked for with."""
    for key, part in zip(keys, parts):
        if kind is Kind.HASH:
            pipeline.hget(key, part)
        elif kind is Kind.SET:
            pipeline.sismember(key, part)
        else:
            pipeline.zscore(key, part)
    found = zip(keys, parts, pipeline.execute())
    if kind is Kind.SET:
        return [[(key, part)] if there else [] for key, part, there in found]
    if kind is Kind.HASH:
        return [[] if value is None else [(key, part, value)] for key, part, value in found]
    return [[] if score is None else [(key, _number(score), part)] for key, part, score in found]


def _number(score: Any) -> bytes:
    return repr(float(score)).encode()


_NEVER_EXPIRE = ("PUBLISH", "DEL")


@dataclass(frozen=True)
class Expiry:
    """
    :ivar seconds: after which a key is gone, from its last write.
    :ivar at: the time of day at which it is gone.
    :ivar new_only: whether a key that has a time already keeps it.
    """

    seconds: int | None = None
    at: dt.time | None = None
    new_only: bool = False

    def command(self, key: bytes, now: dt.datetime) -> Words | None:
        """What follows a write of the key."""
        more = ("NX",) if self.new_only else ()
        if self.seconds is not None:
            return ("EXPIRE", key, self.seconds, *more)
        if self.at is None:
            return None
        then = dt.datetime.combine(now.date(), self.at, now.tzinfo)
        if then <= now:
            then += dt.timedelta(days=1)
        return ("EXPIREAT", key, int(then.timestamp()), *more)


@dataclass(frozen=True)
class RowCommands(CommandEncoder):
    """
    :ivar whole: whether the value is the whole row, its columns one after the other.
    :ivar format: of the value, which is the whole row; None: it is a column, or ``whole``.
    :ivar absent_only: whether what is there stays.
    """

    layout: CommandLayout
    columns: Schema
    whole: bool = False
    format: EncodingFormat | None = None
    expiry: Expiry = Expiry()
    absent_only: bool = False

    def commands(self, element: Rows) -> Iterable[Words]:
        words = [words_of(column, field.type) for column, field in zip(element.columns, self.columns)]
        values = self._values(element, words)
        now = dt.datetime.now().astimezone()
        needed, taken_back = self._needed(values is not None), self.layout.key or self._needed(False)
        for number, (row, add) in enumerate(zip(zip(*words), element.adds().tolist())):
            self._check(row, needed if add else taken_back)
            if not add:
                yield self._taken_back(row)
                continue
            yield from self._written(row, None if values is None else values[number])
            if self.layout.name not in _NEVER_EXPIRE:
                after = self.expiry.command(row[0], now)
                if after is not None:
                    yield after

    def _needed(self, has_values: bool) -> Sequence[int]:
        """The columns that must not be NULL where a row is written."""
        return range(len(self.layout.columns) - has_values) or (0,)

    def _check(self, row: Sequence[bytes | None], places: Sequence[int]) -> None:
        for place in places:
            if row[place] is None:
                raise ValueError(
                    f"column '{self.columns[place].name}' must not be NULL for {self.layout.name}: Redis has no NULL"
                )

    def _values(self, element: Rows, words: Sequence[Sequence[bytes | None]]) -> list[bytes] | None:
        """The value of each row, where that is the whole row."""
        if self.format is not None:
            return [each or b"" for each in self.format.encode(element).to_pylist()]
        if self.whole:
            return [SEPARATOR.join(each or b"" for each in row) for row in zip(*words)]
        return None

    def _taken_back(self, row: Sequence[Any]) -> Words:
        layout = self.layout
        if layout.adds:
            place = layout.columns.index("number")
            return (layout.name, *row[:place], _negative(row[place]), *row[place + 1 : len(layout.columns)])
        return (layout.deletes, *(row[place] for place in layout.key))

    def _written(self, row: Sequence[Any], value: bytes | None) -> Iterable[Words]:
        layout = self.layout
        if layout.kind in (Kind.WHOLE_HASH, Kind.STREAM):
            yield from self._fields(row)
            return
        words = row[: len(layout.columns)] if value is None else (*row[: len(layout.columns) - 1], value)
        if layout.name == "HSET" and self.absent_only:
            yield ("HSETNX", *words)
        elif layout.name == "SET" and self.absent_only:
            yield ("SET", *words, "NX")
        else:
            yield (layout.name, *words)

    def _fields(self, row: Sequence[Any]) -> Iterable[Words]:
        names = [field.name for field in self.columns[1:]]
        pairs = [(name, value) for name, value in zip(names, row[1:]) if value is not None]
        flat = [word for pair in pairs for word in pair]
        if self.layout.kind is Kind.STREAM:
            yield ("XADD", row[0], "*", *flat)
            return
        gone = [name for name, value in zip(names, row[1:]) if value is None]
        if flat:
            yield ("HSET", row[0], *flat)
        if gone:
            yield ("HDEL", row[0], *gone)


def _negative(number: bytes) -> bytes:
    return number[1:] if number.startswith(b"-") else b"-" + number


MOST_KEYS = 1_000
"""The most keys that are looked up together."""

Row = tuple[Any, ...]


class RedisLookup(LookupTableSource):
    """
    :param key: the columns that a join compares; the key of Redis is among them.
    :ivar options: of the table: those of its cache are read from here.
    """

    def __init__(
        self,
        place: RedisPlace,
        shape: Shape,
        key: Sequence[int],
        retries: int,
        options: Mapping[str, str],
        what: str,
    ) -> None:
        self._place, self._shape, self._key = place, shape, tuple(key)
        self._retries, self._what = retries, what
        self.options = {name: value for name, value in options.items() if name.startswith("lookup.")}
        self._retrying: Retrying | None = None

    def open(self) -> None:
        self._retrying = Retrying(self._place, self._retries, self._what)

    def close(self) -> None:
        if self._retrying is not None:
            self._retrying.close()

    def lookup(self, keys: Sequence[Row]) -> Iterable[Sequence[Row]]:
        found: list[Sequence[Row]] = []
        for begin in range(0, len(keys), MOST_KEYS):
            found += self._lookup(keys[begin : begin + MOST_KEYS])
        return found

    def _lookup(self, keys: Sequence[Row]) -> list[list[Row]]:
        assert self._retrying is not None, "open() comes first"
        columns = self._shape.columns
        typed = [to_arrow(list(each), columns[place].type) for place, each in zip(self._key, zip(*keys))]
        asked = dict(zip(self._key, (words_of(each, columns[place].type) for place, each in zip(self._key, typed))))
        one_server = self._place.transactions
        found = self._retrying.run(partial(ask, shape=self._shape, asked=asked, one_server=one_server))
        rows = self._rows(found)
        return [[row for row in each if self._fits(row, key)] for each, key in zip(rows, keys)]

    def _fits(self, row: Row, key: Row) -> bool:
        return all(row[place] == value for place, value in zip(self._key, key))

    # -- rows of what was found -----------------------------------------------------------------------------------

    def _rows(self, found: Found) -> list[list[Row]]:
        flat = [row for each in found for row in each]
        if not flat:
            return [[] for _ in found]
        columns, counts = self._columns(flat)
        made = iter(list(zip(*(to_python(column, field.type) for column, field in zip(columns, self._shape.columns)))))
        taken = iter(counts)
        return [[row for _ in each for row in [next(made) for _ in range(next(taken))]] for each in found]

    def _columns(self, flat: list[Row]) -> tuple[list[pa.Array], Sequence[int]]:
        """(the columns of all rows; how many rows each of those found makes)."""
        shape = self._shape
        numbers: Sequence[int] = range(len(flat))
        content: list[pa.Array] = []
        if shape.format is not None:
            decoded = shape.format.decode(pa.array([row[-1] for row in flat], pa.binary()))
            content = decoded.rows.columns
            numbers = numbers if decoded.messages is None else decoded.messages.tolist()
        elif shape.whole:
            content = self._of_parts([row[-1].split(SEPARATOR) for row in flat])
        # What is a key of Redis comes from there, also if the value has it, too, or does not.
        own = len(shape.layout.columns) - 1 if content else len(shape.columns)
        columns = [
            column_of([flat[number][place] for number in numbers], field.type, field.name)
            for place, field in enumerate(shape.columns[:own])
        ]
        counts = [0] * len(flat)
        for number in numbers:
            counts[number] += 1
        return [*columns, *content[own:]], counts

    def _of_parts(self, parts: list[list[bytes]]) -> list[pa.Array]:
        """Columns of rows whose values lie one after the other."""
        fields = self._shape.columns
        wrong = next((each for each in parts if len(each) != len(fields)), None)
        if wrong is not None:
            raise ValueError(f"a value has {len(wrong)} columns and the table has {len(fields)}: {wrong}")
        return [
            column_of([_present(each[place], field) for each in parts], field.type, field.name)
            for place, field in enumerate(fields)
        ]


def _present(word: bytes, field: Any) -> bytes | None:
    """An empty text is NULL where a column has no empty value."""
    return word if word or family_of(field.type) in (Family.TEXT, Family.BYTES) else None
