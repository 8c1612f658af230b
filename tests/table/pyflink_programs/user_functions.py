"""Functions of the user in every form that PyFlink has."""

from __future__ import annotations

import functools
from typing import Any

from pyflink.common import Row
from pyflink.table import DataTypes, ListView, MapView
from pyflink.table.expressions import call, col
from pyflink.table.udf import AggregateFunction, ScalarFunction, TableFunction, udaf, udf, udtf
from tests.table.pyflink_programs.expected import prints, streaming

WORDS = [("hello", 1), ("world", 2), ("hello", 3)]


class Scaled(ScalarFunction):
    """``open`` gets a context, and what it sets is there in ``eval``."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def open(self, function_context: Any) -> None:
        self.offset = int(function_context.get_job_parameter("offset", "100"))

    def eval(self, value: int) -> int:  # type: ignore[override]
        return self.factor * value + self.offset


@prints("""
    +I[101]
    +I[102]
    +I[103]
    +I[110]
    +I[120]
    +I[130]
    """)
def classes_of_functions() -> None:
    t_env = streaming()
    words = t_env.from_elements(WORDS, ["word", "n"])
    ten = udf(Scaled(10), result_type=DataTypes.BIGINT())
    t_env.create_temporary_function("once", udf(Scaled(1), result_type="BIGINT"))
    t_env.create_temporary_view("words", words)
    t_env.execute_sql("CREATE TABLE sink (n BIGINT) WITH ('connector' = 'print')")
    statements = t_env.create_statement_set()
    statements.add_insert("sink", words.select(ten(col("n"))))
    statements.add_insert_sql("INSERT INTO sink SELECT once(n) FROM words")
    statements.execute().wait()


class Adder:
    def __call__(self, i: int, j: int) -> int:
        return i + j


def power(base: int, exponent: int) -> int:
    return base**exponent


@prints("""
    (2, 8, 4, 3)
    (4, 16, 16, 5)
    (6, 24, 64, 7)
    """)
def callables_of_all_kinds() -> None:
    t_env = streaming()
    table = t_env.from_elements([(1,), (2,), (3,)], DataTypes.ROW([DataTypes.FIELD("n", DataTypes.BIGINT())]))
    add = udf(Adder(), result_type=DataTypes.BIGINT())
    eight = udf(lambda n: 8 * n, result_type=DataTypes.BIGINT())
    four_to_the = udf(functools.partial(power, 4), result_type=DataTypes.BIGINT())

    @udf(result_type=DataTypes.BIGINT(), deterministic=False)
    def next_odd(n: int) -> int:
        return 2 * n + 1

    n = col("n")
    result = table.select(add(n, n), eight(n), four_to_the(n), next_odd(n))
    with result.execute().collect() as rows:
        print("\n".join(sorted(str(tuple(row)) for row in rows)))


@prints("""
    +I[hello, hello, 5]
    +I[world, world, 5]
    +I[a b, a, 1]
    +I[a b, b, 1]
    +I[, null, null]
    """)
def table_functions_in_sql() -> None:
    class Split(TableFunction):
        def eval(self, text: str) -> Any:  # type: ignore[override]
            for word in text.split():
                yield word, len(word)

    t_env = streaming()
    t_env.create_temporary_function("words_of", udtf(Split(), result_types=[DataTypes.STRING(), DataTypes.INT()]))
    t_env.create_temporary_view("lines", t_env.from_elements([("hello",), ("world",), ("a b",), ("",)], ["line"]))
    t_env.execute_sql("CREATE TABLE sink (line STRING, word STRING, n INT) WITH ('connector' = 'print')")
    t_env.execute_sql(
        "INSERT INTO sink SELECT line, word, n FROM lines LEFT JOIN LATERAL TABLE(words_of(line)) AS t(word, n) ON TRUE"
    ).wait()


@prints("""
    +I[1, 0]
    +I[2, 0]
    +I[2, 1]
    +I[3, 0]
    +I[3, 1]
    +I[3, 2]
    """)
def table_function_of_numbers() -> None:
    t_env = streaming()

    @udtf(result_types=DataTypes.BIGINT())
    def below(n: int) -> Any:
        return range(n)

    t_env.execute_sql("CREATE TABLE sink (n BIGINT, m BIGINT) WITH ('connector' = 'print')")
    table = t_env.from_elements([(0,), (1,), (2,), (3,)], ["n"])
    table.join_lateral(below(col("n")).alias("m")).execute_insert("sink").wait()


class WeightedAverage(AggregateFunction):  # type: ignore[type-arg]
    def create_accumulator(self) -> Any:
        return Row(0, 0)

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        value, weight = args
        accumulator[0] += value * weight
        accumulator[1] += weight

    def retract(self, accumulator: Any, *args: Any) -> None:
        value, weight = args
        accumulator[0] -= value * weight
        accumulator[1] -= weight

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def get_result_type(self) -> Any:
        return DataTypes.DOUBLE()

    def get_accumulator_type(self) -> Any:
        return DataTypes.ROW([DataTypes.FIELD("f0", DataTypes.BIGINT()), DataTypes.FIELD("f1", DataTypes.BIGINT())])


@prints("""
    +I[a, 2.5]
    +I[b, 7.0]
    """)
def aggregate_function_of_the_documentation() -> None:
    t_env = streaming()
    table = t_env.from_elements([("a", 1, 1), ("a", 3, 3), ("b", 7, 5)], ["name", "value", "weight"])
    average = udaf(WeightedAverage())
    t_env.execute_sql("CREATE TABLE sink (name STRING, average DOUBLE) WITH ('connector' = 'print')")
    table.group_by(col("name")).select(col("name"), average(col("value"), col("weight"))).execute_insert("sink").wait()


@prints("""
    +I[2.0, 2]
    """)
def aggregate_over_changing_rows() -> None:
    """What a first aggregate corrects is taken back from the second: 5 and -1, once each."""
    t_env = streaming()
    t_env.create_temporary_function("weighted", WeightedAverage())
    t_env.create_temporary_view("t", t_env.from_elements([("a", 2), ("b", -1), ("a", 3)], ["k", "n"]))
    t_env.execute_sql("CREATE TABLE sink (w DOUBLE, n BIGINT) WITH ('connector' = 'print')")
    t_env.execute_sql(
        "INSERT INTO sink SELECT weighted(s, CAST(1 AS BIGINT)), COUNT(*) FROM (SELECT SUM(n) AS s FROM t GROUP BY k)"
    ).wait()


class Concatenated(AggregateFunction):  # type: ignore[type-arg]
    """With views on state: a list, and a map that counts."""

    def create_accumulator(self) -> Any:
        return Row(ListView(), MapView())

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        names, counts = accumulator
        names.add(args[0])
        counts[args[0]] = (counts[args[0]] if args[0] in counts else 0) + 1  # noqa: SIM401  PyFlink's has no get

    def get_value(self, accumulator: Any) -> str:
        names, counts = accumulator
        return ",".join(names) + " " + str(sorted(counts.items()))

    def get_result_type(self) -> Any:
        return DataTypes.STRING()

    def get_accumulator_type(self) -> Any:
        names = DataTypes.LIST_VIEW(DataTypes.STRING())
        counts = DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.BIGINT())
        return DataTypes.ROW([DataTypes.FIELD("f0", names), DataTypes.FIELD("f1", counts)])


@prints("""
    +I[1, x,y,x [('x', 2), ('y', 1)]]
    +I[2, z [('z', 1)]]
    """)
def views_on_state() -> None:
    t_env = streaming()
    t_env.execute_sql("CREATE TABLE sink (k BIGINT, t STRING) WITH ('connector' = 'print')")
    table = t_env.from_elements([(1, "x"), (1, "y"), (2, "z"), (1, "x")], ["k", "s"])
    joined = udaf(Concatenated())
    table.group_by(col("k")).select(col("k"), joined(col("s"))).execute_insert("sink").wait()


@prints("""
    +I[hello, 2.0, 4]
    +I[world, 2.0, 3]
    """)
def vectorised_functions() -> None:
    t_env = streaming()

    @udaf(result_type=DataTypes.FLOAT(), func_type="pandas")
    def mean(values: Any) -> Any:
        return values.mean()

    @udf(result_type=DataTypes.BIGINT(), func_type="pandas")
    def plus_one(values: Any) -> Any:
        return values + 1

    t_env.execute_sql("CREATE TABLE sink (word STRING, mean FLOAT, m BIGINT) WITH ('connector' = 'print')")
    t_env.get_config().set("execution.runtime-mode", "streaming")
    table = t_env.from_elements(WORDS, ["word", "n"]).select(col("word"), col("n"), plus_one(col("n")).alias("m"))
    t_env.create_temporary_view("words", table)
    t_env.create_temporary_function("average", mean)
    t_env.create_temporary_view(
        "c", t_env.sql_query("SELECT word, AVG(CAST(n AS FLOAT)) a, MAX(m) m FROM words GROUP BY word")
    )
    t_env.execute_sql("INSERT INTO sink SELECT * FROM c").wait()


@prints("""
    +I[A!, 1]
    """)
def functions_of_rows_and_collections() -> None:
    t_env = streaming()

    @udf(
        result_type=DataTypes.ROW([DataTypes.FIELD("name", DataTypes.STRING()), DataTypes.FIELD("n", DataTypes.INT())])
    )
    def shouted(person: Row, tags: Any, counts: Any) -> Row:
        assert (person.name, person[1]) == ("a", None)
        assert (list(tags), dict(counts)) == (["x", "y"], {"k": 1})
        return Row(person.name.upper() + "!", counts["k"])

    t_env.create_temporary_function("shouted", shouted)
    t_env.execute_sql("CREATE TABLE sink (name STRING, n INT) WITH ('connector' = 'print')")
    t_env.execute_sql(
        "INSERT INTO sink SELECT p.name, p.n FROM (SELECT shouted("
        "CAST(ROW('a', CAST(NULL AS INT)) AS ROW<name STRING, n INT>), ARRAY['x', 'y'], MAP['k', 1]) AS p)"
    ).wait()


@prints("""
    +I[hello, 5]
    +I[world, 5]
    """)
def functions_by_name_in_the_table_api() -> None:
    t_env = streaming()
    t_env.create_temporary_system_function("length_of", udf(len, result_type=DataTypes.INT()))
    print_sink = "CREATE TABLE sink (word STRING, n INT) WITH ('connector' = 'print')"
    t_env.execute_sql(print_sink)
    table = t_env.from_elements([("hello",), ("world",)], ["word"])
    table.select(col("word"), call("length_of", col("word"))).execute_insert("sink").wait()


@prints("""
    1 ab 2
    """)
def functions_of_constants() -> None:
    t_env = streaming()
    t_env.create_temporary_function("joined", udf(lambda a, b: a + b, result_type="STRING"))
    t_env.create_temporary_function("size_of", udf(len, result_type="INT"))
    with t_env.sql_query("SELECT 1, joined('a', 'b'), size_of('xy')").execute().collect() as rows:
        print(*(" ".join(map(str, row)) for row in rows))
