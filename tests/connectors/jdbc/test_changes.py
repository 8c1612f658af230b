"""UPDATE, DELETE and TRUNCATE on every database: they mean the rows that a SELECT finds, and leave what it computes."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from tests.connectors.jdbc.databases import JdbcTables, Place
from tests.table.programs.running import changes_in

from millrace.connectors.jdbc.jdbc_table import JdbcChanger
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.rows import Rows, record_batch
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.relational.values import to_arrow
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of
from millrace.testing.local import run_locally

THERE = (
    "id INT PRIMARY KEY, {q}Name{q} VARCHAR(20), code CHAR(5), price DECIMAL(10, 2), day DATE, moment {timestamp}, "
    "ok BOOLEAN, {q}order{q} INT"
)
HERE = (
    "id INT, Name STRING, code STRING, price DECIMAL(10, 2), `day` DATE, moment TIMESTAMP(6), ok BOOLEAN, `order` INT, "
    "PRIMARY KEY (id) NOT ENFORCED"
)
COLUMNS = ("id", "Name", "code", "price", "day", "moment", "ok", "order")
ROWS = """
    (1, 'a', 'ab', 1.50, '2024-05-06', '2024-05-06 07:08:09.123456', {true}, 10),
    (2, 'A', 'AB', 2.25, '1960-01-01', '1960-01-01 00:00:00', {false}, 20),
    (3, 'it''s', 'abc', NULL, NULL, NULL, NULL, NULL),
    (4, 'a ', 'cd', -1.00, '2024-05-06', '2024-05-06 07:08:09', {true}, 40)
"""
WITHOUT_TYPES = ("sqlite",)
"""databases that keep decimals, dates and times as text"""
CONDITIONS = {
    "Name = 'a'": {1},
    "Name <> 'a' AND id < 4": {2, 3},
    "Name IN ('A', 'a ')": {2, 4},
    "Name = 'it''s' OR `order` = 20": {2, 3},
    "code = 'ab'": {1},
    "code = 'ab   '": set(),
    "code <> 'ab   ' AND id < 3": {1, 2},
    "TRIM(code) = 'ab'": {1},
    "price > 1.50": {2},
    "price BETWEEN -1 AND 1.5": {1, 4},
    "`day` = DATE '2024-05-06'": {1, 4},
    "moment = TIMESTAMP '2024-05-06 07:08:09.123456'": {1},
    "moment <= TIMESTAMP '2024-05-06 07:08:09' AND id > 1": {2, 4},
    "ok": {1, 4},
    "NOT ok": {2},
    "ok IS NULL": {3},
    "`order` + id > 21": {2, 4},
    "id > 100": set(),
}
"""and what they are about. CHARs are read without the blanks by which a database fills them up."""
UPDATES = {
    "Name = 'say \"x\" it''s'": "id = 1",
    "Name = 'back\\slash'": "ok",
    "price = 9.99, code = 'zz'": "Name = 'a'",
    "price = NULL, `order` = id": "price > 0",
    "`order` = `order` + 1, Name = UPPER(Name)": "`order` IS NOT NULL",
    "moment = TIMESTAMP '1999-12-31 23:59:59.5', `day` = DATE '1999-12-31'": "id >= 2",
    "ok = FALSE": "id = 4",
    "Name = code": "`order` = 20",
}


class WithoutSpark:
    """An engine of batch mode that runs a plan in this process."""

    def execute(self, plans: Any, session: Any) -> Any:
        (plan,) = plans
        streams = StreamExecutionEnvironment().set_parallelism(1)
        add_to_program([optimise_streaming(plan, surroundings_of(session))], streams._program, options_of(session))
        found = [row for _, row in changes_in(run_locally(streams).collected, plan.schema, tuple)]
        columns = [to_arrow(list(values), each.type) for values, each in zip(zip(*found), plan.schema)]
        return SimpleNamespace(_batches=[Rows(record_batch(columns, len(found)))] if found else [])


class Changed:
    """A table in a database, and statements on it."""

    def __init__(self, place: Place) -> None:
        self._place, self.kind = place, place.url.split(":")[1]
        mark = "`" if self.kind == "mariadb" else '"'
        name = f"t_{uuid.uuid4().hex[:10]}"
        self._there, self._name = name, name
        if self.kind == "postgresql":
            place.run('CREATE SCHEMA IF NOT EXISTS "Mixed"')
            self._there, self._name = f'"Mixed".{name}', f"Mixed.{name}"
        timestamp = "DATETIME(6)" if self.kind == "mariadb" else "TIMESTAMP"
        place.run(f"CREATE TABLE {self._there} ({THERE.format(q=mark, timestamp=timestamp)})")
        self._tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        self._tables._session._engine_of = lambda streaming: WithoutSpark()
        given = {"connector": "jdbc", "table-name": self._name, **place.options}
        options = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
        self._tables.execute_sql(f"CREATE TABLE t ({HERE}) WITH ({options})")
        self._reading = JdbcTables()
        self._reading.environment.execute_sql(f"CREATE TABLE t ({HERE}) WITH ({options})")

    def fill(self) -> None:
        self._place.run(f"DELETE FROM {self._there}")
        words = {"true": "TRUE", "false": "FALSE"} if self.kind != "sqlite" else {"true": "1", "false": "0"}
        self._place.run(f"INSERT INTO {self._there} VALUES {ROWS.format(**words)}")

    def select(self, what: str) -> list[tuple[Any, ...]]:
        """Of the rows as they are read; no condition is checked by the database."""
        return self._reading.rows(f"SELECT {what} FROM t", parallelism=1)

    def ids(self) -> set[int]:
        return {id for (id,) in self._place.run(f"SELECT id FROM {self._there}")}

    def run(self, statement: str) -> list[Any]:
        return list(self._tables.execute_sql(statement).collect())


@pytest.fixture
def changed(place: Place) -> Changed:
    return Changed(place)


def test_rows_are_deleted(changed: Changed) -> None:
    changed.fill()
    checked = changed.select("id, " + ", ".join(f"({condition}) IS TRUE" for condition in CONDITIONS))
    for number, (condition, expected) in enumerate(CONDITIONS.items(), 1):
        meant = {row[0] for row in checked if row[number]}
        assert meant == expected, condition
        changed.fill()
        assert [row[0] for row in changed.run(f"DELETE FROM t WHERE {condition}")] == [len(meant)], condition
        assert changed.ids() == {1, 2, 3, 4} - meant, condition


def test_rows_are_updated(changed: Changed) -> None:
    changed.fill()
    before, computed = changed.select("*"), []
    for assigned, condition in UPDATES.items():
        values = (each.split(" = ", 1) for each in assigned.split(", "))
        computed += [
            (assigned, name.strip("`"), f"CASE WHEN ({condition}) IS TRUE THEN {_cast(value, name)} ELSE {name} END")
            for name, value in values
        ]
    after = changed.select("id, " + ", ".join(text for _, _, text in computed))
    for assigned, condition in UPDATES.items():
        expected = [list(row) for row in before]
        for number, (update, name, _) in enumerate(computed, 1):
            for row, new in zip(expected, after):
                if update == assigned:
                    row[COLUMNS.index(name)] = new[number]
        changed.fill()
        changed.run(f"UPDATE t SET {assigned} WHERE {condition}")
        assert _trimmed(changed.select("*")) == _trimmed(expected), (assigned, condition)


def _cast(value: str, name: str) -> str:
    kinds = {"price": "DECIMAL(10, 2)", "moment": "TIMESTAMP(6)"}
    return f"CAST({value} AS {kinds[name]})" if name in kinds else value


def _trimmed(rows: Any) -> list[tuple[Any, ...]]:
    """Without the blanks by which PostgreSQL fills up a CHAR."""
    return [(*row[:2], row[2].rstrip(), *row[3:]) for row in rows]


def test_all_rows_go(changed: Changed) -> None:
    changed.fill()
    changed.run("TRUNCATE TABLE t")
    assert changed.ids() == set()


def test_most_statements_are_the_databases_own(changed: Changed, monkeypatch: pytest.MonkeyPatch) -> None:
    by_key: list[Rows] = []
    monkeypatch.setattr(JdbcChanger, "write", lambda self, rows: by_key.append(rows))
    changed.fill()
    if changed.kind not in WITHOUT_TYPES:
        changed.run("DELETE FROM t WHERE price > 100 AND `day` = DATE '2024-05-06'")
        changed.run("UPDATE t SET price = 1.00, `order` = 3 WHERE id BETWEEN 1 AND 2")
        assert not by_key
    changed.run("UPDATE t SET `order` = `order` + 1 WHERE id = 1")
    assert [len(rows) for rows in by_key] == [1]
