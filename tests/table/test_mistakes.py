"""What a new user does wrong, and what the message says: what is wrong, where, what would be right."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.local_jobs import run_jobs_locally

from millrace.common import Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.table import DataTypes, EnvironmentSettings, StreamTableEnvironment, Table, TableEnvironment
from millrace.table.expressions import call, col, lit
from millrace.table.udf import AggregateFunction, ScalarFunction, udaf, udf, udtf
from millrace.table.window import Tumble

Mistake = Callable[[TableEnvironment], Any]


@pytest.fixture
def env(t_env: TableEnvironment, clicks: Table, monkeypatch: pytest.MonkeyPatch) -> TableEnvironment:
    """Tables orders (without event time), clicks (with), sink, files."""
    run_jobs_locally(monkeypatch)
    t_env.execute_sql(
        "CREATE TABLE orders (id BIGINT, name STRING, ts TIMESTAMP(3)) "
        "WITH ('connector' = 'datagen', 'number-of-rows' = '3')"
    )
    t_env.execute_sql("CREATE TABLE sink (id BIGINT, name STRING) WITH ('connector' = 'print')")
    t_env.execute_sql(
        "CREATE TABLE files (name STRING, n BIGINT) WITH ('connector' = 'filesystem', 'path' = 'p', 'format' = 'csv')"
    )
    return t_env


def sql(text: str) -> Mistake:
    return lambda env: env.execute_sql(text)


def table(change: Callable[[Table], Any], name: str = "orders") -> Mistake:
    return lambda env: change(env.from_path(name))


def options(with_: str) -> Mistake:
    def use(env: TableEnvironment) -> None:
        env.execute_sql(f"CREATE TABLE t (a INT) WITH ({with_})")
        env.from_path("t")

    return use


def of_a_view(change: Callable[[StreamTableEnvironment, Table], Any]) -> Mistake:
    def use(env: TableEnvironment) -> None:
        streams = StreamExecutionEnvironment.get_execution_environment()
        t_env = StreamTableEnvironment.create(streams)
        stream = streams.from_collection([("a", 1)], Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.INT()]))
        t_env.create_temporary_view("v", stream)
        change(t_env, t_env.sql_query("SELECT k, SUM(n) FROM v GROUP BY k"))

    return use


hour = lit(1).hours
INTS = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())])
WINDOW = "FROM TABLE(TUMBLE(TABLE {}, DESCRIPTOR({}), INTERVAL '1' HOUR)) GROUP BY window_start, window_end"

REFUSED: list[tuple[str, Mistake, str]] = [
    ("column", sql("SELECT idd FROM orders"), r"unknown column 'idd', did you mean 'id'.*line 1, column 8"),
    (
        "column, Table API",
        table(lambda t: t.select(col("idd"))),
        r"test_mistakes.py:\d+: unknown column 'idd', .* 'id'",
    ),
    ("table", sql("SELECT * FROM order_s"), "no table or view 'order_s', did you mean 'orders'"),
    ("function", sql("SELECT UPER(name) FROM orders"), r"unknown function UPER\(\), did you mean 'UPPER'"),
    (
        "function, Table API",
        table(lambda t: t.select(call("uper", col("name")))),
        r"unknown function uper\(\), .*'UPPER'",
    ),
    ("type", sql("SELECT ts + 5 FROM orders"), r"\+ does not take \(TIMESTAMP\(3\), INT\)"),
    ("number of arguments", sql("SELECT SUBSTRING(name) FROM orders"), "SUBSTRING does not take .*usage: SUBSTRING"),
    ("no condition", table(lambda t: t.where(col("id"))), "id: a condition needs a BOOLEAN, and this is BIGINT"),
    ("and", table(lambda t: t.where(col("id") > 1 and col("id") < 3)), "combine expressions with &"),
    (
        "text as a column",
        table(lambda t: t.select("id")),
        r"'id' is text, not an expression: a column is col\('name'\)",
    ),
    ("text as a condition", table(lambda t: t.where("id > 1")), "'id > 1' is text, not an expression"),
    ("text as a key", table(lambda t: t.group_by("name")), "'name' is text, not an expression"),
    ("no watermark", sql(f"SELECT COUNT(*) {WINDOW.format('orders', 'ts')}"), "'ts' is none: declare a WATERMARK"),
    ("window of no time", sql(f"SELECT COUNT(*) {WINDOW.format('clicks', 'n')}"), "needs a column of type TIMESTAMP"),
    (
        "no watermark, Table API",
        table(lambda t: t.window(Tumble.over(hour).on(col("ts")).alias("w")).group_by(col("w"))),
        "a window is over a time attribute, and 'ts' is a plain",
    ),
    (
        "window without name",
        table(lambda t: t.window(Tumble.over(hour).on(col("ts")))),  # type: ignore[arg-type]
        r"a group window needs .*alias\('w'\)",
    ),
    (
        "window that is no key",
        table(lambda t: t.window(Tumble.over(hour).on(col("ts")).alias("w")).group_by(col("user")), "clicks"),
        "group_by must name the window 'w'",
    ),
    ("number of columns", sql("INSERT INTO sink SELECT id FROM orders"), r"'sink' takes 2 columns \(id, name\)"),
    ("types of columns", sql("INSERT INTO sink SELECT name, id FROM orders"), "column 'id' of 'sink' is BIGINT"),
    ("unknown sink", table(lambda t: t.execute_insert("sinkk")), "no table sinkk to insert into, .*'sink'"),
    (
        "updates",
        sql("INSERT INTO files SELECT name, COUNT(*) FROM orders GROUP BY name"),
        "files takes no updates, but a GROUP BY without window makes them",
    ),
    ("reading a sink", sql("SELECT * FROM sink"), r"database\.sink: connector 'print' cannot be read from"),
    ("writing a source", sql("INSERT INTO orders SELECT * FROM orders"), r"orders: connector 'datagen' cannot be writ"),
    ("missing option", options("'connector' = 'filesystem', 'format' = 'csv'"), "connector 'filesystem' needs path"),
    ("unknown option", options("'connector' = 'datagen', 'rows-per-secnd' = '1'"), "did you mean 'rows-per-second'"),
    ("unknown connector", options("'connector' = 'prnt'"), "no connector 'prnt', did you mean 'print'"),
    ("not grouped", sql("SELECT name, id FROM orders GROUP BY name"), "neither in GROUP BY nor in an aggregate"),
    ("not grouped, Table API", table(lambda t: t.group_by(col("name")).select(col("id"))), "neither a key of the"),
    ("aggregate in WHERE", sql("SELECT name FROM orders WHERE COUNT(*) > 1"), "not allowed in WHERE: .* HAVING"),
    ("no statement", sql("SELEC 1"), "did you mean 'SELECT'"),
    ("comma", sql("SELECT id name, FROM orders"), "expected a name or an expression, found 'FROM'"),
    ("quotes", sql('SELECT "name" FROM orders'), "'single quotes' and names in `backticks`"),
    ("two statements", sql("SELECT 1; SELECT 2"), "expected one statement, found more"),
    ("INSERT as a query", lambda env: env.sql_query("INSERT INTO sink SELECT 1, 'a'"), "run INSERT INTO with execute"),
    ("same names", table(lambda t: t.join(t, col("id") == col("id"))), "rename_columns"),
    (
        "table function as scalar",
        lambda env: _calls(env, udtf(lambda i: [i], result_types=["STRING"])),
        "call it as LATERAL",
    ),
    ("class instead of function", lambda env: udf(ScalarFunction, result_type="INT"), r"write ScalarFunction\(\)"),
    ("function without type", lambda env: udf(len), "result_type is a DataType or SQL text"),
    ("plain function", lambda env: env.create_temporary_function("g", len), r"wrap .* with udf\(\)"),
    ("rows of two widths", lambda env: env.from_elements([(1, 2), (1,)], ["a", "b"]), "2 columns .*, and one has 1"),
    ("value of another type", lambda env: env.from_elements([("x",)], INTS), "column 'a' is INT: .*'x'"),
    ("table twice", sql("CREATE TABLE orders (a INT) WITH ('connector' = 'print')"), "orders is in catalog .* already"),
    ("stream of updates", of_a_view(lambda env, t: env.to_data_stream(t)), r"use to_changelog_stream\(\)"),
    (
        "grouped table",
        table(lambda t: t.group_by(col("name")).execute()),
        "has no 'execute': it becomes a table by sel",
    ),
    ("Spark's habit", table(lambda t: t.show()), r"no column 'show': table.execute\(\).print\(\) shows the rows"),
    ("an old method", lambda env: env.register_function("f", len), "no 'register_function': create_temporary_functi"),
    (
        "no StreamTableEnvironment",
        lambda env: env.from_data_stream(None),
        r"DataStreams need StreamTableEnvironment\.create\(env\)",
    ),
    (
        "settings that are not called",
        lambda env: TableEnvironment.create(EnvironmentSettings.in_streaming_mode),  # type: ignore[arg-type]
        r"TableEnvironment\.create takes EnvironmentSettings\.in_streaming_mode\(\)",
    ),
]


def _calls(env: TableEnvironment, function: Any) -> Any:
    env.create_temporary_function("f", function)
    return env.execute_sql("SELECT f(id) FROM orders").print()


@pytest.mark.parametrize(("mistake", "message"), [each[1:] for each in REFUSED], ids=[each[0] for each in REFUSED])
def test_is_refused(env: TableEnvironment, mistake: Mistake, message: str) -> None:
    with pytest.raises(Exception) as refused:
        mistake(env)
    assert re.search(message, str(refused.value), re.DOTALL), str(refused.value)


def fails(value: Any) -> Any:
    return value / 0


class Opens(ScalarFunction):
    def open(self, function_context: Any) -> None:
        raise ValueError("no database")

    def eval(self, value: int) -> int:  # type: ignore[override]
        return value


class Adds(AggregateFunction[int, list[int]]):
    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += args[0]["n"]

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]


FAILING: list[tuple[str, Any, list[str]]] = [
    (
        "row",
        udf(fails, result_type="BIGINT"),
        [r"failed in f\(\)", r"test_mistakes.py:\d+ in fails: return value / 0", "Zero"],
    ),
    (
        "open",
        udf(Opens(), result_type="BIGINT"),
        [r"in open\(\) of Opens", r"test_mistakes.py:\d+ in open", "no database"],
    ),
    (
        "aggregate",
        udaf(Adds(), result_type="BIGINT", accumulator_type="ARRAY<BIGINT>"),
        [r"test_mistakes.py:\d+ in accumulate", "'int' object is not subscriptable"],
    ),
    (
        "Series",
        udf(lambda s: s.nothing, result_type="BIGINT", func_type="pandas"),
        [r"test_mistakes.py:\d+ in <lambda>"],
    ),
    ("type", udf(lambda i: "x", result_type="BIGINT"), [r"f\(\) is declared as BIGINT and returned 'x'"]),
    ("too large", udf(lambda i: 2**70, result_type="BIGINT"), [r"f\(\) is declared as BIGINT and returned 1180591620"]),
    (
        "None",
        udf(lambda i: None, result_type="BIGINT NOT NULL"),
        [r"f\(\) is declared as BIGINT NOT NULL and returned"],
    ),
    (
        "row of one",
        udf(lambda i: (1,), result_type="ROW<a INT, b INT>"),
        [r"f\(\) is declared as ROW.*returned \(1,\)"],
    ),
    (
        "Series of a type",
        udf(lambda s: s.astype(str), result_type="BIGINT", func_type="pandas"),
        [r"f\(\) is declared as int64 and returned a Series of object"],
    ),
    (
        "length",
        udf(lambda s: s[:1], result_type="BIGINT", func_type="pandas"),
        ["result length '1' of Pandas UDF 'f' is not equal to the input length '3'"],
    ),
    ("arguments", udf(lambda a, b: 1, result_type="BIGINT"), ["missing 1 required positional argument: 'b'"]),
]


@pytest.mark.parametrize(("function", "messages"), [each[1:] for each in FAILING], ids=[each[0] for each in FAILING])
def test_a_function_that_fails_is_named_with_its_line(
    env: TableEnvironment, function: Any, messages: list[str]
) -> None:
    with pytest.raises(JobFailedError) as failed:
        _calls(env, function)
    assert re.search(r"made at .*test_mistakes\.py:\d+", str(failed.value))
    for message in messages:
        assert re.search(message, str(failed.value), re.DOTALL), str(failed.value)
