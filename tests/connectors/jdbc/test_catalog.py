"""The catalog of a database: what it lists, and tables that are read and written without a CREATE TABLE."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.connectors.jdbc.databases import JdbcTables, Place, of_sqlite

from millrace.table.catalog import JdbcCatalog, ObjectPath
from millrace.util.exceptions import CatalogException, DatabaseNotExistException, TableNotExistException

servers = pytest.mark.services


def created(tables: JdbcTables, place: Place, base: str, database: str) -> None:
    more = f", 'username' = '{place.user}', 'password' = '{place.password}'" if place.user else ""
    tables.environment.execute_sql(
        f"CREATE CATALOG db WITH ('type' = 'jdbc', 'base-url' = '{base}', 'default-database' = '{database}'{more})"
    )
    tables.environment.use_catalog("db")


@servers
def test_postgresql(tables: JdbcTables, postgresql_place: Place) -> None:
    place = postgresql_place
    table = place.create("id BIGINT, part VARCHAR(5), n NUMERIC, PRIMARY KEY (part, id)")
    place.run(f"CREATE SCHEMA s_{table}")
    place.run(f'CREATE TABLE s_{table}."Other" (x INT NOT NULL)')
    created(tables, place, place.url.rpartition("/")[0], "postgres")
    found = tables.environment.list_tables()
    assert f"public.{table}" in found
    assert f"s_{table}.Other" in found
    assert "postgres" in tables.environment.list_databases()
    tables.insert(f"INSERT INTO `public.{table}` VALUES (1, 'a', 1.5), (1, 'a', 2.5)")
    assert tables.rows(f"SELECT id, part FROM {table}") == [(1, "a")]  # public goes without saying
    assert [tuple(row) for row in place.run(f"SELECT n FROM {table}")] == [(2.5,)]
    tables.insert(f"INSERT INTO `s_{table}.Other` VALUES (7)")
    assert tables.rows(f"SELECT * FROM `s_{table}.Other`") == [(7,)]
    catalog = tables.environment.get_catalog("db")
    assert catalog is not None
    described = catalog.get_table(ObjectPath("postgres", table)).get_unresolved_schema()
    assert described.primary_key is not None
    assert described.primary_key.columns == ("part", "id")
    place.run(f"ANALYZE {table}")
    assert catalog.get_table_statistics(ObjectPath("postgres", table)).get_row_count() == 1


@servers
def test_mariadb(tables: JdbcTables, mariadb_place: Place) -> None:
    place = mariadb_place
    table = place.create("id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(5) NOT NULL")
    created(tables, place, place.url.rpartition("/")[0] + "/", "millrace")
    assert table in tables.environment.list_tables()
    assert tables.environment.list_databases() == ["millrace"]
    tables.insert(f"INSERT INTO {table} VALUES (18446744073709551615, 'a')")
    assert [tuple(row) for row in place.run(f"SELECT * FROM {table}")] == [(18446744073709551615, "a")]
    catalog = tables.environment.get_catalog("db")
    assert catalog is not None
    place.run(f"ANALYZE TABLE {table}")
    assert catalog.get_table_statistics(ObjectPath("millrace", table)).get_row_count() == 1


def test_sqlite(tables: JdbcTables, tmp_path: Path) -> None:
    place = of_sqlite(str(tmp_path / "x.db"))
    table = place.create("id INTEGER PRIMARY KEY, name TEXT, price DECIMAL(8, 2)")
    created(tables, place, place.url, "main")
    assert tables.environment.list_tables() == [table]
    tables.insert(f"INSERT INTO {table} VALUES (1, 'a', 2.50)")
    assert tables.rows(f"SELECT * FROM {table}") == [(1, "a", 2.5)]
    catalog = tables.environment.get_catalog("db")
    assert catalog is not None
    with pytest.raises(TableNotExistException, match="there is no table"):
        catalog.get_table(ObjectPath("main", "nothing"))
    with pytest.raises(DatabaseNotExistException, match="nowhere"):
        catalog.list_tables("nowhere")
    place.run("ANALYZE")
    assert catalog.get_table_statistics(ObjectPath("main", table)).get_row_count() == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", "needs 'base-url'"),
        (", 'base-url' = 'jdbc:mysql://h:1'", "needs 'default-database'"),
        (", 'base-url' = 'jdbc:h2:x', 'default-database' = 'd'", "Millrace has no driver for"),
        (", 'base-url' = 'jdbc:mysql://h:1', 'default-databse' = 'd'", "did you mean 'default-database'"),
    ],
)
def test_options_that_cannot_be(tables: JdbcTables, options: str, said: str) -> None:
    with pytest.raises(Exception, match="catalog") as caught:
        tables.environment.execute_sql(f"CREATE CATALOG db WITH ('type' = 'jdbc'{options})")
    assert said in str(caught.value)


def test_a_server_that_is_not_there() -> None:
    from millrace.testing.services.server import free_ports

    catalog = JdbcCatalog("c", "d", "u", "very-secret", f"jdbc:postgresql://127.0.0.1:{free_ports(1)[0]}")
    with pytest.raises(CatalogException, match="refused") as caught:
        catalog.open()
    assert "very-secret" not in str(caught.value)
