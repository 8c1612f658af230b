"""The log of a table from its beginning, its snapshot at the end, and its snapshot with the log behind it are the same
table: for drawn changes of rows with columns of every type, on real servers.

The oracle of which rows there are is the server; that of their values is a snapshot that nothing changed meanwhile.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.connectors.cdc.mysql import capturing as on_mysql
from tests.connectors.cdc.mysql.capturing import Server
from tests.connectors.cdc.mysql.test_database import TYPES as MYSQL_TYPES
from tests.connectors.cdc.postgres import capturing as on_postgres
from tests.connectors.cdc.postgres.capturing import Captured
from tests.connectors.cdc.postgres.test_tables import _sql as postgres_literal
from tests.connectors.jdbc.type_tables import VALUES
from tests.rings import examples, taken

from millrace.connectors.cdc.database import StartupOptions
from millrace.testing.connectors.sources import SourceJob
from millrace.testing.services import MariaDB, PostgreSQL

pytestmark = [pytest.mark.services, pytest.mark.timeout(1200)]

SECONDS = 120.0
ROWS = 9
"""number of keys: few, so that changes meet"""
MYSQL_KEYS: Mapping[str, Sequence[str]] = {
    "int": [str(number - 4) for number in range(ROWS)],
    "bigint unsigned": [str((1 << 64) - 1 - number * (1 << 60)) for number in range(ROWS)],
    "bit(9)": [f"b'{number * 60:09b}'" for number in range(ROWS)],
    "binary(3)": [f"x'{number:02x}'" for number in range(ROWS)],
    "varbinary(3)": [f"x'{number * 28:02x}{'00' * (number % 3)}'" for number in range(ROWS)],
    "varchar(9)": [f"'{text}'" for text in ("", "a", "ä1", "B", "c ", "Zz", "😀", "-1", "1e1")],
    "char(3)": [f"'{text}'" for text in ("", "a", "ä1", "B", "c", "Zz", "😀", "-1", "1e1")],
    "enum('c','b','a','d','e','f','g','h','2')": [f"'{text}'" for text in "abcdefgh2"],
    "decimal(20,2)": [str(number * 1.25 - 3) for number in range(ROWS)],
    "date": [f"'2024-02-2{number}'" for number in range(ROWS)],
    "time(3)": [f"'{number}:30:00.00{number}'" for number in range(ROWS)],
    "datetime(3)": [f"'2024-02-29 00:00:00.{number}25'" for number in range(ROWS)],
    "timestamp(6)": [f"'2024-02-29 00:00:00.00000{number}'" for number in range(ROWS)],
    "double": [f"{number - 4}.1e{number}" for number in range(ROWS)],
}
POSTGRES_KEYS: Mapping[str, Sequence[str]] = {
    "integer": [str(number - 4) for number in range(ROWS)],
    "text": [f"'{text}'" for text in ("", "a", "ä1", "B", "c ", "Zz", "😀", "-1", "1e1")],
    "character(3)": [f"'{text}'" for text in ("", "a", "ä1", "B", "c", "Zz", "😀", "-1", "1e1")],
    "bytea": [f"'\\x{number * 28:02x}{'00' * (number % 3)}'" for number in range(ROWS)],
    "bit(9)": [f"B'{number * 60:09b}'" for number in range(ROWS)],
    "numeric": [str(number * 1.25 - 3) for number in range(ROWS)],
    "uuid": [f"'123e4567-e89b-12d3-a456-42661417400{number}'" for number in range(ROWS)],
    "date": [f"'2024-02-2{number}'" for number in range(ROWS)],
    "time(3)": [f"'0{number}:30:00.00{number}'" for number in range(ROWS)],
    "timestamp(3)": [f"'2024-02-29 00:00:00.{number}25'" for number in range(ROWS)],
    "timestamptz": [f"'2024-02-29 00:00:00.00000{number}+02'" for number in range(ROWS)],
    "boolean": ["true", "false"],
    "double precision": [f"{number - 4}.1e{number}" for number in range(ROWS)],
}


class Place(ABC):
    """A server with a table ``t`` whose primary key is ``k``, and columns of all other types."""

    keys: Mapping[str, Sequence[str]]
    types: Mapping[str, str]
    """type -> a value of it that is not NULL"""
    name: str
    """of the table"""

    @abstractmethod
    def __init__(self, server: Any, key: str) -> None: ...

    @abstractmethod
    def run(self, statement: str) -> list[Any]: ...

    @abstractmethod
    def source(self, startup: StartupOptions, rows: int) -> Any: ...

    @abstractmethod
    def rows(self, events: list[Any]) -> dict[Any, tuple[Any, ...]]:
        """What events add up to. Fails where one does not fit to those before it."""

    @abstractmethod
    def upsert(self, columns: str, values: str, column: str) -> str: ...

    @abstractmethod
    def drop(self) -> None: ...


class OnMySql(Place):
    keys = MYSQL_KEYS
    types = {
        kind: "'23:59:58.000001'" if kind.startswith("time(") or kind == "time" else value  # of a day
        for kind, value in MYSQL_TYPES.items()
        if " as (" not in kind and kind != "timestamp NULL"
    }

    def __init__(self, server: MariaDB, key: str) -> None:
        self._server = Server(server)
        columns = ", ".join(f"c{place} {kind}" for place, kind in enumerate(self.types))
        self._table = self._server.create(f"{columns}, k {key} PRIMARY KEY, n INT AS (7) VIRTUAL")
        self.name = self._table.table
        self._connection = self._server.connect()

    def run(self, statement: str) -> list[Any]:
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def drop(self) -> None:
        self.run(f"DROP TABLE {self.name}")
        self._connection.close()

    def source(self, startup: StartupOptions, rows: int) -> Any:
        return self._server.source(self._table, startup=startup, rows=rows)

    def rows(self, events: list[Any]) -> dict[Any, tuple[Any, ...]]:
        return on_mysql.replayed(events).get(self._table, {})

    def upsert(self, columns: str, values: str, column: str) -> str:
        changed = f"{column} = VALUES({column})"
        return f"INSERT INTO {self.name} ({columns}) VALUES ({values}) ON DUPLICATE KEY UPDATE {changed}"


class OnPostgres(Place):
    keys = POSTGRES_KEYS
    types = {kind: postgres_literal(kind) for kind in VALUES["PostgreSQL"]} | {
        "varchar": "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 300) AS i)"  # lies beside its row
    }
    name = "t"

    def __init__(self, server: PostgreSQL, key: str) -> None:
        self._captured = Captured(server)
        columns = ", ".join(f"c{place} {kind}" for place, kind in enumerate(self.types))
        self.run(f"CREATE TABLE t ({columns}, k {key} PRIMARY KEY)")
        self.run("ALTER TABLE t REPLICA IDENTITY FULL")

    def run(self, statement: str) -> list[Any]:
        return self._captured.run(statement)

    def source(self, startup: StartupOptions, rows: int) -> Any:
        return self._captured.source("t", rows=rows, startup=startup)

    def rows(self, events: list[Any]) -> dict[Any, tuple[Any, ...]]:
        return on_postgres.replayed(events)

    def upsert(self, columns: str, values: str, column: str) -> str:
        changed = f"{column} = excluded.{column}"
        return f"INSERT INTO t ({columns}) VALUES ({values}) ON CONFLICT (k) DO UPDATE SET {changed}"

    def drop(self) -> None:
        self._captured.close()


@dataclass(frozen=True)
class Step:
    """A change: which rows it is about, and of which columns it makes a value or NULL."""

    kind: str
    key: int
    other: int
    columns: int
    """a bit for each column that gets its value; the others NULL"""


STEP = st.builds(
    Step,
    st.sampled_from(["insert", "insert", "update", "move", "delete", "taken back"]),
    st.integers(0, ROWS - 1),
    st.integers(0, ROWS - 1),
    st.integers(0, (1 << 50) - 1),
)
STEPS = st.lists(STEP, max_size=12)


def change(place: Place, key: Sequence[str], step: Step) -> None:
    one, other = (key[number % len(key)] for number in (step.key, step.other))
    values = [value if step.columns >> number & 1 else "NULL" for number, value in enumerate(place.types.values())]
    names = [f"c{number}" for number in range(len(values))]
    column = names[step.other % len(names)]
    there = {tuple(row) for row in place.run(f"SELECT 1 FROM {place.name} WHERE k = {other}")}
    match step.kind:
        case "insert":
            place.run(place.upsert(", ".join(["k", *names]), ", ".join([one, *values]), column))
        case "update":
            changed = ", ".join(f"{name} = {value}" for name, value in zip(names, values))
            place.run(f"UPDATE {place.name} SET {changed} WHERE k = {one}")
        case "move":
            if not there:
                place.run(f"UPDATE {place.name} SET k = {other}, {column} = NULL WHERE k = {one}")
        case "delete":
            place.run(f"DELETE FROM {place.name} WHERE k = {one}")
        case "taken back":
            place.run(f"UPDATE {place.name} SET {column} = NULL WHERE k = {one}")


def settled(place: Place, job: SourceJob, wanted: dict[Any, tuple[Any, ...]]) -> None:
    until = time.monotonic() + SECONDS
    while True:
        found = place.rows(job.emitted)
        if found == wanted:
            return
        wrong = {
            key: (found.get(key), wanted.get(key)) for key in {*found, *wanted} if found.get(key) != wanted.get(key)
        }
        assert time.monotonic() < until, wrong
        job.epoch()


def snapshot(place: Place, rows: int) -> dict[Any, tuple[Any, ...]]:
    with closing(SourceJob(place.source(StartupOptions.snapshot(), rows), 2)) as job:
        until = time.monotonic() + SECONDS
        while not job.ended:
            job.epoch()
            assert time.monotonic() < until
        found = place.rows(job.emitted)
    assert len(found) == place.run(f"SELECT COUNT(*) FROM {place.name}")[0][0]
    return found


def story(place: Place, key: Sequence[str], before: Sequence[Step], beside: Sequence[Step], rows: int) -> None:
    for step in before:
        change(place, key, step)
    with closing(SourceJob(place.source(StartupOptions.initial(), rows), 2)) as job:
        for step in beside:
            change(place, key, step)
            job.epoch(1)
        settled(place, job, snapshot(place, rows))


PLACES = {"mariadb": OnMySql, "postgres": OnPostgres}


@pytest.mark.parametrize("server", PLACES)
@pytest.mark.parametrize("begins", ["with an empty table", "with rows"])
def test_the_log_and_the_snapshot_are_the_same_table(request: Any, server: str, begins: str) -> None:
    kind, there = PLACES[server], request.getfixturevalue(server)
    full = st.lists(STEP, min_size=4, max_size=12)

    @settings(max_examples=examples(9), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(list(kind.keys)), full if begins == "with rows" else st.just([]), full, st.integers(1, 4))
    def drawn(key: str, before: list[Step], beside: list[Step], rows: int) -> None:
        place = kind(there, key)
        try:
            story(place, kind.keys[key], before, beside, rows)
        finally:
            place.drop()

    drawn()


@pytest.mark.parametrize("server", PLACES)
def test_keys_of_every_type(request: Any, server: str) -> None:
    """Chunks of two rows lie between values of the key, while rows come, change, move and go."""
    kind, there = PLACES[server], request.getfixturevalue(server)
    fill = [Step("insert", number, number, -1 if number % 2 else 0b10101) for number in range(0, ROWS, 2)]
    changes = [Step(*each) for each in (
        ("insert", 1, 3, -1), ("move", 0, 5, 0), ("update", 2, 0, 0b1100), ("delete", 4, 0, 0), ("move", 8, 0, 0),
        ("insert", 4, 1, 0), ("move", 5, 7, 0), ("taken back", 1, 2, 0), ("delete", 2, 0, 0),
    )]  # fmt: skip
    for key in taken(list(kind.keys), 6):
        place = kind(there, key)
        try:
            story(place, kind.keys[key], fill, changes, 2)
        finally:
            place.drop()
