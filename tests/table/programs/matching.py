"""MATCH_RECOGNIZE: the documents' examples, and what each clause means in both ways of matching."""

from __future__ import annotations

import datetime
from typing import Any

from tests.table.programs.program import STREAMING, Program, Source

from millrace.table import AggregateFunction, DataTypes
from millrace.table.udf import udaf, udf

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


RISES = ticker(*ticks(1, 2, 9, 3, 4), *ticks(4, 8, 1, symbol="BETA"))
RISING = query("MEASURES MATCH_ROWTIME() AS t PATTERN (A B) DEFINE B AS B.price > A.price")
RUNS = query(
    "MEASURES COUNT(*) AS n, MATCH_ROWTIME() AS t PATTERN (A B+) WITHIN INTERVAL '6' SECOND "
    "DEFINE B AS B.price > PREV(B.price)"
)
UPWARDS = "MEASURES A.price AS a, B.price AS b PATTERN (A B) WITHIN INTERVAL '2' SECOND DEFINE B AS B.price > A.price"
NAMES = Source("names", "symbol STRING, name STRING", (("ACME", "Acme Ltd"), ("BETA", "Beta Ltd")))


class Spread(AggregateFunction):
    """The largest value less the smallest."""

    def create_accumulator(self):
        return []

    def accumulate(self, accumulator, value):
        accumulator.append(value)

    def get_value(self, accumulator):
        return max(accumulator) - min(accumulator)


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
    Program(
        "match/price dip as the standard",
        query(V_SHAPE),
        (DIP,),
        (("ACME", second(4), second(7), second(8)),),
        settings=STANDARD,
    ),
    Program(
        "match/greedy",
        query(
            "MEASURES C.price AS p AFTER MATCH SKIP PAST LAST ROW PATTERN (A B* C) "
            "DEFINE A AS A.price > 10, B AS B.price < 15, C AS C.price > 12",
            "p",
        ),
        (GREEDY,),
        ((16,),),
    ),
    Program(
        "match/reluctant",
        query(
            "MEASURES C.price AS p AFTER MATCH SKIP PAST LAST ROW PATTERN (A B*? C) "
            "DEFINE A AS A.price > 10, B AS B.price < 15, C AS C.price > 12",
            "p",
        ),
        (GREEDY,),
        ((13,), (16,)),
    ),
    Program(
        "match/skip past last row",
        sums("PAST LAST ROW"),
        (SUMS,),
        ((26, second(1), second(4)), (17, second(5), second(6))),
    ),
    Program(
        "match/skip to next row",
        sums("TO NEXT ROW"),
        (SUMS,),
        (
            (26, second(1), second(4)),
            (24, second(2), second(5)),
            (15, second(3), second(5)),
            (22, second(4), second(6)),
            (17, second(5), second(6)),
        ),
    ),
    Program(
        "match/skip to last",
        sums("TO LAST A"),
        (ticker(*SUMS.rows[:-1]),),
        ((26, second(1), second(4)), (15, second(3), second(5))),
    ),
    Program(
        "match/skip to next row as the standard",
        sums("TO NEXT ROW"),
        (SUMS,),
        (
            (26, second(1), second(4)),
            (24, second(2), second(5)),
            (15, second(3), second(5)),
            (22, second(4), second(6)),
            (17, second(5), second(6)),
        ),
        settings=STANDARD,
    ),
    Program(
        "match/all rows with everything",
        query(
            "MEASURES CLASSIFIER() AS c, MATCH_NUMBER() AS n, RUNNING SUM(price) AS so_far, "
            "FINAL SUM(price) AS whole, COUNT(DISTINCT U.price) AS d "
            "ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP PAST LAST ROW "
            "PATTERN (A (U | D)+) WITHIN INTERVAL '1' MINUTE "
            "DEFINE U AS U.price > PREV(U.price), D AS D.price < PREV(D.price) - 5",
            "symbol, ts, c, n, so_far, whole, d, price",
        ),
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
    Program(
        "match/in a view below a window and a join",
        "SELECT w.window_start, r.name, w.n FROM (SELECT window_start, symbol, COUNT(*) AS n "
        f"FROM TABLE(TUMBLE(TABLE ({RISING}), DESCRIPTOR(t), INTERVAL '4' SECOND)) "
        "GROUP BY window_start, window_end, symbol) AS w JOIN names AS r ON w.symbol = r.symbol",
        (RISES, NAMES),
        ((second(0), "Acme Ltd", 2), (second(4), "Acme Ltd", 1), (second(0), "Beta Ltd", 1)),
        only=STREAMING,
        why="its time attribute is one of streams",
    ),
    Program(
        "match/the time of matches that are decided late",
        "SELECT window_start, SUM(n) AS n FROM TABLE(TUMBLE(TABLE (" + RUNS + "), DESCRIPTOR(t), INTERVAL '2' SECOND)) "
        "GROUP BY window_start, window_end",
        (ticker(*ticks(1, 2, 3, 4, 1, 2, 1, 1, 1, 1, 1)),),
        ((second(2), 4), (second(4), 2)),
        only=STREAMING,
        why="its time attribute is one of streams",
    ),
    Program(
        "match/no partition, more columns in the order",
        query(
            "MEASURES A.symbol AS a, B.symbol AS b AFTER MATCH SKIP PAST LAST ROW PATTERN (A B) "
            "DEFINE B AS B.symbol <> A.symbol AND B.ts = A.ts",
            before="ORDER BY ts, price DESC",
        ),
        (ticker(*ticks(1, 5), *ticks(2, 3, symbol="BETA")),),
        (("BETA", "ACME"), ("ACME", "BETA")),
    ),
    Program(
        "match/functions of the user",
        query(
            "MEASURES named(A.price) AS a, spread(U.price) AS s PATTERN (A B) SUBSET U = (A, B) "
            "DEFINE A AS odd(A.price), B AS odd(B.price + A.price)"
        ),
        (ticker(*ticks(1, 2, 3, 5, 8)),),
        (("ACME", "<1>", 1), ("ACME", "<5>", 3)),
        functions=(
            ("odd", udf(lambda x: x % 2 == 1, result_type=DataTypes.BOOLEAN())),
            ("named", udf(lambda x: f"<{x}>", result_type=DataTypes.STRING())),
            ("spread", udaf(Spread(), result_type=DataTypes.INT(), accumulator_type=DataTypes.ARRAY(DataTypes.INT()))),
        ),
    ),
    Program(
        "match/permute, exclusion and the classifier of a subset",
        query(
            "MEASURES CLASSIFIER() AS c, CLASSIFIER(U) AS u ALL ROWS PER MATCH "
            "PATTERN (PERMUTE(A, B) {- C+ -} D) SUBSET U = (A, B) "
            "DEFINE A AS price = 1, B AS price = 2, C AS price = 3, D AS price = 4",
            "ts, c, u",
        ),
        (ticker(*ticks(2, 1, 3, 3, 4, 1, 2, 3, 4)),),
        (
            (second(0), "B", "B"),
            (second(1), "A", "A"),
            (second(4), "D", "A"),
            (second(5), "A", "A"),
            (second(6), "B", "B"),
            (second(8), "D", "B"),
        ),
    ),
    Program(
        "match/empty matches",
        query(
            "MEASURES MATCH_NUMBER() AS n, COUNT(*) AS c, LAST(A.price) AS p ALL ROWS PER MATCH "
            "PATTERN (A*) DEFINE A AS A.price > 1",
            "ts, n, c, p",
        ),
        (ticker(*ticks(1, 2, 3, 1)),),
        ((second(0), 1, 0, None), (second(1), 2, 1, 2), (second(2), 2, 2, 3), (second(3), 3, 0, None)),
    ),
    Program(
        "match/no empty matches",
        query(
            "MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH OMIT EMPTY MATCHES PATTERN (A*) DEFINE A AS A.price > 1",
            "ts, n",
        ),
        (ticker(*ticks(1, 2, 3, 1)),),
        ((second(1), 2), (second(2), 2)),
    ),
    Program(
        "match/rows before and after",
        query(
            "MEASURES PREV(A.price) AS p, NEXT(A.price) AS n, PREV(FIRST(A.price), 2) AS f "
            "PATTERN (A+) DEFINE A AS A.price > PREV(A.price) AND A.price < NEXT(A.price)",
            "p, n, f",
        ),
        (ticker(*ticks(1, 2, 3, 2, 4, 5, 1)),),
        ((1, 3, None), (2, 5, 3)),
    ),
    Program(
        "match/at the start and at the end of the partition",
        query("MEASURES A.price AS a, LAST(B.price) AS b PATTERN (^ A B+ $) DEFINE B AS B.price > 1"),
        (ticker(*ticks(1, 2, 3), *ticks(1, 2, 1, symbol="BETA"), *ticks(7, symbol="GAMMA")),),
        (("ACME", 1, 3),),
        settings=STANDARD,
    ),
    Program(
        "match/the last one wins by the standard",
        query("MEASURES FIRST(B.price) AS b, C.price AS c PATTERN (A B+ C) DEFINE B AS B.price > 1, C AS C.price > 2"),
        (ticker(*ticks(1, 2, 3, 4)),),
        (("ACME", 2, 4),),
        settings=STANDARD,
    ),
    Program(
        "match/a greedy loop does not give back rows to the automaton of Flink",
        query("MEASURES FIRST(B.price) AS b, C.price AS c PATTERN (A B+ C) DEFINE B AS B.price > 1, C AS C.price > 2"),
        (ticker(*ticks(1, 2, 3, 4)),),
        (),
    ),
    Program(
        "match/within is exclusive",
        query(UPWARDS),
        (ticker(*ticks(1, 2, gap=2), *ticks(3, 4, gap=1.999, begin=10)),),
        (("ACME", 3, 4),),
    ),
    Program(
        "match/within is exclusive by the standard",
        query(UPWARDS),
        (ticker(*ticks(1, 2, gap=2), *ticks(3, 4, gap=1.999, begin=10)),),
        (("ACME", 3, 4),),
        settings=STANDARD,
    ),
    Program(
        "match/processing time",
        "SELECT * FROM (SELECT *, PROCTIME() AS now FROM clicks) MATCH_RECOGNIZE (PARTITION BY who ORDER BY now "
        "MEASURES A.what AS a, B.what AS b PATTERN (A B) DEFINE B AS B.what <> A.what)",
        (Source("clicks", "who STRING, what STRING", (("Ann", "x"), ("Bob", "x"), ("Ann", "y"), ("Bob", "x"))),),
        (("Ann", "x", "y"),),
        only=STREAMING,
        why="rows of batch mode have no order of arrival",
        paced=True,
    ),
    Program(
        "match/processing time and a window by the standard",
        "SELECT * FROM (SELECT *, PROCTIME() AS now FROM clicks) MATCH_RECOGNIZE (PARTITION BY who ORDER BY now "
        "MEASURES COUNT(*) AS n PATTERN (A+) WITHIN INTERVAL '3' SECOND DEFINE A AS A.what = 'x')",
        (Source("clicks", "who STRING, what STRING", (("Ann", "x"),) * 4),),
        (("Ann", 3), ("Ann", 1)),
        only=STREAMING,
        why="rows of batch mode have no order of arrival",
        paced=True,
    ),
    Program(
        "match/conditions that fail are asked only where it matters",
        query(
            "MEASURES A.price AS a, B.price AS b PATTERN (A B) "
            "DEFINE A AS A.price = 0, B AS 10 / B.price > LAST(A.price) AND 10 / B.price > 1"
        ),
        (ticker(*ticks(0, 2, 5)),),
        (("ACME", 0, 2),),
    ),
]
