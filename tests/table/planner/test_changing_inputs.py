"""Tables with updates and deletions as the input of operators that work by time: a better plan, or refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.table.planner.programs import changelog, final

from millrace.common.types import Row, RowKind
from millrace.connectors.tables.values_table import clear_values, register_values
from millrace.relational import nodes as n
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.planner.plan import ChangelogError
from millrace.util.exceptions import TableException

I, UB, UA, D = RowKind  # noqa: E741
CHANGES = [
    (I, 1, "a", 5),
    (I, 2, "a", 7),
    (I, 3, "b", 1),
    (UB, 2, "a", 7),
    (UA, 2, "a", 2),
    (I, 4, "b", 9),
    (D, 4, "b", 9),
    (I, 5, "c", 4),
    (D, 5, "c", 4),
]


@pytest.fixture
def env() -> Iterator[TableEnvironment]:
    rows = [Row(*values) for _, *values in CHANGES]
    for row, (kind, *_) in zip(rows, CHANGES):
        row.set_row_kind(kind)
    register_values("changes", rows)
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql(
        """CREATE TABLE t (
            id INT, k STRING, s INT, ts AS TO_TIMESTAMP_LTZ(s, 0), p AS PROCTIME(), WATERMARK FOR ts AS ts
        ) WITH ('connector' = 'values', 'data-id' = 'changes', 'changelog-mode' = 'I,UB,UA,D')"""
    )
    yield environment
    clear_values()


def plan(env: TableEnvironment, sql: str) -> n.Rel:
    return env.sql_query(sql)._plan


DUPLICATES = "table.exec.source.cdc-events-duplicate"
KEYED_CHANGES = [
    (I, 1, "a"),
    (UA, 1, "b"),
    (UA, 1, "b"),
    (I, 2, "c"),
    (I, 2, "c"),
    (D, 2, None),
    (D, 2, None),
    (UB, 3, "x"),
]


def test_changes_that_come_twice_are_put_right_by_the_key() -> None:
    rows = [Row(*values) for _, *values in KEYED_CHANGES]
    for row, (kind, *_) in zip(rows, KEYED_CHANGES):
        row.set_row_kind(kind)
    register_values("twice", rows)
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set(DUPLICATES, "true")
    for name, key in (("t", ", PRIMARY KEY (id) NOT ENFORCED"), ("u", "")):
        environment.execute_sql(
            f"CREATE TABLE {name} (id INT, s STRING{key}) WITH ('connector' = 'values', 'data-id' = 'twice', "
            "'changelog-mode' = 'I,UB,UA,D')"
        )
    query = "SELECT s, COUNT(*) AS many FROM t GROUP BY s"
    assert final(changelog(plan(environment, query))) == Counter({("b", 1): 1})
    assert final(changelog(plan(environment, "SELECT id FROM t WHERE s = 'a'"))) == Counter()
    with pytest.raises(TableException, match=f"{DUPLICATES} = true needs changelogs with a PRIMARY KEY"):
        environment.sql_query("SELECT * FROM u")
    environment.get_config().set(DUPLICATES, "false")
    environment.sql_query("SELECT * FROM u")
    clear_values()


def kept(last: bool) -> Counter[Any]:
    """The table after all changes, and of it the first or last row of each k."""
    rows: dict[int, tuple[str, int]] = {}
    for kind, id, k, s in CHANGES:
        if kind in (I, UA):
            rows[id] = k, s
        else:
            del rows[id]
    best: dict[str, tuple[int, int]] = {}
    for id, (k, s) in rows.items():
        if k not in best or (s > best[k][1] if last else s < best[k][1]):
            best[k] = id, s
    return Counter((id, k, s) for k, (id, s) in best.items())


@pytest.mark.parametrize("epoch_records", [None, 1, 2])
@pytest.mark.parametrize("last", [True, False])
def test_a_row_that_is_taken_back_makes_room(env: TableEnvironment, last: bool, epoch_records: int | None) -> None:
    direction = "DESC" if last else "ASC"
    query = f"""SELECT id, k, s FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts {direction}) AS rn FROM t) WHERE rn = 1"""
    assert final(changelog(plan(env, query), epoch_records=epoch_records)) == kept(last)


@pytest.mark.parametrize(
    ("consumer", "query"),
    [
        (
            "an interval join",
            "SELECT a.id FROM t a JOIN t b ON a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '1' SECOND",
        ),
        (
            "a window join",
            """SELECT a.id FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND)) a
            JOIN TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND)) b
            ON a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end""",
        ),
        (
            "the first rows of a window",
            """SELECT id FROM (SELECT *, ROW_NUMBER() OVER (
                PARTITION BY window_start, window_end, k ORDER BY id) AS rn
            FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND))) WHERE rn <= 2""",
        ),
        (
            "the deduplication of a window",
            """SELECT id FROM (SELECT *, ROW_NUMBER() OVER (
                PARTITION BY window_start, window_end, k ORDER BY ts) AS rn
            FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND))) WHERE rn = 1""",
        ),
        (
            "a deduplication in the order of arrival",
            "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p) AS rn FROM t) WHERE rn = 1",
        ),
    ],
    ids=lambda value: value if value.startswith(("a", "the")) else "",
)
def test_refused(env: TableEnvironment, consumer: str, query: str) -> None:
    with pytest.raises(ChangelogError, match=f"{consumer} takes no updates and no deletions.*table .*t makes them"):
        changelog(plan(env, query))
