"""MATCH_RECOGNIZE in plans: what is refused, types and names of columns, which way of matching is taken, EXPLAIN, and
the Table API's method."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from tests.table.programs.matching import STANDARD, query, ticker, ticks
from tests.table.programs.program import Program
from tests.table.programs.running import bound, draw_for, environment_of, streamed

from millrace.relational.nodes import Match, find
from millrace.table import DataTypes, ExplainDetail, MatchVariable, TableEnvironment
from millrace.table.expressions import col, lit
from millrace.table.udf import udf

ROWS = ticker(*ticks(1, 2, 9, 3, 3, 7))
SIMPLE = "MEASURES A.price AS p PATTERN (A B) DEFINE B AS B.price > A.price"


@pytest.fixture(scope="module")
def environment() -> TableEnvironment:
    made = environment_of(Program("match recognize", "SELECT 1", (ROWS,)))
    made.create_temporary_system_function("odd", udf(lambda x: x % 2 == 1, result_type=DataTypes.BOOLEAN()))
    changing = "SELECT symbol, MAX(ts) AS ts, MAX(price) AS price FROM ticker GROUP BY symbol"
    made.execute_sql(f"CREATE TEMPORARY VIEW changing AS {changing}")
    return made


def match_of(environment: TableEnvironment, clauses: str, **how: str) -> Match:
    (node,) = find(environment.sql_query(query(clauses, **how))._plan, Match)
    return node


# -- which way of matching ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    ["A B", "A B+ C", "A B*? C", "A{2,3} B", "A{0,2} B", "A B?", "A B+?", "A{3}", "^ A B"],
)
def test_what_flink_takes_has_its_meaning(environment: TableEnvironment, pattern: str) -> None:
    assert not match_of(environment, f"MEASURES A.price AS p PATTERN ({pattern}) DEFINE A AS A.price > 1").standard


@pytest.mark.parametrize("end", ["", " AS m"])
def test_the_input_has_a_name_of_its_own(environment: TableEnvironment, end: str) -> None:
    text = query(SIMPLE)
    plain = environment.sql_query(text)._plan
    named = text.replace("ticker MATCH_RECOGNIZE", "ticker AS t MATCH_RECOGNIZE")
    assert named != text
    assert environment.sql_query(f"{named}{end}")._plan == plain


@pytest.mark.parametrize(
    "pattern",
    [
        *("A B+", "A B*", "A B{1,2}", "A?", "A* B?", "A B?? C", "A (B C)+", "A | B"),
        *("PERMUTE(A, B)", "A {- B -} C", "A B A"),
    ],
)
def test_patterns_beyond_flink_have_the_meaning_of_the_standard(environment: TableEnvironment, pattern: str) -> None:
    found = match_of(environment, f"MEASURES A.price AS p PATTERN ({pattern}) DEFINE A AS A.price > 1")
    assert found.standard
    assert found.skip == "PAST LAST ROW"


@pytest.mark.parametrize(
    "clauses",
    [
        "MEASURES CLASSIFIER() AS p PATTERN (A B) DEFINE B AS TRUE",
        "MEASURES MATCH_NUMBER() AS p PATTERN (A B) DEFINE B AS TRUE",
        "MEASURES RUNNING LAST(A.price) AS p PATTERN (A B) DEFINE B AS TRUE",
        "MEASURES COUNT(DISTINCT A.price) AS p PATTERN (A B) DEFINE B AS TRUE",
        "MEASURES A.price AS p PATTERN (A B) DEFINE B AS B.price > PREV(B.price)",
        "MEASURES NEXT(A.price) AS p PATTERN (A B) DEFINE B AS TRUE",
        "MEASURES A.price AS p PATTERN (A B) DEFINE B AS odd(B.price)",
        "MEASURES odd(A.price) AS p PATTERN (A B) DEFINE B AS TRUE",
        "MEASURES A.price AS p ALL ROWS PER MATCH PATTERN (A B) DEFINE B AS TRUE",
    ],
)
def test_expressions_beyond_flink_have_the_meaning_of_the_standard(environment: TableEnvironment, clauses: str) -> None:
    assert match_of(environment, clauses).standard


def test_the_setting_asks_for_the_standard() -> None:
    made = environment_of(Program("standard", "SELECT 1", (ROWS,), settings=STANDARD))
    assert match_of(made, SIMPLE).standard
    with pytest.raises(Exception, match="expected is one of flink, standard"):
        made.get_config().set("millrace.match-recognize.semantics", "other")


# -- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (query(SIMPLE, before=""), "You must specify either rowtime or proctime for order by"),
        (query(SIMPLE, before="ORDER BY price"), "You must specify either rowtime or proctime for order by"),
        (query(SIMPLE, before="ORDER BY ts DESC"), "Primary sort order of a streaming table must be ascending on time"),
        (query("PATTERN (A B) DEFINE B AS TRUE"), "needs MEASURES"),
        (query("MEASURES A.price AS p PATTERN (A B) DEFINE B AS Z.price > 1"), "the pattern has no variable 'Z'"),
        (query("MEASURES A.x AS p PATTERN (A B) DEFINE B AS TRUE"), "unknown column 'x'"),
        (query("MEASURES SUM(A.price * B.price) AS p PATTERN (A B) DEFINE B AS TRUE"), "cannot stand in one call"),
        (query("MEASURES LAST(SUM(A.price)) AS p PATTERN (A B) DEFINE B AS TRUE"), "SUM"),
        (query("MEASURES LAST(A.price, -1) AS p PATTERN (A B) DEFINE B AS TRUE"), "the offset of LAST"),
        (query("MEASURES A.price AS p PATTERN (A B) DEFINE B AS B.price"), "DEFINE needs a BOOLEAN"),
        (query("MEASURES A.price AS p PATTERN (A B) DEFINE B AS FINAL LAST(A.price) > 1"), "FINAL is not allowed"),
        (query("MEASURES A.price AS p PATTERN (A B) DEFINE B AS TRUE, B AS FALSE"), "defined twice"),
        (query("MEASURES A.price AS symbol PATTERN (A B) DEFINE B AS TRUE"), "a column 'symbol' already"),
        (query("MEASURES A.price AS p PATTERN (A B) SUBSET U = (A, C) DEFINE B AS TRUE"), "no variable 'C'"),
        (query("MEASURES A.price AS p AFTER MATCH SKIP TO LAST Z PATTERN (A B) DEFINE B AS TRUE"), "no variable 'Z'"),
        (query("MEASURES A.price AS p PATTERN (PERMUTE(A,B,C,D,E,F,G,H)) DEFINE B AS TRUE"), "too large"),
        (query("MEASURES A.price AS p PATTERN (A B) DEFINE B AS EXISTS (SELECT 1)"), "subquery"),
        (query(SIMPLE, before="PARTITION BY price + 1 ORDER BY ts"), "PARTITION BY of MATCH_RECOGNIZE takes columns"),
    ],
)
def test_mistakes(environment: TableEnvironment, text: str, message: str) -> None:
    with pytest.raises(Exception, match=r"(?s)" + message):
        environment.sql_query(text)


def test_updating_input_is_refused(environment: TableEnvironment) -> None:
    text = f"SELECT * FROM changing MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY proc {SIMPLE})"
    text = text.replace("FROM changing", "FROM (SELECT *, PROCTIME() AS proc FROM changing)")
    with pytest.raises(Exception, match="MATCH_RECOGNIZE takes no updates and no deletions"):
        environment.explain_sql(text)


def test_an_error_shows_its_place(environment: TableEnvironment) -> None:
    with pytest.raises(Exception, match=r"(?s)MEASURES A\.prise.*\^"):
        environment.sql_query(query("MEASURES A.prise AS p PATTERN (A B) DEFINE B AS TRUE"))


# -- columns --------------------------------------------------------------------------------------------------------


def test_a_definition_that_is_not_used(environment: TableEnvironment) -> None:
    found = match_of(environment, "MEASURES A.price AS p PATTERN (A) DEFINE A AS A.price > 1, Z AS Z.price > A.price")
    assert [name for name, _ in found.defines] == ["A"]


def columns(node: Match) -> list[str]:
    return [str(each) for each in node.schema]


def test_one_row_gives_partition_and_measures(environment: TableEnvironment) -> None:
    found = match_of(
        environment,
        "MEASURES A.price AS p, AVG(B.price) AS a, COUNT(*) AS c, MATCH_ROWTIME() AS t, MATCH_PROCTIME() AS now, "
        "A.ts AS b PATTERN (A B) DEFINE B AS TRUE",
    )
    assert columns(found) == [
        "symbol STRING",
        "p INT",
        "a INT",
        "c BIGINT NOT NULL",
        "t TIMESTAMP(3) NOT NULL *ROWTIME*",
        "now TIMESTAMP_LTZ(3) NOT NULL *PROCTIME*",
        "b TIMESTAMP(3)",
    ]


def test_all_rows_give_the_columns_of_the_input_too(environment: TableEnvironment) -> None:
    clauses = "MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH {} PATTERN (A B) {} DEFINE B AS TRUE"
    within = match_of(environment, clauses.format("", "WITHIN INTERVAL '1' MINUTE"))
    assert columns(within) == ["symbol STRING", "ts TIMESTAMP(3) *ROWTIME*", "c STRING", "price INT"]
    endless = match_of(environment, clauses.format("WITH UNMATCHED ROWS", ""))
    assert columns(endless) == ["symbol STRING", "ts TIMESTAMP(3)", "c STRING", "price INT"]


def test_explain(environment: TableEnvironment) -> None:
    text = environment.explain_sql(query(SIMPLE), ExplainDetail.PLAN_ADVICE)
    assert (
        "Match(partitionBy=[symbol], orderBy=[ts], measures=[LAST(A.price, 0) AS p], rowsPerMatch=[ONE ROW PER MATCH], "
        "after=[SKIP TO NEXT ROW], pattern=[(A B)], define=[B AS (LAST(price, 0) > LAST(A.price, 0))], "
        "semantics=[flink])"
    ) in text


def test_the_table_api_makes_the_same_plan(environment: TableEnvironment) -> None:
    a, b = MatchVariable("A"), MatchVariable("B")
    wanted = environment.sql_query(
        query(
            "MEASURES A.price AS p, LAST(B.price, 1) AS q, SUM(U.price) AS s AFTER MATCH SKIP TO LAST B "
            "PATTERN (A B+ C) WITHIN INTERVAL '10' MINUTE SUBSET U = (A, B) "
            "DEFINE B AS B.price > A.price, C AS C.price < LAST(B.price)"
        )
    )
    made = environment.from_path("ticker").match_recognize(
        "A B+ C",
        partition_by="symbol",
        order_by=col("ts"),
        measures={"p": a.price, "q": b.last("price", 1), "s": "SUM(U.price)"},
        define={"B": b.price > a["price"], "C": "C.price < LAST(B.price)"},
        after="TO LAST B",
        within=lit(10).minutes,
        subsets={"U": ("A", "B")},
    )
    assert made._plan == wanted._plan
    again = {"within": datetime.timedelta(minutes=10), "define": {"B": "B.price > A.price"}}
    short: dict[str, Any] = {"order_by": "ts", "measures": {"p": "A.price"}, **again}
    assert find(environment.from_path("ticker").match_recognize("A B", **short)._plan, Match)[0].within == 600_000


def test_the_table_api_says_what_is_wrong(environment: TableEnvironment) -> None:
    table = environment.from_path("ticker")
    with pytest.raises(Exception, match=r"test_match_recognize\.py:\d+: .*unknown column 'prise'"):
        table.match_recognize("A", order_by="ts", measures={"p": MatchVariable("A").prise})
    with pytest.raises(Exception, match="the pattern has no variable 'Z'"):
        table.match_recognize("A", order_by="ts", measures={"p": "Z.price"})


def test_a_compiled_plan_is_the_same_again(environment: TableEnvironment) -> None:
    from millrace.table.planner.compiled_plan import read, written

    plan = environment.sql_query(query("MEASURES CLASSIFIER() AS c PATTERN (A (B | C)+) DEFINE B AS TRUE"))._plan
    (node,) = find(plan, Match)
    session = environment._session
    (again,) = read(written([node.with_inputs((environment.sql_query("SELECT 1")._plan,))], session), session)
    assert again.pattern == node.pattern
    assert again.measures == node.measures


def test_a_skip_to_the_first_row_fails_the_job() -> None:
    clauses = "MEASURES A.price AS p AFTER MATCH SKIP TO FIRST A PATTERN (A B) DEFINE B AS B.price > A.price"
    for settings in ({}, STANDARD):
        program = Program("skip", query(clauses), (ROWS,), settings=settings)
        with pytest.raises(Exception, match=r"(?i)first (row|element) of the match"):
            streamed(bound(program), draw_for(program), 1)
