"""Group windows with ``table.exec.emit.*`` give the changes that Flink 2.3 gave, row after row.

What is here was recorded with the ``values`` connector of Flink's tests: parallelism 1, and a watermark after each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.flink.asking import Asked, Change, streamed
from tests.flink.suites.tables import DECLARED

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.util.exceptions import TableException

EARLY = {"table.exec.emit.early-fire.enabled": "true", "table.exec.emit.early-fire.delay": "0 ms"}
LATE = {"table.exec.emit.late-fire.enabled": "true", "table.exec.emit.late-fire.delay": "0 ms"}
LATENESS = {"table.exec.emit.allow-lateness": "5 s"}
TUMBLE = "SELECT k, SUM(n), TUMBLE_START(ts, INTERVAL '10' SECOND) FROM T GROUP BY k, TUMBLE(ts, INTERVAL '10' SECOND)"
HOP = (
    "SELECT k, SUM(n), HOP_END(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND) FROM T "
    "GROUP BY k, HOP(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND)"
)
SESSION = "SELECT k, SUM(n) FROM T GROUP BY k, SESSION(ts, INTERVAL '10' SECOND)"
TABLE_FUNCTION = (
    "SELECT k, SUM(n) FROM TABLE(TUMBLE(TABLE T, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
    "GROUP BY k, window_start, window_end"
)
Told = tuple[str, str, int, int]
"""kind, key, number, and a time (ms)"""


def asked(sql: str, settings: dict[str, str], rows: Sequence[Told], mode: str = "I") -> Asked:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {**settings, "millrace.table.aggregate.every-change": "true"}.items():
        tables.get_config().set(key, value)
    DECLARED["emissions"] = [[kind, [key, number, {"text": time_of(time)}]] for kind, key, number, time in rows]
    tables.execute_sql(
        "CREATE TEMPORARY TABLE T (k STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH "
        f"('connector' = 'flink-values', 'id' = 'emissions', 'changelog-mode' = '{mode}')"
    )
    return Asked(tables, tables.sql_query(sql)._plan)


def time_of(millis: int) -> str:
    return f"1970-01-01T00:00:{millis // 1000:02}.{millis % 1000:03}"


def by_window(changes: Sequence[Any]) -> dict[Any, list[Any]]:
    """The changes of each key and window, in order: that of different ones is a matter of hashes."""
    found: dict[Any, list[Any]] = {}
    for kind, values in changes:
        found.setdefault((values[0], values[2]), []).append((kind, values[1]))
    return found


A, B = [("+I", "a", 1, 1000), ("+I", "a", 2, 3000)], ("+I", "b", 1, 4000)
CASES: list[tuple[str, str, dict[str, str], str, list[Told], list[Told]]] = [
    (
        "early",
        TUMBLE,
        EARLY,
        "I",
        [*A, B, ("+I", "a", 2, 12000), ("+I", "a", 5, 6000), ("+I", "b", 0, 13000)],
        [
            ("+I", "a", 1, 0),
            ("-U", "a", 1, 0),
            ("+U", "a", 3, 0),
            ("+I", "b", 1, 0),
            ("+I", "a", 2, 10000),
            ("+I", "b", 0, 10000),
        ],
    ),
    (
        "late",
        TUMBLE,
        {**LATE, **LATENESS},
        "I",
        [
            *A,
            ("+I", "a", 2, 12000),
            ("+I", "a", 5, 6000),
            ("+I", "b", 0, 7000),
            ("+I", "a", 0, 7000),
            ("+I", "b", 2, 14999),
            ("+I", "a", 9, 8000),
            ("+I", "b", 2, 16000),
            ("+I", "a", 9, 8000),
        ],
        [
            ("+I", "a", 3, 0),
            ("-U", "a", 3, 0),
            ("+U", "a", 8, 0),
            ("+I", "b", 0, 0),
            ("+I", "b", 4, 10000),
            ("+I", "a", 2, 10000),
        ],
    ),
    (
        "early and late",
        HOP,
        {**EARLY, **LATE, **LATENESS},
        "I",
        [
            ("+I", "a", 1, 1000),
            ("+I", "a", 2, 6000),
            ("+I", "a", 3, 12000),
            ("+I", "a", 4, 3000),
            ("+I", "a", 5, 21000),
            ("+I", "a", 6, 11000),
        ],
        [
            ("+I", "a", 1, 10000),
            ("+I", "a", 1, 5000),
            ("+I", "a", 2, 15000),
            ("-U", "a", 1, 10000),
            ("+U", "a", 3, 10000),
            ("+I", "a", 3, 20000),
            ("-U", "a", 2, 15000),
            ("+U", "a", 5, 15000),
            ("-U", "a", 3, 10000),
            ("+U", "a", 7, 10000),
            ("+I", "a", 5, 30000),
            ("+I", "a", 5, 25000),
            ("-U", "a", 3, 20000),
            ("+U", "a", 9, 20000),
        ],
    ),
    (
        "lateness of the time to live",
        TUMBLE,
        {**LATE, "table.exec.state.ttl": "5 s"},
        "I",
        [A[0], ("+I", "a", 2, 12000), ("+I", "a", 5, 6000)],
        [("+I", "a", 1, 0), ("-U", "a", 1, 0), ("+U", "a", 6, 0), ("+I", "a", 2, 10000)],
    ),
    (
        "changes of late rows",
        TUMBLE,
        {**LATE, **LATENESS},
        "I,UB,UA,D",
        [
            ("+I", "a", 1, 1000),
            ("+I", "b", 1, 2000),
            ("+I", "a", 2, 12000),
            ("-U", "a", 1, 1000),
            ("+U", "a", 4, 1000),
            ("-D", "b", 1, 2000),
            ("+I", "b", 9, 3000),
        ],
        [
            ("+I", "a", 1, 0),
            ("+I", "b", 1, 0),
            ("-D", "a", 1, 0),
            ("+I", "a", 4, 0),
            ("-D", "b", 1, 0),
            ("+I", "b", 9, 0),
            ("+I", "a", 2, 10000),
        ],
    ),
    (
        "lateness without late rows",
        TUMBLE,
        LATENESS,
        "I",
        [A[0], ("+I", "a", 2, 12000), ("+I", "a", 5, 6000)],
        [("+I", "a", 1, 0), ("+I", "a", 2, 10000)],
    ),
]


@pytest.mark.parametrize(("name", "sql", "settings", "mode", "rows", "told"), CASES, ids=[case[0] for case in CASES])
def test_changes(name: str, sql: str, settings: dict[str, str], mode: str, rows: list[Told], told: list[Told]) -> None:
    found: list[Change] = streamed(asked(sql, settings, rows, mode))
    wanted = [(kind, [key, number, time_of(time).removesuffix(".000")]) for kind, key, number, time in told]
    assert by_window(found) == by_window(wanted)


def test_late_changes_that_wait_for_their_delay_are_not_lost() -> None:
    """Flink forgets them with their window: there ``a`` stays 1."""
    settings = {**LATE, **LATENESS, "table.exec.emit.late-fire.delay": "4 s"}
    late = [("+I", "a", 5, 6000), ("+I", "b", 7, 6000), ("+I", "b", 8, 6000)]
    rows = [("+I", "a", 1, 1000), ("+I", "a", 2, 12000), *late]
    found = by_window(streamed(asked(TUMBLE, settings, rows)))
    assert found["b", "1970-01-01T00:00:00"] == [("+I", 7), ("-U", 7), ("+U", 15)]
    assert found["a", "1970-01-01T00:00:00"] == [("+I", 1), ("-U", 1), ("+U", 6)]


@pytest.mark.parametrize(
    ("sql", "settings", "message"),
    [
        (SESSION, {**LATE, **LATENESS}, "are for TUMBLE and HOP, not for SESSION windows: leave the settings out"),
        (SESSION, EARLY, "are for TUMBLE and HOP, not for SESSION windows: leave the settings out"),
        (TABLE_FUNCTION, EARLY, "aggregates over windowing table functions have rows that never change"),
        (TABLE_FUNCTION, {**LATE, **LATENESS}, "aggregates over windowing table functions have rows that never change"),
        (TUMBLE, LATE, "late-fire.enabled needs table.exec.emit.allow-lateness (or table.exec.state.ttl) above 0"),
        (TUMBLE, {"table.exec.emit.early-fire.enabled": "true"}, "needs table.exec.emit.early-fire.delay: 0 ms"),
        (
            TUMBLE,
            {**LATE, **LATENESS, "table.exec.emit.late-fire.delay": "9 s"},
            "late-fire.delay is 9000 ms, longer than rows may be late (5000 ms)",
        ),
    ],
)
def test_what_flink_refuses(sql: str, settings: dict[str, str], message: str) -> None:
    """Each of these is an error in Flink, too."""
    with pytest.raises(TableException) as caught:
        streamed(asked(sql, settings, [("+I", "a", 1, 1000)]))
    assert message in str(caught.value)


def test_explain_says_when_rows_are_given() -> None:
    told = asked(TUMBLE, {**EARLY, **LATE, **LATENESS}, [])
    text = told.environment.explain_sql(TUMBLE)
    assert "emit=[early with each change, late with each change until 5000 ms]" in text
