"""DDL and SHOW through execute_sql."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.table import ResultKind, TableEnvironment
from millrace.table.module import Module
from millrace.table.planner.engine import StreamingEngine
from millrace.table.udf import udf

ORDERS = """CREATE TABLE orders (
  `user` BIGINT NOT NULL, product STRING COMMENT 'what', amount INT, ts TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL,
  cost AS amount * 2, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND, PRIMARY KEY (`user`) NOT ENFORCED
) COMMENT 'all of them' PARTITIONED BY (product) WITH ('connector' = 'values', 'data-id' = 'orders')"""

plus_one = udf(lambda value: value + 1, result_type="BIGINT", name="plus_one")


@pytest.fixture(autouse=True)
def _values() -> Any:
    from millrace.connectors.tables.values_table import clear_values, register_values

    register_values("orders", [])
    yield
    clear_values()


def rows(t_env: TableEnvironment, statement: str) -> list[Any]:
    found = [tuple(row) for row in t_env.execute_sql(statement).collect()]
    return [row[0] for row in found] if found and len(found[0]) == 1 else found


def test_create_and_show(t_env: TableEnvironment) -> None:
    assert t_env.execute_sql(ORDERS).get_result_kind() is ResultKind.SUCCESS
    assert rows(t_env, "SHOW TABLES") == t_env.list_tables() == ["orders"]
    assert rows(t_env, "DESCRIBE orders") == [
        ("user", "BIGINT", False, "PRI(user)", None, None, None),
        ("product", "STRING", True, None, None, None, "what"),
        ("amount", "INT", True, None, None, None, None),
        (
            "ts",
            "TIMESTAMP(3) *ROWTIME*",
            True,
            None,
            "METADATA FROM 'timestamp' VIRTUAL",
            "`ts` - INTERVAL '1' SECOND",
            None,
        ),
        ("cost", "INT", True, None, "AS `amount` * 2", None, None),
    ]
    [text] = rows(t_env, "SHOW CREATE TABLE orders")
    t_env.execute_sql(text.replace("`orders`", "`again`"))
    assert rows(t_env, "DESCRIBE again") == rows(t_env, "DESCRIBE orders")
    assert rows(t_env, "SHOW COLUMNS FROM orders LIKE '%s'")[0][0] == "ts"
    t_env.execute_sql("DROP TABLE again")
    with pytest.raises(Exception, match=r"there is no table `default_catalog`\.`default_database`\.`again`"):
        t_env.execute_sql("DROP TABLE again")
    t_env.execute_sql("DROP TABLE IF EXISTS again")


def test_like(t_env: TableEnvironment) -> None:
    t_env.execute_sql(ORDERS)
    t_env.execute_sql(
        "CREATE TABLE copy (more INT) WITH ('connector' = 'print') LIKE orders (EXCLUDING GENERATED EXCLUDING METADATA "
        "EXCLUDING WATERMARKS EXCLUDING OPTIONS EXCLUDING PARTITIONS)"
    )
    copy = t_env._session.catalogs.table(["copy"]).table
    assert [column.name for column in copy.get_unresolved_schema().columns] == ["user", "product", "amount", "more"]
    assert copy.get_options() == {"connector": "print"}
    with pytest.raises(Exception, match="'product' is in orders already"):
        t_env.execute_sql("CREATE TABLE other (product INT) LIKE orders")


def test_alter(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'values', 'data-id' = 'orders')")
    for change in (
        "ADD (c INT FIRST, d AS a + 1 AFTER a)",
        "MODIFY b BIGINT",
        "RENAME c TO e",
        "DROP b",
        "SET ('batch-size' = '5')",
        "ADD CONSTRAINT pk PRIMARY KEY (a) NOT ENFORCED",
        "RENAME TO u",
    ):
        t_env.execute_sql(f"ALTER TABLE t {change}")
    assert [row[:2] for row in rows(t_env, "DESCRIBE u")] == [("e", "INT"), ("a", "INT"), ("d", "INT")]
    assert t_env._session.catalogs.table(["u"]).table.get_options()["batch-size"] == "5"
    with pytest.raises(Exception, match="there is no column 'aa', did you mean 'a'"):
        t_env.execute_sql("ALTER TABLE u DROP aa")


def test_views(t_env: TableEnvironment) -> None:
    t_env.execute_sql(ORDERS)
    t_env.execute_sql("CREATE VIEW v (x, y) AS WITH o AS (SELECT * FROM orders) SELECT amount, cost FROM o")
    t_env.execute_sql("CREATE DATABASE other")
    t_env.execute_sql("USE other")
    table = t_env.from_path("default_database.v")
    assert table.get_schema().get_field_names() == ["x", "y"]
    t_env.execute_sql("USE default_database")
    assert rows(t_env, "SHOW VIEWS") == ["v"]
    t_env.execute_sql("CREATE TEMPORARY VIEW w AS SELECT * FROM v")
    assert t_env.list_temporary_views() == ["w"]
    assert t_env.drop_temporary_view("w")
    assert not t_env.drop_temporary_view("w")
    with pytest.raises(Exception, match="there is no table"):
        t_env.execute_sql("DROP TABLE v")
    t_env.execute_sql("DROP VIEW v")


def test_temporary_tables_hide_others(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'datagen')")
    t_env.execute_sql("CREATE TEMPORARY TABLE t (b INT) WITH ('connector' = 'datagen')")
    assert t_env.from_path("t").get_schema().get_field_names() == ["b"]
    with pytest.raises(Exception, match="a temporary table has the name"):
        t_env.execute_sql("DROP TABLE t")
    t_env.execute_sql("DROP TEMPORARY TABLE t")
    assert t_env.from_path("t").get_schema().get_field_names() == ["a"]


def test_databases_and_catalogs(t_env: TableEnvironment, tmp_path: Path) -> None:
    t_env.execute_sql(f"CREATE CATALOG kept COMMENT 'on disk' WITH ('type' = 'file', 'path' = '{tmp_path}')")
    t_env.execute_sql("CREATE CATALOG IF NOT EXISTS kept WITH ('type' = 'file')")
    assert rows(t_env, "SHOW CATALOGS") == ["default_catalog", "kept"]
    assert rows(t_env, "DESCRIBE CATALOG kept")[1:] == [("type", "file"), ("comment", "on disk")]
    t_env.execute_sql("USE CATALOG kept")
    t_env.execute_sql("CREATE DATABASE db COMMENT 'mine' WITH ('k' = 'v')")
    t_env.execute_sql("USE db")
    assert (rows(t_env, "SHOW CURRENT CATALOG"), rows(t_env, "SHOW CURRENT DATABASE")) == (["kept"], ["db"])
    assert rows(t_env, "SHOW DATABASES LIKE 'd_'") == ["db"]
    assert ("properties", "{'k': 'v'}") in rows(t_env, "DESCRIBE DATABASE EXTENDED db")
    with pytest.raises(Exception, match="database db is the current one"):
        t_env.execute_sql("DROP DATABASE db")
    t_env.execute_sql("USE default_catalog.default_database")
    t_env.execute_sql("DROP DATABASE kept.db")
    t_env.execute_sql("DROP CATALOG kept")
    with pytest.raises(Exception, match="unknown type 'fil', did you mean 'file'"):
        t_env.execute_sql("CREATE CATALOG x WITH ('type' = 'fil')")


def test_functions(t_env: TableEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    t_env.create_temporary_system_function("Plus", plus_one)
    t_env.create_temporary_function("less", plus_one)
    monkeypatch.setitem(sys.modules, "my_functions", SimpleNamespace(plus_one=plus_one))
    t_env.execute_sql("CREATE FUNCTION kept AS 'my_functions.plus_one' LANGUAGE PYTHON")
    assert rows(t_env, "SHOW USER FUNCTIONS") == ["kept", "less", "plus"]
    query = t_env.sql_query("SELECT PLUS(1), Less(1), default_database.kept(CAST(1 AS BIGINT))")
    assert [str(kind) for kind in query.get_schema().get_field_data_types()] == ["BIGINT"] * 3
    assert ("function language", "PYTHON") in rows(t_env, "DESCRIBE FUNCTION kept")
    assert t_env.drop_temporary_system_function("PLUS")
    assert t_env.drop_temporary_function("less")
    t_env.execute_sql("DROP FUNCTION kept")
    with pytest.raises(Exception, match="write it in Python"):
        t_env.execute_sql("CREATE FUNCTION f AS 'org.example.F'")


def test_modules(t_env: TableEnvironment) -> None:
    class Mine(Module):
        def list_functions(self) -> list[str]:
            return ["plus_one"]

        def get_function(self, name: str) -> Any | None:
            return plus_one if name.lower() == "plus_one" else None

    t_env.load_module("mine", Mine())
    assert "plus_one" in t_env.list_functions()
    t_env.sql_query("SELECT plus_one(1)")
    t_env.execute_sql("USE MODULES core")
    assert rows(t_env, "SHOW MODULES") == ["core"]
    assert rows(t_env, "SHOW FULL MODULES") == [("core", True), ("mine", False)]
    with pytest.raises(Exception, match="plus_one"):
        t_env.sql_query("SELECT plus_one(1)")
    t_env.execute_sql("UNLOAD MODULE mine")
    with pytest.raises(Exception, match="No module with name 'core2' exists, did you mean 'core'"):
        t_env.execute_sql("USE MODULES core2")


def test_settings(t_env: TableEnvironment) -> None:
    t_env.execute_sql("SET 'table.exec.state.ttl' = '1 h'")
    assert t_env.get_config().get_idle_state_retention().total_seconds() == 3600
    assert ("table.exec.state.ttl", "1 h") in rows(t_env, "SET")
    t_env.execute_sql("RESET 'table.exec.state.ttl'")
    assert t_env.get_config().get_idle_state_retention().total_seconds() == 0
    with pytest.raises(Exception, match="there is no time zone 'Mars/Base'"):
        t_env.execute_sql("SET 'table.local-time-zone' = 'Mars/Base'")


def test_insert_plans(t_env: TableEnvironment) -> None:
    t_env.execute_sql(ORDERS)
    t_env.execute_sql("CREATE TABLE out (u BIGINT, n BIGINT) WITH ('connector' = 'blackhole')")
    statements = t_env.create_statement_set()
    statements.add_insert_sql("INSERT INTO out SELECT `user`, amount FROM orders")
    statements.add_insert("out", t_env.sql_query("SELECT `user`, COUNT(*) FROM orders GROUP BY `user`"))
    written = statements.explain().partition("== Optimized")[0]
    assert written.count("Sink(default_catalog.default_database.out)") == 2
    assert "Sink" in t_env.explain_sql("INSERT INTO out VALUES (1, 2)")
    with pytest.raises(Exception, match="only INSERT can be added to a statement set, not SELECT 1"):
        statements.add_insert_sql("SELECT 1")
    with pytest.raises(Exception, match="sql_query takes a query"):
        t_env.sql_query("SHOW TABLES")


def test_create_table_as(t_env: TableEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []
    monkeypatch.setattr(StreamingEngine, "execute", lambda engine, plans, session: written.extend(plans))
    t_env.execute_sql(ORDERS)
    options = "WITH ('connector' = 'values', 'data-id' = 'orders')"
    t_env.execute_sql(f"CREATE TABLE made (more INT, PRIMARY KEY (u) NOT ENFORCED) {options} AS "
                      "SELECT `user` AS u, cost FROM orders")  # fmt: skip
    assert [row[:4] for row in rows(t_env, "DESCRIBE made")] == [
        ("more", "INT", True, None), ("u", "BIGINT", False, "PRI(u)"), ("cost", "INT", True, None)
    ]  # fmt: skip
    t_env.execute_sql(f"CREATE OR REPLACE TABLE made (cost, u) {options} AS SELECT `user` AS u, cost FROM orders")
    assert [row[0] for row in rows(t_env, "DESCRIBE made")] == ["cost", "u"]
    assert [plan.names for plan in written] == [["more", "u", "cost"], ["cost", "u"]]


WRONG = [
    ("CREATE TABLE t (a INT) WITH ('connector' = 'datgen')", "there is no connector 'datgen', did you mean 'datagen'?"),
    ("CREATE TABLE t (a INT)", "table default_catalog.default_database.t has no connector"),
    ("CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'rows' = '1')", "connector 'datagen' has no option 'rows'"),
    ("CREATE TABLE t (a INT) WITH ('connector' = 'print')", "connector 'print' cannot be read from"),
]


@pytest.mark.parametrize(("statement", "message"), WRONG)
def test_wrong_options_are_named_when_the_table_is_used(t_env: TableEnvironment, statement: str, message: str) -> None:
    t_env.execute_sql(statement)
    with pytest.raises(Exception, match=message.replace("?", r"\?")):
        t_env.sql_query("SELECT * FROM t")


@pytest.mark.parametrize("statement", ["SHOW JOBS", "REMOVE JAR '/x.jar'"])
def test_what_is_read_and_not_done_says_so(t_env: TableEnvironment, statement: str) -> None:
    with pytest.raises(NotImplementedError, match="nearest"):
        t_env.execute_sql(statement)


def test_jars_are_for_spark(t_env: TableEnvironment, tmp_path: Path) -> None:
    """As add_jars() has it: one of Flink's that is not there is left out."""
    (tmp_path / "a.jar").touch()
    t_env.execute_sql(f"ADD JAR '{tmp_path}/a.jar'")
    t_env.execute_sql("ADD JAR '/not/there/flink-sql-connector-kafka.jar'")
    assert rows(t_env, "SHOW JARS") == [f"{tmp_path}/a.jar"]
    with pytest.raises(FileNotFoundError, match=r"no such file: /not/there/b\.jar"):
        t_env.execute_sql("ADD JAR '/not/there/b.jar'")
