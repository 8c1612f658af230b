"""Connections to a PostgreSQL that is captured: for questions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from millrace.connectors.cdc.postgres.settings import PostgresSettings
from millrace.connectors.jdbc.dialects.postgresql import PostgreSqlDialect, psycopg
from millrace.connectors.stores.problems import ConnectionFailed

PAUSE_SECONDS = 0.5
_NOT_YET = "FATAL:  the database system is"
STATEMENT_SECONDS = 300
"""in which any question is answered"""


@contextmanager
def connected(settings: PostgresSettings, name: str, seconds: float = STATEMENT_SECONDS) -> Iterator[Any]:
    """A connection that commits each statement by itself.

    :param name: that the server shows for it. :param seconds: in which a statement has to end.
    :raises ConnectionFailed: with the place, without the password.
    """
    connection = connect(settings, name, seconds)
    try:
        yield connection
    finally:
        connection.close()


def connect(settings: PostgresSettings, name: str, seconds: float = STATEMENT_SECONDS) -> Any:
    connection = _tried(settings)
    connection.autocommit = True
    connection.execute("SELECT set_config('application_name', %s, false)", [name])
    connection.execute("SELECT set_config('statement_timeout', %s, false)", [f"{int(seconds * 1000)}ms"])
    return connection


def _tried(settings: PostgresSettings) -> Any:
    """Once more after half a second, one, two, ...; as long as it takes within ``settings.wait`` if the server is there
    and says that it starts, recovers or ends."""
    left, pause, until = settings.retries, PAUSE_SECONDS, time.monotonic() + settings.wait
    while True:
        try:
            return PostgreSqlDialect().connect(settings.target)
        except ConnectionFailed as error:
            if _NOT_YET in str(error) and time.monotonic() < until:
                time.sleep(PAUSE_SECONDS)
                continue
            if left <= 0 or not error.passing:
                raise
        time.sleep(pause)
        left, pause = left - 1, pause * 2


def sql() -> Any:
    """psycopg's composer of statements."""
    psycopg()
    from psycopg import sql as found

    return found
