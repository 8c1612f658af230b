"""ON CONFLICT over rows that change writes what Flink 2.3 wrote, change after change.

What is here was recorded with the ``values`` connector of Flink's tests: parallelism 1, and a watermark after each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.flink.suites.tables import DECLARED
from tests.flink.test_emissions import time_of
from tests.runtime.tables.table_runs import rows_of
from tests.table.planner.programs import insert

from millrace.connectors.tables.values_table import clear_values, results_of
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.types import IntType, TimestampType
from millrace.table import EnvironmentSettings, StreamTableEnvironment
from millrace.table.planner.engine import add_to_program, optimised, options_of
from millrace.table.statement_runners.statements import insert_plans
from millrace.testing import OperatorHarness
from millrace.testing.script import Watermark

CHANGES, INSERTIONS = "I,UB,UA,D", "I"
PLAIN = "SELECT v, k FROM T"
LARGEST = "SELECT m, k FROM (SELECT k, MAX(v) AS m FROM T GROUP BY k)"
Told = tuple[str, int, int, int]
"""kind, k, v, and a time (ms)"""
SECOND = "ON CONFLICT DO ERROR: .* gets a second row with the primary key {}"


@pytest.fixture
def tables() -> Iterator[StreamTableEnvironment]:
    made = StreamTableEnvironment.create(StreamExecutionEnvironment(), EnvironmentSettings.in_streaming_mode())
    made.get_config().set("millrace.table.aggregate.every-change", "true")
    yield made
    clear_values()


def written(
    tables: StreamTableEnvironment, rows: Sequence[Told], query: str, clause: str, mode: str, **settings: Any
) -> list[tuple[Any, ...]]:
    """The changes that a table with the primary key ``v`` got: kind, v, k."""
    declare(tables, rows, mode)
    insert(tables, f"INSERT INTO S {query} ON CONFLICT DO {clause}", **settings)
    return changes_written()


def changes_written() -> list[tuple[Any, ...]]:
    return [(row.get_row_kind().name, row[0], row[1]) for row in results_of("default_catalog.default_database.S")]


def declare(tables: StreamTableEnvironment, rows: Sequence[Told], mode: str) -> None:
    DECLARED["conflicts"] = [[kind, [k, v, {"text": time_of(time)}]] for kind, k, v, time in rows]
    tables.execute_sql(
        "CREATE TABLE T (k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH "
        f"('connector' = 'flink-values', 'id' = 'conflicts', 'changelog-mode' = '{mode}')"
    )
    tables.execute_sql(
        "CREATE TABLE S (v INT, k INT, PRIMARY KEY (v) NOT ENFORCED) WITH "
        "('connector' = 'values', 'sink-changelog-mode' = 'I,UA,D')"
    )


MOVES: list[Told] = [
    ("+I", 1, 10, 1000),
    ("+I", 2, 20, 2000),
    ("-U", 1, 10, 1000),
    ("+U", 1, 20, 3000),
    ("-D", 2, 20, 2000),
    ("+I", 3, 30, 4000),
    ("+I", 4, 30, 4000),
    ("-D", 3, 30, 4000),
    ("+I", 5, 40, 6000),
    ("+I", 6, 40, 7000),
    ("-D", 5, 40, 6000),
    ("+I", 7, 50, 9000),
]
MOVED = "+I 10 1, +I 20 2, -D 10 1, -D 20 2, +I 30 3, +U 30 4, +I 40 5, -D 40 5, +I 50 7"
IN_TIME: list[Told] = [
    ("+I", 1, 10, 1000),
    ("+I", 2, 20, 2000),
    ("-D", 1, 10, 2000),
    ("+I", 3, 10, 2000),
    ("+I", 9, 9, 5000),
    ("-D", 1, 10, 1000),
    ("+I", 8, 8, 6000),
]
TOO_LATE: list[Told] = [("+I", 1, 10, 1000), ("+I", 2, 10, 2000), ("-D", 1, 10, 1000), ("+I", 9, 9, 5000)]
GROUPS: list[Told] = [
    ("+I", 1, 10, 1000),
    ("+I", 2, 20, 2000),
    ("+I", 1, 20, 3000),
    ("+I", 3, 9, 4000),
    ("+I", 2, 30, 5000),
    ("+I", 9, 9, 6000),
]


@pytest.mark.parametrize(
    ("rows", "query", "clause", "mode", "told"),
    [
        (MOVES, PLAIN, "NOTHING", CHANGES, MOVED),
        (IN_TIME, PLAIN, "ERROR", CHANGES, "+I 10 1, +I 20 2, +U 10 3, +I 9 9, +I 8 8"),
        (GROUPS, LARGEST, "NOTHING", INSERTIONS, "+I 10 1, +I 20 2, -D 10 1, +I 9 3, -D 20 2, +I 30 2"),
        (GROUPS[:-1], LARGEST, "DEDUPLICATE", INSERTIONS, "+I 10 1, +I 20 2, -D 10 1, +U 20 1, +I 9 3, +I 30 2"),
    ],
    ids=["nothing", "no error", "groups", "deduplicated groups"],
)
def test_changes(
    tables: StreamTableEnvironment, rows: list[Told], query: str, clause: str, mode: str, told: str
) -> None:
    found = written(tables, rows, query, clause, mode, epoch_records=1, parallelism=1)
    assert by_key(found) == by_key([(kind, int(v), int(k)) for kind, v, k in map(str.split, told.split(","))])


def by_key(changes: Sequence[tuple[Any, ...]]) -> dict[int, list[Any]]:
    """The changes of each primary key, in order."""
    kinds = {"INSERT": "+I", "UPDATE_AFTER": "+U", "DELETE": "-D"}
    found: dict[int, list[Any]] = {}
    for kind, v, k in changes:
        found.setdefault(v, []).append((kinds.get(kind, kind), k))
    return found


@pytest.mark.parametrize(
    ("rows", "query", "mode", "key"), [(TOO_LATE, PLAIN, CHANGES, 10), (GROUPS, LARGEST, INSERTIONS, 20)]
)
def test_two_rows_at_one_watermark_are_an_error(
    tables: StreamTableEnvironment, rows: list[Told], query: str, mode: str, key: int
) -> None:
    with pytest.raises(Exception, match=SECOND.format(key)):
        written(tables, rows, query, "ERROR", mode, epoch_records=1, parallelism=1)


def test_nothing_that_is_compared_at_watermarks_follows_them(tables: StreamTableEnvironment) -> None:
    declare(tables, [], INSERTIONS)
    plans = insert_plans(f"INSERT INTO S {LARGEST} ON CONFLICT DO ERROR", tables._session)
    program = StreamExecutionEnvironment()._program
    add_to_program(optimised(plans, tables._session), program, options_of(tables._session))
    steps = {node.name: node.spec.config for node in program.added() if hasattr(node.spec, "config")}
    assert steps["SinkConflicts"].keys == (0,)
    assert all(config.in_step for config in steps.values())
    groups = replace(steps["GroupAggregate(k)"], every_change=False, calls=(aggregate_call("COUNT", ()),))
    types = (IntType(), IntType(), TimestampType(3))
    with OperatorHarness(groups.operator) as running:
        running.process_element(rows_of([(0, (1, 10, None))], types))
        running.process_watermark(5)
        assert [each.timestamp if isinstance(each, Watermark) else "row" for each in running.output] == ["row", 5]


@pytest.mark.parametrize("epoch_records", [1, 3, 7, None])
@pytest.mark.parametrize("every", ["true", "false"])
@pytest.mark.parametrize("clause", ["ERROR", "NOTHING"])
def test_rows_that_change_places_are_no_conflict(
    tables: StreamTableEnvironment, tmp_path: Path, epoch_records: int | None, every: str, clause: str
) -> None:
    """Groups are changed by several tasks, each at its own pace, and hold their results back: only what all of them
    had given at a watermark counts. Each row moves a group to the place that the one before has left."""
    tables.get_config().set("millrace.table.aggregate.every-change", every)
    groups = 7
    places = {k: k for k in range(groups)}
    rows = [(k, k, k) for k in range(groups)]
    free = groups
    for turn in range(1, 60):
        k = (turn * 3) % groups
        rows.append((k, 100 * turn + free, 100 * turn))
        places[k], free = free, places[k]
    query = "SELECT MOD(m, 100), k FROM (SELECT k, MAX(v) AS m FROM F GROUP BY k)"
    declare(tables, [], INSERTIONS)
    (tmp_path / "rows.csv").write_text("".join(f"{k},{v},{time_of(time).replace('T', ' ')}\n" for k, v, time in rows))
    tables.execute_sql(
        "CREATE TABLE F (k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH "
        f"('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv')"
    )
    insert(tables, f"INSERT INTO S {query} ON CONFLICT DO {clause}", epoch_records=epoch_records, parallelism=2)
    found = changes_written()
    left: dict[int, int] = {}
    for kind, v, k in found:
        if kind == "DELETE":
            del left[v]
        else:
            left[v] = k
    assert left == {place: k for k, place in places.items()}
