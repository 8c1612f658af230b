"""Rows as texts of queries and as frames of Spark, and settings of sessions that are set all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millrace.spark.tables.child_session import all_of, child_session, set_all
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import Part, numbered, query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def three(context: Context) -> Part:
    return Part(context.session, "SELECT CAST(id AS INT) AS c0 FROM range(3)")


def values(part: Part) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in part.frame.collect())


def test_steps_are_one_query(three: Part) -> None:
    made = three.plus({"more": "c0 * 2"}).where(["c0 > 0", "more < 4"]).select(numbered(["more", "c0"]))
    assert made.relation.count("SELECT") == 4 and made.depth == 3
    assert made.frame.columns == ["c0", "c1"] and values(made) == [(2, 1)]


def test_rows_without_columns_are_counted(three: Part) -> None:
    nothing = three.where(["c0 > 0"]).select([])
    assert values(nothing.select(["count(*)"])) == [(2,)]


def test_a_view_is_read_once_by_several(three: Part) -> None:
    three.keep_as_view()
    both = query(f"SELECT l.c0, r.c0 AS c1 FROM {three.relation} AS l JOIN {three.relation} AS r ON l.c0 < r.c0", three)
    assert "range" not in both.relation and values(both) == [(0, 1), (0, 2), (1, 2)]


def test_deep_queries_are_read_in_pieces(three: Part) -> None:
    part = three
    deepest = 0
    for _ in range(120):
        part = part.select(["c0 + 1 AS c0"])
        deepest = max(deepest, part.depth)
    assert deepest < 40 and values(part) == [(120,), (121,), (122,)]


def test_settings_arrive_as_they_are(spark: SparkSession) -> None:
    text = "a=b, c -> \u00e4 \U0001f600 #!:\\n\n ${x} "
    told = {"spark.sql.session.timeZone": "Asia/Tokyo", "millrace.test.text": text}
    session = child_session(spark)
    set_all(session, told)
    assert {key: session.conf.get(key) for key in told} == told
    assert told.items() <= all_of(session).items()


def test_a_child_has_the_settings_of_its_parent(spark: SparkSession) -> None:
    parent = child_session(spark)
    parent.conf.set("spark.sql.shuffle.partitions", "7")
    child = child_session(parent, "Europe/Berlin", {"spark.sql.limit.scaleUpFactor": "3"})
    found = [child.conf.get(f"spark.sql.{key}") for key in ("shuffle.partitions", "session.timeZone", "ansi.enabled")]
    assert found == ["7", "Europe/Berlin", "false"] and child.conf.get("spark.sql.limit.scaleUpFactor") == "3"
    with pytest.raises(Exception, match="static"):
        child_session(parent, "UTC", {"spark.sql.warehouse.dir": "/nowhere"})
