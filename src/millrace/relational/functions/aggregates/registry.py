"""The registry of built-in aggregate functions, one description for each by its name in plans; and the accumulators
that they are made of: numbers that are folded, values that are retained, text for Spark SQL.

Aggregates that give a number or one of the values: COUNT, SUM, AVG, the measures of spread, MIN, MAX, FIRST_VALUE,
LAST_VALUE, and SINGLE_VALUE for subqueries that must give one row.
"""

from __future__ import annotations

import decimal
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from decimal import Decimal
from operator import add
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.functions import aggregates
from millrace.relational.functions.registry import (
    ANY,
    BIGINT_TYPE,
    NUMERIC,
    Column,
    Infer,
    Kind,
    Signature,
    SignatureError,
    cast_to,
    first,
    takes,
)
from millrace.relational.rex import AggCall, Rex, SortKey
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.util.names import import_modules
from millrace.util.record import Record

# Spark SQL


class Texts(Record):
    """The expressions of a call over its input."""

    args: tuple[str, ...]
    filter: str | None = None
    order: tuple[str, ...] = ()
    over: str = ""
    """the OVER clause of a call that is not a group's"""
    distinct: bool = False
    place: str = ""
    """column with a row's position in the input, if Spark may change the order of rows before they are aggregated"""

    def call(self, function: str) -> str:
        """An aggregate function of Spark with the call's FILTER and OVER."""
        where = "" if self.filter is None else f" FILTER (WHERE {self.filter})"
        return f"{function}{where}{self.over}"

    def of_args(self, function: str) -> str:
        """SQL text that applies ``function`` to the call's arguments, with DISTINCT if the call has it."""
        return self.call(f"{function}({'DISTINCT ' if self.distinct else ''}{', '.join(self.args)})")

    def collected(self, value: str) -> str:
        """A list of the values of all rows; Spark leaves NULLs out."""
        if self.place and not self.distinct:
            return self.in_place(f"CASE WHEN {value} IS NOT NULL THEN {self._placed(value)} END")
        return self.call(f"{'collect_set' if self.distinct else 'collect_list'}({value})")

    def rows(self, value: str) -> str:
        """A list of values that are never NULL."""
        return self.in_place(self._placed(value)) if self.place else self.call(f"collect_list({value})")

    def in_place(self, pairs: str) -> str:
        """A list of the values of pairs, in the order of their places."""
        return f"transform(array_sort({self.call(f'collect_list({pairs})')}), each -> each.value)"

    def _placed(self, value: str) -> str:
        return f"named_struct('place', {self.place}, 'value', {value})"


Spark = Callable[[AggCall, Texts], "str | None"]
"""(the typed call, texts of its parts) -> Spark SQL, cast to the type of the call by the caller; None: not here"""


# Parts of aggregates

EXACT = decimal.Context(prec=76, rounding=decimal.ROUND_HALF_UP)
"""enough digits for sums of any DECIMAL; Python's own context would round at 28"""


class Slot(Record):
    """One value of an accumulator, which partial results and batches are merged into."""

    type: pa.DataType
    reduce: str
    """how the contributions of the rows of a group become one: sum, min, max, first or last"""
    merge: Callable[[Any, Any], Any]
    """(older value, newer value) -> both together"""
    zero: Any = None
    """the value that merging does not change; Arrow's NULL stands for it"""


class Accumulation(ABC):
    """How an aggregate call comes to its value."""


class Folding(Accumulation):
    """An accumulator of a fixed number of slots. Partial results can be merged (two-phase aggregation, slices)."""

    slots: tuple[Slot, ...]

    @abstractmethod
    def contributions(self, args: Sequence[pa.Array], signs: pa.Array) -> list[pa.Array]:
        """What each row contributes to each slot, NULL for nothing.

        :param signs: int64: 1 for a row that is added, -1 for one that is taken back, 0 for one that does not count.
        """

    @abstractmethod
    def result(self, slots: Sequence[Sequence[Any]], result_type: pa.DataType) -> pa.Array:
        """The values of many accumulators, given as one sequence a slot."""

    def column_result(self, slots: Sequence[pa.Array], result_type: pa.DataType) -> pa.Array:
        """The values of many accumulators, given as one column a slot; a slot that is zero has a zero, never NULL."""
        return self.result([slot.to_pylist() for slot in slots], result_type)


Entry = tuple[tuple[Any, ...], Any]
"""(the arguments of a row, how often they occur, or at which places if the order counts)"""


class Keeping(Accumulation):
    """An accumulator of all different argument values, each an entry of its own."""

    in_order: ClassVar[bool] = False
    """whether it matters where a value stands: then an entry has the ascending places of its occurrences"""
    skips_nulls: ClassVar[bool] = True
    """whether rows do not count whose first argument is NULL"""

    @abstractmethod
    def result(self, entries: Sequence[Entry]) -> Any:
        """The value of one accumulator, in the form that Arrow takes; None for NULL.

        :param entries: at least one, in the order in which the values first came.
        """

    def empty(self) -> Any:
        """The value of no entries."""
        return None


class Extremum(Record, Accumulation):
    """MIN and MAX of rows that may be retracted: all values are retained, and the smallest or largest is known."""

    largest: bool

    def best(self, values: Sequence[Any]) -> Any:
        return (max if self.largest else min)(values, key=_rank)

    def is_better(self, value: Any, than: Any) -> bool:
        return bool(_rank(value) > _rank(than) if self.largest else _rank(value) < _rank(than))


def _rank(value: Any) -> Any:
    """NaN is the largest number, as in Flink."""
    return (1, 0.0) if value != value else (0, value)


_PRECISION = 38
"""digits of the longest DECIMAL"""


def counting() -> Slot:
    """Counts of rows, and sums of integers: 64 bits per batch, any size in all."""
    return Slot(pa.int64(), "sum", add, 0)


def summing(arg: pa.DataType) -> Slot:
    """The sum of numbers of a type."""
    if pa.types.is_decimal(arg):
        # Arrow's sums wrap around. Ten digits more than the values have are enough for any batch.
        wide = arg.precision > _PRECISION - 10
        made = pa.decimal256(2 * _PRECISION, arg.scale) if wide else pa.decimal128(_PRECISION, arg.scale)
        return Slot(made, "sum", EXACT.add, decimal.Decimal(0))
    if pa.types.is_floating(arg):
        return Slot(pa.float64(), "sum", add, 0.0)
    return counting()


def choosing(arg: pa.DataType, reduce: str) -> Slot:
    """One of the values: the min, max, first or last."""
    return Slot(arg, reduce, _CHOICES[reduce])


def _smaller(old: Any, new: Any) -> Any:
    if old is None or new is None:
        return new if old is None else old
    return new if _rank(new) < _rank(old) else old


def _larger(old: Any, new: Any) -> Any:
    if old is None or new is None:
        return new if old is None else old
    return new if _rank(new) > _rank(old) else old


def _first(old: Any, new: Any) -> Any:
    return new if old is None else old


def _last(old: Any, new: Any) -> Any:
    return old if new is None else new


_CHOICES: dict[str, Callable[[Any, Any], Any]] = {"min": _smaller, "max": _larger, "first": _first, "last": _last}


def signed(values: Column, signs: pa.Array) -> pa.Array:
    """Numbers that count as their sign says; NULL where the sign is 0."""
    counted = pc.if_else(pc.equal(signs, 0), pa.scalar(None, values.type), values)
    return pc.if_else(pc.less(signs, 0), pc.negate(counted), counted)


def counted(values: Column, signs: pa.Array) -> pa.Array:
    """Values where the sign is not 0, else NULL."""
    return pc.if_else(pc.equal(signs, 0), pa.scalar(None, values.type), values)


def column_of(values: Sequence[Any], data_type: pa.DataType) -> pa.Array:
    """Results as a column. As in Flink whole numbers that are too large wrap around, too large DECIMALs are NULL."""
    try:
        return pa.array(values, data_type)
    except (pa.ArrowInvalid, OverflowError):
        if pa.types.is_decimal(data_type):
            limit = decimal.Decimal(10) ** (data_type.precision - data_type.scale)
            return pa.array([None if each is None or each.copy_abs() >= limit else each for each in values], data_type)
        bits = data_type.bit_width
        return pa.array([None if each is None else wrap(each, bits) for each in values], data_type)


def whole_numbers(values: pa.Array, result_type: pa.DataType) -> pa.Array:
    """Cast 64 bit numbers to a narrower type; numbers that are too large wrap around."""
    if result_type == pa.int64():
        return values
    missing = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    numbers = pc.fill_null(values, 0).to_numpy(zero_copy_only=False)
    return pa.array(numbers.astype(result_type.to_pandas_dtype()), result_type, mask=missing)


def wrap(value: int, bits: int) -> int:
    """Wrap a whole number around into a signed number of ``bits`` bits."""
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


# Registry

Plan = Callable[[AggCall, bool], Accumulation]
"""(the typed call, whether rows may be taken back) -> how it is computed"""


class Aggregate(Record):
    """An aggregate function."""

    name: str
    infer: Infer
    plan: Plan
    spark: Spark | None = None
    """None: batch mode collects the values and lets ``plan`` make the result"""
    aliases: tuple[str, ...] = ()
    ignores_duplicates: bool = False
    """DISTINCT makes no difference"""


_aggregates: dict[str, Aggregate] = {}


def aggregate(
    name: str,
    infer: Infer,
    *,
    spark: Spark | str | None = None,
    aliases: Sequence[str] = (),
    ignores_duplicates: bool = False,
) -> Callable[[Plan], Plan]:
    """Register the decorated function as the plan of an aggregate.

    :param spark: how Spark computes the same; a text is the name of a function of all arguments.
    """
    written: Spark | None = _named(spark) if isinstance(spark, str) else spark

    def register(plan: Plan) -> Plan:
        described = Aggregate(name, infer, plan, written, tuple(aliases), ignores_duplicates)
        for each in (name, *aliases):
            if each in _aggregates:
                raise ValueError(f"aggregate {each} is registered twice")
            _aggregates[each] = described
        return plan

    return register


def _named(function: str) -> Spark:
    return lambda call, texts: texts.of_args(function)


def find_aggregate(name: str) -> Aggregate | None:
    """The aggregate with this name (upper case), None without."""
    import_modules(aggregates)
    return _aggregates.get(name)


def aggregate_names() -> list[str]:
    """Names and aliases of all aggregates."""
    import_modules(aggregates)
    return sorted(_aggregates)


def infer_aggregate(
    name: str, args: Sequence[Rex], options: dict[str, Any] | None = None, distinct: bool = False
) -> Signature:
    """How a call is typed. The result is nullable if an argument is; where a group may have no rows (no GROUP BY, or a
    FILTER) it is for the caller to make it nullable, but for counts.

    :raises SignatureError: the aggregate does not take these arguments.
    :raises KeyError: there is no such aggregate.
    """
    found = find_aggregate(name)
    if found is None:
        raise KeyError(name)
    if distinct and not args:
        raise SignatureError("DISTINCT needs an argument")
    return found.infer(args, options or {})


def aggregate_call(
    name: str,
    args: Sequence[Rex],
    options: dict[str, Any] | None = None,
    distinct: bool = False,
    filter: Rex | None = None,
    order: tuple[SortKey, ...] = (),
    may_be_empty: bool = False,
) -> AggCall:
    """A typed call: the arguments are cast to what the aggregate takes. Errors as ``infer_aggregate``.

    :param may_be_empty: a group may have no rows: the result is nullable but for counts.
    """
    signature = infer_aggregate(name, args, options, distinct)
    found = find_aggregate(name)
    assert found is not None
    cast = tuple(cast_to(arg, wanted) for arg, wanted in zip(args, signature.args, strict=True))
    result = signature.result
    if (may_be_empty or filter is not None) and found.name not in NEVER_NULL:
        result = result.nullable()
    return AggCall(
        found.name,
        cast,
        result,
        distinct and not found.ignores_duplicates,
        filter,
        order,
        tuple(sorted((options or {}).items())),
    )


NEVER_NULL = frozenset({"COUNT", "$SUM0", "COLLECT", "JSON_OBJECTAGG", "JSON_ARRAYAGG"})
"""aggregates that have a value for no rows, too"""


def accumulation(call: AggCall, retracts: bool) -> Accumulation:
    """How a call of a built-in aggregate is computed.

    :param retracts: whether rows may be taken back.
    """
    found = find_aggregate(call.function)
    if found is None:
        raise NotImplementedError(f"aggregate {call.function} is not built in")
    return found.plan(call, retracts)


def in_sequence(entries: Sequence[Entry]) -> list[tuple[Any, ...]]:
    """The arguments of all rows, in the order of the rows."""
    return [
        args for _, args in sorted(((place, args) for args, places in entries for place in places), key=_place_of_pair)
    ]


def _place_of_pair(pair: tuple[int, Any]) -> int:
    return pair[0]


# COUNT, SUM, AVG, and variances


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


class FirstRetained(Keeping):
    """The earliest of the values that are left."""

    in_order = True

    def result(self, entries: Sequence[Entry]) -> Any:
        return min(entries, key=lambda entry: entry[1][0])[0][0]


class LastRetained(Keeping):
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
_place("FIRST_VALUE", "first", FirstRetained)
_place("LAST_VALUE", "last", LastRetained)


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
def single_value(call: AggCall, retracts: bool) -> Accumulation:
    return SingleValue()
