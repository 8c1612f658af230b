"""Fifteen shapes of streaming SQL, by Millrace and by Flink, over one table of CSV files that is written once.

    python -m benchmarks.shapes --flink-python pyflink-env/bin/python [--rows 1000000] [--shapes hop,session]
                                [--turns 1] [--sides millrace,flink] [--format csv|parquet]

Each side reads the files with its filesystem connector, in a process of its own, with a parallelism of two, into a sink
that forgets (``benchmarks/sides``). What a shape takes on few rows is its start, and is left out. ``lookup`` looks up
rows of PostgreSQL with a partial cache, by Flink's JDBC connector and ours; its server must be installed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator

import numpy as np
import psycopg
import pyarrow as pa

from benchmarks.jdbc import FLINK as JDBC_JARS
from benchmarks.nexmark.files import write
from benchmarks.nexmark.session import sink_columns
from benchmarks.sides.report import lines
from benchmarks.sides.running import FLINK, MILLRACE, measured
from benchmarks.sides.work import PARALLELISM, Query, Work
from benchmarks.tpc.others import parquet_jars
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing.services import PostgreSQL
from millrace.testing.services.downloads import jars

KEYS, GROUPS, PARTNERS = 10_000, 100, 10_000
EVENTS_A_SECOND = 10_000
"""in event time"""
FEW = 1_000
BLOCK = 10_000
"""rows in turn for the files of the subtasks, so that event time goes on evenly"""
COLUMNS = (
    "id BIGINT, k BIGINT, g BIGINT, v BIGINT, price DOUBLE, name STRING, ts TIMESTAMP(3), "
    "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"
)
WINDOWED = "SELECT k, window_start, window_end, COUNT(*) AS n, SUM(v) AS total FROM TABLE({}) GROUP BY {}"
BY_WINDOW = "k, window_start, window_end"
RANKED = "SELECT id, k, g, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {} ORDER BY {}) AS place FROM events)"

SHAPES = {
    "scan": "SELECT id, k, g, v, price, name, ts FROM events",
    "filter": "SELECT id, k, v FROM events WHERE MOD(v, 10) = 3 AND price > 10",
    "tumble": WINDOWED.format("TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '10' SECOND)", BY_WINDOW),
    "hop": WINDOWED.format("HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND)", BY_WINDOW),
    "cumulate": WINDOWED.format(
        "CUMULATE(TABLE events, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND)", BY_WINDOW
    ),
    "session": WINDOWED.format("SESSION(TABLE events PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' SECOND)", BY_WINDOW),
    "group-by": "SELECT k, COUNT(*) AS n, SUM(v) AS total, MAX(price) AS highest FROM events GROUP BY k",
    "top-n": f"{RANKED.format('g', 'v DESC')} WHERE place <= 10",
    "deduplicate-first": f"{RANKED.format('k', 'ts')} WHERE place = 1",
    "deduplicate-last": f"{RANKED.format('k', 'ts DESC')} WHERE place = 1",
    "interval-join": """
        SELECT a.id, b.id AS other, a.k, a.ts
        FROM events AS a JOIN events AS b
        ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '1' SECOND AND b.ts + INTERVAL '1' SECOND
        WHERE MOD(b.v, 4) = 0""",
    "join": """
        SELECT a.id, a.v, b.id AS other, b.name
        FROM events AS a JOIN events AS b ON a.k = b.k
        WHERE b.g = 0""",
    "lookup": """
        SELECT e.id, e.k, p.name
        FROM (SELECT *, PROCTIME() AS p FROM events) AS e
        JOIN partners FOR SYSTEM_TIME AS OF e.p AS p ON e.k = p.k""",
    "over": """
        SELECT id, k, COUNT(*) OVER w AS n, SUM(v) OVER w AS total FROM events
        WINDOW w AS (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW)""",
    "window-top-n": """
        SELECT * FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY total DESC) AS place
            FROM (
                SELECT k, window_start, window_end, SUM(v) AS total
                FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '10' SECOND))
                GROUP BY k, window_start, window_end))
        WHERE place <= 10""",
}


def events(rows: int) -> pa.Table:
    """Rows in turn, up to 1 s out of order, each key about once a second."""
    random = np.random.default_rng(7)
    numbers = np.arange(rows)
    millis = 1_700_000_000_000 + numbers * 1000 // EVENTS_A_SECOND - random.integers(0, 1000, rows)
    return pa.table(
        {
            "id": numbers,
            "k": random.integers(0, KEYS, rows),
            "g": random.integers(0, GROUPS, rows),
            "v": random.integers(0, 1_000_000, rows),
            "price": random.integers(0, 1_000_000, rows) / 100,
            "name": pa.array([f"name {place}" for place in range(1000)]).take(pa.array(random.integers(0, 1000, rows))),
            "ts": pa.array(millis, pa.timestamp("ms")),
        }
    )


def tables(base: str, rows: int, kind: str, url: str | None) -> tuple[str, ...]:
    """Writes the files; DDL of the tables."""
    os.makedirs(base)
    whole = events(rows)
    turns = np.arange(rows) // BLOCK % PARALLELISM
    for subtask in range(PARALLELISM):
        places = pa.array(np.flatnonzero(turns == subtask))
        if len(places):
            write(os.path.join(base, f"part-{subtask}.{kind}"), whole.take(places), kind)
    stored = f"'connector' = 'filesystem', 'path' = '{base}', 'format' = '{kind}'"
    ddl = f"CREATE TABLE events ({COLUMNS}) WITH ({stored})"
    return (ddl,) if url is None else (ddl, partners(url))


def partners(url: str) -> str:
    """DDL of the table that is looked up."""
    cache = f"'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '{PARTNERS}'"
    user = "'username' = 'postgres', 'password' = 'millrace'"
    return (
        "CREATE TABLE partners (k BIGINT, name STRING, PRIMARY KEY (k) NOT ENFORCED) "
        f"WITH ('connector' = 'jdbc', 'url' = '{url}', 'table-name' = 'partners', {user}, {cache})"
    )


def queries(names: list[str]) -> dict[str, Query]:
    session = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    session.execute_sql(f"CREATE TABLE events ({COLUMNS}) WITH ('connector' = 'datagen')")
    session.execute_sql(partners("jdbc:postgresql://127.0.0.1:1/postgres"))
    return {name: Query(SHAPES[name], sink_columns(session.sql_query(SHAPES[name]))) for name in names}


@contextlib.contextmanager
def partners_at(wanted: bool) -> Iterator[str | None]:
    """Where the rows are that are looked up: a server of our own."""
    if not wanted:
        yield None
        return
    with PostgreSQL() as server:
        with psycopg.connect(server.url, autocommit=True) as client:
            client.execute("CREATE TABLE partners (k BIGINT PRIMARY KEY, name TEXT)")
            client.execute(f"INSERT INTO partners SELECT g, 'name ' || g FROM generate_series(0, {PARTNERS - 1}) AS g")
        yield server.jdbc_url


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--shapes", default=",".join(SHAPES), help="names with commas between them")
    parser.add_argument("--turns", type=int, default=1, help="the median of so many runs of each shape")
    parser.add_argument("--flink-python", metavar="PYTHON", help="interpreter with apache-flink installed")
    parser.add_argument("--sides", default=f"{MILLRACE},{FLINK}", help="who runs the shapes")
    parser.add_argument("--format", choices=("csv", "parquet"), default="csv", help="of the files")
    given = parser.parse_args()
    names, sides = given.shapes.split(","), given.sides.split(",")
    needed = [*(parquet_jars() if given.format == "parquet" else [])]
    if "lookup" in names and FLINK in sides:
        needed += sorted(jars("flink-jdbc", *JDBC_JARS).glob("*.jar"))
    with tempfile.TemporaryDirectory() as base, partners_at("lookup" in names) as url:
        work = Work(
            few=tables(os.path.join(base, "few"), FEW, given.format, url),
            whole=tables(os.path.join(base, "whole"), given.rows, given.format, url),
            queries=queries(names),
            jars=tuple(f"file://{jar}" for jar in needed),
        )
        print("\n".join(lines(measured(work, sides, given.flink_python, given.turns))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
