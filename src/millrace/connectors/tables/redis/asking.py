"""What Redis is asked for keys, all in one round trip, and the rows of its answers, as words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.connectors.tables.redis.layout import CommandLayout, Kind
from millrace.relational.fields import Schema
from millrace.relational.formats import DecodingFormat

Found = list[list[tuple[Any, ...]]]
"""for each key its rows"""


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
