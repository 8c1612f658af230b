"""Every database as a place, for tests that are the same for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.connectors.jdbc.databases import JdbcTables, Place, of_duckdb, of_mariadb, of_postgresql, of_sqlite

EACH = pytest.mark.draw(4)
"""of the pairs of a test and a database ring 2 takes one in four"""
ALL = [
    pytest.param("postgres", marks=[pytest.mark.services, EACH]),
    pytest.param("mariadb", marks=[pytest.mark.services, EACH]),
    pytest.param("sqlite", marks=EACH),
    pytest.param("duckdb", marks=EACH),
]


@pytest.fixture
def tables() -> JdbcTables:
    return JdbcTables()


@pytest.fixture(params=ALL)
def place(request: Any, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return of_sqlite(str(tmp_path / "x.db"))
    if request.param == "duckdb":
        return of_duckdb(str(tmp_path / "x.duckdb"))
    server = request.getfixturevalue(request.param)
    return of_postgresql(server) if request.param == "postgres" else of_mariadb(server)


@pytest.fixture
def postgresql_place(postgres: Any) -> Place:
    return of_postgresql(postgres)


@pytest.fixture
def mariadb_place(mariadb: Any) -> Place:
    return of_mariadb(mariadb)


@pytest.fixture
def duckdb_place(tmp_path: Path) -> Place:
    return of_duckdb(str(tmp_path / "x.duckdb"))
