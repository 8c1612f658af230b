"""What may go wrong with a database, and what is said then: never a password, always the place and the table."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import pytest
from tests.connectors.jdbc.databases import JdbcTables, Place

from millrace.connectors.jdbc.jdbc_database import Database, parse_url
from millrace.connectors.stores import Buffering, Retrying
from millrace.testing.services import MariaDB, PostgreSQL
from millrace.testing.services.server import free_ports

COLUMNS = "id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED"
SECRET = "Pass-Word-1234"

servers = pytest.mark.parametrize(
    "kind", [pytest.param(each, marks=pytest.mark.services) for each in ("postgres", "mariadb")]
)


@pytest.fixture
def place(request: pytest.FixtureRequest, kind: str) -> Place:
    found: Place = request.getfixturevalue({"postgres": "postgresql_place", "mariadb": "mariadb_place"}[kind])
    return found


def failure(tables: JdbcTables, name: str, write: bool) -> str:
    with pytest.raises(Exception, match="cause") as caught:
        tables.insert(f"INSERT INTO {name} VALUES (1, 'x')") if write else tables.query(f"SELECT * FROM {name}")
    said = str(caught.value)
    assert SECRET not in said
    return said


@pytest.mark.parametrize("scheme", ["postgresql", "mariadb"])
@pytest.mark.parametrize("write", [False, True])
def test_nobody_listens(tables: JdbcTables, scheme: str, write: bool) -> None:
    (port,) = free_ports(1)
    nowhere = Place(f"jdbc:{scheme}://127.0.0.1:{port}/d", lambda: None, "u", SECRET)
    name = tables.over(nowhere, "t", COLUMNS, **{"sink.max-retries": "0"})
    said = failure(tables, name, write)
    assert f"127.0.0.1:{port}" in said
    assert "refused" in said


@servers
@pytest.mark.parametrize("write", [False, True])
def test_a_table_that_is_not_there(tables: JdbcTables, place: Place, write: bool) -> None:
    said = failure(tables, tables.over(place, "missing_table", COLUMNS), write)
    assert "missing_table" in said


@servers
def test_a_column_that_is_not_there(tables: JdbcTables, place: Place) -> None:
    table = place.create("id BIGINT PRIMARY KEY, other VARCHAR(10)")
    for write in (False, True):
        said = failure(tables, tables.over(place, table, COLUMNS), write)
        assert table in said
        assert "name" in said


@servers
def test_values_that_do_not_fit(tables: JdbcTables, place: Place) -> None:
    table = place.create("id BIGINT PRIMARY KEY, name VARCHAR(3)")
    name = tables.over(place, table, COLUMNS)
    with pytest.raises(Exception, match="too long") as caught:
        tables.insert(f"INSERT INTO {name} VALUES (1, 'longer')")
    assert table in str(caught.value)
    assert place.run(f"SELECT * FROM {table}") in ([], ())


@servers
def test_types_that_are_not_what_is_declared(tables: JdbcTables, place: Place) -> None:
    table = place.create("id BIGINT PRIMARY KEY, name VARCHAR(30)")
    place.run(f"INSERT INTO {table} VALUES (1, 'no number')")
    name = tables.over(place, table, "id BIGINT, name INT, PRIMARY KEY (id) NOT ENFORCED")
    said = failure(tables, name, False)
    assert "no number" in said
    assert table in said


@pytest.mark.services
def test_a_wrong_password(tables: JdbcTables, mariadb: MariaDB, postgres: PostgreSQL) -> None:
    wrong = Place(mariadb.jdbc_url, lambda: None, mariadb.user, SECRET)
    said = failure(tables, tables.over(wrong, "t", COLUMNS), True)
    assert "Access denied" in said
    # That server lets everybody in on loopback, but not everybody exists.
    unknown = Place(postgres.jdbc_url, lambda: None, "nobody_here", SECRET)
    assert "nobody_here" in failure(tables, tables.over(unknown, "t", COLUMNS), True)


@pytest.mark.services
def test_a_database_that_is_not_there(tables: JdbcTables, postgresql_place: Place) -> None:
    elsewhere = Place(postgresql_place.url.rpartition("/")[0] + "/nothing", lambda: None, "postgres", SECRET)
    began = time.monotonic()
    assert '"nothing" does not exist' in failure(tables, tables.over(elsewhere, "t", COLUMNS), True)
    assert time.monotonic() - began < 60  # it was not tried again and again


@servers
def test_a_server_that_is_killed_and_comes_back(kind: str, place: Place, request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue(kind)
    table = place.create("id INT")
    retrying = Retrying(Database(*parse_url(place.url, place.user, place.password)), Buffering(retries=60, pause=0.02))

    def insert(number: int) -> None:
        def work(connection: object) -> None:
            with closing(connection.cursor()) as cursor:  # type: ignore[attr-defined]
                cursor.execute(f"INSERT INTO {table} VALUES ({number})")

        retrying.run(work)

    insert(1)
    server.crash()
    back = threading.Thread(target=server.start_again)
    back.start()
    insert(2)
    back.join()
    retrying.close()
    assert sorted(place.run(f"SELECT id FROM {table}")) == [(1,), (2,)]


@pytest.mark.services
def test_transactions_that_are_not_to_be_had(tables: JdbcTables) -> None:
    from tests.connectors.conftest import started
    from tests.connectors.jdbc.databases import of_postgresql

    with started(PostgreSQL({"max_prepared_transactions": "0"})) as server:
        place = of_postgresql(server)
        name = tables.over(place, place.create("id INT"), "id INT", **{"sink.exactly-once": "two-phase"})
        with pytest.raises(Exception, match="max_prepared_transactions = 0"):
            tables.insert(f"INSERT INTO {name} VALUES (1)")
