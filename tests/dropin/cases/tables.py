"""pyflink.table: expressions, functions, rows and texts."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pandas as pd
from py4j.protocol import Py4JJavaError
from pyflink.common import Row, RowKind
from pyflink.table import DataTypes, EnvironmentSettings, Schema, TableDescriptor, TableEnvironment
from pyflink.table.expressions import col, row
from pyflink.table.udf import AggregateFunction, udaf, udf, udtf
from tests.dropin.checks import raises


def _environment(**options: str) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    for name, value in options.items():
        t_env.get_config().set(name, value)
    return t_env


def _rows(table: Any) -> list[Any]:
    with table.execute().collect() as found:
        return list(found)


class Total(AggregateFunction):  # type: ignore[misc]
    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], value: int) -> None:
        accumulator[0] += value

    def retract(self, accumulator: list[int], value: int) -> None:
        accumulator[0] -= value

    def get_value(self, accumulator: list[int]) -> Any:
        return accumulator[0]


class TotalAndOne(Total):
    def get_value(self, accumulator: list[int]) -> Any:
        return Row(accumulator[0], 1)


def _with_its_double(value: int) -> Iterator[int]:
    yield value
    yield value * 2


def an_operator_is_a_call_by_name() -> None:
    """A system function called minus takes the place of the Table API's operator, not of SQL's."""
    t_env = _environment()
    t_env.create_temporary_system_function("minus", udf(lambda a, b: a * 100 + b, result_type="BIGINT"))
    table = t_env.from_elements([(7, 2)], ["a", "b"])
    assert _rows(table.select(col("a") - col("b"))) == [Row(702)]
    t_env.create_temporary_view("t", table)
    assert _rows(t_env.sql_query("SELECT a - b FROM t")) == [Row(5)]


def constants_of_decimals_are_not_rounded_for_functions() -> None:
    """A constant cast to DECIMAL reaches a Python function as it was written; SELECT rounds it, so do columns."""
    t_env = _environment()
    t_env.create_temporary_function("text_of", udf(lambda a: str(a), result_type="STRING"))
    found = _rows(
        t_env.sql_query(
            "SELECT text_of(CAST(2.75 AS DECIMAL)), text_of(CAST(2.75 AS DECIMAL(4, 1))), CAST(2.75 AS DECIMAL(4, 1))"
        )
    )
    assert found == [Row("2.75", "2.75", Decimal("2.8"))]


def frames_keep_the_precision_of_times() -> None:
    """TIMESTAMP(3) is datetime64[ms] in a frame, TIMESTAMP_LTZ has the zone of the session."""
    t_env = _environment()
    t_env.get_config().set_local_timezone("Asia/Tokyo")
    moment = "TIMESTAMP '2020-01-02 03:04:05'"
    frame = t_env.sql_query(
        f"SELECT CAST({moment} AS TIMESTAMP(0)) a, CAST({moment} AS TIMESTAMP(3)) b, CAST({moment} AS TIMESTAMP(6)) c, "
        f"CAST({moment} AS TIMESTAMP_LTZ(3)) d"
    ).to_pandas()
    assert [str(kind) for kind in frame.dtypes] == [
        "datetime64[s]", "datetime64[ms]", "datetime64[us]", "datetime64[ms, Asia/Tokyo]",
    ]  # fmt: skip


def a_frame_of_numbers_is_no_text() -> None:
    """from_pandas refuses a column of whole numbers for STRING."""
    schema = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.STRING())])
    with raises(RuntimeError):
        _rows(_environment().from_pandas(pd.DataFrame({"a": [1, 2]}), schema))


def elements_can_be_expressions() -> None:
    """from_elements takes rows that are expressions."""
    schema = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.STRING())])
    table = _environment().from_elements([row(1, "a"), row(2, "bb")], schema)
    assert sorted(map(tuple, _rows(table))) == [(1, "a"), (2, "bb")]
    assert table.get_schema().get_field_names() == ["a", "b"]


def fields_of_an_aggregate_do_not_hide_its_keys() -> None:
    """aggregate(f) without alias, whose row has a field with the name of the key."""
    function = udaf(TotalAndOne(), result_type="ROW<a BIGINT, b INT>", accumulator_type="ARRAY<BIGINT>")
    table = _environment().from_elements([(1, 2), (1, 3)], ["a", "b"])
    result = table.group_by(col("a")).aggregate(function(col("b"))).select(col("*"))
    assert result.get_schema().get_field_names() == ["a", "TMP_0$a", "TMP_0$b"]


def an_aggregate_shows_every_change() -> None:
    """Each row of a group makes its change."""
    t_env = _environment(**{"millrace.table.aggregate.every-change": "true"})
    table = t_env.from_elements([(1, 2), (1, 3), (2, 4)], ["a", "b"])
    found = [(each.get_row_kind(), *each) for each in _rows(table.group_by(col("a")).select(col("a"), col("b").sum))]
    assert found == [
        (RowKind.INSERT, 1, 2),
        (RowKind.UPDATE_BEFORE, 1, 2),
        (RowKind.UPDATE_AFTER, 1, 5),
        (RowKind.INSERT, 2, 4),
    ]


def functions_stand_in_arguments_of_table_functions() -> None:
    """A Python function as argument of a Python table function and of a Python aggregate function."""
    plus_one = udf(lambda a: a + 1, result_type="BIGINT")
    twice = udtf(_with_its_double, result_types=["BIGINT"])
    total = udaf(Total(), result_type="BIGINT", accumulator_type="ARRAY<BIGINT>")
    table = _environment().from_elements([(1, 2), (2, 5)], ["a", "b"])
    joined = _rows(table.join_lateral(twice(plus_one(col("a"))).alias("x")).select(col("a"), col("x")))
    assert sorted(map(tuple, joined)) == [(1, 2), (1, 4), (2, 3), (2, 6)]
    assert _rows(table.select(total(plus_one(col("b")))))[-1] == Row(9)


def a_table_that_exists_is_named() -> None:
    """create_table says the whole path."""
    t_env = _environment()
    descriptor = (
        TableDescriptor.for_connector("datagen")
        .schema(Schema.new_builder().column("a", DataTypes.INT()).build())
        .build()
    )
    t_env.create_table("t", descriptor)
    with raises(Exception, "Could not execute CreateTable in path `default_catalog`.`default_database`.`t`"):
        t_env.create_table("t", descriptor)


def types_as_text_are_printed_as_they_are() -> None:
    """A Schema does not look into types that are texts."""
    schema = Schema.new_builder().column("a", "INT").column("b", "ROW<a INT, b STRING NOT NULL>").build()
    assert str(schema) == "(\n  `a` [INT],\n  `b` [ROW<a INT, b STRING NOT NULL>]\n)"


def what_is_wrong_in_sql_is_an_error_of_java() -> None:
    """Programs catch Py4JJavaError around statements and names."""
    t_env = _environment()
    for text in ("SELEC 1", "SELECT a FROM nowhere", "SELECT nothing(1)"):
        with raises(Py4JJavaError):
            t_env.execute_sql(text)
    with raises(Py4JJavaError):
        t_env.from_path("nowhere")
    with raises(Py4JJavaError, "No module with name 'x' exists"):
        t_env.unload_module("x")


def a_bundle_limits_what_a_pandas_function_is_given() -> None:
    """python.fn-execution.bundle.size counts for frames, too."""
    t_env = _environment(**{"python.fn-execution.bundle.size": "2"})
    sizes = udf(lambda series: series * 0 + len(series), result_type="BIGINT", func_type="pandas")
    found = _rows(t_env.from_elements([(number,) for number in range(4)], ["a"]).select(sizes(col("a"))))
    assert max(row[0] for row in found) <= 2
