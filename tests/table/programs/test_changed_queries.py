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

from millrace.checkpoint.folder import RestoreError
from millrace.common import Row, RowKind, Types, WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.state.disk.plan import OnDisk
from millrace.table import ChangelogMode, Schema, StreamTableEnvironment

pytestmark = pytest.mark.draw(12)

FIELDS = ["g", "h", "x", "y", "s", "at"]
TYPES = Types.ROW_NAMED(
    FIELDS, [Types.STRING(), Types.STRING(), Types.LONG(), Types.LONG(), Types.STRING(), Types.LONG()]
)
ROWS = [
    (n * 700, Row("ab"[n % 2], "uvw"[n % 3], n * 7 % 11, n * 5 % 7, f"s{n % 4}", n * 700)) for n in range(24)
]  # fmt: skip
KEY = " -- known by "
EPOCH_RECORDS, EPOCHS = 4, 2
"""rows that a subtask reads in an epoch, and how many of these there are before the savepoint"""
LEFT = sorted(pair for part in range(2) for pair in ROWS[part::2][EPOCH_RECORDS * EPOCHS :])
"""those that are read afterwards"""


def consumed(tables: StreamTableEnvironment, query: str) -> DataStream:
    """The changes of a query; behind ``KEY``, it has the columns that its consumer knows rows by."""
    query, _, key = query.partition(KEY)
    found = tables.sql_query(query)
    if not key:
        return tables.to_changelog_stream(found)
    columns = found.get_schema()
    types = [kind.not_null() for kind in columns.get_field_data_types()]
    known = Schema.new_builder().from_fields(columns.get_field_names(), types).primary_key(*key.split()).build()
    return tables.to_changelog_stream(found, known, ChangelogMode.upsert())


def build(query: str, rows: Sequence[Any] = ROWS) -> Any:
    """A program, see ``consumed``."""

    def stream(env: StreamExecutionEnvironment) -> DataStream:
        tables = StreamTableEnvironment.create(env)
        schema = Schema.new_builder().column_by_expression("ts", "TO_TIMESTAMP_LTZ(`at`, 3)")
        schema = schema.column_by_expression("p", "PROCTIME()").watermark("ts", "ts - INTERVAL '1' SECOND")
        for name in ("t", "r"):
            source = env.from_source(ListSource(rows), WatermarkStrategy.no_watermarks(), name, TYPES)
            tables.create_temporary_view(name, source.uid(f"source-{name}"), schema.build())
        return consumed(tables, query)

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
PARTS = {"of": "g", "measures": "A.x AS a, B.x AS b", "skip": "PAST LAST ROW", "pattern": "A B", "within": "",
         "define": "A AS A.x < 5, B AS B.x > 3"}  # fmt: skip


def match(**parts: str) -> str:
    return (
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY {of} ORDER BY ts MEASURES {measures} AFTER MATCH SKIP {skip} "
        "PATTERN ({pattern}) {within} DEFINE {define}) AS m"
    ).format(**{**PARTS, **parts})


def interval_join(kind: str = "", on: str = "t.x = r.x", upper: str = "", columns: str = "t.g, r.x") -> str:
    return f"SELECT {columns} FROM t {kind} JOIN r ON {on} AND t.ts BETWEEN r.ts - INTERVAL '2' SECOND AND r.ts{upper}"


def window_join(size: int = 5, column: str = "x") -> str:
    windows = f"SELECT * FROM TABLE(TUMBLE(TABLE {{}}, DESCRIPTOR(ts), INTERVAL '{size}' SECOND))"
    left, right = windows.format("t"), windows.format("r")
    return (
        f"SELECT L.g, R.x FROM ({left}) L JOIN ({right}) R ON L.{column} = R.{column} "
        f"AND L.window_start = R.window_start AND L.window_end = R.window_end"
    )


def window_top(order: str = "x", size: int = 5, most: int = 2, part: str = "") -> str:
    windows = f"TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '{size}' SECOND))"
    number = f"ROW_NUMBER() OVER (PARTITION BY window_start, window_end {part} ORDER BY {order}) AS n"
    return f"SELECT g, x, n FROM (SELECT *, {number} FROM {windows}) WHERE n <= {most}"


SESSION = (
    f"SELECT g, {{}} FROM TABLE(SESSION(TABLE t PARTITION BY g, DESCRIPTOR(ts), INTERVAL '{{}}' SECOND)) {OF_WINDOW}"
)
LAG = "SELECT g, LAG({}, {}) OVER (PARTITION BY g ORDER BY ts) FROM t"
BOTH = "SELECT g, SUM(x) FROM (SELECT g, x FROM t UNION ALL SELECT g, {} FROM r) GROUP BY g"
SETS = "SELECT g, h, SUM(x) FROM t GROUP BY {}"
COUNTED = "SELECT g, h, COUNT(*) AS c, MAX(x) AS m FROM t GROUP BY g, h"
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
    "another key of a join": (JOIN.format("t.g, r.h", "t.x = r.x"), JOIN.format("t.g, r.h", "t.y = r.y")),
    "an outer join": (
        JOIN.format("t.x, r.y", "t.x = r.x"), JOIN.replace("JOIN", "LEFT JOIN").format("t.x, r.y", "t.x = r.x")),
    "another condition of a join": (
        JOIN.format("t.x, r.y", "t.x = r.x AND t.y < r.y"), JOIN.format("t.x, r.y", "t.x = r.x AND t.y > r.y")),
    "the bounds of an interval join": (BETWEEN.format(2), BETWEEN.format(5)),
    "another pattern": (MATCH.format("A B", "A.x < 5"), MATCH.format("A+ B", "A.x < 5")),
    "another condition of a pattern": (MATCH.format("A B", "A.x < 5"), MATCH.format("A B", "A.x < 4")),
    "a pattern's quantifier": (match(pattern="A+ B"), match(pattern="A* B")),
    "how often a pattern repeats": (match(pattern="A{1,2} B"), match(pattern="A{1,3} B")),
    "a pattern's order": (match(), match(pattern="B A")),
    "one more variable of a pattern": (
        match(), match(pattern="A B C", define="A AS A.x < 5, B AS B.x > 3, C AS C.x > 0")),
    "the column of a pattern's condition": (match(), match(define="A AS A.x < 5, B AS B.y > 3")),
    "a variable of a pattern is renamed": (
        match(), match(pattern="C B", measures="C.x AS a, B.x AS b", define="C AS C.x < 5, B AS B.x > 3")),
    "a pattern's measures": (match(), match(measures="A.y AS a, B.x AS b")),
    "where a pattern goes on": (match(), match(skip="TO NEXT ROW")),
    "a pattern gets a limit of time": (match(), match(within="WITHIN INTERVAL '5' SECOND")),
    "a pattern's limit of time": (
        match(within="WITHIN INTERVAL '5' SECOND"), match(within="WITHIN INTERVAL '9' SECOND")),
    "what a pattern is sought in": (match(), match(of="h")),
    "the upper bound of an interval join": (interval_join(), interval_join(upper=" + INTERVAL '1' SECOND")),
    "the key of an interval join": (interval_join(), interval_join(on="t.y = r.y")),
    "another condition of an interval join": (
        interval_join(on="t.x = r.x AND t.y < r.y"), interval_join(on="t.x = r.x AND t.y > r.y")),
    "an outer interval join": (interval_join(), interval_join("LEFT")),
    "more columns of an interval join": (interval_join(), interval_join(columns="t.g, r.x, r.s")),
    "the windows of a join": (window_join(), window_join(10)),
    "the key of a join of windows": (window_join(), window_join(column="y")),
    "the order of a Top-N of windows": (window_top(), window_top("y")),
    "the windows of a Top-N": (window_top(), window_top(size=10)),
    "more rows of a Top-N of windows": (window_top(), window_top(most=3)),
    "the partition of a Top-N of windows": (window_top(), window_top(part=", g")),
    "the gap of a session": (SESSION.format("COUNT(*)", 1), SESSION.format("COUNT(*)", 3)),
    "a session's aggregate": (SESSION.format("COUNT(*)", 1), SESSION.format("SUM(x)", 1)),
    "OVER: one more aggregate": (
        OVER.format("SUM(x)", "g", ""),
        "SELECT g, x, SUM(x) OVER w, COUNT(*) OVER w FROM t WINDOW w AS (PARTITION BY g ORDER BY ts)"),
    "OVER: DISTINCT": (OVER.format("COUNT(x)", "g", ""), OVER.format("COUNT(DISTINCT x)", "g", "")),
    "OVER: a longer time": (
        OVER.format("SUM(x)", "g", "RANGE BETWEEN INTERVAL '2' SECOND PRECEDING AND CURRENT ROW"),
        OVER.format("SUM(x)", "g", "RANGE BETWEEN INTERVAL '4' SECOND PRECEDING AND CURRENT ROW")),
    "OVER: how far LAG looks": (LAG.format("x", 1), LAG.format("x", 2)),
    "OVER: the column of LAG": (LAG.format("x", 1), LAG.format("y", 1)),
    "one more column of the first row": (FIRST.format("g, x", "g", "ts"), FIRST.format("g, x, y", "g", "ts")),
    "the first row of one more key": (FIRST.format("g, x", "g", "ts"), FIRST.format("g, x", "g, h", "ts")),
    "the first row by another time": (FIRST.format("g, x", "g", "ts"), FIRST.format("g, x", "g", "p")),
    "IN of another column": (
        "SELECT g, x FROM t WHERE x IN (SELECT x FROM r)", "SELECT g, x FROM t WHERE x IN (SELECT y FROM r)"),
    "NOT IN for IN": (
        "SELECT g, x FROM t WHERE x IN (SELECT x FROM r)", "SELECT g, x FROM t WHERE x NOT IN (SELECT x FROM r)"),
    "the first rows in another order": (
        "SELECT g, x FROM t ORDER BY x LIMIT 3", "SELECT g, x FROM t ORDER BY y LIMIT 3"),
    "more of the first rows": ("SELECT g, x FROM t ORDER BY x LIMIT 3", "SELECT g, x FROM t ORDER BY x LIMIT 5"),
    "a sort by one more column": ("SELECT g, x FROM t ORDER BY ts", "SELECT g, x FROM t ORDER BY ts, x"),
    "a sort of another column": ("SELECT g, x FROM t ORDER BY ts", "SELECT g, y FROM t ORDER BY ts"),
    "a union of another column": (BOTH.format("x"), BOTH.format("y")),
    "grouping sets": (SETS.format("GROUPING SETS ((g), (h))"), SETS.format("GROUPING SETS ((g), (g, h))")),
    "CUBE for ROLLUP": (SETS.format("ROLLUP (g, h)"), SETS.format("CUBE (g, h)")),
    "the key that a sink knows rows by": (f"{COUNTED}{KEY}m", f"{COUNTED}{KEY}c"),
    "the columns of a sink with another key": (f"{COUNTED}{KEY}m", f"{COUNTED.replace('COUNT(*)', 'SUM(y)')}{KEY}m"),
    "HAVING of another aggregate": (GROUP.format("SUM(x)"), GROUP.format("SUM(x)") + " HAVING COUNT(*) > 3"),
    "EXCEPT for INTERSECT": ("SELECT g FROM t INTERSECT SELECT g FROM r", "SELECT g FROM t EXCEPT SELECT g FROM r"),
}  # fmt: skip

OF_A_MOMENT = (" ts ", "ts)", " ts,", "ORDER BY ts", "ORDER BY p", KEY)
AT_ANY_TIME = [what for what, (_, after) in REFUSED.items() if not any(part in after for part in OF_A_MOMENT)]
"""those whose result does not depend on times, and has all of its changes"""
GOES_ON = {
    "nothing": (GROUP.format("SUM(x)"), GROUP.format("SUM(x)")),
    "another name": (GROUP.format("SUM(x)"), GROUP.format("SUM(x) AS total")),
    "an expression over the result": (GROUP.format("SUM(x)"), GROUP.format("SUM(x) + 0")),
    "the form of the query": (GROUP.format("SUM(x)"), "SELECT g, SUM(x) FROM (SELECT g, x, y FROM t) GROUP BY g"),
    "a window's output": (WINDOW.format("SUM(x)", 5), WINDOW.format("SUM(x) * 1", 5)),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_state_of_another_query_is_refused(what: str, disk: Path | None, tmp_path: Path) -> None:
    before, after = REFUSED[what]
    _, savepoint = saved(before, tmp_path, disk)
    second = SavedJob(job_of(after, disk), tmp_path / "second")
    why = r"nothing has run(.|\n)*(its query (has (changed|its parts)|takes more)|dropped: )"
    with pytest.raises(RestoreError, match=why):
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
