"""What may come next."""

from __future__ import annotations

import pytest

from millrace.cluster.gateway.sql_completion import Completions
from millrace.cluster.gateway.sql_session import SqlSession


def of(session: SqlSession, before: str, after: str = "") -> list[str]:
    return [each.text for each in Completions(session.environment).of(before, after)]


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("SEL", ["SELECT"]),
        ("sel", ["select"]),
        ("SHOW TABLES; dr", ["drop"]),
        ("SHOW TAB", ["TABLES"]),
        ("EXPLAIN CHAN", ["CHANGELOG_MODE"]),
        ("SELECT * FROM o", ["orders", "other"]),
        ("SELECT * FROM orders JOIN c", ["cheap", "customers"]),
        ("DESCRIBE ch", ["cheap"]),
        ("SELECT * FROM default_database.cu", ["customers"]),
        ("SELECT * FROM default_catalog.", ["default_database", "other"]),
        ("SELECT * FROM default_catalog.default_database.cu", ["customers"]),
        ("USE o", ["other"]),
        ("USE CATALOG d", ["default_catalog"]),
        ("SELECT o.p", []),
        ("SET 'sql-client.exec", ["sql-client.execution.max-table-result.rows'", "sql-client.execution.result-mode'"]),
        ("SET 'execution.runtime-mode' = 'b", ["batch'"]),
        ("RESET 'table.dml", ["table.dml-sync'"]),
        ("SET 'table.exec.sink.not-null-enforcer' = 'D", ["DROP'"]),
        ("CREATE TABLE x (a INT) WITH ('conn", ["connector'"]),
        ("CREATE TABLE x (a INT) WITH ('connector' = 'bl", ["blackhole'"]),
        ("SELECT 'sel", []),
    ],
)
def test_candidates(shop: SqlSession, before: str, found: list[str]) -> None:
    assert of(shop, before) == found


def test_columns_of_tables_that_come_later(shop: SqlSession) -> None:
    assert of(shop, "SELECT ", " FROM orders") == ["id", "price", "`from`", "orders"]
    assert of(shop, "SELECT pr", " FROM cheap")[0] == "price"
    assert of(shop, "SELECT c.", " FROM orders o JOIN customers c") == ["id", "name"]
    assert of(shop, "SELECT `fr", " FROM orders") == ["from`"]


def test_functions_keywords_and_types_after_a_letter(shop: SqlSession) -> None:
    found = of(shop, "SELECT subs")
    assert "substring" in found
    assert "timestamp_ltz" in of(shop, "SELECT CAST(a AS timestamp_")
    assert "GROUP" in of(shop, "SELECT * FROM orders GR")


def test_functions_of_the_user(shop: SqlSession) -> None:
    from millrace.table import DataTypes
    from millrace.table.udf import udf

    shop.environment.create_temporary_function("my_shop", udf(lambda x: x, result_type=DataTypes.INT()))
    assert of(shop, "SELECT my_s") == ["my_shop"]


def test_a_table_that_is_not_there_has_no_columns(shop: SqlSession) -> None:
    assert of(shop, "SELECT ", " FROM nothing") == ["nothing"]
    assert of(shop, "SELECT ", " FROM no.such.table1") == ["table1"]


def test_how_much_is_replaced_and_what_it_is(shop: SqlSession) -> None:
    (found,) = Completions(shop.environment).of("SELECT * FROM ord")
    assert (found.length, found.kind) == (3, "table")
    (view,) = Completions(shop.environment).of("SELECT * FROM che")
    assert view.kind == "view"
