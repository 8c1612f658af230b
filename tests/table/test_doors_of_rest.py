"""Values of one type are the same through the doors that are no formats of rows: bits of NaN in messages, names of
folders, streams of Python's rows, tables that are looked up, made-up rows."""

from __future__ import annotations

import datetime as dt
import math
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.connectors.tables.message_tables import MessageTables
from tests.formats.tables.driving import decoded, schema
from tests.formats.tables.shop_messages import Order
from tests.table.programs.running import changes_in

from millrace.common import Row
from millrace.common.typeinfo import Types
from millrace.connectors.jdbc.duckdb import FileConnection
from millrace.connectors.tables.values_table import clear_values, register_values
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational import types as t
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.table import DataTypes, Schema, StreamTableEnvironment
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of
from millrace.testing.local import run_locally

UTC = dt.timezone.utc
NANS = {4: (0x7FC00000, 0xFFC00001, 0x7FA00000), 8: (0x7FF8000000000000, 0xFFF8000000000001, 0x7FF4000000000000)}
"""quiet and signalling ones, with either sign"""


@pytest.fixture(autouse=True)
def no_values() -> Iterator[None]:
    yield
    clear_values()


def rows_of(tables: MessageTables, sql: str) -> list[tuple[Any, ...]]:
    """What a query gives, exactly as it is; without what is taken back."""
    plan = tables.environment.sql_query(sql)._plan
    run = tables._run([plan], 1)
    return [tuple(row) for kind, row in changes_in(run.collected, plan.schema, tuple) if kind in (0, 2)]


def nan_bytes(width: int, order: str) -> list[bytes]:
    return [struct.pack(order + ("I" if width == 4 else "Q"), bits) for bits in NANS[width]]


@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize("format", ["raw", "avro", "protobuf"])
def test_there_is_one_nan_in_messages(format: str, width: int) -> None:
    kind = t.FloatType() if width == 4 else t.DoubleType()
    name = "rate" if width == 4 else "total"
    options: dict[str, str] = {}
    if format == "raw":
        messages = nan_bytes(width, ">")
    elif format == "avro":
        messages = [b"\x02" + each for each in nan_bytes(width, "<")]  # the second type of the union with null
    else:
        field = Order.DESCRIPTOR.fields_by_name[name].number
        messages = [bytes([field << 3 | (5 if width == 4 else 1)]) + each for each in nan_bytes(width, "<")]
        options = {"message-class-name": "tests.formats.tables.shop_messages:Order"}
    (column,) = decoded(format, schema(**{name: kind}), messages, options).rows.columns
    assert all(map(math.isnan, column.to_pylist()))
    data = column.buffers()[1].to_pybytes()[: width * len(messages)]
    assert len({data[begin : begin + width] for begin in range(0, len(data), width)}) == 1


FOLDERS: dict[str, list[tuple[str, Any]]] = {
    "FLOAT": [("0.1", 0.10000000149011612), ("0.10000000149011612", 0.10000000149011612), ("1", 1.0), ("1.0", 1.0)],
    "DOUBLE": [("1", 1.0), ("1.0", 1.0), ("0.1", 0.1)],
    "DECIMAL(5, 2)": [("1", Decimal("1.00")), ("1.000", Decimal("1.00")), ("1.005", Decimal("1.01"))],
    "TIMESTAMP(0)": [
        ("2024-02-29T12:00", dt.datetime(2024, 2, 29, 12)), ("2024-02-29 12:00:00.9", dt.datetime(2024, 2, 29, 12))],
    "TIMESTAMP_LTZ(3)": [
        ("2024-02-29T12:00:00Z", dt.datetime(2024, 2, 29, 12, tzinfo=UTC)),
        ("2024-02-29T12:00:00.0009Z", dt.datetime(2024, 2, 29, 12, tzinfo=UTC))],
    "TIME(0)": [("12:00", dt.time(12)), ("12:00:00.5", dt.time(12))],
    "BOOLEAN": [("true", True), ("TRUE", True), ("1", True)],
    "INT": [("1", 1), ("01", 1), ("-2147483648", -(2**31))],
}  # fmt: skip


@pytest.mark.parametrize("kind", FOLDERS)
def test_names_of_folders(tmp_path: Path, kind: str) -> None:
    for number, (text, _) in enumerate(FOLDERS[kind]):
        folder = tmp_path / f"a={quote(text, safe=' +-.')}"
        folder.mkdir()
        (folder / "x").write_text(f'{{"b":{number}}}\n')
    tables = MessageTables()
    columns = f"CREATE TABLE t (b INT, a {kind}) PARTITIONED BY (a)"
    options = f"'connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'json'"
    tables.environment.execute_sql(f"{columns} WITH ({options})")
    wanted: dict[Any, int] = {}
    for _, value in FOLDERS[kind]:
        wanted[value] = wanted.get(value, 0) + 1
    assert dict(rows_of(tables, "SELECT a, COUNT(*) FROM t GROUP BY a")) == wanted
    for value, count in wanted.items():
        literal = f"CAST('{value if not isinstance(value, dt.datetime) else value.replace(tzinfo=None)}' AS {kind})"
        assert rows_of(tables, f"SELECT COUNT(*) FROM t WHERE a = {literal}")[-1:] == [(count,)], "pruned by the value"


STREAMED: list[tuple[Any, Any, list[Any], list[Any]]] = [
    (DataTypes.TIMESTAMP(0), Types.SQL_TIMESTAMP(),
     [dt.datetime(2024, 2, 29, 12, 0, 0, 9), dt.datetime(2024, 2, 29, 12)], [dt.datetime(2024, 2, 29, 12)] * 2),
    (DataTypes.FLOAT(), Types.FLOAT(), [0.1, 0.10000000149011612], [0.10000000149011612] * 2),
    (DataTypes.DOUBLE(), Types.DOUBLE(), [math.nan, -math.nan, float("inf")], ["nan", "nan", float("inf")]),
    (DataTypes.DECIMAL(5, 2), Types.BIG_DEC(), [Decimal("1"), Decimal("1.00"), Decimal("1.005")],
     [Decimal("1.00"), Decimal("1.00"), Decimal("1.01")]),
    (DataTypes.TIME(0), Types.SQL_TIME(), [dt.time(12, 0, 0, 5), dt.time(12)], [dt.time(12)] * 2),
    (DataTypes.ARRAY(DataTypes.TIMESTAMP(0)), Types.OBJECT_ARRAY(Types.SQL_TIMESTAMP()),
     [[dt.datetime(2024, 2, 29, 12, 0, 0, 9)], [dt.datetime(2024, 2, 29, 12)]],
     ["[datetime.datetime(2024, 2, 29, 12, 0)]"] * 2),
]  # fmt: skip


def key(value: Any) -> Any:
    return repr(value) if isinstance(value, list) or value != value else value


@pytest.mark.parametrize(("kind", "info", "values", "wanted"), STREAMED, ids=[str(each[0]) for each in STREAMED])
def test_streams_of_rows(kind: Any, info: Any, values: list[Any], wanted: list[Any]) -> None:
    streams = StreamExecutionEnvironment().set_parallelism(1)
    environment = StreamTableEnvironment.create(streams)
    made = streams.from_collection([Row(each) for each in values], Types.ROW_NAMED(["a"], [info]))
    declared = Schema.new_builder().column("a", kind).build()
    environment.create_temporary_view("s", environment.from_data_stream(made, declared))
    session = environment._session
    plan = optimise_streaming(
        environment.sql_query("SELECT a, COUNT(*) FROM s GROUP BY a")._plan, surroundings_of(session)
    )
    add_to_program([plan], streams._program, options_of(session))
    found: dict[Any, int] = {}
    for kind_of_row, row in changes_in(run_locally(streams).collected, plan.schema, tuple):
        if kind_of_row in (0, 2):
            found[key(row[0])] = row[1]
    assert found == {each: wanted.count(each) for each in wanted}


# SQL type -> (the database's type, values written there, values asked for)
LOOKED_UP: dict[str, tuple[str, list[Any], list[Any]]] = {
    "TIMESTAMP(3)": (
        "TIMESTAMP", ["2024-02-29 12:00:00.123", "2024-02-29T12:00:01"],
        [dt.datetime(2024, 2, 29, 12, 0, 0, 123_999), dt.datetime(2024, 2, 29, 12, 0, 1)]),
    "TIMESTAMP_LTZ(0)": ("TIMESTAMPTZ", ["2024-02-29 12:00:00Z"], [dt.datetime(2024, 2, 29, 12, tzinfo=UTC)]),
    "DECIMAL(5, 2)": ("DECIMAL(8, 3)", ["1.5", "2.000"], [Decimal("1.50"), Decimal("2")]),
    "FLOAT": ("REAL", [0.5], [0.5]),
    "TIME(0)": ("TIME", ["12:00:00", "12:00"], [dt.time(12, 0, 0, 5)]),
    "BOOLEAN": ("BOOLEAN", [1], [True]),
    "CHAR(3)": ("VARCHAR", ["abc", "ab", "b  "], ["abc", "ab ", "b  "]),
    "BIGINT": ("BIGINT", [2**63 - 1], [2**63 - 1]),
}  # fmt: skip


@pytest.mark.parametrize("cache", ["NONE", "PARTIAL", "FULL"])
@pytest.mark.parametrize("kind", LOOKED_UP)
@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
def test_keys_of_tables_that_are_looked_up(tmp_path: Path, database: str, kind: str, cache: str) -> None:
    native, stored, asked = LOOKED_UP[kind]
    path = tmp_path / "x"
    connect = sqlite3.connect if database == "sqlite" else lambda where: FileConnection(str(where), 30.0)
    connection: Any = connect(path)
    with closing(connection), closing(connection.cursor()) as cursor:
        cursor.execute(f"CREATE TABLE x (a {native}, n INT)")
        for each in stored:
            cursor.execute("INSERT INTO x VALUES (?, ?)", (each, 7))
        connection.commit()
    tables = MessageTables()
    options = {"connector": "jdbc", "url": f"jdbc:{database}:{path}", "table-name": "x", "lookup.cache": cache}
    if cache == "FULL":
        options["lookup.full-cache.periodic-reload.interval"] = "1 h"
    if cache == "PARTIAL":
        options["lookup.partial-cache.max-rows"] = "10"
    given = ", ".join(f"'{name}' = '{value}'" for name, value in options.items())
    tables.environment.execute_sql(f"CREATE TABLE x (a {kind}, n INT) WITH ({given})")
    register_values("asked", [(each,) for each in asked * 2])
    tables.environment.execute_sql(f"CREATE TABLE asked (a {kind}, p AS PROCTIME()) WITH ('connector' = 'values')")
    query = "SELECT x.n FROM asked JOIN x FOR SYSTEM_TIME AS OF asked.p ON asked.a = x.a"
    assert rows_of(tables, query) == [(7,)] * 2 * len(stored)
