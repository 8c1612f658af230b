"""The queries of Nexmark in streaming mode, in many small epochs, without Spark; DuckDB says what must come out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from benchmarks.nexmark.check import final
from benchmarks.nexmark.events import Settings
from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.session import environment
from benchmarks.nexmark.tables import COLUMNS, rows_of

from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.rows import python_rows
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of
from millrace.testing.local import run_locally

SETTINGS = Settings(events=3_000, rate=100)
BLOCK = 250
MACROS = """
    CREATE MACRO DATE_FORMAT(t, f) AS
        CASE WHEN f = 'HH:mm' THEN strftime(t, '%H:%M') ELSE strftime(t, '%Y-%m-%d') END;
    CREATE MACRO SPLIT_INDEX(words, separator, place) AS split_part(words, separator, place + 1);
"""
AS_THEY_ARE = ("q0", "q2", "q3", "q9", "q10", "q15", "q16", "q18", "q20", "q22")
"""the queries that mean the same in DuckDB"""
WITH_MEANS = ("q4", "q6", "q17")
"""the queries with a column ``mean``, which is a whole number in Flink, cut off"""


def streamed(name: str, clock: Any = None, workers: int = 2) -> Counter[tuple[Any, ...]]:
    session = environment(SETTINGS, block=BLOCK)
    plan = session.sql_query(QUERIES[name])._plan
    env = StreamExecutionEnvironment()
    env.set_parallelism(2)
    add_to_program(
        [optimise_streaming(plan, surroundings_of(session._session))], env._program, options_of(session._session)
    )
    found = run_locally(env, epoch_records=1, workers=workers, seed=5, clock=clock).collected
    return final(row for rows in found for row in python_rows(rows, plan.schema))


def events(kind: str) -> pa.Table:
    names = [each.split()[0] for each in COLUMNS[kind].split(", ")]
    batch = rows_of(kind, SETTINGS, range(len(names)), 0, SETTINGS.events).batch
    return pa.table(batch.columns, names)


@pytest.fixture(scope="module")
def oracle() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(MACROS)
        for kind in COLUMNS:
            connection.register(kind, events(kind))
        yield connection


@pytest.mark.parametrize("name", AS_THEY_ARE)
def test_tables(name: str, oracle: duckdb.DuckDBPyConnection) -> None:
    expected = Counter(oracle.execute(QUERIES[name]).fetchall())
    assert expected and streamed(name) == expected


@pytest.mark.parametrize("name", WITH_MEANS)
def test_means(name: str, oracle: duckdb.DuckDBPyConnection) -> None:
    query = f"SELECT * REPLACE (CAST(trunc(mean) AS BIGINT) AS mean) FROM ({QUERIES[name]})"
    expected = Counter(oracle.execute(query).fetchall())
    assert expected and streamed(name) == expected


def test_windows_by_the_clock() -> None:
    """q12: the clock goes on by 4 s whenever somebody looks, so that most windows end before the input does."""
    now = [1_700_000_000_000]

    def clock() -> int:
        now[0] += 4_000
        return now[0]

    bidders = Counter(events("bid").column("bidder").to_pylist())
    counted: Counter[int] = Counter()
    for (bidder, bids, *_), times in streamed("q12", clock, workers=1).items():
        counted[bidder] += bids * times
    assert counted.total() > bidders.total() / 2 and counted <= bidders


def test_events_do_not_depend_on_who_makes_which() -> None:
    whole = rows_of("bid", SETTINGS, range(7), 0, 500).batch
    parts = [rows_of("bid", SETTINGS, (0, 5), first, first + 100).batch for first in range(0, 500, 100)]
    assert pa.Table.from_batches(parts).to_pydict() == {
        "c0": whole.column(0).to_pylist(),
        "c1": whole.column(5).to_pylist(),
    }
