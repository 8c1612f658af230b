"""What depends on an order: OVER by time, Top-N, first and last rows, ORDER BY."""

from __future__ import annotations

from decimal import Decimal

from tests.table.programs.program import Program, Source
from tests.table.programs.timed import ASKS, BIDS

NO_PADS = "FROM bids WHERE id <> 12"
"""row 12 has the time and item of row 11: which of the two comes first is not defined"""


def _over(name: str, sql: str, duckdb: str | None = None, **how: object) -> Program:
    return Program(
        f"over_time_{name}",
        sql,
        (BIDS,),
        duckdb=duckdb,
        operators=("Over",),
        changes="[I]",
        **how,  # type: ignore[arg-type]
    )


OVERS = [
    _over(
        "rows",
        f"SELECT id, SUM(price) OVER (PARTITION BY item ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) "
        f"AS s {NO_PADS}",
    ),
    _over(
        "rows_unbounded",
        f"SELECT id, COUNT(*) OVER w AS n, MAX(price) OVER w AS m {NO_PADS} WINDOW w AS (PARTITION BY item ORDER BY ts "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
    ),
    _over(
        "range_unbounded",
        "SELECT id, SUM(price) OVER (PARTITION BY item ORDER BY ts) AS s, COUNT(*) OVER (PARTITION BY item "
        "ORDER BY ts) AS n FROM bids",
    ),
    _over(
        "range",
        "SELECT id, COUNT(price) OVER w AS n, MIN(price) OVER w AS m FROM bids WINDOW w AS (PARTITION BY item "
        "ORDER BY ts "
        "RANGE BETWEEN INTERVAL '15' MINUTE PRECEDING AND CURRENT ROW)",
    ),
    _over(
        "range_of_all",
        "SELECT id, SUM(price) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '10' MINUTE PRECEDING AND CURRENT ROW) "
        "AS s FROM bids",
    ),
    _over(
        "average",
        f"SELECT id, AVG(CAST(price AS DOUBLE)) OVER (PARTITION BY who ORDER BY ts ROWS BETWEEN 1 PRECEDING AND "
        f"CURRENT ROW) AS a {NO_PADS}",
    ),
    _over(
        "constants_that_are_computed",
        "SELECT id, LAG(CAST(price AS BIGINT), 3 - 1, CAST('-1' AS BIGINT)) OVER w AS p, "
        f"LAG(CAST(price AS BIGINT), 1, 0) OVER w AS q {NO_PADS} WINDOW w AS (PARTITION BY item ORDER BY ts)",
        "SELECT id, LAG(price, 2, -1) OVER w AS p, LAG(price, 1, 0) OVER w AS q "
        f"{NO_PADS} WINDOW w AS (PARTITION BY item ORDER BY ts)",
    ),
    _over(
        "bounds_that_are_computed",
        "SELECT id, SUM(price) OVER (PARTITION BY item ORDER BY ts ROWS BETWEEN 1 + 1 PRECEDING AND CURRENT ROW) AS s, "
        "COUNT(*) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '5' MINUTE * 2 PRECEDING AND CURRENT ROW) AS n FROM bids "
        "WHERE id <> 12",
        "SELECT id, SUM(price) OVER (PARTITION BY item ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s, "
        "COUNT(*) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '10' MINUTE PRECEDING AND CURRENT ROW) AS n FROM bids "
        "WHERE id <> 12",
    ),
    _over("row_number", f"SELECT id, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ts) AS n {NO_PADS}"),
    _over(
        "first_and_last",
        "SELECT id, FIRST_VALUE(id) OVER w AS f, LAST_VALUE(id) OVER w AS l "
        f"{NO_PADS} WINDOW w AS (PARTITION BY item ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
    ),
    _over(
        "lag",
        f"SELECT id, LAG(price) OVER (PARTITION BY item ORDER BY ts) AS p, LAG(id, 2, 0) OVER (PARTITION BY "
        f"item ORDER BY ts) AS q {NO_PADS}",
    ),
    _over(
        "distinct",
        f"SELECT id, COUNT(DISTINCT who) OVER (PARTITION BY item ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING "
        f"AND CURRENT ROW) AS n {NO_PADS}",
    ),
    Program(
        "over_time_then_group",
        "SELECT item, MAX(n) AS m FROM (SELECT item, COUNT(*) OVER (PARTITION BY item ORDER BY ts RANGE BETWEEN "
        "INTERVAL "
        "'20' MINUTE PRECEDING AND CURRENT ROW) AS n FROM bids) AS t GROUP BY item",
        (BIDS,),
        operators=("Over", "GroupAggregate"),
        changes="[I,UB,UA]",
    ),
]
TOP = "SELECT {columns} FROM (SELECT *, {function}() OVER ({window}) AS n FROM bids) AS t WHERE {condition}"


def _top(
    name: str,
    window: str,
    condition: str,
    columns: str = "id",
    function: str = "ROW_NUMBER",
    changes: str = "[I,UB,UA,D]",
) -> Program:
    sql = TOP.format(columns=columns, function=function, window=window, condition=condition)
    return Program(f"top_{name}", sql, (BIDS,), operators=("Rank",), changes=changes)


BY_PRICE = "PARTITION BY item ORDER BY price DESC NULLS LAST, id"
MEASURES = Source(
    "measures",
    "id INT, whole INT, exact DECIMAL(6, 2), approximate DOUBLE",
    (
        (0, 1, Decimal("1.00"), 1.0),
        (1, 2, Decimal("1.05"), 1.07),
        (2, 2, Decimal("2.30"), 2.31),
        (3, 3, Decimal("2.35"), 2.36),
        (4, 5, Decimal("3.60"), 3.63),
        (5, 9, Decimal("4.90"), 4.9),
    ),
)
RANGES = [
    Program(
        f"over_{column}_range_{number}",
        f"SELECT id, COUNT(*) OVER (ORDER BY {column} {order} RANGE BETWEEN {low} AND {high}) AS n FROM measures",
        (MEASURES,),
        rows=tuple(
            (row[0], sum(first <= (other[place] - row[place]) * sign <= last for other in MEASURES.rows))
            for row in MEASURES.rows
        ),
    )
    for place, column in enumerate(("whole", "exact", "approximate"), 1)
    for number, (low, high, first, last, order) in enumerate(
        (
            ("1.3 PRECEDING", "CURRENT ROW", Decimal("-1.3"), 0, ""),
            ("1.301 PRECEDING", "1.3 FOLLOWING", Decimal("-1.301"), Decimal("1.3"), "DESC"),
            ("0.5 FOLLOWING", "2.55 FOLLOWING", Decimal("0.5"), Decimal("2.55"), ""),
            ("3 PRECEDING", "1.251 PRECEDING", -3, Decimal("-1.251"), ""),
        )
    )
    for sign in [-1 if order else 1]
]
GAPS = Source("gaps", "id INT, v INT", ((1, 1), (2, 2), (3, 4), (4, None), (5, None), (6, 6)))
RANGES += [
    Program(
        "over_range_of_null",
        "SELECT id, COUNT(*) OVER (ORDER BY v RANGE BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS n FROM gaps",
        (GAPS,),
        rows=((1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (6, 0)),
    )
]
TOPS = [
    _top("three", BY_PRICE, "n <= 3", "item, id"),
    _top("with_number", BY_PRICE, "n <= 2", "item, id, n"),
    _top("second", BY_PRICE, "n = 2", "item, id"),
    _top("from_two_to_three", BY_PRICE, "n BETWEEN 2 AND 3", "id, n"),
    _top("of_all", "ORDER BY price DESC NULLS LAST, id", "n <= 4", "id, price"),
    _top("ascending", "PARTITION BY who ORDER BY price NULLS FIRST, id DESC", "n <= 2", "who, id"),
    _top("rank", "PARTITION BY item ORDER BY price DESC NULLS LAST", "n <= 2", "id, n", "RANK"),
    _top("dense_rank", "ORDER BY price NULLS LAST", "n <= 3", "id, n", "DENSE_RANK"),
    Program(
        "top_of_sums",
        "SELECT item, s, n FROM (SELECT item, s, ROW_NUMBER() OVER (ORDER BY s DESC, item) AS n FROM (SELECT item, "
        "SUM(price) AS s FROM bids WHERE item <> '' GROUP BY item) AS g) AS t WHERE n <= 2",
        (BIDS,),
        operators=("GroupAggregate", "Rank"),
    ),
    Program(
        "top_of_top",
        "SELECT id FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY price DESC, id) AS n FROM (SELECT id, price, "
        "ROW_NUMBER() "
        "OVER (PARTITION BY item ORDER BY price DESC NULLS LAST, id) AS m FROM bids) AS t WHERE m <= 1) AS u "
        "WHERE n <= 2",
        (BIDS,),
    ),
    Program(
        "order_limit", "SELECT id, price FROM bids ORDER BY price DESC NULLS LAST, id LIMIT 5", (BIDS,), ordered=True
    ),
    Program(
        "order_offset", "SELECT id FROM bids ORDER BY price NULLS LAST, id LIMIT 3 OFFSET 2", (BIDS,), ordered=True
    ),
    Program(
        "order_by_time",
        "SELECT id, ts FROM bids WHERE id <> 9 AND id <> 12 ORDER BY ts",
        (BIDS,),
        ordered=True,
        operators=("TemporalSort",),
        changes="[I]",
    ),
]
ROWS = (
    "SELECT {columns} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY ts {way}) AS n FROM "
    "bids WHERE id <> 12) AS t WHERE n = 1"
)


def _dedup(name: str, way: str, keys: str = "item", columns: str = "item, id", changes: str = "[I,UB,UA]") -> Program:
    return Program(
        f"deduplicate_{name}",
        ROWS.format(columns=columns, keys=keys, way=way),
        (BIDS,),
        operators=("Deduplicate",),
        changes=changes,
    )


DEDUPLICATIONS = [
    _dedup("last", "DESC"),
    _dedup("first", "ASC"),
    _dedup("last_by_two", "DESC", "item, who", "item, who, price"),
    _dedup("with_number", "DESC", columns="item, id, n"),
    Program(
        "deduplicate_then_sum",
        f"SELECT COUNT(*) AS c, SUM(price) AS s FROM "
        f"({ROWS.format(columns='item, price', keys='item', way='DESC')}) AS u",
        (BIDS,),
        operators=("Deduplicate", "GroupAggregate"),
    ),
    Program(
        "deduplicate_then_join",
        f"SELECT u.item, u.id, a.ask FROM ({ROWS.format(columns='item, id', keys='item', way='DESC')}) AS u "
        f"LEFT JOIN asks "
        "AS a ON u.item = a.item",
        (BIDS, ASKS),
        operators=("Deduplicate", "Join"),
    ),
    Program(
        "limit_without_order",
        "SELECT COUNT(*) AS n FROM (SELECT id FROM bids LIMIT 5) AS t",
        (BIDS,),
        rows=((5,),),
    ),
    Program(
        "order_whole",
        "SELECT item, MAX(id) AS m FROM bids GROUP BY item ORDER BY item",
        (BIDS,),
        duckdb="SELECT item, MAX(id) FROM bids GROUP BY item ORDER BY item NULLS FIRST",
        ordered=True,
        operators=("Sort",),
    ),
]
PROGRAMS = [*OVERS, *RANGES, *TOPS, *DEDUPLICATIONS]
