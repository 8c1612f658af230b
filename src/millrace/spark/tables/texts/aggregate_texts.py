"""Aggregate calls as Spark SQL: as one text where Spark computes the same, else as a list of the arguments of all rows
that Python makes a value of."""

from __future__ import annotations

from dataclasses import replace

from millrace.relational.functions.aggregates.registry import find_aggregate
from millrace.relational.functions.aggregates.spark_texts import Texts
from millrace.relational.rex import AggCall, Literal
from millrace.spark.tables.texts.types import ddl, spark_type

GROUPING = ("GROUPING", "GROUPING_ID")
"""which columns of a grouping set a row has"""
RANKING = ("ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LEAD", "LAG")
"""what depends on a row's place in an OVER window and has no frame"""


def native_text(call: AggCall, texts: Texts) -> str | None:
    """The call as Spark computes it; None if Python must."""
    if call.udf is not None or call.order or (call.distinct and texts.over):
        return None
    if call.function in RANKING:
        return _cast(f"{call.function.lower()}({', '.join(texts.args)}){texts.over}", call)
    described = find_aggregate(call.function)
    if described is None or described.spark is None:
        return None
    text = described.spark(call, replace(texts, distinct=call.distinct))
    return None if text is None else _cast(text, call)


def constant_offset(call: AggCall) -> bool:
    """Whether Spark computes a call if it is a LAG or LEAD: it takes only constants for offset and default."""
    return call.function not in ("LAG", "LEAD") or all(isinstance(arg, Literal) for arg in call.args[1:])


def shifted_text(call: AggCall, texts: Texts, window: str) -> str:
    """LAG and LEAD by as many rows as the row itself says; NULL by NULL rows.

    :param window: PARTITION BY and ORDER BY.
    """
    value, offset, *default = texts.args
    whole = f" OVER ({window}ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
    rows = f"collect_list(named_struct('value', {value})){whole}"
    place = f"(row_number() OVER ({window}) {'-' if call.function == 'LAG' else '+'} {offset})"
    found = f"element_at({rows}, CAST({place} AS INT)).value"
    missing = default[0] if default else "NULL"
    exists = f"{place} BETWEEN 1 AND count(1){whole}"
    return _cast(f"CASE WHEN {offset} IS NULL THEN NULL WHEN {exists} THEN {found} ELSE {missing} END", call)


def collected_text(call: AggCall, texts: Texts) -> str:
    """All rows of the group as a list of rows of the arguments and then the order keys."""
    parts = [f"'a{index}', {text}" for index, text in enumerate((*texts.args, *texts.order))]
    return texts.rows(f"named_struct({', '.join(parts) or _NO_ARGUMENT})")


_NO_ARGUMENT = "'none', 1"


def _cast(text: str, call: AggCall) -> str:
    return f"CAST({text} AS {ddl(spark_type(call.type))})"


def grouping_text(call: AggCall, grouped: bool) -> str:
    """GROUPING(a, b) and GROUPING_ID(a, b) as a number of one bit a column, set where the column is not in the row's
    grouping set.

    :param grouped: whether there are grouping sets at all.
    """
    if not grouped:
        return _cast("0", call)
    columns = [f"c{arg.index}" for arg in call.args]  # type: ignore[attr-defined]
    bits = [
        f"shiftleft(CAST(grouping({column}) AS BIGINT), {len(columns) - place})"
        for place, column in enumerate(columns, 1)
    ]
    return _cast(" + ".join(bits) or "0", call)
