"""Aggregates that put all values together: COLLECT, ARRAY_AGG, LISTAGG, the JSON aggregates, PERCENTILE, and those of
bitmaps (sets of 32 bit numbers, as bytes in the portable form of Roaring).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from millrace.relational import types as t
from millrace.relational.bitmap_values import bitmap_class
from millrace.relational.functions.aggregates.registry import (
    Accumulation,
    Entry,
    Keeping,
    Texts,
    aggregate,
    in_sequence,
)
from millrace.relational.functions.json_text import IN_JSON, json_array, json_object, nullable_writer
from millrace.relational.functions.registry import (
    ANY,
    BIGINT_TYPE,
    DOUBLE_TYPE,
    INT,
    STRING,
    TEXT,
    Infer,
    Kind,
    Signature,
    SignatureError,
    takes,
)
from millrace.relational.rex import AggCall, Literal, Rex
from millrace.relational.types import DataType
from millrace.util.record import Record


class Collect(Keeping):
    """A multiset."""

    def result(self, entries: Sequence[Entry]) -> Any:
        return [(args[0], count) for args, count in entries]

    def empty(self) -> Any:
        return []


class ListAgg(Keeping):
    """Texts with a separator between them."""

    in_order = True

    def result(self, entries: Sequence[Entry]) -> Any:
        rows = in_sequence(entries)
        separator = rows[0][1] if len(rows[0]) > 1 else ","
        return separator.join(args[0] for args in rows)


class ArrayAgg(Keeping):
    """ARRAY_AGG: all values as an array, including NULLs."""

    in_order = True
    skips_nulls = False

    def result(self, entries: Sequence[Entry]) -> Any:
        return [args[0] for args in in_sequence(entries)]


class ArrayAggWithoutNulls(ArrayAgg):
    skips_nulls = True


class JsonObjectAgg(Record, Keeping):
    """A JSON object; of several values of one key the last one counts."""

    skips_nulls = False
    in_order = True
    absent: bool
    """entries whose value is NULL are left out"""
    value_type: DataType

    def result(self, entries: Sequence[Entry]) -> Any:
        write = nullable_writer(self.value_type)
        found: list[tuple[str, str]] = []
        for key, value in in_sequence(entries):
            if key is None:
                raise ValueError("JSON_OBJECTAGG: a key is NULL; leave such rows out: FILTER (WHERE key IS NOT NULL)")
            if value is not None or not self.absent:
                found.append((key, write(value)))
        return json_object(found)

    def empty(self) -> Any:
        return json_object(())


class JsonArrayAgg(Record, Keeping):
    in_order = True
    skips_nulls = False
    absent: bool
    """items that are NULL are left out"""
    item_type: DataType

    def result(self, entries: Sequence[Entry]) -> Any:
        write = nullable_writer(self.item_type)
        items = (args[0] for args in in_sequence(entries))
        return json_array(write(item) for item in items if item is not None or not self.absent)

    def empty(self) -> Any:
        return json_array(())


class Percentile(Record, Keeping):
    """Values at given shares of the sorted values, in proportion between the two nearest ones."""

    many: bool

    def result(self, entries: Sequence[Entry]) -> Any:
        weights: dict[float, int] = {}
        for (value, _, *frequency), count in entries:
            weight = count * (frequency[0] or 0 if frequency else 1)
            weights[float(value)] = weights.get(float(value), 0) + weight
        ordered = sorted((value, weight) for value, weight in weights.items() if weight > 0)
        wanted = entries[0][0][1]
        if wanted is None or not ordered or (self.many and not wanted):
            return None
        if self.many:
            return [None if each is None else _at(ordered, float(each)) for each in wanted]
        return _at(ordered, float(wanted))


def _at(ordered: list[tuple[float, int]], share: float) -> float:
    if not 0 <= share <= 1:
        raise ValueError(f"PERCENTILE takes shares from 0 to 1, not {share}")
    position = (sum(weight for _, weight in ordered) - 1) * share
    below = int(position)
    low = _nth(ordered, below)
    return low if below == position else low + (_nth(ordered, below + 1) - low) * (position - below)


def _nth(ordered: list[tuple[float, int]], place: int) -> float:
    for value, weight in ordered:
        if place < weight:
            return value
        place -= weight
    return ordered[-1][0]


def _multiset(types: Sequence[DataType]) -> DataType:
    return t.MultisetType(types[0])


def _array(types: Sequence[DataType]) -> DataType:
    return t.ArrayType(types[0])


def _check_share(share: Any) -> None:
    """:raises SignatureError: a constant is no share."""
    if share is not None and not 0 <= share <= 1:
        raise SignatureError(f"it takes shares from 0 to 1, not {share}")


def _percentile(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    described = SignatureError("it takes (NUMERIC, NUMERIC or ARRAY of NUMERIC [, INTEGER])")
    if not 2 <= len(args) <= 3 or not isinstance(args[0].type, (t.NumericType, t.NullType)):
        raise described
    share = args[1].type
    if isinstance(share, t.ArrayType) and isinstance(share.element_type, t.NumericType):
        shares: DataType = t.ArrayType(DOUBLE_TYPE, share.is_nullable)
        result: DataType = t.ArrayType(DOUBLE_TYPE)
    elif isinstance(share, t.NumericType):
        shares, result = DOUBLE_TYPE.with_nullable(share.is_nullable), DOUBLE_TYPE
    else:
        raise described
    if isinstance(args[1], Literal) and isinstance(share, t.NumericType):
        _check_share(args[1].value)
    types = [DOUBLE_TYPE.with_nullable(args[0].type.is_nullable), shares]
    if len(args) == 3:
        if not isinstance(args[2].type, t.IntegralType):
            raise described
        types.append(args[2].type)
    return Signature(tuple(types), result)


_JSON_TEXT = t.VarCharType(2000)
"""the type that Flink gives it; the text may be longer"""


@aggregate("COLLECT", takes(ANY, result=_multiset, nullable=False))
def collect(call: AggCall, retracts: bool) -> Accumulation:
    return Collect()


def _listagg_text(call: AggCall, texts: Texts) -> str:
    values = texts.collected(texts.args[0])
    separator = texts.args[1] if len(texts.args) > 1 else "','"
    return f"CASE WHEN size({values}) > 0 THEN array_join({values}, {separator}) END"


@aggregate("LISTAGG", takes(TEXT, TEXT, optional=1, result=STRING), spark=_listagg_text)
def listagg(call: AggCall, retracts: bool) -> Accumulation:
    if len(call.args) > 1 and isinstance(call.args[1], Literal) and call.args[1].value is None:
        raise ValueError("LISTAGG needs a separator that is not NULL")
    return ListAgg()


def _array_text(call: AggCall, texts: Texts) -> str:
    if call.option("nulls") == "IGNORE":
        values = texts.collected(texts.args[0])
        return f"CASE WHEN size({values}) > 0 THEN {values} END"
    # Spark leaves NULLs out, but not rows of them.
    values = texts.collected(f"named_struct('v', {texts.args[0]})")
    return f"CASE WHEN size({values}) > 0 THEN transform({values}, each -> each.v) END"


@aggregate("ARRAY_AGG", takes(ANY, result=_array), spark=_array_text)
def array_agg(call: AggCall, retracts: bool) -> Accumulation:
    return ArrayAggWithoutNulls() if call.option("nulls") == "IGNORE" else ArrayAgg()


@aggregate("JSON_OBJECTAGG", takes(TEXT, IN_JSON, result=_JSON_TEXT, nullable=False))
def json_objectagg(call: AggCall, retracts: bool) -> Accumulation:
    return JsonObjectAgg(call.option("on_null", "NULL") == "ABSENT", call.args[1].type)


@aggregate("JSON_ARRAYAGG", takes(IN_JSON, result=_JSON_TEXT, nullable=False))
def json_arrayagg(call: AggCall, retracts: bool) -> Accumulation:
    return JsonArrayAgg(call.option("on_null", "ABSENT") == "ABSENT", call.args[0].type)


@aggregate("PERCENTILE", _percentile)
def percentile(call: AggCall, retracts: bool) -> Accumulation:
    return Percentile(isinstance(call.args[1].type, t.ArrayType))


# Bitmaps

BITMAP = Kind("BITMAP", lambda found: found if isinstance(found, (t.BitmapType, t.NullType)) else None)
_BITMAP_TYPE = t.BitmapType()

Combine = Callable[[Sequence[Entry]], Any]
"""the bitmap of all entries"""


class Bitmaps(Record, Keeping):
    combine: Combine
    counts: bool
    """the result is how many numbers are in the set"""

    def result(self, entries: Sequence[Entry]) -> Any:
        found = self.combine(entries)
        return len(found) if self.counts else found.serialize()


def _build(entries: Sequence[Entry]) -> Any:
    """A negative number stands for the unsigned one with the same bits."""
    return bitmap_class()([args[0] & 0xFFFFFFFF for args, _ in entries])


def _and(entries: Sequence[Entry]) -> Any:
    return reduce(lambda one, other: one & other, (bitmap_class().deserialize(args[0]) for args, _ in entries))


def _or(entries: Sequence[Entry]) -> Any:
    return reduce(lambda one, other: one | other, (bitmap_class().deserialize(args[0]) for args, _ in entries))


def _xor(entries: Sequence[Entry]) -> Any:
    """A bitmap that comes twice takes itself back."""
    odd = (bitmap_class().deserialize(args[0]) for args, count in entries if count % 2)
    return reduce(lambda one, other: one ^ other, odd, bitmap_class()())


def _register(name: str, kind: Kind, combine: Combine) -> None:
    def add(full_name: str, infer: Infer, counts: bool) -> None:
        @aggregate(full_name, infer)
        def plan(call: AggCall, retracts: bool) -> Accumulation:
            return Bitmaps(combine, counts)

    add(f"BITMAP_{name}_AGG", takes(kind, result=_BITMAP_TYPE), False)
    add(f"BITMAP_{name}_CARDINALITY_AGG", takes(kind, result=BIGINT_TYPE), True)


_register("BUILD", INT, _build)
_register("AND", BITMAP, _and)
_register("OR", BITMAP, _or)
_register("XOR", BITMAP, _xor)
