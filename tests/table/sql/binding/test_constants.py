"""Constants that a query has to know while it is planned: written, or computed of others."""

from __future__ import annotations

import datetime as dt

import pytest
from tests.table.sql.sessions import Session

from millrace.relational import nodes as n
from millrace.table.sql.text import SqlValidationError

OVER = "OVER (PARTITION BY item ORDER BY ts)"
MATCH = (
    "SELECT * FROM bids MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(A.price, {}) AS p PATTERN (A B) DEFINE B AS TRUE)"
)


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session(zone="America/New_York")
    session.declare("bids", "item BIGINT", "price INT", "who STRING", "ts TIMESTAMP(3)", watermark="ts AS ts")
    return session


@pytest.mark.parametrize(
    ("computed", "written"),
    [
        (f"SELECT LAG(item, 2 - 1) {OVER} FROM bids", f"SELECT LAG(item, 1) {OVER} FROM bids"),
        (f"SELECT LEAD(price, 1, CAST('7' AS INT)) {OVER} FROM bids", f"SELECT LEAD(price, 1, 7) {OVER} FROM bids"),
        (f"SELECT NTILE(CAST(2 AS INT)) {OVER} FROM bids", f"SELECT NTILE(2) {OVER} FROM bids"),
        (MATCH.format("1 + 1"), MATCH.format("2")),
        (
            "SELECT * FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE * 2))",
            "SELECT * FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '2' MINUTE))",
        ),
        (
            "SELECT COUNT(*) FROM bids GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE + INTERVAL '1' MINUTE)",
            "SELECT COUNT(*) FROM bids GROUP BY TUMBLE(ts, INTERVAL '2' MINUTE)",
        ),
    ],
)
def test_a_computed_constant_is_as_good_as_a_written_one(session: Session, computed: str, written: str) -> None:
    assert session.bind(computed) == session.bind(written)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (f"SELECT NTILE(0) {OVER} FROM bids", "the argument of NTILE must be a number of buckets, 1 or more"),
        (f"SELECT NTILE(price) {OVER} FROM bids", "the argument of NTILE must be a number of buckets, 1 or more"),
        (f"SELECT NTILE(CAST('x' || '' AS INT)) {OVER} FROM bids", "the argument of NTILE must be a number of buckets"),
        (
            "SELECT * FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), CAST(NULL AS INTERVAL MINUTE)))",
            "a constant span of time is needed here",
        ),
    ],
)
def test_what_is_no_constant_is_refused(session: Session, sql: str, message: str) -> None:
    with pytest.raises(SqlValidationError, match=message):
        session.bind(sql)


def test_constants_are_computed_in_the_zone_of_the_session(session: Session) -> None:
    plan = session.bind("VALUES CAST('2021-01-01 00:00:00' AS TIMESTAMP_LTZ(3))")
    assert isinstance(plan, n.Values)
    assert plan.rows == ((dt.datetime(2021, 1, 1, 5, tzinfo=dt.timezone.utc),),)
