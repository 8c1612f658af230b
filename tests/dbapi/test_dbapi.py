"""The driver, as PEP 249 describes one."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from tests.cluster.gateway.conftest import FakeEngine
from tests.cluster.sql_client.conftest import URL
from tests.dbapi.conftest import Connect

from millrace import dbapi
from millrace.common.types import Row, RowKind

DEADLINE = 120.0


def test_the_module() -> None:
    assert (dbapi.apilevel, dbapi.paramstyle, dbapi.threadsafety) == ("2.0", "qmark", 2)
    assert issubclass(dbapi.DataError, dbapi.DatabaseError) and issubclass(dbapi.InterfaceError, dbapi.Error)
    assert dbapi.Connection.ProgrammingError is dbapi.ProgrammingError
    assert dbapi.STRING != dbapi.NUMBER


def test_rows(connect: Connect, engine: FakeEngine) -> None:
    engine.rows = lambda: (Row(number, str(number)) for number in range(7))
    with connect() as connection, connection.cursor() as cursor:
        assert cursor.description is None
        cursor.execute("SELECT * FROM t")
        assert cursor.description is not None
        name, code, _, _, _, _, nullable = cursor.description[0]
        assert (name, str(code), nullable) == ("n", "INT", True)
        assert code == dbapi.NUMBER and code != dbapi.STRING
        assert cursor.description[1][1] == dbapi.STRING
        assert cursor.fetchone() == (0, "0")
        assert cursor.fetchmany() == [(1, "1")]
        assert cursor.fetchmany(2) == [(2, "2"), (3, "3")]
        assert (cursor.rownumber, cursor.rowcount) == (4, -1)
        assert next(cursor) == (4, "4")
        assert cursor.fetchall() == [(5, "5"), (6, "6")]
        assert cursor.fetchone() is None and cursor.fetchmany(3) == []
        assert cursor.job_id == engine.jobs[0].id
    assert engine.closed == 1
    with pytest.raises(dbapi.InterfaceError):
        cursor.fetchone()


def test_lists_and_what_only_does_something(connect: Connect) -> None:
    connection = connect()
    assert connection.execute("SHOW TABLES").fetchall() == [("sink",), ("t",)]
    cursor = connection.execute("CREATE DATABASE other")
    assert cursor.description is None
    with pytest.raises(dbapi.InterfaceError, match="no rows"):
        cursor.fetchall()
    assert connection.properties()["table.local-time-zone"] == "UTC"


def test_inserts(connect: Connect, engine: FakeEngine) -> None:
    cursor = connect().cursor()
    cursor.executemany("INSERT INTO sink VALUES (?, ?)", [(1, "a"), (2, "b")])
    assert len(engine.jobs) == 2
    assert (cursor.rowcount, cursor.description, cursor.job_id) == (-1, None, engine.jobs[1].id)
    with pytest.raises(dbapi.ProgrammingError, match="without rows"):
        cursor.executemany("SELECT * FROM t WHERE n = ?", [(1,)])


def test_changes(connect: Connect, engine: FakeEngine) -> None:
    engine.rows = lambda: iter([Row(1, "a"), Row.of_kind(RowKind.UPDATE_BEFORE, 1, "a"), Row(2, "b")])
    cursor = connect().execute("SELECT * FROM t")
    assert cursor.fetchone() == (1, "a")
    with pytest.raises(dbapi.NotSupportedError, match="changes='kinds'"):
        cursor.fetchone()
    cursor = connect(changes="kinds").execute("SELECT * FROM t")
    assert cursor.description is not None
    assert [column[0] for column in cursor.description] == ["op", "n", "s"]
    assert cursor.fetchall() == [("+I", 1, "a"), ("-U", 1, "a"), ("+I", 2, "b")]


def test_errors(connect: Connect) -> None:
    connection = connect()
    with pytest.raises(dbapi.ProgrammingError, match="nothing"):
        connection.execute("SELECT nothing FROM t")
    with pytest.raises(dbapi.NotSupportedError):
        connection.rollback()
    connection.commit()
    with pytest.raises(dbapi.OperationalError):
        dbapi.connect("http://localhost:1", timeout=5)
    with pytest.raises(dbapi.InterfaceError, match="'insertions' or 'kinds'"):
        dbapi.connect(URL, changes="some")
    connection.close()
    with pytest.raises(dbapi.InterfaceError, match="closed"):
        connection.cursor()


def test_a_session_that_is_gone(connect: Connect, gateway: object) -> None:
    connection = connect()
    gateway.close(connection._session.handle)  # type: ignore[attr-defined]
    with pytest.raises(dbapi.OperationalError, match="does not exist"):
        connection.execute("SHOW TABLES")


def test_cancelling_from_another_thread(connect: Connect, engine: FakeEngine) -> None:
    end = threading.Event()

    def rows() -> Iterator[Row]:
        yield Row(1, "a")
        end.wait(DEADLINE)

    engine.rows = rows
    cursor = connect().execute("SELECT * FROM t")
    assert cursor.fetchone() == (1, "a")
    threading.Timer(0.05, cursor.cancel).start()
    assert cursor.fetchone() is None
    end.set()
