"""Random changes of random tables, with failures, into SQLite. The oracle keeps the tables as dictionaries."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.cdc.running import Running
from tests.seeds import seed_of

Row = dict[str, Any]


@dataclass
class Table:
    """A table of the source."""

    columns: list[str] = field(default_factory=lambda: ["a"])
    rows: dict[int, Row] = field(default_factory=dict)

    def values(self, id: int, row: Row) -> list[Any]:
        return [id, *(row[name] for name in self.columns)]


class Story:
    """Draws events, and knows what the tables of the sink are in the end.

    :param together: whether both tables go to one.
    """

    def __init__(self, random: Random, lenient: bool, together: bool) -> None:
        self.random, self.together = random, together
        self.takes_away = not lenient and not together
        self.events: list[dict[str, Any]] = []
        self.tables = {"t1": Table(), "t2": Table()}
        self.sinks: dict[str, dict[tuple[str, int], Row]] = {}
        self.columns: dict[str, list[str]] = {}
        self.truncates = not lenient
        self._fresh = 0
        for name, table in self.tables.items():
            columns = {"id": "INT", **dict.fromkeys(table.columns, "INT")}
            self._event(name, create={"columns": columns, "primary-key": ["id"]})
            self.columns.setdefault(self._sink(name), ["a"])
            self.sinks.setdefault(self._sink(name), {})

    def _sink(self, name: str) -> str:
        return "both" if self.together else name

    def _event(self, table: str, **what: Any) -> None:
        self.events.append({"table": f"db.{table}", **{key.replace("_", "-"): each for key, each in what.items()}})

    def _write(self, name: str, id: int, row: Row | None) -> None:
        sink = self.sinks[self._sink(name)]
        if row is None:
            sink.pop((name, id), None)
        else:
            sink[name, id] = {column: row.get(column) for column in self.columns[self._sink(name)]}

    def step(self) -> None:
        random = self.random
        name = random.choice(sorted(self.tables))
        table = self.tables[name]
        moves = [self._insert, self._insert, self._update, self._update, self._delete, self._add, self._drop,
                 self._rename, self._truncate]  # fmt: skip
        random.choices(moves, [6, 6, 6, 6, 4, 1, 1, 1, 1])[0](name, table)

    def _row(self, table: Table) -> Row:
        return {column: self.random.choice([None, self.random.randrange(100)]) for column in table.columns}

    def _insert(self, name: str, table: Table) -> None:
        id = self.random.randrange(12)
        if id not in table.rows:
            table.rows[id] = self._row(table)
            self._event(name, insert=[table.values(id, table.rows[id])])
            self._write(name, id, table.rows[id])

    def _update(self, name: str, table: Table) -> None:
        if table.rows:
            id = self.random.choice(sorted(table.rows))
            old, new = table.rows.pop(id), self._row(table)
            to = self.random.choice([id, id, self.random.randrange(12)])
            if to in table.rows:
                to = id
            table.rows[to] = new
            self._event(name, update=[table.values(id, old), table.values(to, new)])
            self._write(name, id, None)
            self._write(name, to, new)

    def _delete(self, name: str, table: Table) -> None:
        if table.rows:
            id = self.random.choice(sorted(table.rows))
            self._event(name, delete=[table.values(id, table.rows.pop(id))])
            self._write(name, id, None)

    def _new(self) -> str:
        self._fresh += 1
        return f"c{self._fresh}"

    def _add(self, name: str, table: Table) -> None:
        column = self._new()
        self._event(name, add_column={"name": column, "type": "INT"})
        table.columns.append(column)
        for row in table.rows.values():
            row[column] = None
        self._has(name, column)

    def _has(self, name: str, column: str) -> None:
        sink = self._sink(name)
        self.columns[sink].append(column)
        for row in self.sinks[sink].values():
            row[column] = None

    def _drop(self, name: str, table: Table) -> None:
        if len(table.columns) < 2:
            return
        column = self.random.choice(table.columns)
        self._event(name, drop_column=[column])
        table.columns.remove(column)
        for row in table.rows.values():
            row.pop(column)
        if self.takes_away:
            self.columns[self._sink(name)].remove(column)
            for row in self.sinks[self._sink(name)].values():
                row.pop(column)

    def _rename(self, name: str, table: Table) -> None:
        old, new = self.random.choice(table.columns), self._new()
        self._event(name, rename_column={old: new})
        table.columns[table.columns.index(old)] = new
        for row in table.rows.values():
            row[new] = row.pop(old)
        if not self.takes_away:
            self._has(name, new)
            return
        columns = self.columns[self._sink(name)]
        columns[columns.index(old)] = new
        for row in self.sinks[self._sink(name)].values():
            row[new] = row.pop(old)

    def _truncate(self, name: str, table: Table) -> None:
        if self.together and self.truncates:
            return
        self._event(name, truncate=True)
        if self.truncates:
            self.sinks[self._sink(name)].clear()
        table.rows.clear()

    def pipeline(self, path: Path, lenient: bool) -> str:
        found = {
            "source": {"type": "values", "events": self.events},
            "sink": {"type": "jdbc", "url": f"jdbc:sqlite:{path}"},
            "transform": [
                {"source-table": "db.t[12]", "projection": "*, __table_name__ AS t", "primary-keys": "t, id"}
            ],
            "route": [{"source-table": "db.t[12]", "sink-table": "db.both"}] if self.together else [],
            "pipeline": {"schema.change.behavior": "lenient" if lenient else "evolve", "parallelism": 2},
        }
        return json.dumps(found)

    def expected(self) -> dict[str, list[Row]]:
        return {
            sink: [{"t": t, "id": id, **row} for (t, id), row in sorted(rows.items())]
            for sink, rows in self.sinks.items()
        }


def found(path: Path, table: str) -> list[Row]:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f'SELECT * FROM "{table}" ORDER BY t, id')]


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("epoch_records", [6, 40])
def test_the_sink_is_what_was_told(tmp_path: Path, epoch_records: int, lenient: bool, together: bool) -> None:
    seed = seed_of("MILLRACE_PIPELINE_SEED")
    print(f"MILLRACE_PIPELINE_SEED={seed}")
    random = Random(seed)
    story = Story(random, lenient, together)
    for _ in range(60):
        story.step()
    job = Running(story.pipeline(tmp_path / "x", lenient), epoch_records)
    while not job.ended:
        if random.random() < 0.3:
            job.fail()
        job.epoch()
    job.close()
    expected = story.expected()
    assert {sink: found(tmp_path / "x", sink) for sink in expected} == expected
