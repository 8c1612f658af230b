"""Queries that call Python functions, each with the rows or the error that Flink's rules ask for. Written once for both
modes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pandas as pd

from millrace.common.types import Row
from millrace.table import DataTypes, Table, TableEnvironment
from millrace.table.expressions import call, col
from millrace.table.udf import (
    AggregateFunction,
    FunctionContext,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    udaf,
    udf,
    udtaf,
    udtf,
)

ROWS = [("a", 1, Decimal("1.50")), ("a", 2, Decimal("2.25")), ("b", None, None), ("c", 7, Decimal("-0.25"))]
TYPES = DataTypes.ROW(
    [
        DataTypes.FIELD("k", DataTypes.STRING()),
        DataTypes.FIELD("v", DataTypes.INT()),
        DataTypes.FIELD("d", DataTypes.DECIMAL(10, 2)),
    ]
)
ASYNC = "table.exec.async-scalar."


@dataclass(frozen=True)
class Case:
    """A query over the table t(k, v, d), which has ``ROWS``."""

    name: str
    query: str | Callable[[TableEnvironment], Table]
    functions: dict[str, Any]
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    fails: tuple[str, ...] = ()
    """parts of the error's text, if it fails"""
    settings: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


# -- functions -------------------------------------------------------------------------------------------------------

plus = udf(lambda v, n: None if v is None else v + n, result_type="INT", name="plus")
half = udf(lambda v: 14 // v, result_type="INT", name="half")
big = udf(lambda v: v is not None and v > 1, result_type="BOOLEAN", name="big")
doubled = udf(lambda series: series * 2, result_type="BIGINT", func_type="pandas", name="doubled")
exact = udf(lambda d: None if d is None else d * d, result_type="DECIMAL(10, 3)", name="exact")
pair = udf(lambda k, v: Row(k, [v, v]), result_type="ROW<k STRING, l ARRAY<INT>>", name="pair")
counts = udf(lambda k: {k: len(k)}, result_type="MAP<STRING, INT>", name="counts")
constant = udf(lambda: "x", result_type="STRING", name="constant")
upto = udf(lambda v: list(range(v or 0)), result_type="ARRAY<INT>", name="upto")


class Numbered(ScalarFunction):
    """The number of its calls: calls that are made once for equal arguments show."""

    def __init__(self) -> None:
        self.calls = 0

    def eval(self, value: Any) -> int:
        self.calls += 1
        return self.calls


class AtMost(ScalarFunction):
    """Counts how many of its calls run at a time; raises beyond a number."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.running = 0

    async def __call__(self, value: Any) -> Any:
        self.running += 1
        assert self.running <= self.limit
        await asyncio.sleep(0.002)
        self.running -= 1
        return value

    eval = __call__


class Flaky:
    """Fails so often for each value before it answers."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.seen: dict[Any, int] = {}

    async def __call__(self, value: Any) -> Any:
        self.seen[value] = self.seen.get(value, 0) + 1
        if self.seen[value] <= self.failures:
            raise ConnectionError(f"attempt {self.seen[value]}")
        return value


async def never(value: Any) -> Any:
    await asyncio.sleep(60)


class Told(ScalarFunction):
    """What it is told in ``open``."""

    def open(self, function_context: FunctionContext) -> None:
        counter = function_context.get_metric_group().counter("calls")
        counter.inc(2)
        subtask = function_context.get_index_of_this_subtask()
        subtasks = function_context.get_number_of_parallel_subtasks()
        assert subtask is not None and subtasks is not None and 0 <= subtask < subtasks
        assert function_context.get_attempt_number() == 0
        assert (function_context.get_max_number_of_parallel_subtasks() or 0) >= 128
        assert "PythonCalc" in (function_context.get_task_name() or "")
        shown = function_context.get_task_name_with_subtasks() or ""
        assert shown.endswith(f" ({subtask + 1}/{subtasks})")
        self.text = f"{function_context.get_job_parameter('color', 'none')} {counter.get_count()}"

    def eval(self, value: Any) -> str:
        return self.text


class Closed(ScalarFunction):
    def open(self, function_context: FunctionContext) -> None:
        raise OSError("no such door")

    def eval(self, value: Any) -> Any:
        return value


class Parts(TableFunction):
    """``count`` rows for a value, each made by ``form``."""

    def __init__(self, form: Callable[[int, int], Any]) -> None:
        self.form = form

    def eval(self, value: int | None) -> Iterator[Any]:
        for number in range(min(value or 0, 2)):
            yield self.form(value or 0, number)


class Squares(AggregateFunction[Any, Any]):
    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += args[0] ** 2 if args[0] is not None else 0

    def retract(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] -= args[0] ** 2 if args[0] is not None else 0

    def get_value(self, accumulator: list[int]) -> Any:
        return accumulator[0]


class Counted(Squares):
    """How many rows there are: it takes no arguments."""

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += 1


class Strict(Squares):
    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += args[0] ** 2


class Textual(Squares):
    def get_value(self, accumulator: list[int]) -> Any:
        return "many" if accumulator[0] > 40 else accumulator[0]


class Unwilling(Squares):
    def get_value(self, accumulator: list[int]) -> Any:
        return 100 // accumulator[0]


class Top(TableAggregateFunction[Any, Any]):
    """The two largest values; ``form`` makes a row of value and place."""

    def __init__(self, form: Callable[[int, int], Any]) -> None:
        self.form = form

    def create_accumulator(self) -> list[Any]:
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        accumulator += [arg for arg in args if arg is not None]

    def retract(self, accumulator: list[Any], *args: Any) -> None:
        accumulator.remove(args[0])

    def emit_value(self, accumulator: list[Any]) -> Any:
        for place, value in enumerate(sorted(accumulator, reverse=True)[:2]):
            yield self.form(value, place)


def parts(form: Callable[[int, int], Any]) -> dict[str, Any]:
    return {"parts": udtf(Parts(form), result_types=["INT", "INT"], name="parts")}


def top(form: Callable[[int, int], Any]) -> dict[str, Any]:
    row = "ROW<top INT, place INT>"
    return {"top": udtaf(Top(form), result_type=row, accumulator_type="ARRAY<INT>", name="top")}


def squares(function: type[Squares] = Squares) -> dict[str, Any]:
    wrapper = udaf(function(), result_type="BIGINT", accumulator_type="ARRAY<BIGINT>", name="squares")
    return {"squares": wrapper, "plus": plus, "big": big}


def top_of_groups(environment: TableEnvironment) -> Table:
    return tops(environment.from_path("t"))


def top_of_c(environment: TableEnvironment) -> Table:
    return tops(environment.from_path("t").where(col("k") == "c"))


def tops(table: Table) -> Table:
    return table.group_by(col("k")).flat_aggregate(call("top", col("v"))).select(col("k"), col("top"), col("place"))


def one(function: Any) -> dict[str, Any]:
    return {"f": function}


PAIRS = [(1, 1, 0), (2, 2, 0), (2, 2, 1), (7, 7, 0), (7, 7, 1)]
PARTS = "SELECT v, a, b FROM t, LATERAL TABLE(parts(v)) AS p(a, b)"
LETTERS = "SELECT k, x FROM t, LATERAL TABLE(f(k)) AS p(x)"
TOPS = [("a", 2, 0), ("a", 1, 1), ("c", 7, 0)]

ANSWERS = [
    Case("scalar", "SELECT k, plus(v, 1) FROM t", {"plus": plus}, [("a", 2), ("a", 3), ("b", None), ("c", 8)]),
    Case(
        "scalar_inside_each_other",
        "SELECT plus(plus(v, 1) * 2, 3) FROM t WHERE plus(v, 1) > 2",
        {"plus": plus},
        [(9,), (19,)],
    ),
    Case("without_arguments", "SELECT constant(), v FROM t WHERE v = 7", {"constant": constant}, [("x", 7)]),
    Case(
        "pandas_of_rows_of_pandas",
        "SELECT doubled(plus(CAST(doubled(v) AS INT), 1)) FROM t WHERE v IS NOT NULL",
        {"plus": plus, "doubled": doubled},
        [(6,), (10,), (30,)],
    ),
    Case(
        "decimals_are_rounded",
        "SELECT exact(d) FROM t",
        {"exact": exact},
        [(Decimal("2.250"),), (Decimal("5.063"),), (None,), (Decimal("0.063"),)],
    ),
    Case(
        "structured_results",
        "SELECT pair(k, v).l[2], counts(k)['c'] FROM t",
        {"pair": pair, "counts": counts},
        [(1, None), (2, None), (None, None), (7, 1)],
    ),
    Case(
        "branches_see_their_rows",
        "SELECT CASE WHEN v IS NULL THEN -1 ELSE half(v) END, COALESCE(v, half(1)) FROM t "
        "WHERE v IS NULL OR half(v) > 2",
        {"half": half},
        [(14, 1), (7, 2), (-1, 14)],
    ),
    Case(
        "equal_calls_are_one",
        "SELECT f(v), f(v) + 10, CASE WHEN f(v) = 1 THEN f(v) ELSE 0 END FROM t WHERE v = 7",
        one(udf(Numbered(), result_type="INT")),
        [(1, 11, 1)],
    ),
    Case(
        "in_an_aggregate",
        "SELECT k, SUM(plus(v, 1)) FROM t GROUP BY k",
        {"plus": plus},
        [("a", 5), ("b", None), ("c", 8)],
    ),
    Case("as_a_key", "SELECT big(v), COUNT(*) FROM t GROUP BY big(v)", {"big": big}, [(True, 2), (False, 2)]),
    Case(
        "after_an_aggregate",
        "SELECT k, plus(COUNT(*), 1) FROM t GROUP BY k HAVING big(COUNT(*))",
        {"big": big, "plus": udf(lambda v, n: v + n, result_type="BIGINT", name="plus")},
        [("a", 3)],
    ),
    Case("in_an_order", "SELECT v FROM t ORDER BY plus(v, 1) DESC LIMIT 2", {"plus": plus}, [(7,), (2,)]),
    Case(
        "in_grouping_sets",
        "SELECT big(v), k, COUNT(*) FROM t GROUP BY GROUPING SETS ((big(v)), (k))",
        {"big": big},
        [(True, None, 2), (False, None, 2), (None, "a", 2), (None, "b", 1), (None, "c", 1)],
    ),
    Case(
        "in_a_subquery",
        "SELECT v FROM t WHERE plus(v, 1) IN (SELECT plus(v, 0) FROM t)",
        {"plus": plus},
        [(1,)],
    ),
    Case(
        "in_a_join",
        "SELECT l.v, r.v FROM t AS l JOIN t AS r ON l.k = r.k AND plus(l.v, 1) = r.v",
        {"plus": plus},
        [(1, 2)],
    ),
    Case(
        "in_unnest",
        "SELECT v, x FROM t CROSS JOIN UNNEST(upto(v)) AS u(x) WHERE v < 7",
        {"upto": upto},
        [(1, 0), (2, 0), (2, 1)],
    ),
    Case(
        "given_to_a_table_function",
        PARTS.replace("(v)", "(plus(v, -5))"),
        {"plus": plus, **parts(lambda v, n: (v, n))},
        [(7, 2, 0), (7, 2, 1)],
    ),
    Case("table_of_rows", PARTS, parts(Row), PAIRS),
    Case("table_of_tuples", PARTS, parts(lambda v, n: (v, n)), PAIRS),
    Case("table_of_lists", PARTS, parts(lambda v, n: [v, n]), PAIRS),
    Case(
        "table_left_join",
        "SELECT v, a, b FROM t LEFT JOIN LATERAL TABLE(parts(v)) AS p(a, b) ON TRUE",
        parts(Row),
        [*PAIRS, (None, None, None)],
    ),
    Case(
        "table_left_join_on",
        "SELECT v, a, b FROM t LEFT JOIN LATERAL TABLE(parts(v)) AS p(a, b) ON big(b + 1)",
        {"big": big, **parts(Row)},
        [(1, None, None), (2, 2, 1), (7, 7, 1), (None, None, None)],
    ),
    Case(
        "table_of_values",
        LETTERS,
        one(udtf(lambda k: None if k == "b" else [k, k + k], result_types="STRING")),
        [("a", "a"), ("a", "aa"), ("a", "a"), ("a", "aa"), ("c", "c"), ("c", "cc")],
    ),
    Case(
        "table_of_one_text",
        LETTERS,
        one(udtf(lambda k: k * 2, result_types="STRING")),
        [("a", "aa"), ("a", "aa"), ("b", "bb"), ("c", "cc")],
    ),
    Case(
        "table_of_arrays",
        "SELECT k, x[1] FROM t, LATERAL TABLE(f(k)) AS p(x)",
        one(udtf(lambda k: iter([[k], [k + k]]), result_types="ARRAY<STRING>")),
        [("a", "a"), ("a", "aa"), ("a", "a"), ("a", "aa"), ("b", "b"), ("b", "bb"), ("c", "c"), ("c", "cc")],
    ),
    Case(
        "table_of_a_range",
        "SELECT v, x FROM t, LATERAL TABLE(f(v)) AS p(x) WHERE v < 7",
        one(udtf(lambda v: range(v or 0), result_types="INT")),
        [(1, 0), (2, 0), (2, 1)],
    ),
    Case("aggregate", "SELECT k, squares(v) FROM t GROUP BY k", squares(), [("a", 5), ("b", 0), ("c", 49)]),
    Case(
        "aggregate_of_a_function",
        "SELECT squares(plus(v, 1)), squares(DISTINCT v) FILTER (WHERE big(v)) FROM t",
        squares(),
        [(4 + 9 + 64, 4 + 49)],
    ),
    Case(
        "aggregate_without_arguments",
        "SELECT k, squares() FROM t GROUP BY k",
        squares(Counted),
        [("a", 2), ("b", 1), ("c", 1)],
    ),
    Case(
        "aggregate_without_arguments_over_rows",
        "SELECT v, squares() OVER (ORDER BY v) FROM t",
        squares(Counted),
        [(None, 1), (1, 2), (2, 3), (7, 4)],
    ),
    Case(
        "pandas_aggregate",
        "SELECT k, f(v) FROM t WHERE v IS NOT NULL GROUP BY k",
        one(udaf(lambda v: pd.Series(v).max() - v.min(), result_type="INT", func_type="pandas")),
        [("a", 1), ("c", 0)],
    ),
    Case(
        "aggregate_over_rows",
        "SELECT v, squares(v) OVER (PARTITION BY k ORDER BY v ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
        squares(),
        [(1, 1), (2, 5), (None, 0), (7, 49)],
    ),
    Case(
        "pandas_aggregate_over_rows",
        "SELECT v, f(v) OVER (ORDER BY v) FROM t WHERE v IS NOT NULL",
        one(udaf(lambda v: v.sum(), result_type="BIGINT", func_type="pandas")),
        [(1, 1), (2, 3), (7, 10)],
    ),
    Case("table_aggregate_of_rows", top_of_groups, top(Row), TOPS),
    Case("table_aggregate_of_tuples", top_of_groups, top(lambda v, n: (v, n)), TOPS),
    Case("table_aggregate_of_lists", top_of_groups, top(lambda v, n: [v, n]), TOPS),
    Case(
        "async_at_most",
        "SELECT f(v) FROM t",
        one(udf(AtMost(1).__call__, result_type="INT")),
        [(1,), (2,), (None,), (7,)],
        settings={ASYNC + "max-concurrent-operations": "1"},
    ),
    Case(
        "async_tries_again",
        "SELECT f(v) FROM t",
        one(udf(Flaky(2), result_type="INT")),
        [(1,), (2,), (None,), (7,)],
        settings={ASYNC + "retry-delay": "1 ms"},
    ),
    Case(
        "what_open_is_told",
        "SELECT f(v) FROM t WHERE v = 7",
        one(udf(Told(), result_type="STRING")),
        [("green 2",)],
        settings={"pipeline.global-job-parameters": "color:green"},
    ),
]

LAST = "SELECT f(v) FROM t WHERE v = 7"
# Each fails for one row or group alone: which of several fails first is chance.
FAILURES = [
    Case(
        "raises",
        "SELECT half(v - 1) FROM t WHERE v = 1",
        {"half": half},
        fails=("failed in half()", "element: (0,)", "function_corpus.py", "lambda v: 14 // v", "ZeroDivisionError"),
    ),
    Case(
        "stops",
        LAST,
        one(udf(lambda v: next(iter([])), result_type="INT")),
        fails=("in f()", "element: (7,)", "StopIteration"),
    ),
    Case(
        "result_type",
        LAST,
        one(udf(lambda v: "seven", result_type="INT")),
        fails=("f() is declared as INT and returned 'seven'",),
    ),
    Case(
        "result_null",
        LAST,
        one(udf(lambda v: None, result_type="INT NOT NULL")),
        fails=("f() is declared as INT NOT NULL and returned None",),
    ),
    Case(
        "pandas_raises",
        LAST,
        one(udf(lambda s: s.nothing, result_type="INT", func_type="pandas")),
        fails=("failed in f()", "lambda s: s.nothing", "AttributeError"),
    ),
    Case(
        "pandas_length",
        LAST,
        one(udf(lambda s: s[:0], result_type="INT", func_type="pandas")),
        fails=("The result length '0' of Pandas UDF 'f' is not equal to the input length '1'",),
    ),
    Case(
        "pandas_no_series",
        LAST,
        one(udf(lambda s: 1, result_type="INT", func_type="pandas")),
        fails=("'f' must be pandas.Series or pandas.DataFrame, got <class 'int'>",),
    ),
    Case(
        "open",
        LAST,
        one(udf(Closed(), result_type="INT", name="door")),
        fails=("failed in open() of door", "OSError: no such door"),
    ),
    Case(
        "async_raises",
        LAST,
        one(udf(Flaky(9), result_type="INT")),
        fails=("failed in f()", "element: (7,)", "ConnectionError: attempt 1"),
        settings={ASYNC + "retry-strategy": "NO_RETRY"},
    ),
    Case(
        "async_attempts",
        LAST,
        one(udf(Flaky(9), result_type="INT")),
        fails=("ConnectionError: attempt 2",),
        settings={ASYNC + "max-attempts": "2", ASYNC + "retry-delay": "1 ms"},
    ),
    Case(
        "async_timeout",
        LAST,
        one(udf(never, result_type="INT")),
        fails=("failed in f()", "element: (7,)", "no result within 0.02 s"),
        settings={ASYNC + "timeout": "20 ms"},
    ),
    Case(
        "metrics_are_off",
        LAST,
        one(udf(Told(), result_type="STRING", name="told")),
        fails=("open() of told", "metrics are off"),
        settings={"python.metric.enabled": "false"},
    ),
    Case(
        "table_raises",
        PARTS + " WHERE v = 1",
        parts(lambda v, n: (v, 10 // (v - 1 - n))),
        fails=("failed in parts()", "element: (1,)", "ZeroDivisionError"),
    ),
    Case(
        "table_width",
        PARTS + " WHERE v = 1",
        parts(lambda v, n: (v,)),
        fails=("failed in parts()", "makes rows of 2 columns, but gave (1,)"),
    ),
    Case(
        "table_type",
        PARTS + " WHERE v = 1",
        parts(lambda v, n: (v, "x")),
        fails=("parts() is declared as INT and returned 'x'",),
    ),
    Case(
        "aggregate_raises",
        "SELECT squares(v) FROM t WHERE v IS NULL",
        squares(Strict),
        fails=("failed in accumulate() of squares", "element: (None,)", "TypeError"),
    ),
    Case(
        "aggregate_value",
        "SELECT squares(v) FROM t WHERE v IS NULL",
        squares(Unwilling),
        fails=("failed in get_value() of squares", "ZeroDivisionError"),
    ),
    Case(
        "aggregate_type",
        "SELECT squares(v) FROM t WHERE v = 7",
        squares(Textual),
        fails=("squares() is declared as BIGINT and returned 'many'",),
    ),
    Case(
        "table_aggregate_raises",
        top_of_c,
        top(lambda v, n: 1 // n),
        fails=("failed in emit_value() of top", "ZeroDivisionError"),
    ),
    Case(
        "table_aggregate_width",
        top_of_c,
        top(lambda v, n: (v, n, n)),
        fails=("emit_value() of top", "rows of 2 columns"),
    ),
]
