"""Batch environments: frames of results, zones of the session, what functions need on the workers."""

from __future__ import annotations

import datetime as dt
import random
import sys
import zipfile
from decimal import Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from millrace.spark.tables.execute import QueryFailedError
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.udf import FunctionContext, ScalarFunction, udf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def environment(spark: SparkSession) -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    made._session.streams.set_spark_session(spark)
    return made


def test_frames_and_zones_without_a_name(environment: TableEnvironment) -> None:
    """The epoch is eight in the morning there, as Arrow and as Spark compute it."""
    environment.get_config().set_local_timezone("GMT+08:00")
    frame = environment.sql_query(
        "SELECT TO_TIMESTAMP_LTZ(0, 3) AS at, CAST(TO_TIMESTAMP_LTZ(ms, 3) AS TIMESTAMP(3)) AS shown, "
        "CAST(TO_TIMESTAMP_LTZ(ms, 3) AS STRING) AS said, EXTRACT(HOUR FROM TO_TIMESTAMP_LTZ(ms, 3)) AS h, "
        "FROM_UNIXTIME(ms) AS unix, CAST(CAST('1970-01-01 08:00:00' AS TIMESTAMP(3)) AS TIMESTAMP_LTZ(3)) AS back, "
        "CAST(NULL AS INT) AS nothing FROM (VALUES (0)) AS t(ms)"
    ).to_pandas()
    shown = dt.datetime(1970, 1, 1, 8)
    assert list(frame.columns) == ["at", "shown", "said", "h", "unix", "back", "nothing"]
    [row] = frame.astype(object).values.tolist()
    instant = shown.replace(tzinfo=dt.timezone(dt.timedelta(hours=8)))
    assert row[:2] == [instant, shown]
    assert row[2:5] == ["1970-01-01 08:00:00.000", 8, "1970-01-01 08:00:00"]
    assert row[5] == instant
    assert row[6] is None or row[6] != row[6]


def test_archives_reach_functions(environment: TableEnvironment, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "models.zip", "w") as archive:
        archive.writestr("deep/model.txt", "42")
    environment.add_python_archive(str(tmp_path / "models.zip"))

    def model(value: int) -> int:
        return value * int(Path("models.zip/deep/model.txt").read_text())

    environment.create_temporary_system_function("model", udf(model, result_type="INT"))
    result = environment.execute_sql("SELECT model(n) FROM (VALUES (1), (2)) AS t(n)")
    assert sorted(row[0] for row in result.collect()) == [42, 84]


class Model(ScalarFunction):
    """Times the number in a cached file."""

    def open(self, function_context: FunctionContext) -> None:
        self.factor = int(Path(function_context.get_cached_file("factor")).read_text())

    def eval(self, value: int) -> int:
        return value * self.factor


def test_cached_files_reach_functions(environment: TableEnvironment, tmp_path: Path) -> None:
    (tmp_path / "factor.txt").write_text("21")
    environment._session.streams.register_cached_file(str(tmp_path / "factor.txt"), "factor")
    environment.create_temporary_system_function("model", udf(Model(), result_type="INT"))
    result = environment.execute_sql("SELECT model(n) FROM (VALUES (1), (2)) AS t(n)")
    assert sorted(row[0] for row in result.collect()) == [21, 42]


def test_an_error_names_the_line_that_ran_the_query(environment: TableEnvironment) -> None:
    environment.create_temporary_system_function("broken", udf(lambda value: 1 // value, result_type="INT"))
    table = environment.sql_query("SELECT broken(n) FROM (VALUES (0)) AS t(n)")
    line = sys._getframe().f_lineno + 1
    result = table.execute()
    with pytest.raises(QueryFailedError) as failure:
        list(result.collect())
    assert f"operator 'PythonCalc' (subtask 1), made at {__file__}:{line}, failed in broken()" in str(failure.value)
    assert "element: (0,)" in str(failure.value)


def test_a_time_that_clocks_skip(environment: TableEnvironment) -> None:
    """At 02:30 clocks in New York were put forward: the time is an hour later, as an instant and as text."""
    environment.get_config().set_local_timezone("America/New_York")
    frame = environment.sql_query(
        "SELECT CAST(CAST(t AS TIMESTAMP_LTZ(3)) AS STRING) AS said, "
        "CAST(t AS TIMESTAMP_LTZ(3)) = TO_TIMESTAMP_LTZ(1615707000000, 3) AS same, "
        "CAST(CAST(t AS TIMESTAMP_LTZ(3)) AS TIMESTAMP(3)) AS back "
        "FROM (VALUES (TIMESTAMP '2021-03-14 02:30:00')) AS v(t)"
    ).to_pandas()
    [row] = frame.astype(object).values.tolist()
    assert row == ["2021-03-14 03:30:00.000", True, dt.datetime(2021, 3, 14, 3, 30)]


@pytest.mark.parametrize("scale", [0, 18, 38])
def test_decimals_keep_their_digits(environment: TableEnvironment, scale: int) -> None:
    chance = random.Random(scale)
    drawn = [chance.randrange(-(10**38) + 1, 10**38) for _ in range(30)] + [10**38 - 1, -(10**38) + 1]
    numbers = [Decimal(number).scaleb(-scale, Context(prec=38)) for number in drawn]
    rows = ", ".join(f"(CAST('{number:f}' AS DECIMAL(38, {scale})))" for number in numbers)
    found = environment.execute_sql(f"SELECT d, -d, ABS(d) FROM (VALUES {rows}) AS t(d)")
    wanted = [(number, number.copy_negate(), number.copy_abs()) for number in numbers]
    assert sorted(tuple(row) for row in found.collect()) == sorted(wanted)
