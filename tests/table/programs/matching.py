"""MATCH_RECOGNIZE: the documents' examples, and what each clause means in both ways of matching."""

from __future__ import annotations

import datetime
from typing import Any

from tests.table.programs.program import Program, Source

STANDARD = {"millrace.match-recognize.semantics": "standard"}


def second(number: float) -> datetime.datetime:
    return datetime.datetime(2024, 1, 1, 10) + datetime.timedelta(seconds=number)


def ticks(*prices: int | None, symbol: str = "ACME", gap: float = 1.0, begin: float = 0) -> tuple[Any, ...]:
    return tuple((symbol, second(begin + at * gap), price) for at, price in enumerate(prices))


def ticker(*rows: Any) -> Source:
    columns = "symbol STRING, ts TIMESTAMP(3), price INT, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"
    return Source("ticker", columns, tuple(sorted(rows, key=lambda row: row[1])))


def query(clauses: str, select: str = "*", before: str = "PARTITION BY symbol ORDER BY ts") -> str:
    return f"SELECT {select} FROM ticker MATCH_RECOGNIZE ({before} {clauses})"


BANK = Source(
    "swipes",
    "cardId STRING, `timestamp` TIMESTAMP(3), location STRING, action STRING, "
    "WATERMARK FOR `timestamp` AS `timestamp` - INTERVAL '1' SECOND",
    (
        ("1", datetime.datetime(2018, 4, 13, 12, 0), "Beijing", "Consumption"),
        ("1", datetime.datetime(2018, 4, 13, 12, 5), "Shanghai", "Consumption"),
        ("1", datetime.datetime(2018, 4, 13, 12, 10), "Shenzhen", "Consumption"),
        ("1", datetime.datetime(2018, 4, 13, 12, 20), "Beijing", "Consumption"),
    ),
)
FRAUD = """SELECT starttime, endtime, cardId, event
FROM swipes
MATCH_RECOGNIZE (
  PARTITION BY cardId
  ORDER BY `timestamp`
  MEASURES e2.action AS event, e1.`timestamp` AS starttime, LAST(e2.`timestamp`) AS endtime
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (e1 e2+) WITHIN INTERVAL '10' MINUTE
  DEFINE e1 AS e1.action = 'Consumption', e2 AS e2.action = 'Consumption' AND e2.location <> e1.location
)"""


def noon(minute: int) -> datetime.datetime:
    return datetime.datetime(2018, 4, 13, 12, minute)


DIP = ticker(*ticks(12, 17, 19, 21, 25, 18, 15, 14, 24, 25, 19))
V_SHAPE = """MEASURES START_ROW.ts AS start_ts, LAST(PRICE_DOWN.ts) AS bottom_ts, LAST(PRICE_UP.ts) AS end_ts
  ONE ROW PER MATCH AFTER MATCH SKIP TO LAST PRICE_UP
  PATTERN (START_ROW PRICE_DOWN+ PRICE_UP)
  DEFINE
    PRICE_DOWN AS (LAST(PRICE_DOWN.price, 1) IS NULL AND PRICE_DOWN.price < START_ROW.price) OR
      PRICE_DOWN.price < LAST(PRICE_DOWN.price, 1),
    PRICE_UP AS PRICE_UP.price > LAST(PRICE_DOWN.price, 1)"""
SUMS = ticker(*ticks(7, 9, 10, 5, 17, 14, begin=1))
GREEDY = ticker(*ticks(10, 11, 12, 13, 14, 16))


def sums(skip: str) -> str:
    return query(
        f"MEASURES SUM(A.price) AS s, FIRST(A.ts) AS b, C.ts AS e ONE ROW PER MATCH AFTER MATCH SKIP {skip} "
        "PATTERN (A+ C) DEFINE A AS SUM(A.price) < 30",
        "s, b, e",
    )


FOR_ALL = ticker(*ticks(1, 2, 9, 3), *ticks(4, 8, 1, symbol="BETA"))

PROGRAMS = [
    Program(
        "match/the bank card of the documents",
        FRAUD,
        (BANK,),
        ((noon(0), noon(5), "1", "Consumption"), (noon(5), noon(10), "1", "Consumption")),
        operators=("Match",),
        changes="[I]",
    ),
    Program(
        "match/price dip", query(V_SHAPE), (DIP,), (("ACME", second(4), second(7), second(8)),), operators=("Match",)
    ),
    Program("match/price dip as the standard", query(V_SHAPE), (DIP,), (("ACME", second(4), second(7), second(8)),),
            settings=STANDARD),
    Program(
        "match/greedy",
        query("MEASURES C.price AS p AFTER MATCH SKIP PAST LAST ROW PATTERN (A B* C) "
              "DEFINE A AS A.price > 10, B AS B.price < 15, C AS C.price > 12", "p"),
        (GREEDY,),
        ((16,),),
    ),
    Program(
        "match/reluctant",
        query("MEASURES C.price AS p AFTER MATCH SKIP PAST LAST ROW PATTERN (A B*? C) "
              "DEFINE A AS A.price > 10, B AS B.price < 15, C AS C.price > 12", "p"),
        (GREEDY,),
        ((13,), (16,)),
    ),
    Program("match/skip past last row", sums("PAST LAST ROW"), (SUMS,),
            ((26, second(1), second(4)), (17, second(5), second(6)))),
    Program("match/skip to next row", sums("TO NEXT ROW"), (SUMS,),
            ((26, second(1), second(4)), (24, second(2), second(5)), (15, second(3), second(5)),
             (22, second(4), second(6)), (17, second(5), second(6)))),
    Program("match/skip to last", sums("TO LAST A"), (ticker(*SUMS.rows[:-1]),),
            ((26, second(1), second(4)), (15, second(3), second(5)))),
    Program("match/skip to next row as the standard", sums("TO NEXT ROW"), (SUMS,),
            ((26, second(1), second(4)), (24, second(2), second(5)), (15, second(3), second(5)),
             (22, second(4), second(6)), (17, second(5), second(6))), settings=STANDARD),
    Program(
        "match/all rows with everything",
        query("MEASURES CLASSIFIER() AS c, MATCH_NUMBER() AS n, RUNNING SUM(price) AS so_far, FINAL SUM(price) AS whole,"
              " COUNT(DISTINCT U.price) AS d ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP PAST LAST ROW "
              "PATTERN (A (U | D)+) WITHIN INTERVAL '1' MINUTE "
              "DEFINE U AS U.price > PREV(U.price), D AS D.price < PREV(D.price) - 5",
              "symbol, ts, c, n, so_far, whole, d, price"),
        (FOR_ALL,),
        (
            ("ACME", second(0), "A", 1, 1, 15, 0, 1),
            ("ACME", second(1), "U", 1, 3, 15, 1, 2),
            ("ACME", second(2), "U", 1, 12, 15, 2, 9),
            ("ACME", second(3), "D", 1, 15, 15, 2, 3),
            ("BETA", second(0), "A", 1, 4, 13, 0, 4),
            ("BETA", second(1), "U", 1, 12, 13, 1, 8),
            ("BETA", second(2), "D", 1, 13, 13, 1, 1),
        ),
    ),
]
