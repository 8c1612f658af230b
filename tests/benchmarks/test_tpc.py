"""Queries like those of TPC-H on a few rows of Parquet files, in batch mode on Spark; DuckDB says what comes out."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.tpc.answers import Oracle
from benchmarks.tpc.data import Workload
from benchmarks.tpc.dialect import adapted
from benchmarks.tpc.ours import answer, session_with

from millrace.table import TableEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MONEY = pa.decimal128(15, 2)
QUERIES = {
    "aggregates": "SELECT flag, SUM(price * (1 - discount)) AS s, avg(price) AS a, COUNT(*) AS n FROM item "
    "WHERE shipped <= DATE '1995-06-30' GROUP BY flag ORDER BY flag",
    "joins written as a list": "SELECT name, SUM(price) AS total FROM customer, orders, item WHERE ckey = customer "
    "AND okey = item.orders AND segment = 'A' GROUP BY name ORDER BY total DESC, name LIMIT 3",
    "the least of its kind": "SELECT okey, line, price FROM orders, item WHERE okey = item.orders AND price = (SELECT "
    "MIN(i.price) FROM item AS i WHERE i.orders = okey) ORDER BY okey, line",
    "EXISTS and NOT EXISTS": "SELECT name FROM customer WHERE EXISTS (SELECT * FROM orders WHERE customer = ckey) AND "
    "NOT EXISTS (SELECT * FROM orders, item WHERE customer = ckey AND item.orders = okey AND price > 95) ORDER BY name",
    "IN a group that a scalar decides": "WITH sums AS (SELECT orders AS o, SUM(price) AS total FROM item GROUP BY "
    "orders) SELECT okey FROM orders WHERE okey IN (SELECT o FROM sums WHERE total > (SELECT AVG(total) FROM sums)) "
    "ORDER BY okey",
    "sets of groups": "SELECT segment, flag, SUM(price) AS s, GROUPING(flag) AS g, RANK() OVER (PARTITION BY "
    "GROUPING(segment) + GROUPING(flag) ORDER BY SUM(price) DESC) AS place FROM customer, orders, item WHERE ckey = "
    "customer AND okey = item.orders GROUP BY ROLLUP (segment, flag) ORDER BY segment, flag, g",
}


def tables() -> dict[str, pa.Table]:
    """30 customers, of whom some have no order; 60 orders; 150 items, of which one is without an order."""
    draw = random.Random(11)
    items = {
        "orders": [*(draw.randrange(60) for _ in range(149)), None],
        "line": range(150),
        "price": pa.array([Decimal(draw.randrange(100, 10_000)) / 100 for _ in range(150)], MONEY),
        "discount": pa.array([Decimal(draw.randrange(10)) / 100 for _ in range(150)], MONEY),
        "flag": [draw.choice("NRX") for _ in range(150)],
        "shipped": pa.array([9_000 + draw.randrange(400) for _ in range(150)], pa.int32()).cast(pa.date32()),
    }
    customers = {"ckey": range(30), "name": [f"c{at:02}" for at in range(30)], "segment": ["A", "B", None] * 10}
    orders = {"okey": range(60), "customer": [draw.randrange(20) for _ in range(60)]}
    return {"customer": pa.table(customers), "orders": pa.table(orders), "item": pa.table(items)}


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Workload:
    folder = tmp_path_factory.mktemp("tpc")
    paths = {name: folder / f"{name}.parquet" for name in tables()}
    for name, rows in tables().items():
        pq.write_table(rows, paths[name])
    return Workload("small", paths, {name: adapted(name, text) for name, text in QUERIES.items()})


@pytest.fixture(scope="module")
def session(workload: Workload, spark: SparkSession) -> TableEnvironment:
    made = session_with(workload)
    made._session.streams.set_spark_session(spark)
    for key in ("spark.sql.codegen.wholeStage", "spark.sql.adaptive.enabled"):
        made.get_config().set(key, "false")
    made.get_config().set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    return made


@pytest.fixture(scope="module")
def oracle(workload: Workload) -> Oracle:
    return Oracle(workload)


@pytest.mark.spark
@pytest.mark.parametrize("name", QUERIES)
def test_answers(name: str, workload: Workload, session: TableEnvironment, oracle: Oracle) -> None:
    query = workload.queries[name]
    found = answer(session, query.text)
    assert found.rows and found.order
    assert oracle.difference(query, found.rows, found.scales, found.order) == ""


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("c00",), ("c01",)], ""),
        ([("c01",), ("c00",)], "row 0"),
        ([("c00",)], "1 rows, not 2"),
        ([("c00",), ("c00",)], "row 1"),
    ],
)
def test_wrong_answers_are_seen(rows: list[tuple[str]], said: str, oracle: Oracle) -> None:
    query = adapted("any", "SELECT name FROM customer ORDER BY name LIMIT 2")
    found = oracle.difference(query, rows, [None], [0])
    assert found.startswith(said) and bool(found) == bool(said)


def test_any_rows_of_a_tie_will_do(oracle: Oracle) -> None:
    """And none that are not there."""
    query = adapted("any", "SELECT segment, ckey FROM customer WHERE segment = 'A' ORDER BY segment LIMIT 2")
    assert oracle.difference(query, [("A", 27), ("A", 3)], [None, None], [0]) == ""
    assert "not in DuckDB's answer" in oracle.difference(query, [("A", 27), ("A", 4)], [None, None], [0])
    assert "not in DuckDB's answer" in oracle.difference(query, [("A", 27), ("A", 27)], [None, None], [0])


def test_texts_for_flink() -> None:
    assert adapted("tpcds 72", 'SELECT avg(ss_quantity) AS "a b", d1.d_date + 5;').text == (
        "SELECT avg(CAST(ss_quantity AS DOUBLE)) AS `a b`, d1.d_date + INTERVAL '5' DAY"
    )
