"""Tables with event time that several topics share, and Flink's windows as SQL that DuckDB knows."""

from __future__ import annotations

import datetime
from typing import Any

from tests.table.programs.program import Source


def at(text: str) -> datetime.datetime:
    """A time of the day that all rows are of: ``HH:MM`` or ``HH:MM:SS``."""
    return datetime.datetime.fromisoformat(f"2024-01-01 {text}")


BIDS = Source(
    "bids",
    "id INT, item STRING, price INT, who STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' MINUTE",
    (
        (1, "pen", 10, "Ann", at("10:00")),
        (2, "ink", 7, "Bob", at("10:02")),
        (3, "pen", 12, "Bob", at("10:04")),
        (4, "pen", None, "Cid", at("10:01")),
        (5, "ink", 7, "Ann", at("10:09:59")),
        (6, "pad", 3, None, at("10:10")),
        (7, "pen", 11, "Ann", at("10:06")),
        (8, "pad", 5, "Bob", at("10:14")),
        (9, None, 1, "Cid", at("10:14")),
        (10, "ink", 20, "Ann", at("10:21")),
        (11, "pen", 9, "Bob", at("10:20")),
        (12, "pen", 9, "Cid", at("10:20")),
        (13, "pad", -4, "Ann", at("10:47:30")),
        (14, "ink", 2, "Bob", at("10:44")),
        (15, "pen", 30, None, at("11:00")),
        (16, "pen", 30, "Ann", at("11:05")),
    ),
)
"""disordered by less than its watermark allows: nothing is late"""

ASKS = Source(
    "asks",
    "item STRING, ask INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE",
    (
        ("pen", 11, at("09:58")),
        ("ink", 6, at("10:01")),
        ("pen", 13, at("10:05")),
        ("pen", 14, at("10:05")),
        ("pad", 4, at("10:12")),
        (None, 8, at("10:13")),
        ("ink", 9, at("10:12:30")),
        ("pen", 8, at("10:31")),
        ("pad", 2, at("10:45")),
        ("tip", 1, at("11:01")),
    ),
)
DAY = "TIMESTAMP '2024-01-01 00:00:00'"


def tumbling(minutes: int, table: str = "bids", offset: int = 0) -> str:
    """The rows with their window, for DuckDB. Times in minutes."""
    start = f"time_bucket(INTERVAL '{minutes} minutes', ts, {DAY} + INTERVAL '{offset} minutes')"
    end = f"{start} + INTERVAL '{minutes} minutes'"
    return f"(SELECT *, {start} AS window_start, {end} AS window_end FROM {table})"


def hopping(slide: int, size: int, table: str = "bids", offset: int = 0) -> str:
    return (
        f"(SELECT *, s AS window_start, s + INTERVAL '{size} minutes' AS window_end FROM {table}, "
        f"(SELECT UNNEST(generate_series({DAY} + INTERVAL '{offset} minutes', {DAY} + INTERVAL '1 day', "
        f"INTERVAL '{slide} minutes')) AS s) WHERE ts >= s AND ts < s + INTERVAL '{size} minutes')"
    )


def cumulating(step: int, size: int, table: str = "bids", offset: int = 0) -> str:
    return (
        f"(SELECT *, s AS window_start, s + k * INTERVAL '{step} minutes' AS window_end FROM {table}, "
        f"(SELECT UNNEST(generate_series({DAY} + INTERVAL '{offset} minutes', {DAY} + INTERVAL '1 day', "
        f"INTERVAL '{size} minutes')) AS s), (SELECT UNNEST(generate_series(1, {size // step})) AS k) "
        f"WHERE ts >= s AND ts < s + k * INTERVAL '{step} minutes')"
    )


def sessions(gap: int, key: str | None = "item", table: str = "bids") -> str:
    """Sessions that are a gap apart, or more; those that touch are one."""
    by = f"PARTITION BY {key}" if key else ""
    begins = (
        f"SELECT *, CASE WHEN ts - LAG(ts) OVER ({by} ORDER BY ts) <= INTERVAL '{gap} minutes' THEN 0 ELSE 1 "
        f"END AS new "
        f"FROM {table}"
    )
    numbered = f"SELECT *, SUM(new) OVER ({by} ORDER BY ts) AS session FROM ({begins})"
    within = f"PARTITION BY {key + ', ' if key else ''}session"
    return (
        f"(SELECT *, MIN(ts) OVER ({within}) AS window_start, MAX(ts) OVER ({within}) + INTERVAL '{gap} minutes' "
        f"AS window_end FROM ({numbered}))"
    )


def rows(*values: Any) -> tuple[tuple[Any, ...], ...]:
    """Expected rows of one column."""
    return tuple((value,) for value in values)
