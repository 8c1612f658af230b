"""Aggregate calls as Spark SQL: as one text where Spark computes the same, else as a list of the arguments of all rows
that Python makes a value of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millrace.relational import types as t
from millrace.relational.rex import AggCall
from millrace.spark.tables.texts.literals import string_text
from millrace.spark.tables.texts.types import ddl, spark_type

GROUPING = ("GROUPING", "GROUPING_ID", "GROUP_ID")
"""which columns of a grouping set a row has"""
RANKING = ("ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LEAD", "LAG")
"""what depends on a row's place in an OVER window and has no frame"""


@dataclass(frozen=True)
class Texts:
    """The expressions of a call over its input."""

    args: tuple[str, ...]
    filter: str | None = None
    order: tuple[str, ...] = ()
    over: str = ""
    """the OVER clause of a call that is not a group's"""

    def call(self, function: str) -> str:
        """An aggregate function of Spark with the call's FILTER and OVER."""
        where = "" if self.filter is None else f" FILTER (WHERE {self.filter})"
        return f"{function}{where}{self.over}"


def native_text(call: AggCall, texts: Texts) -> str | None:
    """The call as Spark computes it; None if Python must."""
    if call.udf is not None or call.order or (call.distinct and texts.over):
        return None
    build = _NATIVE.get(call.function)
    return None if build is None else build(call, texts)


def collected_text(call: AggCall, texts: Texts) -> str:
    """All rows of the group as a list of rows of the arguments and then the order keys."""
    parts = [f"'a{index}', {text}" for index, text in enumerate((*texts.args, *texts.order))]
    return texts.call(f"collect_list(named_struct({', '.join(parts) or _NO_ARGUMENT}))")


_NO_ARGUMENT = "'none', 1"
Build = Callable[[AggCall, Texts], "str | None"]


def _joined(call: AggCall, texts: Texts) -> str:
    return f"{'DISTINCT ' if call.distinct else ''}{', '.join(texts.args)}"


def _cast(text: str, call: AggCall) -> str:
    return f"CAST({text} AS {ddl(spark_type(call.type))})"


def _count(call: AggCall, texts: Texts) -> str:
    return texts.call(f"count({_joined(call, texts)})" if texts.args else "count(1)")


def _sum(call: AggCall, texts: Texts) -> str:
    return _cast(texts.call(f"sum({_joined(call, texts)})"), call)


def _sum0(call: AggCall, texts: Texts) -> str:
    return _cast(f"coalesce({texts.call(f'sum({_joined(call, texts)})')}, 0)", call)


def _average(call: AggCall, texts: Texts) -> str:
    arg = _joined(call, texts)
    if isinstance(call.type, (t.FloatType, t.DoubleType)):
        return _cast(texts.call(f"avg({arg})"), call)
    total, count = texts.call(f"sum({arg})"), texts.call(f"count({arg})")
    if isinstance(call.type, t.DecimalType):
        scale = call.args[0].type.scale if isinstance(call.args[0].type, t.DecimalType) else 0
        # Spark's avg() has four digits more than its argument; this division has those of Flink.
        return _cast(f"CAST({total} AS DECIMAL(38, {scale})) / CAST({count} AS DECIMAL(20, 0))", call)
    return _cast(f"{total} div {count}", call)


def _spread(function: str, sample: bool, root: bool) -> Build:
    def build(call: AggCall, texts: Texts) -> str | None:
        if not isinstance(call.type, t.IntegralType):
            return _cast(texts.call(f"{function}({_joined(call, texts)})"), call)
        if call.distinct:
            return None
        # The result is cut to a whole number: exact sums must not come out a little below it.
        value = f"CAST({texts.args[0]} AS DOUBLE)"
        count, total = texts.call(f"count({value})"), texts.call(f"sum({value})")
        squares = texts.call(f"sum({value} * {value})")
        variance = f"greatest(0D, ({squares} - {total} * {total} / {count}) / ({count} - {int(sample)}))"
        return _cast(f"CASE WHEN {count} > {int(sample)} THEN {f'sqrt({variance})' if root else variance} END", call)

    return build


def _extremum(function: str) -> Build:
    return lambda call, texts: texts.call(f"{function}({texts.args[0]})")


def _place(function: str) -> Build:
    return lambda call, texts: texts.call(f"{function}({texts.args[0]}, TRUE)")


def _list_aggregate(call: AggCall, texts: Texts) -> str:
    collect = "collect_set" if call.distinct else "collect_list"
    values = texts.call(f"{collect}({texts.args[0]})")
    separator = texts.args[1] if len(texts.args) > 1 else string_text(",")
    return f"CASE WHEN size({values}) > 0 THEN array_join({values}, {separator}) END"


def _array_aggregate(call: AggCall, texts: Texts) -> str:
    collect = "collect_set" if call.distinct else "collect_list"
    if call.option("nulls") == "IGNORE":
        values = texts.call(f"{collect}({texts.args[0]})")
        return f"CASE WHEN size({values}) > 0 THEN {values} END"
    # Spark leaves NULLs out, but not rows of them.
    values = texts.call(f"{collect}(named_struct('v', {texts.args[0]}))")
    return f"CASE WHEN size({values}) > 0 THEN transform({values}, each -> each.v) END"


def _single_value(call: AggCall, texts: Texts) -> str:
    error = string_text("a scalar subquery gave more than one row")
    count, first = texts.call("count(1)"), texts.call(f"first({texts.args[0]})")
    return f"CASE WHEN {count} > 1 THEN raise_error({error}) ELSE {first} END"


def _ranking(call: AggCall, texts: Texts) -> str:
    return _cast(f"{call.function.lower()}({', '.join(texts.args)}){texts.over}", call)


_NATIVE: dict[str, Build] = {
    "COUNT": _count,
    "SUM": _sum,
    "$SUM0": _sum0,
    "AVG": _average,
    "MIN": _extremum("min"),
    "MAX": _extremum("max"),
    "VAR_POP": _spread("var_pop", False, False),
    "VAR_SAMP": _spread("var_samp", True, False),
    "STDDEV_POP": _spread("stddev_pop", False, True),
    "STDDEV_SAMP": _spread("stddev_samp", True, True),
    "FIRST_VALUE": _place("first"),
    "LAST_VALUE": _place("last"),
    "LISTAGG": _list_aggregate,
    "ARRAY_AGG": _array_aggregate,
    "SINGLE_VALUE": _single_value,
    **dict.fromkeys(RANKING, _ranking),
}


def grouping_text(call: AggCall, keys: Sequence[str], grouped: bool) -> str:
    """GROUPING(a, b), GROUPING_ID(a, b) and GROUP_ID() as a number of one bit a column, set where the column is not in
    the row's grouping set.

    :param grouped: whether there are grouping sets at all.
    """
    if not grouped:
        return _cast("0", call)
    columns = list(keys) if call.function == "GROUP_ID" else [f"c{arg.index}" for arg in call.args]  # type: ignore[attr-defined]
    bits = [
        f"shiftleft(CAST(grouping({column}) AS BIGINT), {len(columns) - place})"
        for place, column in enumerate(columns, 1)
    ]
    return _cast(" + ".join(bits) or "0", call)
