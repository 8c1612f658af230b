"""Tables and databases that are made, changed and dropped through a catalog: what the database says of them itself."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from tests.connectors.jdbc.databases import JdbcTables, Place, of_sqlite
from tests.connectors.jdbc.test_catalog import created

from millrace.table.catalog import ObjectPath

COLUMNS = (
    "id BIGINT NOT NULL, part VARCHAR(5), n DECIMAL(10, 2), txt STRING NOT NULL, flag BOOLEAN, d DATE, "
    "at TIMESTAMP(3), raw BYTES, x DOUBLE"
)


def is_of_file(place: Place) -> bool:
    return "sqlite" in place.url or "duckdb" in place.url


@pytest.fixture
def catalog(place: Place, tables: JdbcTables) -> Any:
    """The catalog of each database, which is the current one."""
    is_file = is_of_file(place)
    base = place.url if is_file else place.url.rpartition("/")[0]
    of_file = "main" if "sqlite" in place.url else "x"
    default = of_file if is_file else place.url.rpartition("/")[2].partition("?")[0]
    created(tables, place, base, default)
    return tables.environment.get_catalog("db")


@pytest.fixture
def name() -> str:
    return f"t_{uuid.uuid4().hex[:10]}"


def columns(catalog: Any, name: str) -> dict[str, str]:
    database = catalog.get_default_database()
    schema = catalog.get_table(ObjectPath(database, name)).get_unresolved_schema()
    return {each.name: str(each.type) for each in schema.columns}


def test_a_table_is_made_filled_changed_and_dropped(catalog: Any, place: Place, tables: JdbcTables, name: str) -> None:
    run = tables.environment.execute_sql
    run(f"CREATE TABLE {name} ({COLUMNS}, PRIMARY KEY (id, part) NOT ENFORCED)")
    run(f"CREATE TABLE IF NOT EXISTS {name} (other INT)")
    with pytest.raises(Exception, match="there is a table"):
        run(f"CREATE TABLE {name} (other INT)")
    tables.insert(
        f"INSERT INTO {name} VALUES (1, 'a', 2.5, 'text', TRUE, DATE '2024-05-06', "
        "TIMESTAMP '2024-05-06 07:08:09.123', x'0102', 0.5)"
    )
    tables.insert(f"INSERT INTO {name} (id, part, txt) VALUES (1, 'a', 'again')")  # the key is the database's
    assert [tuple(row) for row in place.run(f"SELECT id, part, txt FROM {name}")] == [(1, "a", "again")]
    with pytest.raises(Exception, match=r"(?i)null|default value"):
        place.run(f"INSERT INTO {name} (id, part) VALUES (2, 'b')")
    run(f"ALTER TABLE {name} ADD (more INT, `a b` STRING)")
    run(f"ALTER TABLE {name} RENAME more TO less")
    run(f"ALTER TABLE {name} DROP x")
    assert list(columns(catalog, name)) == ["id", "part", "n", "txt", "flag", "d", "at", "raw", "less", "a b"]
    assert tables.rows(f"SELECT id, txt, less FROM {name}") == [(1, "again", None)]
    run(f"ALTER TABLE {name} RENAME TO {name}_new")
    assert tables.rows(f"SELECT id FROM {name}_new") == [(1,)]
    run(f"DROP TABLE {name}_new")
    run(f"DROP TABLE IF EXISTS {name}_new")
    with pytest.raises(Exception, match="there is no table"):
        run(f"DROP TABLE {name}_new")
    with pytest.raises(Exception, match=r"(?i)exist|no such table"):
        place.run(f"SELECT * FROM {name}_new")


def test_types_come_back(catalog: Any, tables: JdbcTables, name: str, place: Place) -> None:
    tables.environment.execute_sql(f"CREATE TABLE {name} ({COLUMNS}, PRIMARY KEY (id) NOT ENFORCED)")
    found = columns(catalog, name)
    wanted = {
        "id": "BIGINT NOT NULL", "part": "VARCHAR(5)", "n": "DECIMAL(10, 2)", "txt": "STRING NOT NULL",
        "flag": "BOOLEAN", "d": "DATE", "at": "TIMESTAMP(3)", "raw": "BYTES", "x": "DOUBLE",
    }  # fmt: skip
    if is_of_file(place):
        wanted |= {"part": "STRING", "at": "TIMESTAMP(6)"}  # it keeps no lengths
    elif "postgres" not in place.url:
        wanted |= {"txt": "STRING NOT NULL"}
    assert found == wanted


def test_a_type_is_changed(catalog: Any, tables: JdbcTables, name: str, place: Place) -> None:
    run = tables.environment.execute_sql
    run(f"CREATE TABLE {name} (id INT, n INT NOT NULL)")
    tables.insert(f"INSERT INTO {name} VALUES (1, 2)")
    if "sqlite" in place.url:
        with pytest.raises(Exception, match="changes no types"):
            run(f"ALTER TABLE {name} MODIFY n DECIMAL(20, 0) NOT NULL")
        return
    run(f"ALTER TABLE {name} MODIFY n DECIMAL(20, 0) NOT NULL")
    assert columns(catalog, name) == {"id": "INT", "n": "DECIMAL(20, 0) NOT NULL"}
    tables.insert(f"INSERT INTO {name} VALUES (1, 12345678901234567890)")
    assert sorted(tables.rows(f"SELECT CAST(n AS STRING) FROM {name}")) == [("12345678901234567890",), ("2",)]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE TABLE {name} (a TIMESTAMP(3), WATERMARK FOR a AS a)", "keeps no watermarks"),
        ("CREATE TABLE {name} (a INT, b AS a + 1)", "keeps no computed"),
        ("CREATE TABLE {name} (a MAP<INT, INT>)", "has no columns of type MAP<INT, INT>"),
        ("CREATE TABLE {name} (a TIMESTAMP(9))", "6 digits of a second"),
        ("CREATE TABLE {name} (a INT) WITH ('scan.fetch-size' = '5')", "keeps no options of tables, but got 'scan"),
        ("CREATE VIEW {name} AS SELECT 1 AS a", "keeps no views"),
        ("ALTER TABLE {there} ADD (c INT FIRST)", "new columns of a database's table come last"),
        ("ALTER TABLE {there} SET ('scan.fetch-size' = '5')", "keeps no options of tables"),
        ("ALTER TABLE {there} ADD PRIMARY KEY (a) NOT ENFORCED", "primary key of a database's table stays"),
        ("ALTER TABLE {there} MODIFY a BIGINT NOT NULL", "whether it may be NULL stays as it is"),
    ],
)
def test_what_databases_do_not_keep(statement: str, said: str, tables: JdbcTables, name: str, tmp_path: Path) -> None:
    place = of_sqlite(str(tmp_path / "x.db"))
    created(tables, place, place.url, "main")
    there = place.create("a INT, b INT")
    with pytest.raises(Exception, match=r"catalog db|database") as caught:
        tables.environment.execute_sql(statement.format(name=name, there=there))
    assert said in str(caught.value)


def test_databases(catalog: Any, place: Place, tables: JdbcTables, name: str) -> None:
    run = tables.environment.execute_sql
    if is_of_file(place):
        with pytest.raises(Exception, match=r"a file of (SQLite|DuckDB) is one database"):
            run(f"CREATE DATABASE {name}")
        return
    run(f"CREATE DATABASE {name}")
    run(f"CREATE DATABASE IF NOT EXISTS {name}")
    run(f"CREATE TABLE {name}.t (a INT)")
    with pytest.raises(Exception, match="is not empty"):
        run(f"DROP DATABASE {name} RESTRICT")
    run(f"DROP DATABASE {name} CASCADE")
    assert name not in catalog.list_databases()


@pytest.mark.services
def test_what_postgresql_has_counted(tables: JdbcTables, postgresql_place: Place) -> None:
    place = postgresql_place
    table = place.create("id INT PRIMARY KEY, kind TEXT, few INT")
    place.run(f"INSERT INTO {table} SELECT i, 'kind ' || i % 4, NULLIF(i % 2, 0) FROM generate_series(1, 1000) AS s(i)")
    place.run(f"ANALYZE {table}")
    created(tables, place, place.url.rpartition("/")[0], "postgres")
    catalog = tables.environment.get_catalog("db")
    assert catalog is not None
    found = catalog.get_table_column_statistics(ObjectPath("postgres", table)).get_column_statistics_data()
    assert (found["id"].distinct, found["id"].nulls, found["id"].least, found["id"].greatest) == (1000, 0, "1", "1000")
    assert (found["kind"].distinct, found["kind"].average_length) == (4, 7)
    assert found["few"].nulls == 500


@pytest.mark.services
def test_what_mariadb_has_counted(tables: JdbcTables, mariadb_place: Place) -> None:
    place = mariadb_place
    table = place.create("id INT PRIMARY KEY, kind INT, INDEX (kind)")
    place.run(f"INSERT INTO {table} VALUES {', '.join(f'({each}, {each % 4})' for each in range(100))}")
    place.run(f"ANALYZE TABLE {table}")
    created(tables, place, place.url.rpartition("/")[0] + "/", "millrace")
    catalog = tables.environment.get_catalog("db")
    assert catalog is not None
    found = catalog.get_table_column_statistics(ObjectPath("millrace", table)).get_column_statistics_data()
    assert 0 < found["kind"].distinct < found["id"].distinct <= 110  # estimates
