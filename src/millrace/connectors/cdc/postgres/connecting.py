"""Connections to a PostgreSQL that is captured: for questions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from millrace.connectors.jdbc.dialects.postgresql import PostgreSqlDialect, psycopg
from millrace.connectors.jdbc.dialects.target import Target

STATEMENT_SECONDS = 300
"""in which any question is answered"""


@contextmanager
def connected(target: Target, name: str, seconds: float = STATEMENT_SECONDS) -> Iterator[Any]:
    """A connection that commits each statement by itself.

    :param name: that the server shows for it. :param seconds: in which a statement has to end.
    :raises ConnectionFailed: with the place, without the password.
    """
    connection = connect(target, name, seconds)
    try:
        yield connection
    finally:
        connection.close()


def connect(target: Target, name: str, seconds: float = STATEMENT_SECONDS) -> Any:
    connection = PostgreSqlDialect().connect(target)
    connection.autocommit = True
    connection.execute("SELECT set_config('application_name', %s, false)", [name])
    connection.execute("SELECT set_config('statement_timeout', %s, false)", [f"{int(seconds * 1000)}ms"])
    return connection


def sql() -> Any:
    """psycopg's composer of statements."""
    psycopg()
    from psycopg import sql as found

    return found
