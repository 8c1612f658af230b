"""Connectors that a program registers: in one environment, or in all of the process."""

from __future__ import annotations

import pytest

from millrace.connectors.tables.print_table import BlackholeFactory
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.sessions.table_info import EVERYWHERE, register_factory
from millrace.util.exceptions import TableException


class OwnFactory(BlackholeFactory):
    identifier = "own"


CREATE = "CREATE TABLE t (a INT) WITH ('connector' = 'own')"
INSERT = "EXPLAIN INSERT INTO t SELECT 1"


def environment() -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    made.execute_sql(CREATE)
    return made


def test_one_environment_knows_it() -> None:
    knows, other = environment(), environment()
    knows.register_connector(OwnFactory)
    knows.execute_sql(INSERT)
    assert "own" not in EVERYWHERE.names()
    with pytest.raises(TableException, match="there is no connector 'own'"):
        other.execute_sql(INSERT)


def test_all_environments_know_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EVERYWHERE, "_own", dict(EVERYWHERE._own))
    before = environment()
    register_factory(OwnFactory)
    before.execute_sql(INSERT)
    environment().execute_sql(INSERT)
