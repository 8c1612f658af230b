"""INSERT: columns in the order and types of the table."""

from __future__ import annotations

import pytest
from tests.table.sql.sessions import Session

from millrace.relational import nodes as n
from millrace.relational.rules.plan_text import plan_text
from millrace.table.sql.binding import bind_insert
from millrace.table.sql.grammar.parser import parse_statement
from millrace.table.sql.statements import Insert
from millrace.table.sql.text import SqlValidationError


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session()
    session.declare("src", "a INT", "b STRING", "ts TIMESTAMP(3)", watermark="ts AS ts")
    session.declare_sink("wide", "x BIGINT", "y STRING", "day STRING", partition=["day"], not_written=["computed"])
    session.declare_sink("strict", "k INT NOT NULL", "v STRING")
    session.declare_sink("rows_", "r ROW<a BIGINT, b STRING>", "ts TIMESTAMP(3)")
    return session


def _insert(session: Session, sql: str) -> n.Sink:
    statement = parse_statement(sql)
    assert isinstance(statement, Insert)
    return bind_insert(statement, session)


PLANS = {
    "INSERT INTO wide SELECT a, b, 'd' FROM src": """
        Sink(cat.db.wide)
          Project(CAST(a AS BIGINT) AS x, b AS y, CAST(EXPR$2 AS STRING NOT NULL) AS day)
            Project(a, b, 'd' AS EXPR$2)
    """,
    "INSERT INTO wide (day, x) SELECT b, a FROM src": """
        Sink(cat.db.wide)
          Project(CAST(a AS BIGINT) AS x, NULL:STRING AS y, b AS day)
            Project(b, a)
    """,
    "INSERT OVERWRITE wide PARTITION (day = '2024-05-06') SELECT a, b FROM src": """
        Sink(cat.db.wide, overwrite, partition={'day': '2024-05-06'})
          Project(CAST(a AS BIGINT) AS x, b AS y, '2024-05-06' AS day)
            Project(a, b)
    """,
    "INSERT INTO wide VALUES (1, 'a', 'b'), (2, NULL, 'c')": """
        Sink(cat.db.wide)
          Project(CAST(EXPR$0 AS BIGINT NOT NULL) AS x, CAST(EXPR$1 AS STRING) AS y, CAST(EXPR$2 AS STRING NOT NULL) \
AS day)
            Values((1, 'a', 'b'), (2, NULL:CHAR(1), 'c'))
    """,
    "INSERT INTO rows_ SELECT ROW(a, b), ts FROM src": """
        Sink(cat.db.rows_)
          Project(CAST(EXPR$0 AS ROW<`a` BIGINT, `b` STRING> NOT NULL) AS r, ts)
            Project(ROW(a, b) AS EXPR$0, ts)
    """,
}


@pytest.mark.parametrize("sql", PLANS)
def test_plan(sql: str, session: Session) -> None:
    found = plan_text(_insert(session, sql))
    expected = [line[8:] for line in PLANS[sql].strip("\n").split("\n")[:-1]]
    assert found.split("\n")[: len(expected)] == expected


def test_the_rows_have_the_names_of_the_table(session: Session) -> None:
    sink = _insert(session, "INSERT INTO strict SELECT a, b FROM src")
    assert sink.sink == "sink of strict"
    assert [column.name for column in sink.schema] == ["k", "v"]


def test_a_time_attribute_stays_one(session: Session) -> None:
    sink = _insert(session, "INSERT INTO rows_ SELECT ROW(1, b), ts FROM src")
    assert [column.time for column in sink.schema] == [None, "ROWTIME"]


WRONG = {
    "INSERT INTO »nowhere« SELECT 1": "there is no table 'nowhere' to insert into",
    "INSERT INTO wide »SELECT a FROM src«": "'wide' takes 3 columns (x, y, day), and the query gives 1 (a INT)",
    "INSERT INTO wide »SELECT ts, b, b FROM src«": "column 'x' of 'wide' is BIGINT, and the query gives TIMESTAMP(3)",
    "INSERT INTO wide (»z«) SELECT a FROM src": "'wide' has no column 'z'",
    "INSERT INTO wide (»computed«) SELECT a FROM src": "column 'computed' of 'wide' is computed or virtual",
    "INSERT INTO strict (v) »SELECT b FROM src«": "column 'k' of 'strict' is NOT NULL and must get a value",
    "INSERT INTO wide PARTITION (»x« = 1) SELECT b, b FROM src": "'x' is no partition column of 'wide'",
    "INSERT INTO wide PARTITION (day = 'd') (»day«) SELECT b FROM src": "column 'day' has its value from PARTITION",
}


@pytest.mark.parametrize("query", WRONG)
def test_error(query: str, session: Session) -> None:
    before, rest = query.split("»")
    marked, after = rest.split("«")
    with pytest.raises(SqlValidationError) as caught:
        _insert(session, before + marked + after)
    assert WRONG[query] in caught.value.message
    assert caught.value.position is not None
    assert caught.value.position.text == marked
