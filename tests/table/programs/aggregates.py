"""Aggregates of every kind: what they make of rows that are taken back, and how they are split among operators."""

from __future__ import annotations

from typing import Any

from tests.table.programs.changing import ACCOUNTS, STOCK
from tests.table.programs.program import Program
from tests.table.programs.timed import BIDS

from millrace.table import DataTypes
from millrace.table.udf import AggregateFunction, udaf

TWO_PHASE, ONE_PHASE, SPLIT = (
    {"table.optimizer.agg-phase-strategy": "TWO_PHASE"},
    {"table.optimizer.agg-phase-strategy": "ONE_PHASE"},
    {"table.optimizer.distinct-agg.split.enabled": "true"},
)


def _stock(name: str, call: str, *rows: tuple[Any, ...]) -> Program:
    """An aggregate for each shop. At the end there are: north 1 pen, 4 pad, 9 pen; south 3 pen, 8 ink; no shop 6 ink;
    west 7 tip, whose amount is NULL."""
    return Program(f"retracted_{name}", f"SELECT shop, {call} AS x FROM stock GROUP BY shop", (STOCK,), rows=rows)


RETRACTED = [
    _stock("listagg", "LISTAGG(CAST(id AS STRING))", ("north", "1,4,9"), ("south", "3,8"), (None, "6"), ("west", "7")),
    _stock(
        "listagg_separator",
        "LISTAGG(CAST(id AS STRING), '; ')",
        ("north", "1; 4; 9"),
        ("south", "3; 8"),
        (None, "6"),
        ("west", "7"),
    ),
    _stock(
        "collect",
        "COLLECT(item)",
        ("north", {"pen": 2, "pad": 1}),
        ("south", {"pen": 1, "ink": 1}),
        (None, {"ink": 1}),
        ("west", {"tip": 1}),
    ),
    _stock("array_agg", "ARRAY_AGG(id)", ("north", [1, 4, 9]), ("south", [3, 8]), (None, [6]), ("west", [7])),
    _stock("first_value", "FIRST_VALUE(id)", ("north", 1), ("south", 3), (None, 6), ("west", 7)),
    _stock("last_value", "LAST_VALUE(id)", ("north", 9), ("south", 8), (None, 6), ("west", 7)),
    _stock("avg_of_whole_numbers", "AVG(amount)", ("north", 7), ("south", 12), (None, 4), ("west", None)),
    _stock(
        "json_arrayagg", "JSON_ARRAYAGG(id)", ("north", "[1,4,9]"), ("south", "[3,8]"), (None, "[6]"), ("west", "[7]")
    ),
    _stock(
        "json_objectagg",
        "JSON_OBJECTAGG(KEY CAST(id AS STRING) VALUE amount)",
        ("north", '{"1":8,"4":6,"9":8}'),
        ("south", '{"3":20,"8":4}'),
        (None, '{"6":4}'),
        ("west", '{"7":null}'),
    ),
    _stock("bitmap", "BITMAP_BUILD_CARDINALITY_AGG(id)", ("north", 3), ("south", 2), (None, 1), ("west", 1)),
    Program(
        "retracted_percentile",
        "SELECT shop, PERCENTILE(price, 0.5) AS x FROM stock GROUP BY shop",
        (STOCK,),
        duckdb="SELECT shop, quantile_cont(price, 0.5) FROM stock GROUP BY shop",
    ),
]
_SHOPS = (("north", 3), ("south", 2), (None, 1), ("west", 1))
GROUPING_SETS = [
    Program(
        "group_id_of_different_sets",
        "SELECT shop, GROUP_ID() AS g, COUNT(*) AS n FROM stock GROUP BY GROUPING SETS ((shop), ())",
        (STOCK,),
        rows=((None, 0, 7), *((shop, 0, count) for shop, count in _SHOPS)),
    ),
    Program(
        "group_id_numbers_sets_that_repeat",
        "SELECT shop, item = 'pen' AS p, GROUP_ID() AS g, GROUPING(shop) AS s, COUNT(*) AS n FROM stock "
        "GROUP BY GROUPING SETS ((shop), (shop), (item = 'pen'), (shop))",
        (STOCK,),
        rows=(
            (None, True, 0, 1, 3),
            (None, False, 0, 1, 4),
            *((shop, None, number, 0, count) for shop, count in _SHOPS for number in range(3)),
        ),
    ),
]
EXTREMES = [
    Program(
        f"retracted_{name}",
        f"SELECT {call} AS x, {other} AS y FROM accounts WHERE id > 1 GROUP BY city",
        (ACCOUNTS,),
    )
    for name, call, other in (
        ("max_text", "MAX(owner)", "MIN(owner)"),
        ("max_number", "MAX(balance)", "MIN(id)"),
        ("counts", "COUNT(DISTINCT owner)", "COUNT(balance)"),
        ("sums", "SUM(balance)", "SUM(DISTINCT id)"),
        ("distinct_constants", "COUNT(DISTINCT 'a')", "COUNT(DISTINCT 1) FILTER (WHERE balance > 40)"),
        ("filtered", "COUNT(*) FILTER (WHERE balance > 40)", "MAX(id) FILTER (WHERE owner <> 'Bob')"),
    )
]
DISTINCTS = "SELECT item, COUNT(DISTINCT who) AS w, SUM(DISTINCT price) AS s, COUNT(*) AS n FROM bids GROUP BY item"
FILTERED = (
    "SELECT item, COUNT(DISTINCT who) FILTER (WHERE price > 8) AS a, COUNT(DISTINCT who) FILTER (WHERE price <= "
    "8) AS b, "
    "COUNT(DISTINCT price) AS p FROM bids GROUP BY item"
)
MIXED = "SELECT MIN(price) AS a, MAX(ts) AS z, AVG(CAST(price AS DOUBLE)) AS m, COUNT(DISTINCT item) AS i FROM bids"
PLAIN = "SELECT who, SUM(price) AS s, MAX(item) AS m, COUNT(*) AS n FROM bids GROUP BY who"
LOCAL = ("LocalGroupAggregate", "GlobalGroupAggregate")
PHASES = [
    Program(f"{name}_{phases}", sql, (BIDS,), settings=settings, operators=operators)
    for name, sql, phases, settings, operators in (
        ("plain", PLAIN, "one_phase", ONE_PHASE, ("GroupAggregate",)),
        ("plain", PLAIN, "two_phases", TWO_PHASE, LOCAL),
        ("distinct", DISTINCTS, "one_phase", ONE_PHASE, ("GroupAggregate",)),
        ("distinct", DISTINCTS, "two_phases", TWO_PHASE, ()),
        ("distinct", DISTINCTS, "split", SPLIT, ()),
        ("filtered_distinct", FILTERED, "one_phase", ONE_PHASE, ()),
        ("filtered_distinct", FILTERED, "split", SPLIT, ()),
        ("mixed", MIXED, "two_phases", TWO_PHASE, ()),
        ("mixed", MIXED, "split", SPLIT, ("Distinct",)),
    )
]
NESTED = [
    Program(
        "aggregate_three_times",
        "SELECT MAX(c) AS m, COUNT(*) AS n FROM (SELECT w, COUNT(*) AS c FROM (SELECT item, COUNT(DISTINCT who) "
        "AS w FROM "
        "bids GROUP BY item) AS t GROUP BY w) AS u",
        (BIDS,),
    ),
    Program(
        "aggregate_of_nothing",
        "SELECT COUNT(*) AS n, SUM(price) AS s, MAX(item) AS m FROM bids WHERE price > 1000",
        (BIDS,),
    ),
    Program("groups_of_nothing", "SELECT item, COUNT(*) AS n FROM bids WHERE price > 1000 GROUP BY item", (BIDS,)),
    Program(
        "group_by_expressions",
        "SELECT price % 3 AS r, item = 'pen' AS p, COUNT(*) AS n FROM bids GROUP BY price % 3, item = 'pen'",
        (BIDS,),
    ),
    Program(
        "totals_joined",
        "SELECT b.id, t.s FROM bids AS b JOIN (SELECT item, SUM(price) AS s FROM bids GROUP BY item) AS t "
        "ON b.item = t.item WHERE b.price * 2 > t.s",
        (BIDS,),
    ),
]


class Spread(AggregateFunction[Any, Any]):
    """The largest minus the smallest value, of values that may be taken back."""

    def create_accumulator(self) -> dict[int, int]:
        return {}

    def accumulate(self, accumulator: dict[int, int], *args: Any) -> None:
        self._add(accumulator, args[0], 1)

    def retract(self, accumulator: dict[int, int], *args: Any) -> None:
        self._add(accumulator, args[0], -1)

    def _add(self, accumulator: dict[int, int], value: int | None, count: int) -> None:
        if value is not None:
            accumulator[value] = accumulator.get(value, 0) + count
            if not accumulator[value]:
                del accumulator[value]

    def get_value(self, accumulator: dict[int, int]) -> int | None:
        return max(accumulator) - min(accumulator) if accumulator else None


SPREAD = udaf(Spread(), result_type=DataTypes.INT(), accumulator_type=DataTypes.MAP(DataTypes.INT(), DataTypes.INT()))
USERS = [
    Program(
        "user_aggregate",
        "SELECT item, spread(price) AS s FROM bids GROUP BY item",
        (BIDS,),
        duckdb="SELECT item, MAX(price) - MIN(price) FROM bids GROUP BY item",
        functions=(("spread", SPREAD),),
    ),
    Program(
        "user_aggregate_retracted",
        "SELECT shop, spread(amount) AS s, COUNT(*) AS n FROM stock GROUP BY shop",
        (STOCK,),
        duckdb="SELECT shop, MAX(amount) - MIN(amount), COUNT(*) FROM stock GROUP BY shop",
        functions=(("spread", SPREAD),),
    ),
    Program(
        "user_aggregate_in_windows",
        "SELECT window_end, spread(price) AS s FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '30' MINUTE)) "
        "GROUP BY window_start, window_end",
        (BIDS,),
        duckdb="SELECT time_bucket(INTERVAL '30 minutes', ts, TIMESTAMP '2024-01-01') + INTERVAL '30 minutes', "
        "MAX(price) - MIN(price) FROM bids GROUP BY 1",
        functions=(("spread", SPREAD),),
    ),
]
PROGRAMS = [*RETRACTED, *GROUPING_SETS, *EXTREMES, *PHASES, *NESTED, *USERS]
