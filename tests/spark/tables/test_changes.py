"""UPDATE, DELETE and TRUNCATE of tables of a database and of files: SQLite does the same to the same rows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from millrace.connectors.file_system.table.filesystem_table import FileSystemFactory
from millrace.relational.nodes import Sink
from millrace.relational.sources import TableContext
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.sessions.table_info import table_context
from millrace.util.exceptions import TableException

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = [(1, "a", 10), (2, "b", None), (3, None, 30), (4, "a", 40), (5, "c", 50)]
FEW = [(2,), (4,), (None,)]
"""of a second table"""
STATEMENTS = [
    "DELETE FROM t WHERE id = 2 OR n >= 40",
    "DELETE FROM t WHERE n > 10 AND name = 'a'",
    "DELETE FROM t WHERE id IN (SELECT id FROM few)",
    "DELETE FROM t WHERE n IS NULL OR n + id > 44",
    "DELETE FROM t",
    "UPDATE t SET name = 'z', n = NULL WHERE name = 'a'",
    "UPDATE t SET n = id WHERE id < 3",
    "UPDATE t SET n = n + 1, name = UPPER(name) WHERE n IS NOT NULL",
    "UPDATE t SET n = (SELECT MAX(id) FROM few WHERE few.id <= t.id) WHERE id IN (SELECT id FROM few)",
    "UPDATE t SET name = 'all'",
    "UPDATE t SET n = 0 WHERE id > 100",
]


def expected(statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(":memory:")) as database:
        _fill(database)
        database.execute(statement)
        return list(database.execute("SELECT id, name, n FROM t ORDER BY id"))


def _fill(database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, name TEXT, n BIGINT)")
    database.execute("CREATE TABLE few (id BIGINT)")
    database.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS)
    database.executemany("INSERT INTO few VALUES (?)", FEW)
    database.commit()


@pytest.fixture
def tables(spark: SparkSession) -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    made._session.streams.set_spark_session(spark).set_parallelism(2)
    made.execute_sql("CREATE TEMPORARY VIEW few AS SELECT * FROM (VALUES (2), (4), (CAST(NULL AS INT))) AS v(id)")
    return made


def in_database(tables: TableEnvironment, file: Path, key: str = ", PRIMARY KEY (id) NOT ENFORCED") -> None:
    with closing(sqlite3.connect(file)) as database:
        _fill(database)
    tables.execute_sql(
        f"CREATE TABLE t (id BIGINT, name STRING, n BIGINT{key}) "
        f"WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{file}', 'table-name' = 't')"
    )


def of_database(file: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(file)) as database:
        return list(database.execute("SELECT id, name, n FROM t ORDER BY id"))


def in_files(tables: TableEnvironment, folder: Path) -> None:
    tables.execute_sql(
        "CREATE TABLE t (id BIGINT, n BIGINT, name STRING) PARTITIONED BY (name) "
        f"WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'parquet')"
    )
    values = ", ".join(
        f"({id}, {'CAST(NULL AS BIGINT)' if n is None else n}, {'NULL' if name is None else repr(name)})"
        for id, name, n in ROWS
    )
    tables.execute_sql(f"INSERT INTO t VALUES {values}").wait()


def rows(tables: TableEnvironment) -> list[tuple[Any, ...]]:
    with tables.execute_sql("SELECT id, name, n FROM t").collect() as found:
        return sorted(tuple(row) for row in found)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_database_has_what_sqlite_makes_of_it(statement: str, tables: TableEnvironment, tmp_path: Path) -> None:
    in_database(tables, tmp_path / "db")
    before = set(ROWS)
    result = tables.execute_sql(statement)
    assert of_database(tmp_path / "db") == expected(statement)
    if statement.startswith("DELETE"):
        assert [row[0] for row in result.collect()] == [len(before) - len(expected(statement))]


@pytest.mark.parametrize("statement", [STATEMENTS[2], STATEMENTS[4], STATEMENTS[8]])
def test_files_are_written_anew(statement: str, tables: TableEnvironment, tmp_path: Path) -> None:
    in_files(tables, tmp_path / "t")
    tables.execute_sql(statement)
    assert rows(tables) == expected(statement)


def test_files_that_come_meanwhile_are_not_lost(tables: TableEnvironment, tmp_path: Path) -> None:
    in_files(tables, tmp_path / "t")
    part = next(iter((tmp_path / "t" / "name=c").iterdir()))
    sink = FileSystemFactory().changer(context_of(tables)).rewriting()
    assert sink is not None
    part.with_name("part-later.parquet").write_bytes(part.read_bytes())
    source = tables.sql_query("SELECT id, n, name FROM t WHERE id > 100")._plan
    plan = Sink(source, ("default_catalog", "default_database", "t"), sink, False, (), source.schema)
    with pytest.raises(Exception, match="files came or went"):
        tables._session.engine.execute([plan], tables._session).wait()
    assert rows(tables) == sorted([*ROWS, ROWS[-1]], key=lambda row: row[0])


def context_of(tables: TableEnvironment) -> TableContext:
    found = tables._session.catalogs.table(("t",))
    return table_context(found.identifier, found.table, {}, tables._session)


def test_truncate(tables: TableEnvironment, tmp_path: Path) -> None:
    in_files(tables, tmp_path / "t")
    tables.execute_sql("TRUNCATE TABLE t")
    assert rows(tables) == []
    tables.execute_sql("DROP TABLE t")
    in_database(tables, tmp_path / "db")
    tables.execute_sql("TRUNCATE TABLE t")
    assert of_database(tmp_path / "db") == []


def test_without_a_key_only_what_the_database_says_itself(tables: TableEnvironment, tmp_path: Path) -> None:
    in_database(tables, tmp_path / "db", key="")
    tables.execute_sql("DELETE FROM t WHERE id = 1")
    with pytest.raises(TableException, match="without a PRIMARY KEY"):
        tables.execute_sql("DELETE FROM t WHERE id + 1 = 3")
    assert [row[0] for row in of_database(tmp_path / "db")] == [2, 3, 4, 5]


REFUSED = {
    "DELETE FROM missing": "there is no table 'missing'",
    "DELETE FROM few": "is a view",
    "UPDATE hole SET a = 1": "the connector 'blackhole' cannot",
    "UPDATE t SET id = id + 1": "a column of the PRIMARY KEY",
    "UPDATE t SET nothing = 1": "has no column 'nothing'",
    "UPDATE t SET n = 'x'": "CAST it",
    "UPDATE t SET n = 1, n = 2": "is set twice",
    "TRUNCATE TABLE hole": "cannot change rows in place",
}


@pytest.mark.parametrize("statement", REFUSED)
def test_what_cannot_be_done_is_refused(statement: str, tables: TableEnvironment, tmp_path: Path) -> None:
    in_database(tables, tmp_path / "db")
    tables.execute_sql("CREATE TABLE hole (a INT) WITH ('connector' = 'blackhole')")
    with pytest.raises(Exception, match=REFUSED[statement]):
        tables.execute_sql(statement)
    assert of_database(tmp_path / "db") == ROWS


def test_streaming_mode_refuses() -> None:
    streaming = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    streaming.execute_sql("CREATE TABLE hole (a INT) WITH ('connector' = 'blackhole')")
    for statement in ("DELETE FROM hole", "UPDATE hole SET a = 1", "TRUNCATE TABLE hole"):
        with pytest.raises(TableException, match="is for batch mode"):
            streaming.execute_sql(statement)
