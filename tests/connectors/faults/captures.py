"""Databases that are captured, and fail."""

from __future__ import annotations

import uuid

from tests.connectors.cdc.mysql.capturing import Server
from tests.connectors.cdc.postgres.capturing import Captured
from tests.connectors.faults.place import Place

from millrace.testing.connectors.faults import Fault

COLUMNS = "id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED"
WRONG = "id INT, name INT, PRIMARY KEY (id) NOT ENFORCED"
DEFINED = "id INT PRIMARY KEY, name VARCHAR(30)"


class _Capture(Place):
    writes, unbounded = False, True
    columns, wrong_columns = COLUMNS, WRONG
    quick = {"connect.timeout": "1 s", "connect.max-retries": "1"}
    waiting = "`connect.timeout` (30 s), `connect.max-retries` (3)"
    reasons = {Fault.OTHER_WAY: "captures only read"}


class PostgresCaptures(_Capture):
    name, connector, server = "postgres-cdc", "postgres-cdc", "strict_postgres"
    captured: Captured | None = None

    @property
    def place(self) -> Captured:
        if self.captured is None:
            self.captured = Captured(self.running)
            self.names += [self.captured.slot, self.captured.schema]
        return self.captured

    def close(self) -> None:
        if self.captured is not None:
            self.captured.close()

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        given = {"hostname": "127.0.0.1", "port": str(port), "username": "postgres", "database-name": "postgres"}
        schema, slot = ("s", "s") if self.running is None else (self.place.schema, self.place.slot)
        given |= {"schema-name": schema, "table-name": name, "slot.name": slot, "heartbeat.interval.ms": "200 ms"}
        return given | {"password": password or self.running.password}

    def make(self, wrong: bool = False) -> str:
        name = f"t_{uuid.uuid4().hex[:10]}"
        self.place.run(f"CREATE TABLE {name} ({DEFINED})")
        if wrong:
            self.place.run(f"INSERT INTO {name} VALUES (1, 'no number')")
        return name

    def put(self, name: str, number: int) -> None:
        self.place.run(f"INSERT INTO {name} VALUES ({number}, 'n')")


class MySqlCaptures(_Capture):
    name, connector, server = "mysql-cdc", "mysql-cdc", "mariadb"

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        user, database = ("u", "d") if self.running is None else (self.running.user, self.running.database)
        given = {"hostname": "127.0.0.1", "port": str(port), "username": user, "database-name": database}
        given |= {"table-name": name, "heartbeat.interval": "1 s"}
        return given | {"password": password or self.running.password}

    def make(self, wrong: bool = False) -> str:
        server = Server(self.running)
        name = server.create(DEFINED).table
        if wrong:
            server.run(f"INSERT INTO {name} VALUES (1, 'no number')")
        return name

    def put(self, name: str, number: int) -> None:
        Server(self.running).run(f"INSERT INTO {name} VALUES ({number}, 'n')")


PLACES: list[type[Place]] = [PostgresCaptures, MySqlCaptures]
