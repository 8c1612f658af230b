"""Tables of a database that are made, changed and written, in SQLite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.cdc.running import Running, run

from millrace.cdc.database_sink import DatabaseSink, Writing
from millrace.cdc.elements import Batch
from millrace.connectors.cdc.events import Column, TableId, TableSchema
from millrace.connectors.jdbc.jdbc_database import Database, parse_url
from millrace.connectors.stores import Buffering
from millrace.relational.rows import Rows, record_batch
from millrace.relational.types import BigIntType
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.testing.connectors.runtime import Clock, ElementContext, WriterContext

EVENTS = """
source:
  type: values
  events:
    - {table: a.t, create: {columns: {id: INT, name: VARCHAR(5), n: 'DECIMAL(9, 2) NOT NULL'}, primary-key: [id]}}
    - {table: a.t, insert: [[1, x, 5], [2, y, 6], [3, z, 7.5]]}
    - {table: a.t, update: [[1, x, 5], [1, xx, 50], [2, y, 6], [20, y, 6]]}
    - {table: a.t, delete: [[3, z, 7.5]]}
"""


def rows(path: Path, table: str = "t") -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY id")]


def copied(path: Path, events: str = "", pipeline: str = "", sink: str = "", behavior: str = "evolve") -> None:
    place = f"sink:\n  type: jdbc\n  url: 'jdbc:sqlite:{path}'\n{sink}"
    run(f"{EVENTS}{events}{place}{pipeline}pipeline: {{schema.change.behavior: {behavior}}}\n", epoch_records=2)


def test_rows_by_their_keys(tmp_path: Path) -> None:
    copied(tmp_path / "x")
    assert rows(tmp_path / "x") == [{"id": 1, "name": "xx", "n": 50}, {"id": 20, "name": "y", "n": 6}]


def test_changes_of_the_table_in_their_order(tmp_path: Path) -> None:
    copied(
        tmp_path / "x",
        """
    - {table: a.t, add-column: {name: z, type: BIGINT}}
    - {table: a.t, insert: [[4, v, 8, 44]]}
    - {table: a.t, rename-column: {name: title}}
    - {table: a.t, insert: [[5, w, 9, 55]]}
    - {table: a.t, drop-column: n}
    - {table: a.t, alter-column-type: {title: STRING}}
    - {table: a.t, insert: [[6, longer than five, 66]]}
""",
    )
    assert rows(tmp_path / "x") == [
        {"id": 1, "title": "xx", "z": None},
        {"id": 4, "title": "v", "z": 44},
        {"id": 5, "title": "w", "z": 55},
        {"id": 6, "title": "longer than five", "z": 66},
        {"id": 20, "title": "y", "z": None},
    ]


def test_a_table_that_is_emptied_and_one_that_is_gone(tmp_path: Path) -> None:
    copied(tmp_path / "x", "    - {table: a.t, truncate: true}\n    - {table: a.t, insert: [[9, q, 1]]}\n")
    assert [row["id"] for row in rows(tmp_path / "x")] == [9]
    copied(tmp_path / "y", "    - {table: a.t, drop: true}\n")
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        rows(tmp_path / "y")


CHANGED = """
    - {table: a.t, add-column: {name: z, type: BIGINT}}
    - {table: a.t, rename-column: {name: title}}
    - {table: a.t, drop-column: n}
    - {table: a.t, insert: [[4, v, 44]]}
"""


def test_all_of_it_once_more(tmp_path: Path) -> None:
    """As after a failure: rows and changes come again, and the table is as it was after them."""
    copied(tmp_path / "x", CHANGED)
    once = rows(tmp_path / "x")
    copied(tmp_path / "x", CHANGED)
    assert rows(tmp_path / "x") == once == [
        {"id": 1, "title": "xx", "z": None}, {"id": 4, "title": "v", "z": 44}, {"id": 20, "title": "y", "z": None},
    ]  # fmt: skip


REPEATED = """
source:
  type: values
  events:
    - {table: a.t, create: {columns: {id: INT, a: STRING}, primary-key: [id]}}
    - {table: a.t, add-column: {name: n, type: INT}}
    - {table: a.t, insert: [[1, x, 1]]}
    - {table: a.t, delete: [[1, x, 1]]}
    - {table: a.t, insert: [[1, y, 2]]}
    - {table: a.t, rename-column: {a: b}}
    - {table: a.t, rename-column: {b: c, n: m}}
    - {table: a.t, add-column: {name: a, type: STRING}}
    - {table: a.t, insert: [[2, z, 3, new]]}
    - {table: a.t, drop-column: m}
    - {table: a.t, insert: [[3, w, newer]]}
"""


def test_an_epoch_that_comes_again_knows_where_values_belong(tmp_path: Path) -> None:
    """A row is deleted and inserted again under the old names of its columns, when they have new ones already."""
    sink = f"sink: {{type: jdbc, url: 'jdbc:sqlite:{tmp_path / 'x'}'}}\n"
    job = Running(f"{REPEATED}{sink}pipeline: {{schema.change.behavior: evolve}}\n")
    job.fail(2)
    while not job.ended:
        job.epoch()
    job.close()
    assert rows(tmp_path / "x") == [
        {"id": 1, "c": "y", "a": None}, {"id": 2, "c": "z", "a": "new"}, {"id": 3, "c": "w", "a": "newer"},
    ]  # fmt: skip


def test_a_table_that_is_there(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x")) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, n NUMERIC, more TEXT DEFAULT 'm')")
    copied(tmp_path / "x", sink="  exclude.schema.changes: [create]\n")
    assert rows(tmp_path / "x")[0] == {"id": 1, "name": "xx", "n": 50, "more": "m"}


def test_tables_are_not_made_if_they_must_not(tmp_path: Path) -> None:
    with pytest.raises(JobFailedError, match=r"has no table t, and 'create.table' is not among"):
        copied(tmp_path / "x", sink="  exclude.schema.changes: [create]\n")


def test_a_change_that_the_database_refuses(tmp_path: Path) -> None:
    event = "    - {table: a.t, drop-column: id}\n    - {table: a.t, insert: [[w, 9]]}\n"
    keyed = "transform:\n  - {source-table: a.t, projection: \"*, COALESCE(name, '') AS k\", primary-keys: k}\n"
    # The column is part of an index, so that SQLite keeps it.
    copied(tmp_path / "x", pipeline=keyed)
    with closing(sqlite3.connect(tmp_path / "x")) as connection:
        connection.execute("CREATE INDEX i ON t (id)")
    with pytest.raises(JobFailedError, match="DropColumnEvent: error in index i"):
        copied(tmp_path / "x", event, keyed)
    copied(tmp_path / "x", event, keyed, behavior="try_evolve")
    first = rows(tmp_path / "x")[0]
    assert (first["k"], first["id"], first["n"]) == ("w", None, 9)


def test_a_table_without_a_key(tmp_path: Path) -> None:
    events = EVENTS.replace(", primary-key: [id]", "")
    with pytest.raises(JobFailedError, match=r"a\.t has no primary key"):
        run(f"{events}sink: {{type: jdbc, url: 'jdbc:sqlite:{tmp_path / 'x'}'}}\n")


def test_values_that_are_squeezed(tmp_path: Path) -> None:
    event = (
        "    - {table: a.t, alter-column-type: {n: STRING}}\n    - {table: a.t, insert: [[5, w, abc], [6, v, '7']]}\n"
    )
    copied(tmp_path / "x", event, behavior="ignore")
    assert [row["n"] for row in rows(tmp_path / "x")] == [50, None, 7, 6]


def test_rows_are_written_within_an_epoch_when_they_have_waited(tmp_path: Path) -> None:
    def batch(name: str, number: int) -> Batch:
        schema = TableSchema((Column("id", BigIntType()),), ("id",))
        return Batch(TableId("", "a", name), schema, Rows(record_batch([pa.array([number])], 1)))

    database = Database(*parse_url(f"jdbc:sqlite:{tmp_path / 'x'}"))
    sink, clock = DatabaseSink(Writing(database, lambda table: table.table, Buffering(interval=2.0))), Clock()
    writer = sink.create_writer(WriterContext(0, 1, 1, clock))
    writer.write(batch("t", 1), ElementContext())
    writer.write(batch("u", 2), ElementContext())
    writer.end_slice(clock.now + 1_999)
    assert not (tmp_path / "x").exists()
    writer.end_slice(clock.now + 2_000)
    assert rows(tmp_path / "x") + rows(tmp_path / "x", "u") == [{"id": 1}, {"id": 2}]
    writer.write(batch("t", 3), ElementContext())
    writer.end_slice(clock.now + 1_999)
    assert len(rows(tmp_path / "x")) == 1
    writer.flush(False)
    assert len(rows(tmp_path / "x")) == 2
    writer.close()
