"""Table programs over stores that run without Spark, and what is said when they fail."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from tests.connectors.tables.message_tables import MessageTables

SECRET = "Pass-Word-1234"


class StoreTables(MessageTables):
    def over(self, connector: str, columns: str, options: dict[str, str], partitioned: str = "") -> str:
        """A table of Millrace; its name."""
        given = ", ".join(f"'{key}' = '{value}'" for key, value in {"connector": connector, **options}.items())
        name = f"m_{uuid.uuid4().hex[:10]}"
        self.environment.execute_sql(f"CREATE TABLE {name} ({columns}) {partitioned} WITH ({given})")
        return name

    def joined(self, keys: str, name: str, on: str, wanted: str = "l.k, r.*", kind: str = "LEFT") -> list[Any]:
        """The rows of a look-up join of VALUES ``keys`` with the table."""
        left = f"(SELECT k, PROCTIME() AS p FROM (VALUES {keys}) AS x(k)) AS l"
        found = self.query(f"SELECT {wanted} FROM {left} {kind} JOIN {name} FOR SYSTEM_TIME AS OF l.p AS r ON {on}")
        return sorted((row for _, row in found), key=repr)

    def failure(self, statement: str) -> str:
        """What is said when a statement fails; there is no password in it."""
        with pytest.raises(Exception, match="cause") as caught:
            self.insert(statement) if statement.startswith("INSERT") else self.query(statement)
        said = str(caught.value)
        assert SECRET not in said
        return said


@contextmanager
def silent_server() -> Iterator[int]:
    """The port of a server that takes connections and says nothing."""
    with closing(socket.socket()) as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]
