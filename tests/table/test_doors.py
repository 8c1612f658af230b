"""Through whatever door values come into a table, they have the digits of their declared type: what prints alike is
equal."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.connectors.tables.message_tables import MessageTables

from millrace.connectors.jdbc.duckdb import FileConnection
from millrace.connectors.tables.values_table import register_values
from millrace.table import DataTypes
from millrace.table.udf import AggregateFunction, AsyncScalarFunction, TableFunction, udaf, udf, udtf

UTC = dt.timezone.utc
Moments = Sequence[dt.datetime | None]
Door = Callable[[MessageTables, Path, Moments, int], str]
"""makes a query of a column ``a`` TIMESTAMP(precision) with these values"""
DOORS: dict[str, Door] = {}
_numbers = itertools.count()


def door(make: Door) -> Door:
    DOORS[make.__name__] = make
    return make


def named(tables: MessageTables, table: Any) -> str:
    name = f"t{next(_numbers)}"
    tables.environment.create_temporary_view(name, table)
    return name


def numbered(tables: MessageTables, values: Moments) -> str:
    """A table with the numbers of the values, for functions."""
    row = DataTypes.ROW([DataTypes.FIELD("n", DataTypes.INT())])
    return named(tables, tables.environment.from_elements([(place,) for place in range(len(values))], row))


def called(tables: MessageTables, values: Moments, function: Any, text: str) -> str:
    name = f"f{next(_numbers)}"
    tables.environment.create_temporary_function(name, function)
    return text.format(f=name, t=numbered(tables, values))


def over_files(tables: MessageTables, path: Path, format: str, precision: int, **more: str) -> str:
    name = f"t{next(_numbers)}"
    options = {"connector": "filesystem", "path": str(path), "format": format, **more}
    given = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    tables.environment.execute_sql(f"CREATE TABLE {name} (a TIMESTAMP({precision})) WITH ({given})")
    return f"SELECT a FROM {name}"


@door
def elements(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    row = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.TIMESTAMP(precision))])
    return f"SELECT a FROM {named(tables, tables.environment.from_elements([(each,) for each in values], row))}"


@door
def nested_elements(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    inner = DataTypes.ARRAY(DataTypes.ROW([DataTypes.FIELD("x", DataTypes.TIMESTAMP(precision))]))
    row = DataTypes.ROW([DataTypes.FIELD("b", inner)])
    found = named(tables, tables.environment.from_elements([([(each,)],) for each in values], row))
    return f"SELECT x AS a FROM {found} CROSS JOIN UNNEST(b) AS u(x)"


@door
def frames(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    frame = pd.DataFrame({"a": pd.Series(list(values), dtype="datetime64[us]")})
    row = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.TIMESTAMP(precision))])
    return f"SELECT a FROM {named(tables, tables.environment.from_pandas(frame, row))}"


@door
def registered(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    name = f"t{next(_numbers)}"
    register_values(name, [(each,) for each in values])
    tables.environment.execute_sql(f"CREATE TABLE {name} (a TIMESTAMP({precision})) WITH ('connector' = 'values')")
    return f"SELECT a FROM {name}"


@door
def scalar(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    function = udf(lambda n: values[n], result_type=f"TIMESTAMP({precision})")
    return called(tables, values, function, "SELECT {f}(n) AS a FROM {t}")


@door
def vectors(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    def one(numbers: Any) -> Any:
        return pd.Series([values[n] for n in numbers], dtype="datetime64[us]")

    function = udf(one, result_type=f"TIMESTAMP({precision})", func_type="pandas")
    return called(tables, values, function, "SELECT {f}(n) AS a FROM {t}")


@door
def concurrently(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    class Later(AsyncScalarFunction):
        async def eval(self, n: int) -> Any:
            await asyncio.sleep(0)
            return values[n]

    function = udf(Later(), result_type=f"TIMESTAMP({precision})")
    return called(tables, values, function, "SELECT {f}(n) AS a FROM {t}")


@door
def table_function(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    class Rows(TableFunction):
        def eval(self, n: int) -> Any:
            yield values[n]

    function = udtf(Rows(), result_types=[DataTypes.TIMESTAMP(precision)])
    return called(tables, values, function, "SELECT a FROM {t}, LATERAL TABLE({f}(n)) AS r(a)")


@door
def aggregate(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    class Last(AggregateFunction[Any, Any]):
        def create_accumulator(self) -> Any:
            return [0]

        def accumulate(self, accumulator: Any, n: int) -> None:
            accumulator[0] = n

        def get_value(self, accumulator: Any) -> Any:
            return values[accumulator[0]]

    function = udaf(
        Last(), result_type=DataTypes.TIMESTAMP(precision), accumulator_type=DataTypes.ARRAY(DataTypes.INT())
    )
    return called(tables, values, function, "SELECT {f}(n) AS a FROM {t} GROUP BY n")


@door
def aggregate_over(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    function = udaf(
        lambda numbers: values[int(numbers.iloc[-1])],
        result_type=DataTypes.TIMESTAMP(precision),
        func_type="pandas",
    )
    over = "OVER (PARTITION BY n ORDER BY p ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"
    return called(tables, values, function, f"SELECT {{f}}(n) {over} AS a FROM (SELECT n, PROCTIME() AS p FROM {{t}})")


@door
def parquet(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    pq.write_table(pa.table({"a": pa.array(values, pa.timestamp("us"))}), path / "x")
    return over_files(tables, path, "parquet", precision)


@door
def orc(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    pyarrow.orc.write_table(pa.table({"a": pa.array(values, pa.timestamp("us"))}), path / "x")
    return over_files(tables, path, "orc", precision)


@door
def avro(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    import fastavro

    moment = {"type": "long", "logicalType": "timestamp-micros"}
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", moment]}]}
    rows = [{"a": None if each is None else each.replace(tzinfo=UTC)} for each in values]
    with (path / "x").open("wb") as file:
        fastavro.writer(file, schema, rows)
    return over_files(tables, path, "avro", precision, **{"avro.timestamp_mapping.legacy": "false"})


@door
def json_lines(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    texts = [None if each is None else each.isoformat(" ") for each in values]
    (path / "x").write_text("".join(json.dumps({"a": each}) + "\n" for each in texts))
    return over_files(tables, path, "json", precision)


@door
def csv(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    (path / "x").write_text("".join(f"{'NULL' if each is None else each.isoformat(' ')}\n" for each in values))
    return over_files(tables, path, "csv", precision, **{"csv.null-literal": "NULL"})


@door
def duckdb(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    return _jdbc(tables, path / "x.duckdb", "duckdb", values, precision)


@door
def sqlite(tables: MessageTables, path: Path, values: Moments, precision: int) -> str:
    return _jdbc(tables, path / "x.sqlite", "sqlite", values, precision)


def _jdbc(tables: MessageTables, path: Path, kind: str, values: Moments, precision: int) -> str:
    import sqlite3

    connection: Any = FileConnection(str(path), 30.0) if kind == "duckdb" else sqlite3.connect(path)
    with closing(connection), closing(connection.cursor()) as cursor:
        cursor.execute("CREATE TABLE x (a TIMESTAMP)")
        for each in values:
            cursor.execute(f"INSERT INTO x VALUES ({'NULL' if each is None else repr(each.isoformat(' '))})")
        connection.commit()
    name = f"t{next(_numbers)}"
    tables.environment.execute_sql(
        f"CREATE TABLE {name} (a TIMESTAMP({precision})) "
        f"WITH ('connector' = 'jdbc', 'url' = 'jdbc:{kind}:{path}', 'table-name' = 'x')"
    )
    return f"SELECT a FROM {name}"


MOMENTS = st.lists(st.none() | st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)), min_size=1, max_size=6)


@pytest.mark.parametrize("name", list(DOORS))
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=MOMENTS, precision=st.integers(0, 6))
def test_what_prints_alike_is_equal(
    tmp_path_factory: pytest.TempPathFactory, name: str, values: list[Any], precision: int
) -> None:
    tables = MessageTables()
    query = DOORS[name](tables, tmp_path_factory.mktemp("door"), values, precision)
    wanted = [_floor(each, precision) for each in values]
    found = [row[0] for kind, row in tables.query(query, parallelism=1) if kind in (0, 2)]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)


def _floor(value: dt.datetime | None, precision: int) -> dt.datetime | None:
    if value is None:
        return None
    return value.replace(microsecond=int(f"{value.microsecond:06d}"[:precision].ljust(6, "0")))
