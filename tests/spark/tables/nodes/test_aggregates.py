"""Every built-in aggregate as Spark computes it, against the description that streaming plans follow."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.spark.tables.conftest import Run
from tests.spark.tables.plans import BIGINT, DOUBLE, INT, STRING, agg, at, by, fn, group, lit, values

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import Texts, aggregate_names
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rex import AggCall, Ref
from millrace.relational.values import to_arrow, to_python
from millrace.runtime.functions.runner import FunctionRunner
from millrace.spark.tables.execute import explain
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.finishing import FinishTask
from millrace.spark.tables.steps.sql_text import native_text

COLUMNS: dict[str, t.DataType] = {
    "k": STRING,
    "id": INT,
    "tiny": t.TinyIntType(),
    "v": INT,
    "big": BIGINT,
    "real": t.FloatType(),
    "d": DOUBLE,
    "m": t.DecimalType(10, 2),
    "wide": t.DecimalType(38, 4),
    "s": STRING,
    "bits": t.BitmapType(),
}
ROWS: list[tuple[Any, ...]] = [
    ("a", 1, 100, 7, 2**20, 0.5, 1.25, Decimal("1.10"), Decimal("12345678901234567890.1234"), "x", None),
    ("a", 2, 100, -8, -5, -2.25, 1e6, Decimal("2.25"), Decimal("-1.0001"), "y,\"", None),
    ("a", 3, -3, 4, 6, 8.0, -3.5, Decimal("-7.77"), Decimal("0.3333"), None, None),
    ("a", 4, None, 7, None, None, None, None, None, "x", None),
    ("b", 5, 1, 2**31 - 1, 1, 1.0, 3.0, Decimal("99999999.99"), Decimal("1.0000"), "", None),
    ("b", 6, 2, 2**31 - 1, 3, 1.0, 3.0, Decimal("99999999.99"), Decimal("2.0000"), "z", None),
    ("c", 7, None, None, None, None, None, None, None, None, None),
    (None, 8, 5, 5, 5, 5.0, 5.0, Decimal("5.00"), Decimal("5.0000"), "five", None),
]  # fmt: skip
TABLE = values(COLUMNS, *ROWS)
NUMBERS = ("tiny", "v", "big", "real", "d", "m", "wide")
OF_NUMBERS = ("SUM", "$SUM0", "AVG", "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP")
IN_ORDER = by(at(TABLE, "id"), descending=True)


def column(name: str) -> Ref:
    return at(TABLE, name)


def bitmap(name: str) -> AggCall:
    return agg(name, column("bits"))


CALLS: dict[str, AggCall] = {
    **{f"{name}({each})": agg(name, column(each)) for name in OF_NUMBERS for each in NUMBERS},
    **{
        f"{name}(DISTINCT {each})": agg(name, column(each), distinct=True) for name in OF_NUMBERS for each in ("v", "d")
    },
    **{f"{name}({each})": agg(name, column(each)) for name in ("MIN", "MAX", "COUNT") for each in (*NUMBERS, "s")},
    **{f"{name} in order": agg(name, column("s"), order=IN_ORDER) for name in ("FIRST_VALUE", "LAST_VALUE", "LISTAGG")},
    "LISTAGG with a separator": agg("LISTAGG", column("s"), lit("--"), order=IN_ORDER),
    "COLLECT": agg("COLLECT", column("s")),
    "COLLECT(DISTINCT)": agg("COLLECT", column("v"), distinct=True),
    "ARRAY_AGG": agg("ARRAY_AGG", column("s"), order=IN_ORDER),
    "ARRAY_AGG without NULLs": agg("ARRAY_AGG", column("s"), order=IN_ORDER, nulls="IGNORE"),
    "JSON_OBJECTAGG": agg("JSON_OBJECTAGG", fn("COALESCE", column("s"), lit("no")), column("v"), order=IN_ORDER),
    "JSON_ARRAYAGG": agg("JSON_ARRAYAGG", column("d"), order=IN_ORDER),
    "JSON_ARRAYAGG with NULLs": agg("JSON_ARRAYAGG", column("d"), order=IN_ORDER, on_null="NULL"),
    "PERCENTILE": agg("PERCENTILE", column("v"), lit(0.3)),
    "PERCENTILE with frequency": agg("PERCENTILE", column("v"), lit(0.3), column("id")),
    "BITMAP_BUILD": agg("BITMAP_BUILD_AGG", column("v")),
    "BITMAP_BUILD_CARDINALITY": agg("BITMAP_BUILD_CARDINALITY_AGG", column("v")),
    **{name: bitmap(name) for name in aggregate_names() if name.startswith(("BITMAP_AND", "BITMAP_OR", "BITMAP_XOR"))},
}


def described(call: AggCall, rows: list[tuple[Any, ...]]) -> Any:
    """The value of a call of a group by its description."""
    task = FinishTask(call, None)  # type: ignore[arg-type]
    if call.order:
        rows = sorted(rows, key=lambda row: row[1], reverse=True)
    columns = [to_arrow([row[place] for row in rows], kind) for place, kind in enumerate(COLUMNS.values())]
    args = [Evaluator(columns, Surroundings(len(rows))).column(arg) for arg in call.args]
    if call.distinct:
        first = {value: place for place, value in reversed(list(enumerate(args[0].to_pylist())))}
        args = [arg.take(sorted(first.values())) for arg in args]
    finish = task.finisher(FunctionRunner(None, {}))  # type: ignore[arg-type]
    return to_python(finish([args]), call.type)[0]


def by_python(call: AggCall) -> bool:
    """Whether Python makes the value, of lists."""
    return native_text(call, Texts(("a",) * len(call.args), None, ("b",) * len(call.order))) is None


PACKED = {name: call for name, call in CALLS.items() if by_python(call)}
"""their rows are put together before they are sent"""
MIXED = {name: call for name, call in CALLS.items() if by_python(call) or not call.distinct}
"""beside such ones also those that Spark has itself"""


@pytest.mark.parametrize(
    ("calls", "keys"),
    [(CALLS, ["k"]), (MIXED, ["k"]), (PACKED, ["k"]), (PACKED, ["m"]), (PACKED, ["tiny", "s"])],
    ids=["all", "but those of distinct values", "by Python", "by a decimal", "by two keys"],
)
def test_values_are_those_of_the_descriptions(run: Run, calls: dict[str, AggCall], keys: list[str]) -> None:
    width, places = len(keys), [list(COLUMNS).index(key) for key in keys]
    found = {row[:width]: row[width:] for row in run(group(TABLE, keys, **calls))}
    assert len(found) == len({tuple(row[place] for place in places) for row in ROWS})
    for key, values_found in found.items():
        rows = [row for row in ROWS if tuple(row[place] for place in places) == key]
        for (name, call), value in zip(calls.items(), values_found):
            expected = described(call, rows)
            if isinstance(expected, float) or (isinstance(expected, Decimal) and name.startswith(("VAR", "STDDEV"))):
                # A measure of spread is computed in floating point, whatever its type.
                value, expected = float(value), pytest.approx(float(expected), rel=1e-6)
            assert value == expected, f"{name} of group {key}"


def test_every_aggregate_is_tried() -> None:
    known = {*(call.function for call in CALLS.values()), "SUM0", "VARIANCE", "STDDEV", "SINGLE_VALUE"}
    assert set(aggregate_names()) - known == set()


def test_wrapped_sums_and_lost_digits() -> None:
    """The oracle itself: values of Flink's documentation and of Java's arithmetic."""
    b = [row for row in ROWS if row[0] == "b"]
    assert described(CALLS["SUM(v)"], b) == -2
    assert described(CALLS["AVG(tiny)"], b) == 1
    assert described(CALLS["AVG(m)"], b) == Decimal("99999999.990000")
    assert described(CALLS["VAR_SAMP(d)"], [row for row in ROWS if row[0] is None]) is None


def test_a_scalar_subquery_of_two_rows_fails(run: Run) -> None:
    single = AggCall("SINGLE_VALUE", (column("v"),), INT)
    assert run(group(n.Filter(TABLE, fn("=", column("id"), lit(3))), [], x=single)) == [(4,)]
    with pytest.raises(Exception, match="a scalar subquery gave more than one row"):
        run(group(TABLE, [], x=single))


def test_join_hints_reach_spark(context: Context) -> None:
    condition = fn("=", column("k"), at(TABLE, "k", len(COLUMNS)))
    hinted = n.Hinted(TABLE, (("SHUFFLE_MERGE", ()), ("STATE_TTL", ("1d",))))
    assert "SortMergeJoin" in explain(n.Join(TABLE, hinted, "INNER", condition), context, "simple")
    assert "BroadcastHashJoin" in explain(n.Join(TABLE, TABLE, "INNER", condition), context, "simple")
