"""Aggregates that give a number or one of the values: COUNT, SUM, AVG, the measures of spread, MIN, MAX, FIRST_VALUE,
LAST_VALUE, and SINGLE_VALUE for subqueries that must give one row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import (
    EXACT,
    Accumulation,
    Entry,
    Extremum,
    Folding,
    Keeping,
    Slot,
    Spark,
    Texts,
    aggregate,
    choosing,
    column_of,
    counted,
    counting,
    signed,
    summing,
    whole_numbers,
    wrap,
)
from millrace.relational.functions.registry import ANY, BIGINT_TYPE, NUMERIC, Kind, Signature, first, takes
from millrace.relational.rex import AggCall, Rex
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.util.record import Record


def _sum_type(types: Sequence[DataType]) -> DataType:
    """SUM(DECIMAL) has all digits that there are."""
    arg = types[0]
    return t.DecimalType(38, arg.scale) if isinstance(arg, t.DecimalType) else arg


def _average_type(types: Sequence[DataType]) -> DataType:
    """The type of an average; as in Flink, the average of whole numbers is a whole number."""
    arg = types[0]
    return t.DecimalType(38, max(6, arg.scale)) if isinstance(arg, t.DecimalType) else arg


def _count(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    return Signature(tuple(arg.type for arg in args), BIGINT_TYPE.not_null())


def _arg(call: AggCall) -> pa.DataType:
    return arrow_type(call.args[0].type)


class Count(Folding):
    """Rows in which no argument is NULL."""

    slots = (counting(),)

    def contributions(self, args: Sequence[pa.Array], signs: pa.Array) -> list[pa.Array]:
        for arg in args:
            if arg.null_count:
                signs = pc.if_else(pc.is_valid(arg), signs, 0)
        return [signs]

    def result(self, slots: Sequence[Sequence[Any]], result_type: pa.DataType) -> pa.Array:
        return column_of(slots[0], result_type)

    def column_result(self, slots: Sequence[pa.Array], result_type: pa.DataType) -> pa.Array:
        return whole_numbers(slots[0], result_type)


class Sum(Record, Folding):
    """The sum, and of how many values it is: none have NULL for a sum, unless it is SUM0."""

    arg: pa.DataType
    for_none: Any = None

    @property
    def slots(self) -> tuple[Slot, ...]:  # type: ignore[override]
        return summing(self.arg), counting()

    def contributions(self, args: Sequence[pa.Array], signs: pa.Array) -> list[pa.Array]:
        (values,) = args
        present = pc.if_else(pc.is_valid(values), signs, 0) if values.null_count else signs
        return [signed(values.cast(self.slots[0].type), signs), present]

    def result(self, slots: Sequence[Sequence[Any]], result_type: pa.DataType) -> pa.Array:
        sums, counts = slots
        return column_of([s if n else self.for_none for s, n in zip(sums, counts)], result_type)

    def column_result(self, slots: Sequence[pa.Array], result_type: pa.DataType) -> pa.Array:
        sums, counts = slots
        if pa.types.is_decimal(result_type):
            return super().column_result(slots, result_type)
        found = pc.if_else(pc.not_equal(counts, 0), sums, pa.scalar(self.for_none, sums.type))
        return whole_numbers(found, result_type) if pa.types.is_integer(result_type) else found.cast(result_type)


class Average(Sum):
    """AVG. The average of whole numbers is cut towards zero, and their sum is a BIGINT that wraps around; that of
    DECIMALs is rounded half up."""

    def result(self, slots: Sequence[Sequence[Any]], result_type: pa.DataType) -> pa.Array:
        sums, counts = slots
        if pa.types.is_decimal(result_type):
            digits = Decimal(1).scaleb(-result_type.scale)
            divided: list[Any] = [
                EXACT.quantize(EXACT.divide(s, Decimal(n)), digits) if n else None for s, n in zip(sums, counts)
            ]
        elif pa.types.is_floating(result_type):
            divided = [s / n if n else None for s, n in zip(sums, counts)]
        else:
            divided = [_cut(wrap(s, 64), n) if n else None for s, n in zip(sums, counts)]
        return column_of(divided, result_type)

    def column_result(self, slots: Sequence[pa.Array], result_type: pa.DataType) -> pa.Array:
        sums, counts = slots
        if pa.types.is_decimal(result_type):
            return super().column_result(slots, result_type)
        counts = pc.if_else(pc.equal(counts, 0), None, counts)
        if pa.types.is_floating(result_type):
            return pc.divide(sums, counts.cast(pa.float64())).cast(result_type)
        return whole_numbers(pc.divide(sums, counts), result_type)  # Arrow cuts towards zero


def _cut(dividend: int, divisor: int) -> int:
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


class Spread(Record, Folding):
    """Variance and standard deviation, from the count, the sum and the sum of squares of the values."""

    sample: bool
    """whether the values are a sample: divides by n - 1, so one value alone has no result"""
    root: bool
    slots = (counting(), summing(pa.float64()), summing(pa.float64()))

    def contributions(self, args: Sequence[pa.Array], signs: pa.Array) -> list[pa.Array]:
        values = args[0].cast(pa.float64())
        present = pc.if_else(pc.is_valid(values), signs, 0)
        return [present, signed(values, signs), signed(pc.multiply(values, values), signs)]

    def result(self, slots: Sequence[Sequence[Any]], result_type: pa.DataType) -> pa.Array:
        found = [self._of(*each) for each in zip(*slots)]
        if pa.types.is_decimal(result_type):
            digits = Decimal(1).scaleb(-result_type.scale)
            exact = [None if each is None else EXACT.quantize(Decimal(repr(each)), digits) for each in found]
            return column_of(exact, result_type)
        if pa.types.is_integer(result_type):
            return column_of([None if each is None else int(each) for each in found], result_type)
        return pa.array(found, result_type)

    def _of(self, count: int, total: float, squares: float) -> float | None:
        divisor = count - self.sample
        if divisor <= 0:
            return None
        # Rounding may leave a little less than nothing.
        variance = max(0.0, (squares - total * total / count) / divisor)
        return math.sqrt(variance) if self.root else variance


def _count_text(call: AggCall, texts: Texts) -> str:
    return texts.of_args("count") if texts.args else texts.call("count(1)")


@aggregate("COUNT", _count, spark=_count_text)
def count(call: AggCall, retracts: bool) -> Accumulation:
    return Count()


@aggregate("SUM", takes(NUMERIC, result=_sum_type), spark="sum")
def sum_(call: AggCall, retracts: bool) -> Accumulation:
    return Sum(_arg(call))


def _sum0_text(call: AggCall, texts: Texts) -> str:
    return f"coalesce({texts.of_args('sum')}, 0)"


@aggregate("$SUM0", takes(NUMERIC, result=_sum_type, nullable=False), spark=_sum0_text, aliases=("SUM0",))
def sum0(call: AggCall, retracts: bool) -> Accumulation:
    return Sum(_arg(call), summing(_arg(call)).zero)


def _average_text(call: AggCall, texts: Texts) -> str:
    if isinstance(call.type, (t.FloatType, t.DoubleType)):
        return texts.of_args("avg")
    total, count = texts.of_args("sum"), texts.of_args("count")
    if isinstance(call.type, t.DecimalType):
        scale = call.args[0].type.scale if isinstance(call.args[0].type, t.DecimalType) else 0
        # Spark's avg() has four digits more than its argument; this division has those of Flink.
        return f"CAST({total} AS DECIMAL(38, {scale})) / CAST({count} AS DECIMAL(20, 0))"
    return f"{total} div {count}"


@aggregate("AVG", takes(NUMERIC, result=_average_type), spark=_average_text)
def average(call: AggCall, retracts: bool) -> Accumulation:
    return Average(_arg(call))


def _spread_text(name: str, sample: bool, root: bool) -> Spark:
    def build(call: AggCall, texts: Texts) -> str | None:
        if not isinstance(call.type, t.IntegralType):
            return texts.of_args(name.lower())
        if call.distinct:
            return None
        # The result is cut to a whole number: exact sums must not come out a little below it.
        value = f"CAST({texts.args[0]} AS DOUBLE)"
        count, total = texts.call(f"count({value})"), texts.call(f"sum({value})")
        squares = texts.call(f"sum({value} * {value})")
        variance = f"greatest(0D, ({squares} - {total} * {total} / {count}) / ({count} - {int(sample)}))"
        return f"CASE WHEN {count} > {int(sample)} THEN {f'sqrt({variance})' if root else variance} END"

    return build


def _spread(name: str, sample: bool, root: bool, *aliases: str) -> None:
    infer = takes(NUMERIC, result=_average_type, nullable=True if sample else None)

    @aggregate(name, infer, spark=_spread_text(name, sample, root), aliases=aliases)
    def plan(call: AggCall, retracts: bool) -> Accumulation:
        return Spread(sample, root)


_spread("VAR_POP", False, False)
_spread("VAR_SAMP", True, False, "VARIANCE")
_spread("STDDEV_POP", False, True)
_spread("STDDEV_SAMP", True, True, "STDDEV")


# One of the values

_UNORDERED = (t.ArrayType, t.MapType, t.MultisetType, t.RowType, t.RawType, t.VariantType, t.BitmapType)
COMPARABLE = Kind("COMPARABLE", lambda found: None if isinstance(found, _UNORDERED) else found)


class Choice(Record, Folding):
    """One value is enough, since none is ever taken back. NULLs do not count."""

    arg: pa.DataType
    which: str
    """min, max, first or last"""

    @property
    def slots(self) -> tuple[Slot, ...]:  # type: ignore[override]
        return (choosing(self.arg, self.which),)

    def contributions(self, args: Sequence[pa.Array], signs: pa.Array) -> list[pa.Array]:
        return [counted(args[0], signs)]

    def result(self, slots: Sequence[Sequence[Any]], result_type: pa.DataType) -> pa.Array:
        return column_of(slots[0], result_type)

    def column_result(self, slots: Sequence[pa.Array], result_type: pa.DataType) -> pa.Array:
        (found,) = slots
        return found if found.type == result_type else super().column_result(slots, result_type)


class FirstKept(Keeping):
    """The earliest of the values that are left."""

    in_order = True

    def result(self, entries: Sequence[Entry]) -> Any:
        return min(entries, key=lambda entry: entry[1][0])[0][0]


class LastKept(Keeping):
    """The latest of the values that are left."""

    in_order = True

    def result(self, entries: Sequence[Entry]) -> Any:
        return max(entries, key=lambda entry: entry[1][-1])[0][0]


def _extremum(name: str, largest: bool) -> None:
    @aggregate(name, takes(COMPARABLE, result=first), spark=name.lower(), ignores_duplicates=True)
    def plan(call: AggCall, retracts: bool) -> Accumulation:
        return Extremum(largest) if retracts else Choice(_type(call.args[0].type), "max" if largest else "min")


def _place(name: str, which: str, kept: type[Keeping], *aliases: str) -> None:
    def text(call: AggCall, texts: Texts) -> str:
        value = texts.args[0]
        if texts.place:
            chosen = "min_by" if which == "first" else "max_by"
            return texts.call(f"{chosen}({value}, CASE WHEN {value} IS NOT NULL THEN {texts.place} END)")
        return texts.call(f"{which}({value}, TRUE)")

    @aggregate(name, takes(ANY, result=first), spark=text, aliases=aliases)
    def plan(call: AggCall, retracts: bool) -> Accumulation:
        return kept() if retracts else Choice(_type(call.args[0].type), which)


def _type(data_type: DataType) -> pa.DataType:
    return arrow_type(data_type)


_extremum("MIN", False)
_extremum("MAX", True)
_place("FIRST_VALUE", "first", FirstKept)
_place("LAST_VALUE", "last", LastKept)


# SINGLE_VALUE


class SingleValue(Keeping):
    """The only value; several rows are an error, as SQL wants it."""

    skips_nulls = False

    def result(self, entries: Sequence[Entry]) -> Any:
        rows = sum(entry[1] for entry in entries)
        if rows > 1:
            raise ValueError(f"a subquery that stands for one value gave {rows} rows")
        return entries[0][0][0]


def _text(call: AggCall, texts: Texts) -> str:
    count, first_value = texts.call("count(1)"), texts.call(f"first({texts.args[0]})")
    return f"CASE WHEN {count} > 1 THEN raise_error('a scalar subquery gave more than one row') ELSE {first_value} END"


@aggregate("SINGLE_VALUE", takes(ANY, result=first), spark=_text)
def plan(call: AggCall, retracts: bool) -> Accumulation:
    return SingleValue()
