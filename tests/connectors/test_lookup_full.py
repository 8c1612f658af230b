"""Tables that are looked up as a whole."""

from __future__ import annotations

import datetime as dt
import pickle
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.connectors.tables.message_tables import MessageTables

from millrace.connectors.tables.full_lookup import FullLookup, Index, Reload
from millrace.relational.rex import Field
from millrace.relational.sources import TableContext
from millrace.relational.types import BigIntType, string
from millrace.table.sessions.table_info import factory_of
from millrace.util.exceptions import TableException

COLUMNS = (Field("id", BigIntType()), Field("name", string()))
DEADLINE_SECONDS = 120


def look_up(path: Path, key: Sequence[int] = (0,), **options: str) -> FullLookup:
    given = {"connector": "filesystem", "format": "csv", "path": str(path)}
    given |= {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    table = TableContext(("c", "d", "t"), COLUMNS, options=given)
    factory = factory_of(given, table.summary)
    assert factory.looks_up(table)
    found = factory.lookup_source(table, key)
    assert isinstance(found, FullLookup)
    return pickle.loads(pickle.dumps(found))


def eventually(check: Callable[[], bool]) -> None:
    until = time.monotonic() + DEADLINE_SECONDS
    while not check():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_rows_of_keys_in_their_order(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text("".join(f"{key},{number}-{key}\n" for key in range(50)) + ",none\n")
    source = look_up(tmp_path)
    source.open()
    found = list(source.lookup([(7,), (99,), (0,)]))
    wanted = [[(key, f"{n}-{key}") for n in range(3)] for key in (7, 0)]
    assert [sorted(rows) for rows in found] == [wanted[0], [], wanted[1]]
    source.close()


def test_an_index_over_two_columns_and_of_nothing() -> None:
    columns = [pa.array([1, 1, 2, None]), pa.array(["a", "b", "a", "a"])]
    types = [BigIntType(), string()]
    assert Index(columns, types, (1, 0)).find([("a", 1), ("a", 2), ("b", 2), ("a", 1)]) == [
        [(1, "a")], [(2, "a")], [], [(1, "a")],
    ]  # fmt: skip
    assert Index([], types, (0,)).find([(1,)]) == [[]]


def test_it_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,old\n")
    source = look_up(tmp_path, lookup__full_cache__periodic_reload__interval="20 ms")
    source.open()
    assert list(source.lookup([(1,)])) == [[(1, "old")]]
    (tmp_path / "b.csv").write_text("2,new\n")
    eventually(lambda: list(source.lookup([(2,)])) == [[(2, "new")]])
    (tmp_path / "c.csv").write_text("x,not a number\n")

    def fails() -> bool:
        try:
            source.lookup([(1,)])
        except RuntimeError as error:
            return "cannot be read again" in str(error)
        return False

    eventually(fails)
    source.close()


def test_it_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,a\n")
    source = look_up(tmp_path)
    source.open()
    (tmp_path / "b.csv").write_text("2,new\n")
    assert source._thread is None
    assert list(source.lookup([(2,)])) == [[]]
    source.close()


AT = dt.datetime(2024, 5, 6, 10, 0, tzinfo=dt.timezone.utc)


@pytest.mark.parametrize(
    ("reload", "took", "expected"),
    [
        (Reload(), 5, None),
        (Reload(60), 5, 60),
        (Reload(60, fixed_rate=True), 5, 55),
        (Reload(60, fixed_rate=True), 100, 0),
        (Reload(86400, True, dt.time(11, 0, tzinfo=dt.timezone.utc)), 0, 3600),
        (Reload(86400, True, dt.time(9, 0, tzinfo=dt.timezone.utc)), 0, 23 * 3600),
    ],
)
def test_when_it_is_read_again(reload: Reload, took: float, expected: float | None) -> None:
    assert reload.wait(AT, AT + dt.timedelta(seconds=took)) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lookup__cache": "PARTIAL"}, "'lookup.cache' is one of full"),
        ({"lookup__full_cache__periodic_reload__interval": "soon"}, "periodic-reload.interval"),
        ({"lookup__full_cache__reload_strategy": "timed"}, "is needed for the reload strategy TIMED"),
        (
            {"lookup__full_cache__reload_strategy": "timed", "lookup__full_cache__timed_reload__iso_time": "noon"},
            "is a time of day",
        ),
    ],
)
def test_options_that_are_refused(tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(TableException, match=message):
        look_up(tmp_path, **options)


def test_a_join_with_files(tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("1,one\n2,two\n2,zwei\n")
    tables = MessageTables()
    tables.environment.execute_sql(
        f"CREATE TABLE names (id BIGINT, name STRING, at AS 'file') WITH ('connector' = 'filesystem', "
        f"'format' = 'csv', 'path' = '{tmp_path}')"
    )
    query = (
        "SELECT n.id, f.name, f.at FROM (SELECT id, PROCTIME() AS p FROM (VALUES (1), (2), (3)) AS t(id)) AS n "
        "{} JOIN names FOR SYSTEM_TIME AS OF n.p AS f ON f.id = n.id"
    )
    inner = [(1, "one", "file"), (2, "two", "file"), (2, "zwei", "file")]
    assert tables.rows(query.format("")) == inner
    assert sorted(tables.rows(query.format("LEFT")), key=str) == [*inner, (3, None, None)]


def test_expected_files_are_a_stream_and_no_look_up(tmp_path: Path) -> None:
    table: Any = TableContext(("c", "d", "t"), COLUMNS, options={"source.monitor-interval": "1 s"})
    assert not factory_of({"connector": "filesystem", "format": "csv", "path": "x"}, "t").looks_up(table)
