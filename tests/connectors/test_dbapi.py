"""Databases as sinks, with sqlite3: once, or at least once with the same effect."""

from __future__ import annotations

import pickle
import sqlite3
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.connectors.exactly_once import ELEMENTS, ExactlyOnce, test_case

from millrace.common.sink import Sink
from millrace.common.typeinfo import Types
from millrace.common.types import Row, RowKind
from millrace.connectors.dbapi import (
    DbApiExactlyOnceSink,
    DbApiInsert,
    DbApiSink,
    DbApiUpsert,
    bind,
    open_connection,
    placeholders,
    quoted,
)
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_locally
from millrace.testing.connectors.runtime import Clock, ElementContext, SinkRun, WriterContext
from millrace.testing.connectors.sinks import Driver

INSERT = DbApiInsert[int]("INSERT INTO numbers VALUES (?)")


def connect(path: str) -> sqlite3.Connection:
    return sqlite3.connect(path)


def database(directory: Path) -> str:
    path = str(directory / "database")
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE numbers (number INTEGER)")
        connection.execute("CREATE TABLE digits (digit INTEGER PRIMARY KEY, number INTEGER)")
    connection.close()
    return path


def query(path: str, statement: str) -> list[Any]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


class Database:
    """A database file and one table of it."""

    def __init__(self, directory: Path, make: Any, columns: str = "number FROM numbers") -> None:
        self.path = database(directory)
        self._make = make
        self._columns = columns

    def sink(self) -> Sink[Any]:
        sink: Sink[Any] = self._make(partial(connect, self.path))
        return sink

    def committed(self) -> list[Any]:
        rows = query(self.path, f"SELECT {self._columns}")
        return [row[0] for row in rows] if len(rows) and len(rows[0]) == 1 else rows

    def left_over(self) -> list[str]:
        return []

    def killed(self, writer: Any, flushed: bool) -> None:
        kept = getattr(writer, "_kept", None)
        if kept is not None:
            kept.close()  # as the operating system does, which sets its locks free

    def close(self) -> None: ...


class Inserts(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Database:
        def sink(connect: Any) -> Sink[Any]:
            return DbApiExactlyOnceSink(connect, INSERT, str(directory / "log"), inline_bytes=50)

        return Database(directory, sink)


def digit(number: int) -> tuple[int, int]:
    return number % 10, number


def is_gone(number: int) -> bool:
    return number % 4 == 3


UPSERT = DbApiUpsert[int]("digits", ["digit", "number"], ["digit"], values_of=digit, is_deletion=is_gone)


def digits(numbers: list[int]) -> list[tuple[int, int]]:
    """What the table holds when all this has happened to it."""
    table: dict[int, int] = {}
    for number in numbers:
        if is_gone(number):
            table.pop(number % 10, None)
        else:
            table[number % 10] = number
    return sorted(table.items())


class Upserts(ExactlyOnce):
    """Their order counts per key, so keys have their subtasks."""

    @staticmethod
    def place_in(directory: Path) -> Database:
        def sink(connect: Any) -> Sink[Any]:
            return DbApiExactlyOnceSink(connect, UPSERT, str(directory / "log"), inline_bytes=50)

        return Database(directory, sink, "digit, number FROM digits")

    def new_driver(self, parallelism: int, checkpointed: bytes | None) -> Driver:
        self.route = lambda element, parallelism: element % 10 % parallelism
        return super().new_driver(parallelism, checkpointed)

    def check(self) -> None:
        assert sorted(self.place.committed()) == digits(ELEMENTS[: self.covered])

    def check_end(self) -> None:
        assert sorted(self.place.committed()) == digits(ELEMENTS[: self.driver.position])


class RepeatedUpserts(Upserts):
    """Written by the tasks, so there before any checkpoint, and written again by epochs that are repeated."""

    haunted = False

    @staticmethod
    def place_in(directory: Path) -> Database:
        return Database(directory, partial(DbApiSink, change=UPSERT, batch_size=3), "digit, number FROM digits")

    furthest = 0

    def check(self) -> None:
        self.furthest = max(self.furthest, self.driver.furthest)

    def check_end(self) -> None:
        self.driver.epoch(max(0, self.furthest - self.driver.position))  # all that is repeated is through
        super().check_end()


TestInserts = test_case(Inserts)
TestUpserts = test_case(Upserts)
TestRepeatedUpserts = test_case(RepeatedUpserts)


# -- upserts ----------------------------------------------------------------------------------------------------------

changes = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.none() | st.integers(-5, 5)), max_size=30)


def as_row(change: tuple[int, int, int | None]) -> Row:
    group, number, value = change
    if value is None:
        return Row.of_kind(RowKind.DELETE, group=group, number=number)
    return Row.of_kind(RowKind.UPDATE_AFTER, value=value, number=number, group=group)


@pytest.mark.parametrize("dialect", ["of the driver", "none"])
@given(st.lists(changes, max_size=4), st.sampled_from([1, 3, 100]))
def test_the_last_change_of_a_key_wins(
    dialect: str, tmp_path_factory: pytest.TempPathFactory, epochs: list[Any], batch_size: int
) -> None:
    path = str(tmp_path_factory.mktemp("upserts") / "database")
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE t ("group" INT, number INT, value INT, PRIMARY KEY ("group", number))')
    connection.close()
    upsert = DbApiUpsert[Row](
        "t", ["group", "number", "value"], ["group", "number"], values_of=values_of, is_deletion=is_deleted
    )
    with pytest.MonkeyPatch.context() as patch:
        if dialect == "none":
            patch.setattr("millrace.connectors.dbapi._ON_CONFLICT", ())
        run = SinkRun(DbApiSink(partial(connect, path), upsert, batch_size))
        for epoch in epochs:
            run.epoch([as_row(change) for change in epoch])
    table: dict[Any, int] = {}
    for group, number, value in (change for epoch in epochs for change in epoch):
        if value is None:
            table.pop((group, number), None)
        else:
            table[group, number] = value
    assert {(group, number): value for group, number, value in query(path, "SELECT * FROM t")} == table


def values_of(row: Row) -> list[Any]:
    return [row["group"], row["number"], None if is_deleted(row) else row["value"]]


def is_deleted(row: Row) -> bool:
    return row.get_row_kind() is RowKind.DELETE


@pytest.mark.parametrize(
    "elements",
    [
        [(1, 5), (2, 6), (1, 7)],
        [Row(1, 5), Row(2, 6), Row(1, 7)],
        [Row(number=5, digit=1), Row(digit=2, number=6, more=0), Row(digit=1, number=7)],
        [{"number": 5, "digit": 1}, {"digit": 2, "number": 6}, {"digit": 1, "number": 7}],
        [
            Row(digit=1, number=5), Row(digit=2, number=6), Row(digit=3, number=9),
            Row.of_kind(RowKind.UPDATE_BEFORE, digit=1, number=5), Row.of_kind(RowKind.UPDATE_AFTER, digit=1, number=7),
            Row.of_kind(RowKind.DELETE, digit=3),
        ],
    ],
)  # fmt: skip
def test_elements_of_any_kind(elements: list[Any], tmp_path: Path) -> None:
    path = database(tmp_path)
    SinkRun(DbApiSink(partial(connect, path), DbApiUpsert("digits", ["digit", "number"], ["digit"]))).epoch(elements)
    assert sorted(query(path, "SELECT * FROM digits")) == [(1, 7), (2, 6)]


def test_mistakes_in_upserts(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"key_columns must be some of the columns \['a'\], got \['b'\]"):
        DbApiUpsert("t", ["a"], ["b"])
    with pytest.raises(ValueError, match=r"got \[\]"):
        DbApiUpsert("t", ["a"], [])
    upsert = DbApiUpsert[Any]("digits", ["digit", "number"], ["digit"])
    run = SinkRun(DbApiSink(partial(connect, database(tmp_path)), upsert))
    with pytest.raises(ValueError, match=r"digits: a key must not be None, got {'digit': None}"):
        run.epoch([(None, 1)])
    with pytest.raises(ValueError, match=r"but there are the values \(1,\)"):
        run.epoch([(1,)])
    with pytest.raises(KeyError, match="number"):
        run.epoch([{"digit": 1}])


class Recorded:
    """A connection that writes down what is executed, of a driver that the test makes up."""

    def __init__(self) -> None:
        self.executed: list[tuple[str, list[Any]]] = []

    def cursor(self) -> Recorded:
        return self

    def executemany(self, statement: str, parameters: list[Any]) -> None:
        self.executed.append((statement, parameters))

    def close(self) -> None: ...


def recorded(monkeypatch: pytest.MonkeyPatch, driver: str, style: str, upsert: Any, elements: list[Any]) -> list[Any]:
    module = ModuleType(driver)
    module.paramstyle = style  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, driver, module)
    connection = type("Connection", (Recorded,), {"__module__": f"{driver}.connections"})()
    upsert.apply(connection, elements)
    executed: list[Any] = connection.executed
    return executed


def test_statements_of_other_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = DbApiUpsert[Any]("t", ["k", "v"], ["k"])
    keys = DbApiUpsert[Any]("t", ["k", "l"], ["k", "l"])
    assert recorded(monkeypatch, "psycopg", "pyformat", pairs, [(1, 2)]) == [
        (
            'INSERT INTO "t" ("k", "v") VALUES (%(p1)s, %(p2)s) ON CONFLICT ("k") DO UPDATE SET "v" = excluded."v"',
            [{"p1": 1, "p2": 2}],
        )
    ]
    executed = recorded(monkeypatch, "psycopg", "pyformat", keys, [(1, 2)])
    assert executed[0][0].endswith('ON CONFLICT ("k", "l") DO NOTHING')
    assert recorded(monkeypatch, "pymysql", "format", pairs, [(1, 2)]) == [
        ("INSERT INTO `t` (`k`, `v`) VALUES (%s, %s) ON DUPLICATE KEY UPDATE `v` = VALUES(`v`)", [(1, 2)])
    ]
    assert recorded(monkeypatch, "pymysql", "format", keys, [(1, 2)])[0][0].endswith(
        "ON DUPLICATE KEY UPDATE `k` = VALUES(`k`), `l` = VALUES(`l`)"
    )
    assert recorded(monkeypatch, "oracledb", "named", keys, [(1, 2)]) == [
        ('DELETE FROM "t" WHERE "k" = :p1 AND "l" = :p2', [{"p1": 1, "p2": 2}]),
        ('INSERT INTO "t" ("k", "l") VALUES (:p1, :p2)', [{"p1": 1, "p2": 2}]),
    ]
    executed = recorded(monkeypatch, "odd", "numeric", pairs, [(1, 2)])
    assert executed[1][0] == 'INSERT INTO "t" ("k", "v") VALUES (:1, :2)'
    merge = DbApiUpsert[Any](
        "t", ["k", "v"], ["k"], upsert_statement=lambda marks: f"MERGE {marks}", param_style="qmark"
    )
    assert recorded(monkeypatch, "odd", "numeric", merge, [(1, 2)]) == [("MERGE ['?', '?']", [(1, 2)])]


def test_names_that_need_not_be_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = DbApiUpsert[Any]("s.t", ["k", "v"], ["k"], quote="")
    executed = recorded(monkeypatch, "oracledb", "named", plain, [(1, 2)])
    assert [statement for statement, _ in executed] == [
        "DELETE FROM s.t WHERE k = :p1", "INSERT INTO s.t (k, v) VALUES (:p1, :p2)"
    ]  # fmt: skip
    for table, column in (("t; DROP TABLE t", "k"), ("t", "k = 1 OR 1"), ("", "k"), ("s..t", "k")):
        with pytest.raises(ValueError, match="name"):
            DbApiUpsert[Any](table, [column], [column], quote="")
    for table, column in (("t", "k\0"), ("t\0", "k"), ("t", "")):
        with pytest.raises(ValueError, match="is not empty and has no NUL"):
            DbApiUpsert[Any](table, [column], [column])
    percent = recorded(monkeypatch, "psycopg", "format", DbApiUpsert[Any]("t", ["50%", "v"], ["50%"]), [(1, 2)])
    assert percent[0][0].startswith('INSERT INTO "t" ("50%%", "v") VALUES (%s, %s)')
    nested = recorded(monkeypatch, "pymysql", "format", DbApiUpsert[Any](("a.b", "`c`"), ["{}"], ["{}"]), [(1,)])
    assert nested[0][0] == "INSERT INTO `a.b`.```c```(`{}`) VALUES (%s) ".replace("(`", " (`", 1) + (
        "ON DUPLICATE KEY UPDATE `{}` = VALUES(`{}`)"
    )


NAMES = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), min_size=1, max_size=9)


@given(NAMES, st.lists(NAMES, min_size=2, max_size=4, unique_by=str.lower))
def test_a_name_is_nothing_but_a_name(table: str, columns: list[str]) -> None:
    """Whatever it looks like; SQLite's own catalog tells how it understood it."""
    assume(not table.lower().startswith("sqlite_"))
    assume(len({column.encode().lower() for column in columns}) == len(columns))
    connection = sqlite3.connect(":memory:")
    parts = [quoted(column, '"') for column in columns]
    connection.execute(f"CREATE TABLE {quoted(table, chr(34))} ({', '.join(parts)}, PRIMARY KEY ({parts[0]}))")
    upsert = DbApiUpsert[Any]((table,), columns, columns[:1])
    upsert.apply(connection, [tuple(range(len(columns)))])
    upsert.apply(connection, [(0, *range(10, 9 + len(columns)))])
    assert connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall() == [(table,)]
    cursor = connection.execute(f"SELECT * FROM {quoted(table, chr(34))}")
    assert [description[0] for description in cursor.description] == columns
    assert cursor.fetchall() == [(0, *range(10, 9 + len(columns)))]
    connection.close()


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=12))
def test_marks_and_parameters_fit(values: list[int]) -> None:
    """sqlite3 understands three of the five."""
    connection = sqlite3.connect(":memory:")
    for style in ("qmark", "numeric", "named"):
        marks = ", ".join(placeholders(style, len(values)))
        if style == "numeric":  # sqlite3 takes them for names
            marks = marks.replace(":", "?")
        assert connection.execute(f"SELECT {marks}", bind(style, values)).fetchone() == tuple(values)
    for style in ("format", "pyformat"):
        assert (", ".join(placeholders(style, len(values))) % bind(style, values)) == ", ".join(map(str, values))
    connection.close()


# -- transactions -----------------------------------------------------------------------------------------------------


def test_an_epoch_is_one_transaction(tmp_path: Path) -> None:
    path = database(tmp_path)
    run = SinkRun(DbApiSink(partial(connect, path), INSERT, batch_size=2))
    run.epoch([1, 2, 3], crash="write")
    assert query(path, "SELECT * FROM numbers") == []
    run.epoch([1, 2, 3])
    assert query(path, "SELECT * FROM numbers") == [(1,), (2,), (3,)]


@pytest.mark.parametrize(
    ("element", "values"),
    [((1, 2), (1, 2)), ([1, 2], (1, 2)), (Row(1, 2), (1, 2)), ({"a": 1}, {"a": 1}), ("ab", ("ab",))],
)
def test_an_insert_takes_the_fields_of_its_elements(element: Any, values: Any) -> None:
    connection = Recorded()
    DbApiInsert[Any]("x").apply(connection, [element])
    assert connection.executed == [("x", [values])]


def autocommitting(path: str) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


class PsycopgLike:
    autocommit = True

    def close(self) -> None: ...


def test_autocommit_is_refused(tmp_path: Path) -> None:
    run = SinkRun(DbApiSink(partial(autocommitting, database(tmp_path)), INSERT))
    with pytest.raises(ValueError, match=r"opens a Connection in autocommit mode.*Turn autocommit off"):
        run.epoch([1])
    with pytest.raises(ValueError, match="opens a PsycopgLike in autocommit mode"):
        open_connection(PsycopgLike)


def test_a_driver_that_does_not_tell_its_paramstyle() -> None:
    with pytest.raises(ValueError, match=r"Recorded belongs to no module with a paramstyle .* give param_style="):
        DbApiUpsert[Any]("t", ["k"], ["k"]).apply(Recorded(), [(1,)])


def exactly_once(path: str, **settings: Any) -> DbApiExactlyOnceSink[int]:
    return DbApiExactlyOnceSink(partial(connect, path), INSERT, **settings)


class Breaking(sqlite3.Connection):
    """Loses the connection in or right after a commit of numbers; whoever asks, it was the commit."""

    left = 0
    after = False

    def commit(self) -> None:
        changed = self.in_transaction and self.total_changes > 1
        if changed and Breaking.left == 0:
            if Breaking.after:
                super().commit()
            Breaking.left = -1
            raise ConnectionError("lost")
        Breaking.left -= changed
        super().commit()


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("nth", [0, 1, 2])
def test_a_commit_of_which_nobody_knows_whether_it_succeeded(tmp_path: Path, nth: int, after: bool) -> None:
    path = database(tmp_path)
    sink = DbApiExactlyOnceSink(partial(sqlite3.connect, path, factory=Breaking), INSERT)
    run = Driver(sink, ELEMENTS)
    Breaking.left, Breaking.after = nth, after
    for _ in range(3):
        run.epoch(2)
    with pytest.raises(ConnectionError):
        run.checkpoint()
    assert len(query(path, "SELECT * FROM numbers")) == 2 * (nth + after)
    run.recover()
    assert sorted(query(path, "SELECT * FROM numbers")) == [(number,) for number in range(6)]
    Driver(sink, ELEMENTS, checkpointed=run.checkpointed)
    assert len(query(path, "SELECT * FROM numbers")) == 6


def test_the_commit_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = database(tmp_path)
    sink = exactly_once(path, commit_table="done", keep_ms=60_000)
    run = Driver(sink, ELEMENTS)
    run.epoch(2)
    run.checkpoint()
    run.epoch(2)
    run.checkpoint()
    (first, at), (second, _) = query(path, "SELECT * FROM done ORDER BY batch")
    assert first != second and abs(at - time.time() * 1000) < 60_000
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 61)
    run.epoch(2)
    run.checkpoint()
    assert len(query(path, "SELECT * FROM done")) == 3, "old names go once an hour"
    another = exactly_once(path, commit_table="done", keep_ms=60_000)
    Driver(another, ELEMENTS, checkpointed=run.checkpointed)
    assert len(query(path, "SELECT * FROM done")) == 1
    assert len(query(path, "SELECT * FROM numbers")) == 6


def test_a_driver_that_is_not_there_any_more_can_not_double_anything(tmp_path: Path) -> None:
    """Two drivers that send the same batch: the table's key decides."""
    path = database(tmp_path)
    sink = exactly_once(path)
    run = Driver(sink, ELEMENTS)
    run.epoch(2)
    (batch,) = run.pending
    first, second = sink.create_sender(), sink.create_sender()
    assert not first.is_sent(batch) and not second.is_sent(batch)
    first.send(batch.elements(), batch)
    with pytest.raises(sqlite3.IntegrityError):
        second.send(batch.elements(), batch)
    first.close()
    second.close()
    assert query(path, "SELECT * FROM numbers") == [(0,), (1,)]


# -- in a program -----------------------------------------------------------------------------------------------------


def test_in_a_program(tmp_path: Path) -> None:
    path = database(tmp_path)
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    stream = env.from_collection(list(range(60)), Types.INT())
    stream.sink_to(DbApiExactlyOnceSink(lambda: sqlite3.connect(path), INSERT))
    stream.sink_to(DbApiExactlyOnceSink(lambda: sqlite3.connect(path), INSERT, str(tmp_path / "log"), inline_bytes=0))
    keyed = stream.map(digit, Types.TUPLE([Types.INT(), Types.INT()])).key_by(lambda pair: pair[0])
    keyed.sink_to(DbApiSink(lambda: sqlite3.connect(path), DbApiUpsert("digits", ["digit", "number"], ["digit"])))
    run_locally(env, epoch_records=7, workers=3, seed=5)
    assert Counter(query(path, "SELECT number FROM numbers")) == {(number,): 2 for number in range(60)}
    assert sorted(query(path, "SELECT * FROM digits")) == [(number % 10, number) for number in range(50, 60)]


def test_sinks_can_be_pickled_and_shown(tmp_path: Path) -> None:
    for sink in (DbApiSink(partial(connect, "x"), UPSERT), exactly_once("x")):
        assert repr(pickle.loads(pickle.dumps(sink))) == repr(sink)
    assert repr(exactly_once("x")).startswith("DbApiExactlyOnceSink(DbApiInsert(statement='INSERT INTO numbers")


@pytest.mark.parametrize("wait_ms", [100, 5_000, None])
def test_elements_are_committed_within_an_epoch_when_they_have_waited(wait_ms: int | None, tmp_path: Path) -> None:
    path, clock = database(tmp_path), Clock()
    sink = DbApiSink(partial(connect, path), INSERT, batch_size=2, wait_ms=wait_ms)
    writer = sink.create_writer(WriterContext(0, 1, 1, clock))
    for number in range(3):
        writer.write(number, ElementContext())
    soon = clock.now + (wait_ms or 3_600_000)
    writer.end_slice(soon - 1)
    assert query(path, "SELECT number FROM numbers") == []
    writer.end_slice(soon)
    written = [] if wait_ms is None else [(0,), (1,), (2,)]
    assert query(path, "SELECT number FROM numbers") == written
    writer.flush(False)
    assert query(path, "SELECT number FROM numbers") == [(0,), (1,), (2,)]
    writer.close()
