"""Windowing table functions: TUMBLE, HOP, CUMULATE, SESSION, with aggregates, Top-N, deduplication and joins."""

from __future__ import annotations

from tests.table.programs.program import Program
from tests.table.programs.timed import ASKS, BIDS, cumulating, hopping, sessions, tumbling

TUMBLE = "TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' MINUTE))"
TUMBLED_ASKS = "TABLE(TUMBLE(TABLE asks, DESCRIPTOR(ts), INTERVAL '10' MINUTE))"
SHIFTED = "TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' MINUTE, INTERVAL '3' MINUTE))"
HOP = "TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '5' MINUTE, INTERVAL '15' MINUTE))"
HOP_SHIFTED = "TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '5' MINUTE, INTERVAL '15' MINUTE, INTERVAL '2' MINUTE))"
CUMULATE = "TABLE(CUMULATE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' MINUTE, INTERVAL '30' MINUTE))"
CUMULATE_SHIFTED = (
    "TABLE(CUMULATE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' MINUTE, INTERVAL '30' MINUTE, INTERVAL '5' MINUTE))"
)
SESSION = "TABLE(SESSION(TABLE bids PARTITION BY item, DESCRIPTOR(ts), INTERVAL '6' MINUTE))"
ONE_SESSION = "TABLE(SESSION(TABLE bids, DESCRIPTOR(ts), INTERVAL '6' MINUTE))"


def _program(name: str, sql: str, flink: str, duckdb: str, *operators: str, changes: str | None = "[I]") -> Program:
    """A query over a window ``{w}``, which the engines write differently."""
    return Program(
        name, sql.replace("{w}", flink), (BIDS,), None, sql.replace("{w}", duckdb), operators=operators, changes=changes
    )


ROWS = "SELECT id, window_start, window_end FROM {w}"
SUMS = "SELECT window_start, window_end, SUM(price) AS s, COUNT(*) AS n FROM {w} GROUP BY window_start, window_end"
BY_ITEM = (
    "SELECT item, window_start, window_end, SUM(price) AS s, COUNT(price) AS n, MAX(who) AS w FROM {w} "
    "GROUP BY window_start, window_end, item"
)
DISTINCT = (
    "SELECT window_end, COUNT(DISTINCT who) AS d, COUNT(*) FILTER (WHERE price > 8) AS f FROM {w} "
    "GROUP BY window_start, window_end"
)
WINDOWS = {
    "tumble": (TUMBLE, tumbling(10), "TUMBLE"),
    "tumble_offset": (SHIFTED, tumbling(10, offset=3), "TUMBLE"),
    "hop": (HOP, hopping(5, 15), "HOP"),
    "hop_offset": (HOP_SHIFTED, hopping(5, 15, offset=2), "HOP"),
    "cumulate": (CUMULATE, cumulating(10, 30), "CUMULATE"),
    "cumulate_offset": (CUMULATE_SHIFTED, cumulating(10, 30, offset=5), "CUMULATE"),
}
OF_EACH = [
    each
    for name, (flink, duckdb, kind) in WINDOWS.items()
    for each in (
        _program(f"{name}_rows", ROWS, flink, duckdb, f"WindowTableFunction({kind})"),
        _program(f"{name}_sums", SUMS, flink, duckdb, f"WindowAggregate({kind})"),
        _program(f"{name}_by_item", BY_ITEM, flink, duckdb, f"WindowAggregate({kind})"),
        _program(f"{name}_distinct", DISTINCT, flink, duckdb, f"WindowAggregate({kind})"),
    )
]
SESSIONS = [
    _program("session_rows", ROWS, SESSION, sessions(6), "WindowTableFunction(SESSION)"),
    _program("session_by_item", BY_ITEM, SESSION, sessions(6), "WindowAggregate(SESSION)"),
    _program("session_of_all", SUMS, ONE_SESSION, sessions(6, None), "WindowAggregate(SESSION)"),
    _program("session_distinct", DISTINCT.replace("end, C", "end, item, C") + ", item", SESSION, sessions(6)),
]
MORE = [
    _program(
        "window_grouping_sets",
        "SELECT window_start, item, who, COUNT(*) AS n FROM {w} "
        "GROUP BY window_start, window_end, GROUPING SETS ((item), (who), ())",
        TUMBLE,
        tumbling(10),
        "Expand",
    ),
    _program(
        "window_rollup",
        "SELECT window_start, item, SUM(price) AS s FROM {w} GROUP BY window_start, window_end, ROLLUP (item)",
        HOP,
        hopping(5, 15),
    ),
    _program(
        "window_having",
        "SELECT item, window_end, AVG(price * 1.0) AS a FROM {w} GROUP BY item, window_start, window_end "
        "HAVING COUNT(*) > 1",
        CUMULATE,
        cumulating(10, 30),
    ),
    _program(
        "one_bound_of_a_window",
        "SELECT window_end, MAX(price) AS m FROM {w} GROUP BY window_end",
        TUMBLE,
        tumbling(10),
        "GroupAggregate",
        changes="[I,UB,UA]",
    ),
    _program(
        "window_where",
        "SELECT window_start, MIN(price) AS m FROM {w} WHERE item <> 'pen' GROUP BY window_start, window_end",
        TUMBLE,
        tumbling(10),
    ),
    _program(
        "window_of_computed",
        "SELECT window_start, CASE WHEN price > 8 THEN 'high' ELSE 'low' END AS c, COUNT(*) AS n FROM {w} "
        "GROUP BY window_start, window_end, CASE WHEN price > 8 THEN 'high' ELSE 'low' END",
        TUMBLE,
        tumbling(10),
    ),
    _program(
        "window_top_2",
        "SELECT window_start, item, id, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end "
        "ORDER BY price DESC NULLS LAST, id) AS n FROM {w}) AS t WHERE n <= 2",
        TUMBLE,
        tumbling(10),
        "WindowRank",
    ),
    _program(
        "window_top_1_by_item",
        "SELECT window_end, item, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, item "
        "ORDER BY price DESC NULLS LAST, id) AS n FROM {w}) AS t WHERE n <= 1",
        HOP,
        hopping(5, 15),
    ),
    _program(
        "window_top_of_sums",
        "SELECT window_start, item, s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end "
        "ORDER BY s DESC, item) AS n FROM (SELECT window_start, window_end, item, SUM(price) AS s FROM {w} "
        "WHERE item <> '' GROUP BY window_start, window_end, item) AS g) AS t WHERE n = 1",
        TUMBLE,
        tumbling(10),
        "WindowAggregate(TUMBLE)",
        "WindowRank",
    ),
    _program(
        "window_deduplication_last",
        "SELECT window_start, item, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, item "
        "ORDER BY ts DESC) AS n FROM {w} WHERE id <> 12) AS t WHERE n = 1",
        TUMBLE,
        tumbling(10),
    ),
    _program(
        "window_deduplication_first",
        "SELECT window_start, item, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, item "
        "ORDER BY ts) AS n FROM {w} WHERE id <> 12) AS t WHERE n = 1",
        TUMBLE,
        tumbling(10),
    ),
    Program(
        "windows_of_windows",
        "SELECT window_start, window_end, SUM(s) AS s FROM TABLE(TUMBLE(TABLE (SELECT window_time AS wt, SUM(price) "
        f"AS s FROM {TUMBLE} GROUP BY window_start, window_end, window_time), DESCRIPTOR(wt), INTERVAL '30' MINUTE)) "
        "GROUP BY window_start, window_end",
        (BIDS,),
        duckdb=f"SELECT window_start, window_end, SUM(price) FROM {tumbling(30)} GROUP BY window_start, window_end",
        operators=("WindowAggregate(TUMBLE)",),
        changes="[I]",
    ),
    Program(
        "window_time_is_the_last_moment",
        f"SELECT window_time, COUNT(*) AS n FROM {TUMBLE} GROUP BY window_start, window_end, window_time",
        (BIDS,),
        duckdb=f"SELECT window_end - INTERVAL '1 millisecond', COUNT(*) FROM {tumbling(10)} GROUP BY window_end",
    ),
    Program(
        "cumulate_of_tumble",
        "SELECT window_start, window_end, SUM(n) AS n FROM TABLE(CUMULATE(TABLE (SELECT window_time AS wt, COUNT(*) "
        f"AS n FROM {TUMBLE} GROUP BY window_start, window_end, window_time), DESCRIPTOR(wt), INTERVAL '10' MINUTE, "
        "INTERVAL '30' MINUTE)) GROUP BY window_start, window_end",
        (BIDS,),
        duckdb=f"SELECT window_start, window_end, COUNT(*) FROM {cumulating(10, 30)} GROUP BY window_start, window_end",
    ),
]
JOINED = "SELECT l.id, r.ask FROM {l} AS l {kind} JOIN {r} AS r ON {on}"
ON = "l.item = r.item AND l.window_start = r.window_start AND l.window_end = r.window_end"


def _joins(name: str, kind: str, on: str = ON, text: str = JOINED) -> Program:
    sql = text.replace("{kind}", kind).replace("{on}", on)
    return Program(
        f"window_join_{name}",
        sql.replace("{l}", f"(SELECT * FROM {TUMBLE})").replace("{r}", f"(SELECT * FROM {TUMBLED_ASKS})"),
        (BIDS, ASKS),
        duckdb=sql.replace("{l}", tumbling(10)).replace("{r}", tumbling(10, "asks")),
        operators=("WindowJoin",),
        changes="[I]",
    )


IN = "SELECT l.id FROM {l} AS l WHERE l.item {kind} (SELECT r.item FROM {r} AS r WHERE {on})"
EXISTS = "SELECT l.id FROM {l} AS l WHERE {kind} (SELECT 1 FROM {r} AS r WHERE {on})"
SAME_WINDOW = "l.window_start = r.window_start AND l.window_end = r.window_end"
JOINS = [
    *(_joins(kind.lower(), kind) for kind in ("INNER", "LEFT", "RIGHT", "FULL")),
    _joins("with_condition", "INNER", f"{ON} AND l.price < r.ask"),
    _joins("left_with_condition", "LEFT", f"{ON} AND l.price < r.ask"),
    _joins("of_windows_alone", "INNER", SAME_WINDOW),
    _joins("semi", "IN", SAME_WINDOW, IN),
    _joins("exists", "EXISTS", ON, EXISTS),
    _joins("anti", "NOT EXISTS", ON, EXISTS),
    _joins("not_in", "NOT IN", SAME_WINDOW, IN),
]
PROGRAMS = [*OF_EACH, *SESSIONS, *MORE, *JOINS]
