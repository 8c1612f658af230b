"""Operators on tables whose state is in columns go on with another parallelism from a checkpoint.

A checkpoint has changes of epochs, or a whole state and changes, which the next job divides by keys. The oracle is the
same program in one go.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.checkpoint.jobs import Build, SavedJob, collecting
from tests.endings import Countdown, small_pieces

from millrace.checkpoint import sections, task_file
from millrace.common import Types
from millrace.common.types import RowKind
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.runtime.coordination import snapshot
from millrace.table import DataTypes, Schema, StreamTableEnvironment

pytestmark = pytest.mark.draw(8)

COUNT, KEYS = 60, 9
NUMBERED = "SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {}) AS r FROM t"
QUERIES = {
    "hop": "SELECT k, COUNT(*) AS n, SUM(v) AS s, window_end FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), "
    "INTERVAL '0.1' SECOND, INTERVAL '0.3' SECOND)) GROUP BY k, window_start, window_end",
    "session": "SELECT k, COUNT(*) AS n, MAX(v) AS s, window_end FROM TABLE(SESSION(TABLE t PARTITION BY k, "
    "DESCRIPTOR(ts), INTERVAL '0.2' SECOND)) GROUP BY k, window_start, window_end",
    "window top": "SELECT k, v, r FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k, window_start, window_end "
    "ORDER BY v DESC) AS r FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '0.1' SECOND, "
    "INTERVAL '0.3' SECOND))) WHERE r <= 2",
    "over": "SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '0.3' SECOND PRECEDING "
    "AND CURRENT ROW) AS s FROM t",
    "group by": "SELECT k, COUNT(*) AS n, SUM(v) AS s, MAX(v) AS m FROM t GROUP BY k",
    "group by of changes": "SELECT n, COUNT(*) AS m, SUM(k) AS s FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) "
    "GROUP BY n",
    "distinct": "SELECT k, COUNT(DISTINCT v) AS n, COUNT(DISTINCT MOD(v, 5)) AS m FROM t GROUP BY k",
    "first row": f"SELECT k, v FROM ({NUMBERED.format('ts')}) WHERE r = 1",
    "last row": f"SELECT k, v FROM ({NUMBERED.format('ts DESC')}) WHERE r = 1",
    "top 3": f"SELECT k, v, r FROM ({NUMBERED.format('MOD(v * 7, 11) DESC, v')}) WHERE r <= 3",
    "different rows": "SELECT DISTINCT k, MOD(v, 7) AS m FROM t",
    "join": "SELECT a.k, a.v, b.v AS w FROM t AS a JOIN t AS b ON a.k = b.k WHERE MOD(b.v, 2) = 0",
}


@pytest.fixture(autouse=True)
def divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files be divided by key group as if the state were large."""
    monkeypatch.setattr(task_file, "UNDIVIDED", 0)
    monkeypatch.setattr(sections, "LEAST_BYTES", 1)


class Times(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1]) * 17


def program(query: str) -> Build:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        tables = StreamTableEnvironment.create(env)
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Times())
        numbers = env.from_sequence(0, COUNT - 1).uid("numbers").set_parallelism(1)
        typed = Types.ROW_NAMED(["k", "v"], [Types.LONG(), Types.LONG()])
        rows = numbers.map(lambda n: (n * n % KEYS, n), typed).uid("rows").set_parallelism(1)
        timed = rows.assign_timestamps_and_watermarks(strategy).uid("times").set_parallelism(1)
        columns = Schema.new_builder().column("k", DataTypes.BIGINT()).column("v", DataTypes.BIGINT())
        schema = columns.column_by_metadata("ts", DataTypes.TIMESTAMP_LTZ(3), "rowtime")
        tables.create_temporary_view("t", timed, schema.watermark("ts", "SOURCE_WATERMARK()").build())
        return tables.to_changelog_stream(tables.sql_query(query))

    return build


def table_of(changes: list[Any]) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for row in changes:
        found[tuple(row)] += 1 if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER) else -1
    assert not found or min(found.values()) >= 0
    return +found


@pytest.mark.parametrize("compact", [snapshot.COMPACT_BYTES, 1], ids=["of changes", "of whole states"])
@pytest.mark.parametrize("name", QUERIES)
def test_goes_on(name: str, compact: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "COMPACT_BYTES", compact)
    monkeypatch.setattr(snapshot, "TOGETHER", 1)
    build = program(QUERIES[name])
    first = SavedJob(collecting(build, 2, epoch_records=10), tmp_path / "first", 1)
    for _ in range(3):
        path = first.epoch().checkpoint
    assert path is not None
    second = SavedJob(collecting(build, 3, epoch_records=10), tmp_path / "second")
    second.restore(path)
    wanted = table_of(SavedJob(collecting(build, 1, epoch_records=30), tmp_path / "whole").finish())
    assert wanted and table_of([*first.collected, *second.finish()]) == wanted


@pytest.mark.parametrize("stops", range(62, 92, 4))
@pytest.mark.parametrize("name", ["hop", "session", "over", "window top"])
def test_goes_on_from_different_watermarks(name: str, stops: int, tmp_path: Path) -> None:
    """Something waits at the gates of some subtasks only."""
    build, finish = program(QUERIES[name]), Countdown()
    with small_pieces():
        first = SavedJob(collecting(build, 2, epoch_records=20), tmp_path / "first", finish=finish)
        first.epoch()
        finish.left = stops
        first.epoch(tmp_path / "savepoint")
        second = SavedJob(collecting(build, 3, epoch_records=20), tmp_path / "second", finish=finish)
        second.restore(str(tmp_path / "savepoint"))
        finish.left = stops // 2
        second.epoch(tmp_path / "again")
        third = SavedJob(collecting(build, 1, epoch_records=20), tmp_path / "third")
        third.restore(str(tmp_path / "again"))
        found = table_of([*first.collected, *second.collected, *third.finish()])
    wanted = table_of(SavedJob(collecting(build, 1, epoch_records=30), tmp_path / "whole").finish())
    assert wanted and found == wanted
