"""GROUP BY TUMBLE(...), HOP(...), SESSION(...), with the bounds of the window as functions."""

from __future__ import annotations

from tests.table.programs.program import Program
from tests.table.programs.timed import BIDS, hopping, sessions, tumbling

T, H, S = "ts, INTERVAL '10' MINUTE", "ts, INTERVAL '5' MINUTE, INTERVAL '15' MINUTE", "ts, INTERVAL '6' MINUTE"


def _program(name: str, sql: str, duckdb: str, *operators: str) -> Program:
    return Program(f"group_{name}", sql, (BIDS,), duckdb=duckdb, operators=operators, changes="[I]")


PROGRAMS = [
    _program(
        "tumble",
        f"SELECT TUMBLE_START({T}) AS s, TUMBLE_END({T}) AS e, item, SUM(price) AS p FROM bids GROUP BY "
        f"TUMBLE({T}), item",
        f"SELECT window_start, window_end, item, SUM(price) FROM {tumbling(10)} GROUP BY ALL",
        "WindowAggregate(TUMBLE)",
    ),
    _program(
        "tumble_rowtime",
        f"SELECT TUMBLE_ROWTIME({T}) AS r, COUNT(*) AS n FROM bids GROUP BY TUMBLE({T})",
        f"SELECT window_end - INTERVAL '1 millisecond', COUNT(*) FROM {tumbling(10)} GROUP BY ALL",
    ),
    _program(
        "tumble_of_tumble",
        "SELECT TUMBLE_START(r, INTERVAL '30' MINUTE) AS s, SUM(n) AS n, COUNT(*) AS w FROM (SELECT "
        f"TUMBLE_ROWTIME({T}) AS r, COUNT(*) AS n FROM bids GROUP BY TUMBLE({T})) AS t "
        "GROUP BY TUMBLE(r, INTERVAL '30' MINUTE)",
        "SELECT time_bucket(INTERVAL '30 minutes', window_start, TIMESTAMP '2024-01-01'), SUM(n), COUNT(*) FROM "
        f"(SELECT window_start, COUNT(*) AS n FROM {tumbling(10)} GROUP BY ALL) GROUP BY 1",
    ),
    _program(
        "hop",
        f"SELECT HOP_START({H}) AS s, HOP_END({H}) AS e, MAX(price) AS m, COUNT(DISTINCT item) AS d FROM bids "
        f"GROUP BY HOP({H})",
        f"SELECT window_start, window_end, MAX(price), COUNT(DISTINCT item) FROM {hopping(5, 15)} GROUP BY ALL",
        "WindowAggregate(HOP)",
    ),
    _program(
        "hop_by_two_keys",
        f"SELECT who, item, HOP_END({H}) AS e, COUNT(*) AS n FROM bids GROUP BY who, item, HOP({H})",
        f"SELECT who, item, window_end, COUNT(*) FROM {hopping(5, 15)} GROUP BY ALL",
    ),
    _program(
        "session",
        f"SELECT item, SESSION_START({S}) AS s, SESSION_END({S}) AS e, COUNT(*) AS n, MIN(price) AS m FROM bids "
        f"GROUP BY SESSION({S}), item",
        f"SELECT item, window_start, window_end, COUNT(*), MIN(price) FROM {sessions(6)} GROUP BY ALL",
        "WindowAggregate(SESSION)",
    ),
    _program(
        "session_of_all",
        f"SELECT SESSION_ROWTIME({S}) AS r, SUM(price) AS p FROM bids GROUP BY SESSION({S})",
        f"SELECT window_end - INTERVAL '1 millisecond', SUM(price) FROM {sessions(6, None)} GROUP BY ALL",
    ),
    _program(
        "having",
        f"SELECT TUMBLE_START({T}) AS s, AVG(CAST(price AS DOUBLE)) AS a FROM bids GROUP BY TUMBLE({T}) "
        "HAVING COUNT(*) > 2",
        f"SELECT window_start, AVG(price) FROM {tumbling(10)} GROUP BY ALL HAVING COUNT(*) > 2",
    ),
    _program(
        "filtered",
        f"SELECT TUMBLE_END({T}) AS e, COUNT(*) FILTER (WHERE who = 'Ann') AS a, SUM(price) FILTER (WHERE price > 9) "
        f"AS p FROM bids WHERE item IS NOT NULL GROUP BY TUMBLE({T})",
        "SELECT window_end, COUNT(*) FILTER (WHERE who = 'Ann'), SUM(price) FILTER (WHERE price > 9) FROM "
        f"{tumbling(10)} WHERE item IS NOT NULL GROUP BY ALL",
    ),
]
