"""What only time decides: late rows, the watermark as a value, processing time, state that expires."""

from __future__ import annotations

from tests.table.programs.program import STREAMING, Program, Source
from tests.table.programs.timed import at

LATE = Source(
    "late",
    "id INT, k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE",
    (
        (1, "a", at("10:01")),
        (2, "a", at("10:09")),
        (3, "b", at("10:10:30")),  # the watermark is 10:09:30
        (4, "a", at("10:08")),  # behind it, but its window is open
        (5, "a", at("10:11")),  # the watermark is 10:10: windows that end there fire
        (6, "a", at("10:09:59")),  # late
        (7, "b", at("10:25")),
        (8, "b", at("10:12")),  # late: its window ended at 10:20, the watermark is 10:24
        (9, "b", at("10:21")),
        (10, "a", at("10:40")),
    ),
)
WHY = "which rows are late follows from the order in which they come"


def _late(name: str, sql: str, *rows: tuple[object, ...]) -> Program:
    return Program(f"late_{name}", sql, (LATE,), rows=rows, changes="[I]", only=STREAMING, why=WHY, paced=True)


W = "TABLE(TUMBLE(TABLE late, DESCRIPTOR(ts), INTERVAL '10' MINUTE))"
LATES = [
    _late(
        "tumble",
        f"SELECT window_start, COUNT(*) AS n, MIN(id) AS a, MAX(id) AS z FROM {W} GROUP BY window_start, window_end",
        (at("10:00"), 3, 1, 4),
        (at("10:10"), 2, 3, 5),
        (at("10:20"), 2, 7, 9),
        (at("10:40"), 1, 10, 10),
    ),
    _late(
        "group_window",
        "SELECT TUMBLE_START(ts, INTERVAL '10' MINUTE) AS s, k, COUNT(*) AS n FROM late "
        "GROUP BY TUMBLE(ts, INTERVAL '10' MINUTE), k",
        (at("10:00"), "a", 3),
        (at("10:10"), "b", 1),
        (at("10:10"), "a", 1),
        (at("10:20"), "b", 2),
        (at("10:40"), "a", 1),
    ),
    _late(  # Row 6 is late for 10:00-10:10, but not for 10:05-10:15; row 8 only for its second window.
        "hop",
        "SELECT window_end, COUNT(*) AS n FROM TABLE(HOP(TABLE late, DESCRIPTOR(ts), INTERVAL '5' MINUTE, "
        "INTERVAL '10' MINUTE)) GROUP BY window_start, window_end",
        (at("10:05"), 1),
        (at("10:10"), 3),
        (at("10:15"), 5),
        (at("10:20"), 2),
        (at("10:25"), 1),
        (at("10:30"), 2),
        (at("10:35"), 1),
        (at("10:45"), 1),
        (at("10:50"), 1),
    ),
    _late(
        "window_top",
        "SELECT window_end, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end "
        f"ORDER BY id DESC) AS n FROM {W}) AS t WHERE n = 1",
        (at("10:10"), 4),
        (at("10:20"), 5),
        (at("10:30"), 9),
        (at("10:50"), 10),
    ),
    _late(  # OVER drops what is at or before the watermark when it comes
        "over",
        "SELECT id, COUNT(*) OVER (PARTITION BY k ORDER BY ts) AS n FROM late",
        (1, 1),
        (2, 2),
        (3, 1),
        (5, 3),
        (7, 2),
        (10, 4),
    ),
    Program(
        "current_watermark_finds_late_rows",
        "SELECT id FROM late WHERE CURRENT_WATERMARK(ts) IS NULL OR ts > CURRENT_WATERMARK(ts)",
        (LATE,),
        rows=((1,), (2,), (3,), (5,), (7,), (10,)),
        changes="[I]",
        only=STREAMING,
        why="there is no watermark in batch mode",
        paced=True,
    ),
    Program(
        "current_watermark",
        "SELECT id, CURRENT_WATERMARK(ts) AS w FROM late WHERE id < 5",
        (LATE,),
        rows=((1, None), (2, at("10:00")), (3, at("10:08")), (4, at("10:09:30"))),
        changes="[I]",
        only=STREAMING,
        why="there is no watermark in batch mode",
        paced=True,
    ),
]
PACED = Source(
    "paced", "k STRING, n INT, p AS PROCTIME()", tuple((each, number) for number, each in enumerate("abaaba", 1))
)
EXPIRING = Source("expiring", "k STRING, n INT", tuple((each, number) for number, each in enumerate("aaabbbba", 1)))
TTL = {"table.exec.state.ttl": "3500 ms"}
PROCESSING = "processing time"
EXPIRY = "state expires in processing time"


def _paced(
    name: str, table: Source, sql: str, rows: tuple[tuple[object, ...], ...], why: str, **how: object
) -> Program:
    return Program(name, sql, (table,), rows=rows, only=STREAMING, why=why, paced=True, **how)  # type: ignore[arg-type]


CLOCK = [
    _paced(
        "proctime_over_rows",
        PACED,
        "SELECT k, n, SUM(n) OVER (PARTITION BY k ORDER BY p ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM paced",
        (("a", 1, 1), ("b", 2, 2), ("a", 3, 4), ("a", 4, 7), ("b", 5, 7), ("a", 6, 10)),
        PROCESSING,
        changes="[I]",
    ),
    _paced(
        "proctime_over_range",
        PACED,
        "SELECT n, COUNT(*) OVER (ORDER BY p RANGE BETWEEN INTERVAL '2' SECOND PRECEDING AND CURRENT ROW) AS c "
        "FROM paced",
        ((1, 1), (2, 2), (3, 3), (4, 3), (5, 3), (6, 3)),
        PROCESSING,
        changes="[I]",
    ),
    _paced(
        "proctime_first_row",
        PACED,
        "SELECT k, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p) AS r FROM paced) AS t WHERE r = 1",
        (("a", 1), ("b", 2)),
        PROCESSING,
        changes="[I]",
    ),
    _paced(
        "proctime_last_row",
        PACED,
        "SELECT k, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p DESC) AS r FROM paced) AS t "
        "WHERE r = 1",
        (("a", 6), ("b", 5)),
        PROCESSING,
        changes="[I,UB,UA]",
    ),
    _paced(
        "proctime_tumble",  # the second window is not over when the input ends, so it never fires
        PACED,
        "SELECT COUNT(*) AS c, MAX(n) AS m FROM TABLE(TUMBLE(TABLE paced, DESCRIPTOR(p), INTERVAL '4' SECOND)) "
        "GROUP BY window_start, window_end",
        ((4, 4),),
        PROCESSING,
        changes="[I]",
    ),
    _paced(
        "ttl_of_an_aggregate",  # a: 1, 2, 3, then nothing for five seconds
        EXPIRING,
        "SELECT k, COUNT(*) AS c, SUM(n) AS s FROM expiring GROUP BY k",
        (("a", 3, 6), ("a", 1, 8), ("b", 4, 22)),
        EXPIRY,
        settings=TTL,
    ),
    _paced(
        "ttl_of_distinct",
        EXPIRING,
        "SELECT DISTINCT k FROM expiring",
        (("a",), ("a",), ("b",)),
        EXPIRY,
        settings=TTL,
    ),
    _paced(
        "ttl_hint",
        EXPIRING,
        "SELECT /*+ STATE_TTL('expiring' = '3500ms') */ k, MAX(n) AS m FROM expiring GROUP BY k",
        (("a", 3), ("a", 8), ("b", 7)),
        EXPIRY,
    ),
]
PROGRAMS = [*LATES, *CLOCK]
