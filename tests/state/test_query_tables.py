"""States of queries as tables: what was put in comes out, in memory and on disk, with and without a time to live, from
savepoints and checkpoints, by the names and types of the query."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tests.checkpoint.jobs import SavedJob
from tests.table.programs.program import Program, Source
from tests.table.programs.running import bound, job_of

from millrace.runtime.coordination.snapshot import OperatorPlace
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.tables.state_table import StateTable
from millrace.state import NotATableError, SavepointReader, StateTableView, query_tables
from millrace.state.query_tables import export_states

Row = tuple[Any, ...]
START = dt.datetime(2024, 1, 1)
ROWS = 25


def people(draw: random.Random) -> Source:
    rows = tuple(("+I", number, draw.choice([None, f"name {number}"])) for number in range(6))
    columns = "id BIGINT, name VARCHAR(20), PRIMARY KEY (id) NOT ENFORCED"
    return Source("p", columns, rows, mode="I,UA,D")


def orders(draw: random.Random) -> Source:
    rows = tuple(
        (
            draw.choice([None, 0, 1, 2]),
            draw.choice([None, "a", "b"]),
            START + dt.timedelta(seconds=number),
            draw.choice([None, Decimal(draw.randrange(1, 10**6)) / 100]),
        )
        for number in range(ROWS)
    )
    columns = "id BIGINT, category STRING, moment TIMESTAMP(3), price DECIMAL(10, 2), WATERMARK FOR moment AS moment"
    return Source("o", columns, rows)


# -- the oracle: what a state has of the rows that were read ----------------------------------------------------------


def seconds(moment: dt.datetime) -> int:
    """ms"""
    return int((moment - dt.datetime(1970, 1, 1)).total_seconds() * 1000)


def groups(rows: list[Row], key: int) -> dict[Any, list[Row]]:
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


def prices(rows: list[Row]) -> tuple[Decimal, int]:
    """Their sum and their number, as SUM holds them."""
    known = [row[3] for row in rows if row[3] is not None]
    return sum(known, Decimal(0)), len(known)


@dataclass(frozen=True)
class Case:
    """A query, and what the states of its operators have."""

    name: str
    sql: str
    state: str
    operator: str
    """what the operator's name begins with"""
    columns: dict[str, str]
    rows: Callable[[list[Row], list[Row]], list[Row]]
    """(people, orders) that were read -> the rows of the table"""
    expires: bool = True
    """whether it has a time to live where that is configured"""
    counts: bool = True
    """whether the last column, copies, is compared: it is not where only some of the media count them"""


ORDER = {"id": "BIGINT", "category": "STRING", "moment": "TIMESTAMP(3)", "price": "DECIMAL(10, 2)"}
JOINED = "SELECT o.id, o.category, o.moment, o.price, p.name FROM o {} JOIN p ON o.id = p.id"
AGGREGATES = "SELECT category, SUM(price) AS total, COUNT(*) AS number, MAX(moment) AS latest FROM o GROUP BY category"


def copies(rows: list[Row]) -> list[Row]:
    return [(*row, count) for row, count in Counter(rows).items()]


CASES = [
    Case(
        "the appended side of a join",
        JOINED.format(""),
        "left",
        "Join",
        {**ORDER, "copies": "BIGINT"},
        lambda people, orders: copies([row for row in orders if row[0] is not None]),
    ),
    Case(
        "a side with a key",
        JOINED.format(""),
        "right",
        "Join",
        {"id": "BIGINT", "name": "VARCHAR(20)"},
        lambda people, orders: list(people),
    ),
    Case(
        "a side with partners",
        JOINED.format("RIGHT"),
        "right",
        "Join",
        {"id": "BIGINT", "name": "VARCHAR(20)", "partners": "BIGINT"},
        lambda people, orders: [(*row, sum(order[0] == row[0] for order in orders)) for row in people],
    ),
    Case(
        "upserts",
        JOINED.format(""),
        "row",
        "ChangelogNormalize",
        {"id": "BIGINT", "name": "VARCHAR(20)"},
        lambda people, orders: list(people),
    ),
    Case(
        "accumulators",
        AGGREGATES,
        "accumulators",
        "GlobalGroupAggregate",
        {
            "category": "STRING",
            "row_count": "BIGINT",
            "SUM(price)": "DECIMAL(38, 2)",
            "SUM(price)_2": "BIGINT",
            "COUNT(*)": "BIGINT",
            "MAX(moment)": "TIMESTAMP(6)",
        },
        lambda people, orders: [
            (key, len(rows), *prices(rows), len(rows), max(row[2] for row in rows))
            for key, rows in groups(orders, 1).items()
        ],
    ),
    Case(
        "the values of DISTINCT",
        "SELECT category, COUNT(DISTINCT id) FROM o GROUP BY category",
        "distinct-0",
        "GroupAggregate",
        {"category": "STRING", "value": "BIGINT", "copies": "BIGINT"},
        lambda people, orders: list({(row[1], row[0]) for row in orders}),
        counts=False,
    ),
    Case(
        "the values of a smallest one",
        "SELECT id, MIN(name) FROM p GROUP BY id",
        "values-0",
        "GroupAggregate",
        {"id": "BIGINT", "value": "VARCHAR(20)", "copies": "BIGINT"},
        lambda people, orders: [(*row, 1) for row in people if row[1] is not None],
    ),
    Case(
        "the last row of a key",
        "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY moment DESC) AS n FROM o) WHERE n = 1",
        "row",
        "Deduplicate",
        {**ORDER, "time": "BIGINT"},
        lambda people, orders: [(*rows[-1], seconds(rows[-1][2])) for rows in groups(orders, 0).values()],
    ),
    Case(
        "the first rows of a key",
        "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY moment DESC) AS n FROM o) WHERE n <= 2",
        "top",
        "Rank",
        ORDER,
        lambda people, orders: [
            row for rows in groups(orders, 0).values() for row in sorted(rows, key=lambda row: row[2], reverse=True)[:2]
        ],
    ),
    Case(
        "windows",
        "SELECT category, SUM(price) FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(moment), INTERVAL '1' HOUR)) "
        "GROUP BY window_start, window_end, category",
        "window accumulators",
        "GlobalWindowAggregate",
        {
            "category": "STRING",
            "window_end": "BIGINT",
            "row_count": "BIGINT",
            "SUM(price)": "DECIMAL(38, 2)",
            "SUM(price)_2": "BIGINT",
        },
        lambda people, orders: [
            (key, seconds(START) + 3_600_000, len(rows), *prices(rows)) for key, rows in groups(orders, 1).items()
        ],
        expires=False,
    ),
    Case(
        "sessions",
        "SELECT category, COUNT(*) FROM TABLE(SESSION(TABLE o PARTITION BY category, DESCRIPTOR(moment), "
        "INTERVAL '1' HOUR)) GROUP BY window_start, window_end, category",
        "sessions",
        "WindowAggregate",
        {
            "category": "STRING",
            "row_count": "BIGINT",
            "COUNT(*)": "BIGINT",
            "window_start": "BIGINT",
            "window_end": "BIGINT",
        },
        lambda people, orders: [
            (key, len(rows), len(rows), seconds(rows[0][2]), seconds(rows[-1][2]) + 3_600_000)
            for key, rows in groups(orders, 1).items()
        ],
        expires=False,
    ),
    Case(
        "what OVER retains",
        "SELECT id, COUNT(price) OVER (PARTITION BY category ORDER BY moment "
        "RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) FROM o",
        "kept",
        "OverAggregate",
        {"category": "STRING", "the time": "BIGINT", "price": "DECIMAL(10, 2)", "number": "BIGINT"},
        lambda people, orders: [
            (key, seconds(row[2]), row[3], number)
            for key, rows in groups(orders, 1).items()
            for number, row in enumerate(rows)
        ],
    ),
]


# -- jobs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Taken:
    """A job after some epochs, each of which has read a row of each table. Epoch ``n`` is at ``n`` ms."""

    savepoint: str
    checkpoints: str
    people: list[Row]
    orders: list[Row]

    def read(self, reader: SavepointReader) -> tuple[list[Row], list[Row]]:
        """The rows of people and of orders that were read until then."""
        return self.people[: reader.metadata.id], self.orders[: reader.metadata.id]


def taken(case: Case, draw: random.Random, directory: Path, on_disk: bool, ttl: bool) -> Taken:
    sources = people(draw), orders(draw)
    settings = {"table.exec.state.ttl": "1 d"} if ttl else {}
    made = bound(Program(case.name, case.sql, sources, settings=settings, only="streaming", why="epochs", paced=True))
    job = job_of(made, draw, draw.randrange(1, 3))
    if on_disk:
        job = replace(job, state=OnDisk((str(directory / "local"),)))
    saved = SavedJob(job, directory / "job", checkpoint_every=1, workers=1)
    for _ in range(draw.randrange(1, ROWS - 1)):  # the end of an input would fire all windows
        saved.epoch()
    saved.epoch(directory / "savepoint")
    rows = [row for _, row in sources[0].changelog], [row for _, row in sources[1].changelog]
    return Taken(str(directory / "savepoint"), str(directory / "job" / job.job_id), *rows)


def uid_of(reader: SavepointReader, operator: str) -> str:
    return next(each.uid for each in reader.operators() if each.name.startswith(operator))


@pytest.mark.parametrize("ttl", [False, True], ids=["", "expiring"])
@pytest.mark.parametrize("on_disk", [False, True], ids=["memory", "disk"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_was_put_in_comes_out(case: Case, on_disk: bool, ttl: bool, tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    job = taken(case, random.Random(seed), tmp_path, on_disk, ttl)
    for path in (job.savepoint, job.checkpoints):
        reader = SavepointReader.read(path)
        people, orders = job.read(reader)
        view = reader.table(uid_of(reader, case.operator), case.state)
        assert isinstance(view, StateTableView)
        expected = case.rows(people, orders)
        found = [tuple(row.values()) for row in view.to_arrow().to_pylist()]
        columns = dict(case.columns)
        if ttl and case.expires and found:
            columns["last_access"] = "BIGINT"
            assert {row[-1] for row in found} <= set(range(1, reader.metadata.id + 1))
            found = [row[:-1] for row in found]
        if not case.counts:
            assert all(row[-1] >= 1 for row in found)
            found = [row[:-1] for row in found]
        assert Counter(found) == Counter(expected)
        if found:
            assert dict(view.columns) == columns
            assert pa.concat_tables(view.tables()).schema == view.schema


def test_with_a_time_to_live_there_is_the_time_of_the_last_write(tmp_path: Path) -> None:
    job = taken(CASES[4], random.Random(1), tmp_path, on_disk=False, ttl=True)
    reader = SavepointReader.read(job.savepoint)
    _, orders = job.read(reader)
    found = reader.table(uid_of(reader, "GlobalGroupAggregate"), "accumulators").to_pandas()
    last = {row[1]: epoch for epoch, row in enumerate(orders, 1)}
    assert dict(zip(found["category"], found["last_access"])) == last


# -- batches and files ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Taken:
    return taken(CASES[0], random.Random(5), tmp_path_factory.mktemp("joined"), on_disk=False, ttl=False)


def test_rows_come_in_batches(joined: Taken, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = SavepointReader.read(joined.savepoint)
    view = reader.table(uid_of(reader, "Join"), "left")
    whole = view.to_arrow()
    monkeypatch.setattr(query_tables, "BATCH_ROWS", 2)
    parts = list(view.tables())
    assert max(part.num_rows for part in parts) == 2
    assert pa.concat_tables(parts) == whole


def test_duckdb_and_pandas_read_what_is_exported(joined: Taken, tmp_path: Path) -> None:
    reader = SavepointReader.read(joined.savepoint)
    uid, (people, orders) = uid_of(reader, "Join"), joined.read(reader)
    files = export_states(reader, uid, None, str(tmp_path / "exported"))
    assert {Path(each.path).name: each.rows for each in files} == {
        "left.parquet": sum(row[0] is not None for row in orders),
        "right.parquet": len(people),
    }
    left, right = (str(tmp_path / "exported" / f"{side}.parquet") for side in ("left", "right"))
    of_files = f"SELECT l.id, category, moment, price, name FROM '{left}' l JOIN '{right}' r ON l.id = r.id"
    names: dict[int, str | None] = dict(people)
    expected = [(*row, names[row[0]]) for row in orders if row[0] in names]
    assert Counter(duckdb.sql(of_files).fetchall()) == Counter(expected)
    types = dict(duckdb.sql(f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM '{left}')").fetchall())
    assert types == {
        "id": "BIGINT",
        "category": "VARCHAR",
        "moment": "TIMESTAMP",
        "price": "DECIMAL(10,2)",
        "copies": "BIGINT",
    }
    with pytest.raises(FileExistsError, match=r"left\.parquet exists"):
        export_states(reader, uid, "left", str(tmp_path / "exported"))


def test_a_file_is_there_when_it_is_complete(joined: Taken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = SavepointReader.read(joined.savepoint)
    monkeypatch.setattr(StateTableView, "_rows", lambda self, piece, wanted: iter([("no number",) * 5]))
    with pytest.raises(NotATableError, match="id is not of type BIGINT"):
        export_states(reader, uid_of(reader, "Join"), "left", str(tmp_path))
    assert not list(tmp_path.iterdir())


# -- savepoints of earlier versions -----------------------------------------------------------------------------------


def test_without_names_columns_are_what_they_come_from(joined: Taken, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a savepoint from before tables were recorded, which has the layout of rows."""
    reader = SavepointReader.read(joined.savepoint)
    place = reader._opened.find(uid_of(reader, "Join"))
    assert place.calls is not None
    rows = [{name: value for name, value in each.items() if name != "names"} for each in place.calls["rows"]]
    before = replace(place, tables=(), calls={**place.calls, "rows": rows})
    assert [table.names for table in before.state_tables] == [
        ("id", "category", "moment", "price"),
        ("id of input 2", "name of input 2"),
    ]


def test_without_any_layout_fields_have_numbers(joined: Taken, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = SavepointReader.read(joined.savepoint)
    people, _ = joined.read(reader)
    monkeypatch.setattr(OperatorPlace, "state_tables", ())
    found = reader.table(uid_of(reader, "ChangelogNormalize"), "row").to_arrow()
    assert found.column_names == ["c0", "c1", "c2"]
    assert Counter(map(tuple, map(dict.values, found.to_pylist()))) == Counter((row[0], *row) for row in people)


def test_a_description_is_plain_data() -> None:
    table = StateTable("left", "side", ("id",), ("BIGINT",), ("k",), ("STRING",), True, ("partners",))
    assert StateTable.of(json.loads(json.dumps(vars(table)))) == table
