"""Joins in which time matters: interval joins, temporal joins, lookup joins."""

from __future__ import annotations

from dataclasses import replace

from tests.table.programs.program import STREAMING, Program, Source
from tests.table.programs.timed import ASKS, BIDS, at

BETWEEN = "a.ts BETWEEN b.ts - INTERVAL '5' MINUTE AND b.ts + INTERVAL '10' MINUTE"
AFTER = "a.ts > b.ts AND a.ts < b.ts + INTERVAL '12' MINUTE"


def _interval(name: str, kind: str, on: str = f"b.item = a.item AND {BETWEEN}") -> Program:
    sql = f"SELECT b.id, a.ask, a.ts AS at FROM bids AS b {kind} JOIN asks AS a ON {on}"
    return Program(f"interval_{name}", sql, (BIDS, ASKS), operators=("IntervalJoin",), changes="[I]")


INTERVALS = [
    *(_interval(kind.lower(), kind) for kind in ("INNER", "LEFT", "RIGHT", "FULL")),
    _interval("after", "INNER", f"b.item = a.item AND {AFTER}"),
    _interval("left_after", "LEFT", f"b.item = a.item AND {AFTER}"),
    _interval("with_more", "FULL", f"b.item = a.item AND {BETWEEN} AND b.price < a.ask"),
    _interval("exact", "LEFT", "b.item = a.item AND a.ts = b.ts + INTERVAL '1' MINUTE"),
    replace(
        _interval("semi", "INNER"),
        sql=f"SELECT b.id FROM bids AS b WHERE EXISTS (SELECT 1 FROM asks AS a WHERE b.item = a.item AND {BETWEEN})",
        operators=(),
        changes=None,
    ),
    replace(
        _interval("anti", "INNER"),
        sql=f"SELECT b.id FROM bids AS b WHERE NOT EXISTS (SELECT 1 FROM asks AS a WHERE b.item = a.item AND "
        f"{BETWEEN})",
        operators=(),
        changes=None,
    ),
    Program(
        "interval_then_window",
        "SELECT TUMBLE_START(bt, INTERVAL '10' MINUTE) AS s, COUNT(*) AS n FROM (SELECT b.ts AS bt, a.ask FROM "
        "bids AS b "
        f"JOIN asks AS a ON b.item = a.item AND {BETWEEN}) AS j GROUP BY TUMBLE(bt, INTERVAL '10' MINUTE)",
        (BIDS, ASKS),
        duckdb="SELECT time_bucket(INTERVAL '10 minutes', b.ts, TIMESTAMP '2024-01-01'), COUNT(*) FROM bids AS b "
        f"JOIN asks AS a ON b.item = a.item AND {BETWEEN} GROUP BY 1",
        operators=("IntervalJoin", "WindowAggregate(TUMBLE)"),
        changes="[I]",
    ),
]
RATES = Source(
    "rates",
    "money STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (money) NOT ENFORCED",
    (
        ("+I", "EUR", 110, at("09:00")),
        ("+I", "YEN", 1, at("09:00")),
        ("+U", "EUR", 114, at("10:10")),
        ("-D", "YEN", 1, at("10:15")),
        ("+U", "EUR", 116, at("10:30")),
        ("+I", "YEN", 2, at("10:40")),
    ),
    mode="I,UA,D",
)
PAID = Source(
    "paid",
    "id INT, money STRING, amount INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '3' MINUTE",
    (
        (1, "EUR", 1, at("08:59")),
        (2, "EUR", 2, at("09:00")),
        (3, "YEN", 100, at("10:14")),
        (4, "EUR", 3, at("10:12")),
        (5, "YEN", 100, at("10:15")),
        (6, "USD", 7, at("10:16")),
        (7, "EUR", 5, at("10:30")),
        (8, None, 5, at("10:31")),
        (9, "YEN", 200, at("10:59")),
        (10, "EUR", 1, at("10:58")),
    ),
)
HISTORY = Source("history", "item STRING, ask INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts", ASKS.rows)
TEMPORAL = "FROM paid AS p {kind} JOIN rates FOR SYSTEM_TIME AS OF p.ts AS r ON p.money = r.money"
VERSIONS = (
    "WITH v AS (SELECT item, ask, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ts DESC) AS n "
    "FROM prices) AS t WHERE n = 1) "
)
PRICES = Source(
    "prices",
    "item STRING, ask INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE",
    (
        ("pen", 11, at("09:58")),
        ("ink", 6, at("10:01")),
        ("pen", 13, at("10:05")),
        ("pad", 4, at("10:12")),
        ("ink", 9, at("10:12:30")),
        ("pen", 8, at("10:31")),
        ("pad", 2, at("10:45")),
    ),
)
AS_OF = (
    "SELECT b.id, (SELECT p.ask FROM prices AS p WHERE p.item = b.item AND p.ts <= b.ts ORDER BY p.ts DESC LIMIT 1) "
    "AS ask FROM bids AS b"
)
TEMPORALS = [
    Program(
        "temporal_inner",
        f"SELECT p.id, p.amount * r.rate AS v {TEMPORAL.format(kind='')}",
        (PAID, RATES),
        rows=((2, 220), (3, 100), (4, 342), (7, 580), (9, 400), (10, 116)),
        operators=("TemporalJoin", "ChangelogNormalize"),
        changes="[I]",
        only=STREAMING,
        why="versions of a changelog",
    ),
    Program(
        "temporal_left",
        f"SELECT p.id, r.rate, r.ts AS since {TEMPORAL.format(kind='LEFT')}",
        (PAID, RATES),
        rows=(
            (1, None, None),
            (2, 110, at("09:00")),
            (3, 1, at("09:00")),
            (4, 114, at("10:10")),
            (5, None, None),
            (6, None, None),
            (7, 116, at("10:30")),
            (8, None, None),
            (9, 2, at("10:40")),
            (10, 116, at("10:30")),
        ),
        changes="[I]",
        only=STREAMING,
        why="versions of a changelog",
    ),
    Program(
        "temporal_sum",
        f"SELECT p.money, SUM(p.amount * r.rate) AS v {TEMPORAL.format(kind='')} GROUP BY p.money",
        (PAID, RATES),
        rows=(("EUR", 220 + 342 + 580 + 116), ("YEN", 500)),
        changes="[I,UB,UA]",
        only=STREAMING,
        why="versions of a changelog",
    ),
    Program(
        "temporal_versioned_view",
        f"{VERSIONS} SELECT b.id, v.ask FROM bids AS b LEFT JOIN v FOR SYSTEM_TIME AS OF b.ts ON b.item = v.item",
        (BIDS, PRICES),
        duckdb=AS_OF,
        operators=("TemporalJoin",),
        changes="[I]",
        only=STREAMING,
        why="versions of a deduplication",
    ),
    Program(
        "temporal_versioned_view_condition",
        f"{VERSIONS} SELECT b.id, v.ask FROM bids AS b JOIN v FOR SYSTEM_TIME AS OF b.ts ON b.item = v.item "
        "AND v.ask < b.price",
        (BIDS, PRICES),
        duckdb=f"SELECT t.id, ask FROM ({AS_OF}) AS t JOIN bids USING (id) WHERE ask < price",
        only=STREAMING,
        why="versions of a deduplication",
    ),
    Program(
        "temporal_newest_row",
        "SELECT c.id, r.rate FROM calls AS c LEFT JOIN rates FOR SYSTEM_TIME AS OF c.p AS r ON c.money = r.money",
        (
            Source(
                "calls",
                "id INT, money STRING, p AS PROCTIME()",
                ((1, "EUR"), (2, "YEN"), (3, "USD"), (4, None)),
                after=True,
            ),
            RATES,
        ),
        rows=((1, 116), (2, 2), (3, None), (4, None)),
        changes="[I]",
        only=STREAMING,
        why="the newest row when the other comes",
    ),
]
CLICKS = Source(
    "clicks",
    "id INT, good INT, shop STRING, p AS PROCTIME()",
    ((1, 10, "n"), (2, 20, "n"), (3, None, "s"), (4, 10, "s"), (5, 77, "n")),
)
GOODS = Source(
    "goods",
    "id INT, label STRING, shop STRING",
    ((10, "pen", "n"), (10, "pencil", "s"), (20, "ink", "s"), (30, "pad", "n")),
    lookup=True,
)
LOOKUP = "FROM clicks AS c {kind} JOIN goods FOR SYSTEM_TIME AS OF c.p AS g ON c.good = g.id"


def _lookup(name: str, sql: str, *rows: tuple[object, ...]) -> Program:
    return Program(
        f"lookup_{name}",
        sql,
        (CLICKS, GOODS),
        rows=rows,
        operators=("LookupJoin",),
        only=STREAMING,
        why="batch reads tables of these tests as values",
    )


LOOKUPS = [
    _lookup(
        "inner",
        f"SELECT c.id, g.label {LOOKUP.format(kind='')}",
        (1, "pen"),
        (1, "pencil"),
        (2, "ink"),
        (4, "pen"),
        (4, "pencil"),
    ),
    _lookup(
        "left",
        f"SELECT c.id, g.label {LOOKUP.format(kind='LEFT')} AND c.shop = g.shop",
        (1, "pen"),
        (2, None),
        (3, None),
        (4, "pencil"),
        (5, None),
    ),
    _lookup(
        "left_condition",
        f"SELECT c.id, g.label {LOOKUP.format(kind='LEFT')} AND g.label <> 'pen' AND c.id > 1",
        (1, None),
        (2, "ink"),
        (3, None),
        (4, "pencil"),
        (5, None),
    ),
    _lookup(
        "constant",
        f"SELECT c.id, g.label {LOOKUP.format(kind='')} AND g.shop = 's'",
        (1, "pencil"),
        (2, "ink"),
        (4, "pencil"),
    ),
    _lookup(
        "aggregated",
        f"SELECT g.label, COUNT(*) AS n {LOOKUP.format(kind='')} GROUP BY g.label",
        ("pen", 2),
        ("pencil", 2),
        ("ink", 1),
    ),
]
PROGRAMS = [*INTERVALS, *TEMPORALS, *LOOKUPS]
