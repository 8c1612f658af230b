"""A query whose aggregates have changed goes on with those that are still there, wherever they stand now and be their
types wider: it gives what it gives of all rows in one life. What is new begins with nothing, where that is allowed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.checkpoint.jobs import SavedJob, collecting
from tests.programs import ListSource
from tests.table.programs.test_changed_queries import EPOCH_RECORDS, EPOCHS, GROUP, HOP, LEFT, ROWS, WINDOW, table

from millrace.checkpoint.folder import RestoreError
from millrace.common import Row, Types, WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.tables.stored_calls import BEGIN_EMPTY
from millrace.table import Schema, StreamTableEnvironment

pytestmark = pytest.mark.draw(12)

PLAIN = {"g": "STRING", "h": "STRING", "x": "BIGINT", "y": "BIGINT", "s": "STRING", "at": "BIGINT"}
KINDS = {
    "BIGINT": Types.LONG(), "INT": Types.INT(), "SMALLINT": Types.SHORT(), "FLOAT": Types.FLOAT(),
    "DOUBLE": Types.DOUBLE(), "DECIMAL": Types.BIG_DEC(),
}  # fmt: skip


def kind_of(name: str) -> Any:
    return KINDS.get(name.partition("(")[0], Types.STRING())


def job_of(
    query: str,
    disk: Path | None = None,
    types: dict[str, str] | None = None,
    rows: Sequence[Any] = ROWS,
    parallelism: int = 2,
    settings: dict[str, str] | None = None,
    records: int | None = EPOCH_RECORDS,
) -> JobGraph:
    columns = {**PLAIN, **(types or {})}

    def build(env: StreamExecutionEnvironment) -> DataStream:
        tables = StreamTableEnvironment.create(env)
        for key, value in (settings or {}).items():
            tables.get_config().set(key, value)
        schema = Schema.new_builder()
        for name, kind in columns.items():
            schema = schema.column(name, kind)
        schema = schema.column_by_expression("ts", "TO_TIMESTAMP_LTZ(`at`, 3)")
        schema = schema.watermark("ts", "ts - INTERVAL '1' SECOND")
        typed = Types.ROW_NAMED(list(columns), [kind_of(kind) for kind in columns.values()])
        converted = [(time, Row(*(_as(kind, each) for kind, each in zip(columns.values(), row)))) for time, row in rows]
        source = env.from_source(ListSource(converted), WatermarkStrategy.no_watermarks(), "t", typed)
        tables.create_temporary_view("t", source.uid("source").set_parallelism(2), schema.build())
        return tables.to_changelog_stream(tables.sql_query(query))

    job = collecting(build, parallelism, epoch_records=records)
    return job if disk is None else replace(job, state=OnDisk((str(disk),)))


def _as(kind: str, value: Any) -> Any:
    if kind.startswith("DECIMAL"):
        return Decimal(value) / 4
    return float(value) if kind in ("FLOAT", "DOUBLE") else value


def whole(directory: Path, query: str, types: dict[str, str] | None = None, rows: Sequence[Any] = ROWS) -> Counter[Any]:
    return table(SavedJob(job_of(query, None, types, rows, records=None), directory / "whole").finish())


def saved(directory: Path, job: JobGraph, source: str) -> tuple[list[Any], str]:
    """What it has given until the savepoint or checkpoint, and where that is."""
    first = SavedJob(job, directory / "first", 1)
    for _ in range(EPOCHS - 1):
        first.epoch()
    checkpoint = first.epoch(directory / "saved").checkpoint
    return first.collected, str(directory / "saved") if source == "savepoint" else str(checkpoint)


AGAIN = "SELECT g, {} FROM (SELECT g, h, COUNT(*) AS c, MIN(s) AS m FROM t GROUP BY g, h) GROUP BY g"
"""over rows that are taken back"""
MAPPED = {
    "removed": (GROUP.format("SUM(x), COUNT(*)"), GROUP.format("SUM(x)")),
    "removed in front": (GROUP.format("COUNT(*), SUM(x), MAX(y)"), GROUP.format("SUM(x), MAX(y)")),
    "all removed": (GROUP.format("SUM(x)"), "SELECT g FROM t GROUP BY g"),
    "in another order": (GROUP.format("SUM(x), COUNT(*)"), GROUP.format("COUNT(*), SUM(x)")),
    "of several slots, in another order": (
        GROUP.format("AVG(x), SUM(y), STDDEV_POP(x)"), GROUP.format("STDDEV_POP(x), AVG(x), SUM(y)")),
    "one in another place, one gone": (GROUP.format("MIN(x), MAX(y), AVG(y)"), GROUP.format("AVG(y), MIN(x)")),
    "with filters": (
        GROUP.format("SUM(x) FILTER (WHERE y > 2), SUM(x)"), GROUP.format("SUM(x), SUM(x) FILTER (WHERE y > 2)")),
    "without keys": ("SELECT SUM(x), MAX(y), SUM(y) FROM t", "SELECT SUM(y), MAX(y) FROM t"),
    "values of DISTINCT": (
        GROUP.format("COUNT(DISTINCT x), SUM(y), COUNT(DISTINCT h)"), GROUP.format("COUNT(DISTINCT h), SUM(y)")),
    "two over the same values": (
        GROUP.format("COUNT(DISTINCT h), COUNT(DISTINCT x), SUM(DISTINCT x)"),
        GROUP.format("SUM(DISTINCT x), COUNT(DISTINCT x)")),
    "values that are kept": (
        GROUP.format("LISTAGG(s), COLLECT(h), SUM(x)"), GROUP.format("SUM(x), LISTAGG(s)")),
    "of rows that are taken back": (
        AGAIN.format("SUM(c), MAX(c), COUNT(*)"), AGAIN.format("COUNT(*), MAX(c)")),
    "kept, of rows that are taken back": (
        AGAIN.format("MIN(c), LISTAGG(m), MAX(c)"), AGAIN.format("MAX(c), LISTAGG(m)")),
    "DISTINCT, of rows that are taken back": (
        AGAIN.format("COUNT(DISTINCT m), SUM(DISTINCT c)"), AGAIN.format("SUM(DISTINCT c)")),
    "below another aggregate": (
        "SELECT c, COUNT(*) FROM (SELECT g, h, SUM(x) AS z, COUNT(*) AS c FROM t GROUP BY g, h) GROUP BY c",
        "SELECT c, COUNT(*) FROM (SELECT g, h, COUNT(*) AS c FROM t GROUP BY g, h) GROUP BY c"),
}  # fmt: skip
MAPPED_WINDOWS = {
    "removed": (WINDOW.format("SUM(x), COUNT(*)", 5), WINDOW.format("COUNT(*)", 5)),
    "in another order": (WINDOW.format("SUM(x), AVG(y)", 5), WINDOW.format("AVG(y), SUM(x)", 5)),
    "what it shows of the window": (
        WINDOW.format("SUM(x), window_start", 5), WINDOW.format("window_end, SUM(x)", 5)),
    "values of DISTINCT": (
        WINDOW.format("COUNT(DISTINCT x), COUNT(DISTINCT h)", 5), WINDOW.format("COUNT(DISTINCT h)", 5)),
    "values that are kept": (WINDOW.format("LISTAGG(s), SUM(x)", 5), WINDOW.format("SUM(x), LISTAGG(s)", 5)),
    "of slices": (
        HOP.replace("COUNT(*)", "COUNT(*), SUM(x)").format(2, 4), HOP.replace("COUNT(*)", "SUM(x)").format(2, 4)),
}  # fmt: skip
INT, SMALLINT = {"x": "INT"}, {"x": "SMALLINT"}
WIDER = {
    "INT, BIGINT": (INT, {"x": "BIGINT"}, "SUM(x), MAX(x), AVG(x)"),
    "SMALLINT, INT": (SMALLINT, INT, "SUM(x), MIN(x)"),
    "INT, BIGINT, DISTINCT": (INT, {"x": "BIGINT"}, "COUNT(DISTINCT x)"),
    "and in another order": (INT, {"x": "BIGINT"}, "SUM(x), COUNT(*)|COUNT(*), SUM(x)"),
}  # fmt: skip
DECLARED = {
    "digits of DECIMAL": ("x DECIMAL(10, 2)", "x DECIMAL(20, 2)", "SUM(x), MAX(x)"),
    "many digits of DECIMAL": ("x DECIMAL(10, 2)", "x DECIMAL(36, 2)", "SUM(x), AVG(x)"),
    "VARCHAR": ("x VARCHAR(5)", "x VARCHAR(9)", "MIN(x), COUNT(x)"),
    "VARCHAR, STRING": ("x VARCHAR(5)", "x STRING", "MAX(x), MIN(x)"),
    "DISTINCT": ("x VARCHAR(5)", "x STRING", "COUNT(DISTINCT x), COUNT(*)"),
    "DISTINCT DECIMAL": ("x DECIMAL(10, 2)", "x DECIMAL(20, 2)", "COUNT(DISTINCT x), SUM(x)"),
}  # fmt: skip
NOT_WIDER = {
    "BIGINT, INT": ({"x": "BIGINT"}, INT, "SUM(x)"),
    "INT, DOUBLE": (INT, {"x": "DOUBLE"}, "SUM(x)"),
    "FLOAT, DOUBLE": ({"x": "FLOAT"}, {"x": "DOUBLE"}, "SUM(x)"),
    "fewer digits": ({"x": "DECIMAL(20, 2)"}, {"x": "DECIMAL(10, 2)"}, "MAX(x)"),
    "other decimals": ({"x": "DECIMAL(20, 2)"}, {"x": "DECIMAL(20, 4)"}, "MAX(x)"),
    "shorter VARCHAR": ({"s": "VARCHAR(9)"}, {"s": "VARCHAR(5)"}, "MAX(s)"),
    "INT, STRING": (INT, {"x": "STRING"}, "MAX(x)"),
}  # fmt: skip


@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
@pytest.mark.parametrize("what", MAPPED)
def test_aggregates_that_are_still_there_go_on(what: str, source: str, disk: Path | None, tmp_path: Path) -> None:
    before, after = MAPPED[what]
    _, path = saved(tmp_path, job_of(before, disk), source)
    second = SavedJob(job_of(after, disk), tmp_path / "second")
    second.restore(path)
    found = table(second.finish())
    # Groups that are there already do not come again.
    assert found == (Counter() if what == "all removed" else whole(tmp_path, after))


@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
@pytest.mark.parametrize("what", MAPPED_WINDOWS)
def test_those_of_open_windows_too(what: str, source: str, disk: Path | None, tmp_path: Path) -> None:
    before, after = MAPPED_WINDOWS[what]
    fired, path = saved(tmp_path, job_of(before, disk), source)
    second = SavedJob(job_of(after, disk), tmp_path / "second")
    second.restore(path)
    found, expected = table(second.finish()), whole(tmp_path, after)
    assert found <= expected and found.total() == expected.total() - len(fired)


@pytest.mark.parametrize("what", WIDER)
def test_wider_types_go_on(what: str, disk: Path | None, tmp_path: Path) -> None:
    old, new, calls = WIDER[what]
    before, _, after = calls.partition("|")
    _, path = saved(tmp_path, job_of(GROUP.format(before), disk, old), "savepoint")
    query = GROUP.format(after or before)
    second = SavedJob(job_of(query, disk, new), tmp_path / "second")
    second.restore(path)
    assert table(second.finish()) == whole(tmp_path, query, new)


def of_files(folder: Path, column: str, calls: str, disk: Path | None, records: int | None) -> JobGraph:
    """A job over a table whose declared types are those of its rows."""
    folder.mkdir(exist_ok=True)
    for part in range(12):  # of a file all rows are read at once
        lines = (json.dumps({"g": "ab"[n % 2], "x": n % 7 + n / 4, "n": n}) for n in (2 * part, 2 * part + 1))
        (folder / f"{part}.json").write_text("\n".join(lines))

    def build(env: StreamExecutionEnvironment) -> DataStream:
        tables = StreamTableEnvironment.create(env)
        tables.execute_sql(
            f"CREATE TABLE t (g STRING, {column}, n INT) WITH ('connector' = 'filesystem', 'path' = '{folder}', "
            f"'format' = 'json')"
        )
        return tables.to_changelog_stream(tables.sql_query(f"SELECT g, COUNT(n), {calls} FROM t GROUP BY g"))

    job = collecting(build, 2, epoch_records=records)
    return job if disk is None else replace(job, state=OnDisk((str(disk),)))


@pytest.mark.parametrize("what", DECLARED)
def test_more_digits_and_characters_go_on(what: str, disk: Path | None, tmp_path: Path) -> None:
    old, new, calls = DECLARED[what]
    _, path = saved(tmp_path, of_files(tmp_path / "t", old, calls, disk, EPOCH_RECORDS), "savepoint")
    second = SavedJob(of_files(tmp_path / "t", new, calls, disk, EPOCH_RECORDS), tmp_path / "second")
    second.restore(path)
    expected = SavedJob(of_files(tmp_path / "t", new, calls, None, None), tmp_path / "whole").finish()
    assert table(second.finish()) == table(expected)


@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
def test_keys_of_a_wider_type_go_on(source: str, disk: Path | None, tmp_path: Path) -> None:
    query = "SELECT x, COUNT(*), SUM(y) FROM t GROUP BY x"
    first, path = saved(tmp_path, job_of(query, disk, INT), source)
    second = SavedJob(job_of(query, disk, parallelism=3), tmp_path / "second")
    second.restore(path)
    assert table([*first, *second.finish()]) == whole(tmp_path, query)


@pytest.mark.parametrize("what", NOT_WIDER)
def test_other_types_are_refused(what: str, disk: Path | None, tmp_path: Path) -> None:
    old, new, calls = NOT_WIDER[what]
    _, path = saved(tmp_path, job_of(GROUP.format(calls), disk, old), "savepoint")
    second = SavedJob(job_of(GROUP.format(calls), disk, new), tmp_path / "second")
    with pytest.raises(RestoreError, match=r"its query (has|computes)"):
        second.restore(path)


BEGINS = {BEGIN_EMPTY: "true"}
NEW = {
    "behind": ("SUM(x)", "SUM(x), {}"),
    "in front": ("SUM(x)", "{}, SUM(x)"),
    "for one that is gone": ("MAX(y), SUM(x)", "{}, SUM(x)"),
}
CALLS = ["COUNT(*)", "AVG(y)", "MIN(y)", "LISTAGG(s)", "COUNT(DISTINCT y)"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("what", NEW)
def test_new_ones_begin_with_nothing_where_that_is_allowed(
    what: str, call: str, disk: Path | None, tmp_path: Path
) -> None:
    before, after = NEW[what]
    if call in ("LISTAGG(s)", "COUNT(DISTINCT y)"):  # they are in an operator of their own, with others of their kind
        before = f"{before}, COUNT(DISTINCT x)"
        after = f"{after}, COUNT(DISTINCT x)"
    query = GROUP.format(after.format(call))
    _, path = saved(tmp_path, job_of(GROUP.format(before), disk), "savepoint")
    with pytest.raises(RestoreError, match=rf"(?s)nothing of it is known \({BEGIN_EMPTY}=true"):
        SavedJob(job_of(query, disk), tmp_path / "refused").restore(path)
    second = SavedJob(job_of(query, disk, settings=BEGINS), tmp_path / "second")
    second.restore(path)
    found = {row[0]: row for row in table(second.finish())}
    of_all = {row[0]: row for row in whole(tmp_path / "all", query)}
    of_new = {row[0]: row for row in whole(tmp_path / "left", query, rows=LEFT)}
    place = query.split(" FROM ")[0].removeprefix("SELECT ").split(", ").index(call)
    expected = {g: (*row[:place], of_new[g][place], *row[place + 1 :]) for g, row in of_all.items()}
    assert found == expected


def test_a_driver_that_goes_on_with_other_aggregates_lets_its_tasks_take_over(tmp_path: Path) -> None:
    first = SavedJob(job_of(GROUP.format("SUM(x), COUNT(*)")), tmp_path, 1)
    first.epoch()
    query = GROUP.format("COUNT(*), SUM(x)")
    second = SavedJob(replace(job_of(query), job_id=first.job.job_id), tmp_path, 1)
    second.go_on()
    assert table(second.finish()) == whole(tmp_path, query)


def test_an_aggregate_that_keeps_values_for_rows_that_are_taken_back_is_another_one(tmp_path: Path) -> None:
    """The query says the same of it, but what comes is of another kind."""
    before = "SELECT g, MAX(x) FROM (SELECT g, x FROM t) GROUP BY g"
    after = "SELECT g, MAX(x) FROM (SELECT g, x FROM t EXCEPT SELECT g, x FROM t WHERE x > 100) GROUP BY g"
    _, path = saved(tmp_path, job_of(before), "savepoint")
    second = SavedJob(job_of(after), tmp_path / "second")
    with pytest.raises(RestoreError):
        second.restore(path)
