"""A query that has changed goes on from a savepoint of the one before, with right numbers; or it is refused before
anything runs, and says which operator's state is of another query. Never anything in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.checkpoint.jobs import SavedJob, collecting
from tests.programs import ListSource

from millrace.checkpoint.files.errors import RestoreError
from millrace.common import Row, RowKind, Types, WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.state.disk.plan import OnDisk
from millrace.table import Schema, StreamTableEnvironment

FIELDS = ["g", "h", "x", "y", "s", "at"]
TYPES = Types.ROW_NAMED(
    FIELDS, [Types.STRING(), Types.STRING(), Types.LONG(), Types.LONG(), Types.STRING(), Types.LONG()]
)
ROWS = [
    (n * 700, Row("ab"[n % 2], "uvw"[n % 3], n * 7 % 11, n * 5 % 7, f"s{n % 4}", n * 700)) for n in range(24)
]  # fmt: skip
EPOCH_RECORDS, EPOCHS = 4, 2
"""rows that a subtask reads in an epoch, and how many of these there are before the savepoint"""
LEFT = sorted(pair for part in range(2) for pair in ROWS[part::2][EPOCH_RECORDS * EPOCHS :])
"""those that are read afterwards"""


def build(query: str, rows: Sequence[Any] = ROWS) -> Any:
    def stream(env: StreamExecutionEnvironment) -> DataStream:
        tables = StreamTableEnvironment.create(env)
        schema = Schema.new_builder().column_by_expression("ts", "TO_TIMESTAMP_LTZ(`at`, 3)")
        schema = schema.column_by_expression("p", "PROCTIME()").watermark("ts", "ts - INTERVAL '1' SECOND")
        for name in ("t", "r"):
            source = env.from_source(ListSource(rows), WatermarkStrategy.no_watermarks(), name, TYPES)
            tables.create_temporary_view(name, source.uid(f"source-{name}"), schema.build())
        return tables.to_changelog_stream(tables.sql_query(query))

    return stream


def job_of(query: str, disk: Path | None) -> JobGraph:
    job = collecting(build(query), 2, epoch_records=EPOCH_RECORDS)
    return job if disk is None else replace(job, state=OnDisk((str(disk),)))


def table(changes: Sequence[Row]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for row in changes:
        adds = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
        found[tuple(row)] += 1 if adds else -1
    return +found


def saved(query: str, directory: Path, disk: Path | None) -> tuple[SavedJob, Path]:
    first, savepoint = SavedJob(job_of(query, disk), directory / "first"), directory / "savepoint"
    for _ in range(EPOCHS - 1):
        first.epoch()
    first.epoch(savepoint)
    assert not first.coordinator.finished
    return first, savepoint


def whole(query: str, directory: Path, rows: Sequence[Any] = ROWS) -> Counter[Any]:
    """What it gives of all rows in one life."""
    return table(SavedJob(collecting(build(query, rows), 2), directory / "whole").finish())


GROUP = "SELECT g, {} FROM t GROUP BY g"
OF_WINDOW = "GROUP BY g, window_start, window_end"
WINDOW = f"SELECT g, {{}} FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '{{}}' SECOND)) {OF_WINDOW}"
HOP = (
    "SELECT g, COUNT(*) FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '{}' SECOND, INTERVAL '{}' SECOND)) "
    f"{OF_WINDOW}"
)
CUMULATE = (
    "SELECT g, COUNT(*) FROM TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '{}' SECOND)) "
    f"{OF_WINDOW}"
)
TOP = (
    "SELECT g, x, s, n FROM (SELECT g, x, y, s, ROW_NUMBER() OVER (PARTITION BY {} ORDER BY {}) AS n FROM t) "
    "WHERE n <= {}"
)
FIRST = "SELECT {} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {} ORDER BY {}) AS n FROM t) WHERE n = 1"
OVER = "SELECT g, x, {} OVER (PARTITION BY {} ORDER BY ts {}) FROM t"
JOIN = "SELECT {} FROM t JOIN r ON {}"
BETWEEN = "SELECT t.g, r.x FROM t JOIN r ON t.x = r.x AND t.ts BETWEEN r.ts - INTERVAL '{}' SECOND AND r.ts"
MATCH = (
    "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY g ORDER BY ts MEASURES A.x AS a, B.x AS b "
    "AFTER MATCH SKIP PAST LAST ROW PATTERN ({}) DEFINE A AS {}, B AS B.x > 3) AS m"
)
ROWS_BEFORE = "ROWS BETWEEN {} PRECEDING AND CURRENT ROW"

REFUSED = {
    "an aggregate is added": (GROUP.format("SUM(x)"), GROUP.format("SUM(x), COUNT(*)")),
    "an aggregate is added in front": (GROUP.format("SUM(x)"), GROUP.format("COUNT(*), SUM(x)")),
    "SUM for MAX": (GROUP.format("MAX(x)"), GROUP.format("SUM(x)")),
    "COUNT for SUM": (GROUP.format("SUM(x)"), GROUP.format("COUNT(x)")),
    "AVG for SUM": (GROUP.format("SUM(x)"), GROUP.format("AVG(x)")),
    "MIN for MAX": (GROUP.format("MAX(x)"), GROUP.format("MIN(x)")),
    "another column is summed": (GROUP.format("SUM(x)"), GROUP.format("SUM(y)")),
    "an expression is summed": (GROUP.format("SUM(x)"), GROUP.format("SUM(x + 1)")),
    "the expression changes": (GROUP.format("SUM(x * 2)"), GROUP.format("SUM(x * 3)")),
    "DISTINCT": (GROUP.format("COUNT(x)"), GROUP.format("COUNT(DISTINCT x)")),
    "another column is distinct": (GROUP.format("COUNT(DISTINCT x)"), GROUP.format("COUNT(DISTINCT y)")),
    "an aggregate gets a filter": (GROUP.format("SUM(x)"), GROUP.format("SUM(x) FILTER (WHERE y > 2)")),
    "the filter of an aggregate": (
        GROUP.format("SUM(x) FILTER (WHERE y > 2)"), GROUP.format("SUM(x) FILTER (WHERE y > 3)")),
    "FIRST_VALUE for LAST_VALUE": (GROUP.format("LAST_VALUE(x)"), GROUP.format("FIRST_VALUE(x)")),
    "LISTAGG of another column": (GROUP.format("LISTAGG(s)"), GROUP.format("LISTAGG(h)")),
    "another group key": (GROUP.format("SUM(x)"), "SELECT h, SUM(x) FROM t GROUP BY h"),
    "a computed group key": ("SELECT UPPER(g), SUM(x) FROM t GROUP BY UPPER(g)",
                             "SELECT LOWER(g), SUM(x) FROM t GROUP BY LOWER(g)"),
    "one more group key": (GROUP.format("SUM(x)"), "SELECT g, h, SUM(x) FROM t GROUP BY g, h"),
    "one group key less": ("SELECT g, h, SUM(x) FROM t GROUP BY g, h", GROUP.format("SUM(x)")),
    "group keys exchanged": ("SELECT g, h, SUM(x) FROM t GROUP BY g, h", "SELECT h, g, SUM(x) FROM t GROUP BY h, g"),
    "no key: another aggregate": ("SELECT SUM(x) FROM t", "SELECT MAX(x) FROM t"),
    "DISTINCT rows of another column": ("SELECT DISTINCT g FROM t", "SELECT DISTINCT h FROM t"),
    "DISTINCT rows of one more column": ("SELECT DISTINCT g FROM t", "SELECT DISTINCT g, h FROM t"),
    "an aggregate over another one": (
        "SELECT c, COUNT(*) FROM (SELECT g, COUNT(*) AS c FROM t GROUP BY g) GROUP BY c",
        "SELECT c, COUNT(*) FROM (SELECT g, MAX(x) AS c FROM t GROUP BY g) GROUP BY c"),
    "a window's aggregate is added": (WINDOW.format("SUM(x)", 5), WINDOW.format("SUM(x), COUNT(*)", 5)),
    "a window's aggregate changes": (WINDOW.format("SUM(x)", 5), WINDOW.format("MAX(x)", 5)),
    "a window's column changes": (WINDOW.format("SUM(x)", 5), WINDOW.format("SUM(y)", 5)),
    "the size of a window": (WINDOW.format("SUM(x)", 5), WINDOW.format("SUM(x)", 10)),
    "the size of a hopping window": (HOP.format(2, 4), HOP.format(2, 8)),
    "the slide of a hopping window": (HOP.format(2, 4), HOP.format(1, 4)),
    "the size of a cumulating window": (CUMULATE.format(5), CUMULATE.format(10)),
    "tumbling to cumulating": (WINDOW.format("COUNT(*)", 5), CUMULATE.format(5)),
    "the order of a Top-N": (TOP.format("g", "x", 3), TOP.format("g", "y", 3)),
    "its direction": (TOP.format("g", "x", 3), TOP.format("g", "x DESC", 3)),
    "one more column in its order": (TOP.format("g", "x", 3), TOP.format("g", "x, y", 3)),
    "the partition of a Top-N": (TOP.format("g", "x", 3), TOP.format("h", "x", 3)),
    "more rows of a Top-N": (TOP.format("g", "x", 2), TOP.format("g", "x", 4)),
    "fewer rows of a Top-N": (TOP.format("g", "x", 4), TOP.format("g", "x", 2)),
    "RANK for ROW_NUMBER": (TOP.format("g", "x", 3), TOP.format("g", "x", 3).replace("ROW_NUMBER", "RANK")),
    "other columns of the first row": (FIRST.format("g, x", "g", "ts"), FIRST.format("g, y", "g", "ts")),
    "the last row for the first": (FIRST.format("g, x", "g", "ts"), FIRST.format("g, x", "g", "ts DESC")),
    "the first row of another key": (FIRST.format("g, x", "g", "ts"), FIRST.format("g, x", "h", "ts")),
    "OVER: another aggregate": (OVER.format("SUM(x)", "g", ""), OVER.format("MAX(x)", "g", "")),
    "OVER: another column": (OVER.format("SUM(x)", "g", ""), OVER.format("SUM(y)", "g", "")),
    "OVER: another partition": (OVER.format("SUM(x)", "g", ""), OVER.format("SUM(x)", "h", "")),
    "OVER: a frame": (OVER.format("SUM(x)", "g", ""), OVER.format("SUM(x)", "g", ROWS_BEFORE.format(2))),
    "OVER: a longer frame": (
        OVER.format("SUM(x)", "g", ROWS_BEFORE.format(2)), OVER.format("SUM(x)", "g", ROWS_BEFORE.format(5))),
    "a join of other columns": (JOIN.format("t.x, r.y", "t.x = r.x"), JOIN.format("t.x, r.s", "t.x = r.x")),
    "a join of one more column": (JOIN.format("t.x, r.y", "t.x = r.x"), JOIN.format("t.x, r.y, r.s", "t.x = r.x")),
    "a join of one column less": (JOIN.format("t.x, r.y, r.s", "t.x = r.x"), JOIN.format("t.x, r.y", "t.x = r.x")),
    "another key of a join": (JOIN.format("t.g, r.h", "t.x = r.x"), JOIN.format("t.g, r.h", "t.y = r.y")),
    "an outer join": (
        JOIN.format("t.x, r.y", "t.x = r.x"), JOIN.replace("JOIN", "LEFT JOIN").format("t.x, r.y", "t.x = r.x")),
    "another condition of a join": (
        JOIN.format("t.x, r.y", "t.x = r.x AND t.y < r.y"), JOIN.format("t.x, r.y", "t.x = r.x AND t.y > r.y")),
    "the bounds of an interval join": (BETWEEN.format(2), BETWEEN.format(5)),
    "another pattern": (MATCH.format("A B", "A.x < 5"), MATCH.format("A+ B", "A.x < 5")),
    "another condition of a pattern": (MATCH.format("A B", "A.x < 5"), MATCH.format("A B", "A.x < 4")),
    "EXCEPT for INTERSECT": ("SELECT g FROM t INTERSECT SELECT g FROM r", "SELECT g FROM t EXCEPT SELECT g FROM r"),
}  # fmt: skip

AT_ANY_TIME = [what for what, (_, after) in REFUSED.items() if " ts " not in after and "ts)" not in after]
"""those whose result does not depend on event time"""
GOES_ON = {
    "nothing": (GROUP.format("SUM(x)"), GROUP.format("SUM(x)")),
    "another name": (GROUP.format("SUM(x)"), GROUP.format("SUM(x) AS total")),
    "an expression over the result": (GROUP.format("SUM(x)"), GROUP.format("SUM(x) + 0")),
    "the form of the query": (GROUP.format("SUM(x)"), "SELECT g, SUM(x) FROM (SELECT g, x, y FROM t) GROUP BY g"),
    "a window's output": (WINDOW.format("SUM(x)", 5), WINDOW.format("SUM(x) * 1", 5)),
}  # fmt: skip


@pytest.fixture(params=["memory", "disk"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "state" if request.param == "disk" else None


@pytest.mark.parametrize("what", REFUSED)
def test_state_of_another_query_is_refused(what: str, disk: Path | None, tmp_path: Path) -> None:
    before, after = REFUSED[what]
    _, savepoint = saved(before, tmp_path, disk)
    second = SavedJob(job_of(after, disk), tmp_path / "second")
    with pytest.raises(RestoreError, match=r"nothing has run(.|\n)*(its query has (changed|its parts)|dropped: )"):
        second.restore(str(savepoint))
    assert second.collected == []


@pytest.mark.parametrize("what", AT_ANY_TIME)
def test_it_may_begin_empty_where_that_is_allowed(what: str, tmp_path: Path) -> None:
    """Then it gives what it makes of the rows that were not read before."""
    before, after = REFUSED[what]
    _, savepoint = saved(before, tmp_path, None)
    second = SavedJob(job_of(after, None), tmp_path / "second")
    second.restore(str(savepoint), allow_non_restored=True)
    assert table(second.finish()) == whole(after, tmp_path, LEFT)


@pytest.mark.parametrize("what", GOES_ON)
def test_what_means_the_same_goes_on(what: str, disk: Path | None, tmp_path: Path) -> None:
    before, after = GOES_ON[what]
    first, savepoint = saved(before, tmp_path, disk)
    second = SavedJob(job_of(after, disk), tmp_path / "second")
    second.restore(str(savepoint))
    assert second.finish()
    assert table([*first.collected, *second.collected]) == whole(after, tmp_path)


@pytest.mark.parametrize("what", ["an aggregate is added", "another column is summed", "the order of a Top-N"])
def test_of_a_checkpoint_too(what: str, tmp_path: Path) -> None:
    before, after = REFUSED[what]
    first = SavedJob(job_of(before, None), tmp_path / "first", checkpoint_every=1)
    first.epoch()
    second = SavedJob(job_of(after, None), tmp_path / "second")
    with pytest.raises(RestoreError, match="its query has changed"):
        second.restore(first.directory.folder.uri)
