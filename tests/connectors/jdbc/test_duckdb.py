"""A file of DuckDB, which one process at a time may write to."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.connectors.jdbc.databases import JdbcTables, of_duckdb

HOLD = """
import duckdb, sys, time
connection = duckdb.connect(sys.argv[1])
print("open", flush=True)
time.sleep(float(sys.argv[2]))
"""


def held(path: Path, seconds: float) -> subprocess.Popen[str]:
    """Another process that has the file open for a while."""
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(path), str(seconds)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "open\n"
    return other


def test_another_process_is_waited_for(tmp_path: Path) -> None:
    place = of_duckdb(str(tmp_path / "x.duckdb"))
    tables = JdbcTables()
    name = tables.over(place, place.create("id INT"), "id INT")
    for statement in (f"INSERT INTO {name} VALUES (1)", f"SELECT * FROM {name}"):
        with held(tmp_path / "x.duckdb", 0.5):
            tables.insert(statement) if statement.startswith("INSERT") else tables.query(statement)
    assert tables.rows(f"SELECT * FROM {name}") == [(1,)]


def test_one_that_does_not_let_go(tmp_path: Path) -> None:
    place = of_duckdb(str(tmp_path / "x.duckdb"))
    tables = JdbcTables()
    options = {"connection.max-retry-timeout": "200 ms", "sink.max-retries": "0"}
    name = tables.over(place, place.create("id INT"), "id INT", **options)
    other = held(tmp_path / "x.duckdb", 60)
    try:
        for run in (
            lambda: tables.insert(f"INSERT INTO {name} VALUES (1)"),
            lambda: tables.query(f"SELECT * FROM {name}"),
        ):
            began = time.monotonic()
            with pytest.raises(Exception, match="Could not set lock on file") as caught:
                run()
            assert "DuckDB at" in str(caught.value)
            assert time.monotonic() - began < 30
    finally:
        other.kill()
        other.wait()


def test_what_is_said_of_files_and_tables(tmp_path: Path) -> None:
    tables = JdbcTables()
    place = of_duckdb(str(tmp_path / "x.duckdb"))
    table = place.create("id INT, n INT")
    place.run(f"INSERT INTO {table} VALUES (1, 3)")
    for url, columns, name, said in (
        (place.url, "id INT", "missing", "missing does not exist"),
        (place.url, "id INT, other INT", table, '"other" not found'),
        (place.url, "id INT, n BOOLEAN, d DATE", table, '"d" not found'),
        (place.url, "n DATE", table, "cannot be read as DATE"),
        ("jdbc:duckdb:", "id INT", table, "name a file"),
        (f"jdbc:duckdb:{tmp_path}", "id INT", table, "DuckDB at"),
    ):
        over = tables.over(place, name, columns, url=url)
        with pytest.raises(Exception, match="cause") as caught:
            tables.query(f"SELECT * FROM {over}")
        assert said in str(caught.value), url
    # Values that do not fit are errors, and leave nothing behind.
    small = place.create("id TINYINT")
    with pytest.raises(Exception, match="out of range") as caught:
        tables.insert(f"INSERT INTO {tables.over(place, small, 'id INT')} VALUES (1), (300)")
    assert small in str(caught.value)
    assert place.run(f"SELECT * FROM {small}") == []
