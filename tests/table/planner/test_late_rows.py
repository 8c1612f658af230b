"""Rows that are too late for a window, in a table: how-to/late-data.md."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.table.planner.programs import insert, rows_of

from millrace.connectors.tables.values_table import clear_values, register_values
from millrace.table import EnvironmentSettings, TableEnvironment

SECONDS = [1, 5, 12, 3, 11, 25, 12, 24, 23, 40, 41, 2, 39]
BEGIN = datetime(2024, 1, 1)
ROWS = [(n, BEGIN + timedelta(seconds=at)) for n, at in enumerate(SECONDS)]


@pytest.fixture
def t_env() -> Iterator[TableEnvironment]:
    register_values("events", ROWS)
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql(
        """CREATE TABLE events (n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
           WITH ('connector' = 'values', 'data-id' = 'events', 'batch-size' = '1')"""
    )
    environment.execute_sql("CREATE TABLE late_rows (n INT, ts TIMESTAMP(3)) WITH ('connector' = 'values')")
    environment.execute_sql("CREATE TABLE counts (s TIMESTAMP(3), c BIGINT) WITH ('connector' = 'values')")
    yield environment
    clear_values()


def _by_hand() -> tuple[list[int], dict[int, int]]:
    """The rows that are behind the watermark, and what windows of ten seconds count."""
    watermark, behind, counts = -(10**9), [], {}
    for n, at in enumerate(SECONDS):
        if at <= watermark:
            behind.append(n)
        if at // 10 * 10 + 10 - 0.001 > watermark:
            counts[at // 10] = counts.get(at // 10, 0) + 1
        watermark = max(watermark, at - 1)
    return behind, counts


def test_those_behind_the_watermark_are_written_beside_the_windows(t_env: TableEnvironment) -> None:
    insert(
        t_env,
        "INSERT INTO late_rows SELECT * FROM events WHERE ts <= CURRENT_WATERMARK(ts)",
        """INSERT INTO counts SELECT window_start, COUNT(*)
           FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end""",
        epoch_records=1,
        parallelism=1,
    )
    behind, counts = _by_hand()
    late: list[Any] = [row[0] for row in rows_of("late_rows")]
    assert sorted(late) == behind and 11 in late and len(behind) < len(ROWS)
    assert {(row[0] - BEGIN).seconds // 10: row[1] for row in rows_of("counts")} == counts
    assert sum(counts.values()) + len(late) >= len(ROWS) > sum(counts.values())
