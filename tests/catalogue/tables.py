"""Programs of tables that the documents print and that stand nowhere else in the repository: what each gives."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

from millrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from millrace.table.expressions import call, col
from millrace.table.udf import udf


def environment() -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set_local_timezone("UTC")
    t_env.get_config().set("parallelism.default", "1")
    return t_env


def one_file_each(folder: Path, lines: list[str]) -> None:
    """An epoch reads whole files."""
    for number, line in enumerate(lines):
        (folder / f"part{number}").write_text(line)


def changes(table: Any) -> list[Any]:
    return [(str(row.get_row_kind()), *row) for row in table.execute().collect()]


def clicks(folder: Path) -> list[Any]:
    """Book P7: SQL and Table API give the same updates."""
    t_env = environment()
    one_file_each(folder, ["Mary,./home", "Bob,./cart", "Mary,./prod?id=1"])
    options = f"'connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv'"
    t_env.execute_sql(f"CREATE TABLE clicks (`user` STRING, url STRING) WITH ({options})")
    table = t_env.from_path("clicks")
    by_api = changes(table.group_by(col("user")).select(col("user"), col("url").count))
    by_sql = changes(t_env.sql_query("SELECT `user`, COUNT(url) FROM clicks GROUP BY `user`"))
    assert by_api == by_sql
    return by_sql


BEHAVIOUR = """CREATE TABLE user_behavior (user_id BIGINT, item_id BIGINT, category_id BIGINT, behavior STRING,
  ts TIMESTAMP(3), proctime AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
  WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json')"""


def behaviour(folder: Path) -> TableEnvironment:
    t_env = environment()
    t_env.execute_sql(BEHAVIOUR.format(path=folder))
    line = '{{"user_id":{},"item_id":1,"category_id":1,"behavior":"{}","ts":"2017-11-27 {}"}}\n'
    seen = [(1, "buy", "00:05:00"), (2, "pv", "00:12:00"), (1, "buy", "00:17:00"), (3, "buy", "02:01:00")]
    one_file_each(folder, [line.format(*each) for each in seen])
    return t_env


def described(folder: Path) -> list[Any]:
    """Book P8."""
    t_env = behaviour(folder)
    assert [tuple(row) for row in t_env.execute_sql("SHOW TABLES").collect()] == [("user_behavior",)]
    return [(row[0], row[1]) for row in t_env.execute_sql("DESCRIBE user_behavior").collect()]


def hourly_deals(folder: Path) -> list[Any]:
    """Book P9."""
    query = """SELECT HOUR(TUMBLE_START(ts, INTERVAL '1' HOUR)), COUNT(*) FROM user_behavior
      WHERE behavior = 'buy' GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)"""
    return sorted(tuple(row) for row in behaviour(folder).execute_sql(query).collect())


def cumulative_users(folder: Path) -> dict[Any, Any]:
    """Book P10: what each ten minutes ended with."""
    query = """SELECT date_str, MAX(time_str), COUNT(DISTINCT user_id) AS uv FROM (
        SELECT DATE_FORMAT(ts, 'yyyy-MM-dd') AS date_str, user_id,
          SUBSTR(DATE_FORMAT(ts, 'HH:mm'), 1, 4) || '0' AS time_str FROM user_behavior) GROUP BY date_str"""
    rows = changes(behaviour(folder).sql_query(query))
    return {(day, time): users for kind, day, time, users in rows if kind != "-U"}


def add_one(folder: Path) -> list[Any]:
    """Book P16 and P17."""
    t_env = environment()
    t_env.create_temporary_system_function("add_one", udf(lambda i: i + 1, result_type=DataTypes.BIGINT()))
    source = t_env.from_elements([(1,), (2,), (3,)], ["a"])
    found = [row[0] for row in source.select(call("add_one", col("a"))).execute().collect()]
    path = folder / "result.csv"
    t_env.execute_sql(f"CREATE TABLE sink (a BIGINT) WITH ('connector'='filesystem','path'='{path}','format'='csv')")
    t_env.execute_sql("INSERT INTO sink SELECT add_one(a) FROM (VALUES (1), (2), (3)) AS source (a)").wait()
    written = [line for part in path.rglob("part*") for line in part.read_text().split()]
    assert sorted(written) == ["2", "3", "4"]
    return found


def generated(folder: Path) -> list[Any]:
    """Book P24 to P26: a sequence that ends, into two sinks that are there always."""
    t_env = environment()
    t_env.execute_sql(
        "CREATE TABLE datagen (f_sequence INT, f_random INT, f_random_str STRING, ts AS localtimestamp, "
        "WATERMARK FOR ts AS ts) WITH ('connector'='datagen', 'rows-per-second'='1000000', "
        "'fields.f_sequence.kind'='sequence', 'fields.f_sequence.start'='1', 'fields.f_sequence.end'='1000', "
        "'fields.f_random.min'='1', 'fields.f_random.max'='1000', 'fields.f_random_str.length'='10')"
    )
    rows = [tuple(row) for row in t_env.execute_sql("SELECT f_sequence, f_random, f_random_str FROM datagen").collect()]
    assert all(1 <= number <= 1000 and len(text) == 10 for _, number, text in rows)
    for name in ("print", "blackhole"):
        t_env.execute_sql(
            f"CREATE TABLE {name}_table (f0 INT, f1 INT, f2 STRING, f3 DOUBLE) WITH ('connector'='{name}')"
        )
        t_env.execute_sql(f"INSERT INTO {name}_table VALUES (1, 2, 'three', 4.0)").wait()
    return [len({row[0] for row in rows}), len(rows)]


def joined(folder: Path) -> list[Any]:
    """Notes P12: each pair when both sides are there."""
    t_env = environment()
    t_env.create_temporary_view("a", t_env.from_elements([(1, "x"), (2, "y")], ["id", "v"]))
    t_env.create_temporary_view("b", t_env.from_elements([(2, "z"), (3, "w"), (2, "u")], ["id", "v"]))
    return sorted(changes(t_env.sql_query("SELECT a.id, a.v, b.v AS w FROM a JOIN b ON a.id = b.id")))


def state_that_is_forgotten(folder: Path) -> list[Any]:
    """Interview P5, which set 12 and 24 hours: one time today."""
    t_env = environment()
    t_env.get_config().set_idle_state_retention(datetime.timedelta(hours=12))
    return [t_env.get_config().get("table.exec.state.ttl", "")]


TS, PT = "TIMESTAMP(3) *ROWTIME*", "TIMESTAMP_LTZ(3) *PROCTIME*"
EXPECTED: dict[Callable[[Path], Any], Any] = {
    clicks: [("+I", "Mary", 1), ("+I", "Bob", 1), ("-U", "Mary", 1), ("+U", "Mary", 2)],
    described: [
        ("user_id", "BIGINT"), ("item_id", "BIGINT"), ("category_id", "BIGINT"), ("behavior", "STRING"),
        ("ts", TS), ("proctime", PT),
    ],
    hourly_deals: [(0, 2), (2, 1)],
    cumulative_users: {("2017-11-27", "00:00"): 1, ("2017-11-27", "00:10"): 2, ("2017-11-27", "02:00"): 3},
    add_one: [2, 3, 4],
    generated: [1000, 1000],
    joined: [("+I", 2, "y", "u"), ("+I", 2, "y", "z")],
    state_that_is_forgotten: ["43200000 ms"],
}  # fmt: skip
RECORD_BY_RECORD = {clicks, cumulative_users}
"""Programs whose updates are those of Flink when every record is an epoch; else there is one for each key and epoch."""
