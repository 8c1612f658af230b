"""A query that has changed goes on with the rows that are stored for it, cut to the columns that it takes now, and with
the aggregates of sessions and OVER windows that are still there: what it gives from then on, after what it had given in
the same columns, is what it gives of all rows in one life."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.checkpoint.jobs import SavedJob, collecting
from tests.programs import ListSource
from tests.table.programs.test_changed_queries import EPOCH_RECORDS, EPOCHS, KEY, LEFT, ROWS, consumed, table

from millrace.checkpoint.folder import RestoreError
from millrace.common import Row, RowKind, Types, WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.relational.rules.plan_text import Meanings
from millrace.relational.sources import LookupTableSource, TableContext, TableFactory
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.tables.stored_calls import BEGIN_EMPTY
from millrace.table import DataTypes, Schema, StreamTableEnvironment
from millrace.table.planner import plan
from millrace.table.udf import AggregateFunction, udaf

pytestmark = pytest.mark.draw(18)

PLAIN = {"g": "STRING", "h": "STRING", "x": "BIGINT", "y": "BIGINT", "s": "STRING", "at": "BIGINT"}
KINDS = {"BIGINT": Types.LONG(), "INT": Types.INT(), "STRING": Types.STRING()}


def job_of(
    query: str,
    disk: Path | None = None,
    *,
    rows: Sequence[Any] = ROWS,
    parallelism: int = 2,
    records: int | None = EPOCH_RECORDS,
    types: dict[str, str] | None = None,
    settings: dict[str, str] | None = None,
) -> JobGraph:
    """A job of a query, see ``stream_of``."""
    about = {"types": types, "settings": settings}
    job = collecting(lambda env: stream_of(env, query, rows, **about), parallelism, epoch_records=records)
    return job if disk is None else replace(job, state=OnDisk((str(disk),)))


def stream_of(
    env: StreamExecutionEnvironment,
    query: str,
    rows: Sequence[Any] = ROWS,
    types: dict[str, str] | None = None,
    settings: dict[str, str] | None = None,
) -> DataStream:
    """The changes of a query over two tables of the same rows, ``t`` and ``r``, and over versions of the rows by ``h``,
    ``v``."""
    columns = {**PLAIN, **(types or {})}
    tables = StreamTableEnvironment.create(env)
    for key, value in (settings or {}).items():
        tables.get_config().set(key, value)
    schema = Schema.new_builder()
    for name, kind in columns.items():
        schema = schema.column(name, kind)
    schema = schema.column_by_expression("ts", "TO_TIMESTAMP_LTZ(`at`, 3)")
    schema = schema.column_by_expression("p", "PROCTIME()").watermark("ts", "ts - INTERVAL '1' SECOND")
    typed = Types.ROW_NAMED(list(columns), [KINDS[kind] for kind in columns.values()])
    for name in ("t", "r"):
        source = env.from_source(ListSource(rows), WatermarkStrategy.no_watermarks(), name, typed)
        tables.create_temporary_view(name, source.uid(f"source-{name}").set_parallelism(2), schema.build())
    tables.register_connector(NumberedFactory)
    declared = "k STRING, v BIGINT, w BIGINT" if "d.v" in query else "k STRING, w BIGINT"  # look-ups find whole rows
    tables.execute_sql(f"CREATE TEMPORARY TABLE d ({declared}) WITH ('connector' = 'numbered')")
    tables.create_temporary_function("JOINED", joined)
    tables.create_temporary_function("GREATEST_OF", greatest)
    tables.execute_sql(f"CREATE TEMPORARY VIEW v AS {VERSIONS}")
    return consumed(tables, query)


VERSIONS = (
    "SELECT h, x, y, s, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY h ORDER BY ts DESC) AS n FROM r) WHERE n = 1"
)


class Joined(AggregateFunction[Any, Any]):
    """The texts, one behind the other by their own order."""

    def create_accumulator(self) -> list[str]:
        return []

    def accumulate(self, accumulator: list[str], text: str) -> None:
        accumulator.append(text)

    def retract(self, accumulator: list[str], text: str) -> None:
        accumulator.remove(text)

    def get_value(self, accumulator: list[str]) -> str:
        return "".join(sorted(accumulator))

    def merge(self, accumulator: list[str], accumulators: Any) -> None:
        for other in accumulators:
            accumulator.extend(other)


joined = udaf(Joined(), result_type=DataTypes.STRING(), accumulator_type=DataTypes.ARRAY(DataTypes.STRING()))


@udaf(result_type=DataTypes.BIGINT(), func_type="pandas")
def greatest(column: Any) -> int:
    return int(column.max())


def given(changes: Sequence[Row], places: Sequence[int]) -> list[Row]:
    """Changes with some of their columns only."""
    found = []
    for row in changes:
        cut = Row(*(row[place] for place in places))
        cut.set_row_kind(row.get_row_kind())
        found.append(cut)
    return found


def saved(directory: Path, job: JobGraph, source: str) -> tuple[list[Row], str]:
    first = SavedJob(job, directory / "first", 1)
    for _ in range(EPOCHS - 1):
        first.epoch()
    checkpoint = first.epoch(directory / "saved").checkpoint
    return first.collected, str(directory / "saved") if source == "savepoint" else str(checkpoint)


def whole(directory: Path, query: str, **about: Any) -> Counter[Any]:
    return table(SavedJob(job_of(query, records=None, **about), directory / "whole").finish())


JOIN = "SELECT {} FROM t {} JOIN r ON {}"
KEYED = "(SELECT h, g, MAX(x) AS m, COUNT(*) AS c, MAX(s) AS s FROM {} GROUP BY h, g)"
UNIQUE = f"SELECT {{}} FROM {KEYED.format('t')} AS l {{}} JOIN {KEYED.format('r')} AS k ON l.h = k.h AND l.g = k.g"
NEAR = "t.x = r.x AND t.ts BETWEEN r.ts - INTERVAL '2' SECOND AND r.ts"
OF_WINDOWS = "SELECT * FROM TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '5' SECOND))"
WINDOWS = (
    f"SELECT {{}} FROM ({OF_WINDOWS.format('t')}) L {{}} JOIN ({OF_WINDOWS.format('r')}) R "
    "ON L.h = R.h AND L.window_start = R.window_start AND L.window_end = R.window_end"
)
AS_OF = "SELECT {} FROM t {} JOIN v FOR SYSTEM_TIME AS OF t.ts ON t.h = v.h"
TOP = "SELECT {} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY g ORDER BY {}) AS n FROM {}) WHERE n <= 2"
COUNTED = "(SELECT g, h, COUNT(*) AS c, MAX(x) AS m, MIN(y) AS y FROM t GROUP BY g, h)"
GROUPED = "(SELECT g, COUNT(*) AS c, MAX(x) AS m, PROCTIME() AS p FROM t GROUP BY g)"
LOOK_UP = "SELECT {} FROM " + GROUPED + " AS l JOIN d FOR SYSTEM_TIME AS OF l.p AS d ON d.k = l.g"
OF_SINK = f"SELECT {{}} FROM {COUNTED}{KEY}m"
FIRST = "SELECT {} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY g ORDER BY {}) AS n FROM t) WHERE n = 1"
WINDOW_TOP = (
    "SELECT {} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY {}) AS n "
    f"FROM ({OF_WINDOWS.format('t')})) WHERE n <= {{}}"
)
SESSION = (
    "SELECT g, {} FROM TABLE(SESSION(TABLE t PARTITION BY g, DESCRIPTOR(ts), INTERVAL '5' SECOND)) "
    "GROUP BY g, window_start, window_end"
)
ROWS_OF_SESSIONS = "SELECT {} FROM TABLE(SESSION(TABLE {}, DESCRIPTOR(ts), INTERVAL '5' SECOND))"
OVER = "SELECT g, {} FROM t WINDOW w AS (PARTITION BY g ORDER BY ts {})"
ROWS_BACK, SPAN_BACK = (
    "ROWS BETWEEN 3 PRECEDING AND CURRENT ROW",
    ("RANGE BETWEEN INTERVAL '4' SECOND PRECEDING AND CURRENT ROW"),
)
BY_VALUE = "SELECT g, {} FROM t WINDOW w AS (PARTITION BY g ORDER BY x)"
GROUP = "SELECT g, {} FROM t GROUP BY g"
Case = tuple[str, str, tuple[int, ...]]
"""the query before, the query after, and where the columns of this one were in that one"""

FEWER: dict[str, Case] = {
    "a join": (JOIN.format("t.g, t.h, r.s, r.y", "", "t.x = r.x"), JOIN.format("t.h, r.y", "", "t.x = r.x"), (1, 3)),
    "a join in another order": (
        JOIN.format("t.g, t.h, r.s, r.y", "", "t.x = r.x"), JOIN.format("r.y, t.h", "", "t.x = r.x"), (3, 1)),
    "a join with a condition": (
        JOIN.format("t.g, r.s, r.h", "", "t.x = r.x AND t.y < r.y"),
        JOIN.format("t.g", "", "t.x = r.x AND t.y < r.y"), (0,)),
    "a join, equal rows": (JOIN.format("t.s, r.s, t.g", "", "t.g = r.g"), JOIN.format("t.g", "", "t.g = r.g"), (2,)),
    "a left join": (
        JOIN.format("t.g, t.h, r.s, r.y", "LEFT", "t.x = r.x"), JOIN.format("t.h, r.y", "LEFT", "t.x = r.x"), (1, 3)),
    "a full join": (
        JOIN.format("t.g, t.x, r.s, r.y", "FULL", "t.x = r.y"), JOIN.format("t.g, r.s", "FULL", "t.x = r.y"), (0, 2)),
    "a join of groups": (UNIQUE.format("l.h, l.m, k.c, k.s", ""), UNIQUE.format("l.h, k.c", ""), (0, 2)),
    "a full join of groups": (
        UNIQUE.format("l.h, l.g, l.m, k.c, k.s", "FULL"), UNIQUE.format("l.h, l.g, k.c", "FULL"), (0, 1, 3)),
    "a join of rows that lose their key": (
        "SELECT l.h, l.g, l.c, r.s FROM {} AS l JOIN r ON l.m = r.x".format(KEYED.format("t")),
        "SELECT l.h, r.s FROM {} AS l JOIN r ON l.m = r.x".format(KEYED.format("t")), (0, 3)),
    "IN": ("SELECT g, h, x FROM t WHERE x IN (SELECT y FROM r)", "SELECT h FROM t WHERE x IN (SELECT y FROM r)", (1,)),
    "NOT EXISTS": (
        "SELECT g, h, x FROM t WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.y = t.x AND r.at > t.at)",
        "SELECT h FROM t WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.y = t.x AND r.at > t.at)", (1,)),
    "an interval join": (JOIN.format("t.g, r.s, r.h", "", NEAR), JOIN.format("r.h", "", NEAR), (2,)),
    "a left interval join": (
        JOIN.format("t.g, t.s, r.s, r.h", "LEFT", NEAR), JOIN.format("t.s, r.h", "LEFT", NEAR), (1, 3)),
    "a join of windows": (WINDOWS.format("L.g, L.s, R.x, R.y", ""), WINDOWS.format("L.g, R.y", ""), (0, 3)),
    "a full join of windows": (
        WINDOWS.format("L.g, L.s, R.x, R.y", "FULL"), WINDOWS.format("L.s, R.x", "FULL"), (1, 2)),
    "a temporal join": (AS_OF.format("t.g, t.s, v.x, v.s", ""), AS_OF.format("t.s, v.x", ""), (1, 2)),
    "a left temporal join": (AS_OF.format("t.g, t.s, v.x, v.s", "LEFT"), AS_OF.format("t.s, v.s", "LEFT"), (1, 3)),
    "a join of three tables": (
        "SELECT t.g, r.s, q.h FROM t JOIN r ON t.x = r.y JOIN r AS q ON t.s = q.s AND q.x = r.x",
        "SELECT q.h FROM t JOIN r ON t.x = r.y JOIN r AS q ON t.s = q.s AND q.x = r.x", (2,)),
    "Top-N": (TOP.format("g, x, y, s", "x, at", "t"), TOP.format("g, x, s", "x, at", "t"), (0, 1, 3)),
    "Top-N over groups": (
        TOP.format("g, h, c, m, y", "c DESC, h", COUNTED), TOP.format("g, h, c", "c DESC, h", COUNTED), (0, 1, 2)),
    "the first row": (FIRST.format("g, x, y, s", "ts"), FIRST.format("g, s", "ts"), (0, 3)),
    "the last row": (FIRST.format("g, x, y, s", "ts DESC"), FIRST.format("g, y", "ts DESC"), (0, 2)),
    "Top-N of windows": (
        WINDOW_TOP.format("g, x, y, s", "x, `at`", 2), WINDOW_TOP.format("g, s", "x, `at`", 2), (0, 3)),
    "the first row of windows": (WINDOW_TOP.format("g, x, s", "ts", 1), WINDOW_TOP.format("s", "ts", 1), (2,)),
    "rows of sessions": (
        ROWS_OF_SESSIONS.format("g, x, s, window_start, window_end", "t PARTITION BY g"),
        ROWS_OF_SESSIONS.format("s, window_end", "t PARTITION BY g"), (2, 4)),
    "rows of sessions of all": (
        ROWS_OF_SESSIONS.format("g, x, y, s", "t"), ROWS_OF_SESSIONS.format("y, g", "t"), (2, 0)),
    "a sort": ("SELECT g, x, s FROM t ORDER BY ts", "SELECT s FROM t ORDER BY ts", (2,)),
    "OVER, what it shows": ("SELECT g, s, y, SUM(x) OVER (PARTITION BY g ORDER BY ts) FROM t",
                            "SELECT g, s, SUM(x) OVER (PARTITION BY g ORDER BY ts) FROM t", (0, 1, 3)),
}  # fmt: skip
AGGREGATES: dict[str, Case] = {
    "a session": (SESSION.format("SUM(x), COUNT(*), AVG(y)"), SESSION.format("AVG(y), SUM(x)"), (0, 3, 1)),
    "a session with values": (
        SESSION.format("COUNT(DISTINCT x), LISTAGG(s), COUNT(DISTINCT h)"),
        SESSION.format("COUNT(DISTINCT h), LISTAGG(s)"), (0, 3, 2)),
    "a session that loses values": (SESSION.format("LISTAGG(s), SUM(x)"), SESSION.format("SUM(x)"), (0, 2)),
    "OVER from the beginning": (
        OVER.format("SUM(x) OVER w, COUNT(*) OVER w, MAX(y) OVER w", ""),
        OVER.format("MAX(y) OVER w, SUM(x) OVER w", ""), (0, 3, 1)),
    "OVER with DISTINCT": (
        OVER.format("COUNT(DISTINCT x) OVER w, SUM(x) OVER w, COUNT(DISTINCT h) OVER w", ""),
        OVER.format("COUNT(DISTINCT h) OVER w", ""), (0, 3)),
    "OVER rows": (
        OVER.format("SUM(x) OVER w, MIN(y) OVER w, COUNT(*) OVER w", ROWS_BACK),
        OVER.format("MIN(y) OVER w", ROWS_BACK), (0, 2)),
    "OVER a time": (
        OVER.format("SUM(x) OVER w, LISTAGG(s) OVER w", SPAN_BACK),
        OVER.format("LISTAGG(s) OVER w", SPAN_BACK), (0, 2)),
    "OVER with LAG": (
        OVER.format("LAG(x, 2) OVER w, LAG(s) OVER w, SUM(y) OVER w", ""),
        OVER.format("SUM(y) OVER w, LAG(s) OVER w", ""), (0, 3, 2)),
    "OVER by a value": (
        BY_VALUE.format("x, SUM(y) OVER w, COUNT(*) OVER w, ROW_NUMBER() OVER w"),
        BY_VALUE.format("x, ROW_NUMBER() OVER w, SUM(y) OVER w"), (0, 1, 4, 2)),
    "a function of the user": (GROUP.format("JOINED(s), SUM(x), COUNT(*)"), GROUP.format("COUNT(*), JOINED(s)"),
                               (0, 3, 1)),
    "beside functions of the user": (
        GROUP.format("JOINED(s), GREATEST_OF(x), SUM(x)"), GROUP.format("SUM(x), GREATEST_OF(x)"), (0, 3, 2)),
}  # fmt: skip
SEEN: dict[str, Case] = {
    "OVER rows that are there": (
        OVER.format("SUM(x) OVER w", ROWS_BACK),
        OVER.format("SUM(x) OVER w, MAX(x) OVER w, COUNT(*) OVER w", ROWS_BACK), ()),
    "OVER rows, fewer": (
        OVER.format("SUM(x) OVER w", ROWS_BACK), OVER.format("MIN(x) OVER w", ROWS_BACK.replace("3", "2")), ()),
    "OVER a time, a shorter one": (
        OVER.format("SUM(x) OVER w", SPAN_BACK), OVER.format("AVG(x) OVER w", SPAN_BACK.replace("4", "2")), ()),
}  # fmt: skip
"""what is new, but computed of rows that are there"""
ONE, TWO = {"table.optimizer.agg-phase-strategy": "ONE_PHASE"}, {"table.optimizer.agg-phase-strategy": "TWO_PHASE"}
MINI = {
    "table.exec.mini-batch.enabled": "true", "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "10",
}  # fmt: skip
WINDOW = (
    "SELECT g, {} FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY g, window_start, window_end"
)
OF_GROUPS = "SELECT c, COUNT(*) FROM (SELECT g, h, {} FROM t GROUP BY g, h) GROUP BY c"
PHASES: dict[str, tuple[str, dict[str, str], str, dict[str, str]]] = {
    "DISTINCT goes": (GROUP.format("SUM(x), COUNT(DISTINCT y)"), {}, GROUP.format("SUM(x)"), {}),
    "LISTAGG goes": (GROUP.format("SUM(x), LISTAGG(s), MAX(y)"), {}, GROUP.format("MAX(y), SUM(x)"), {}),
    "DISTINCT goes, below a group": (
        OF_GROUPS.format("COUNT(*) AS c, COUNT(DISTINCT y) AS d"), {}, OF_GROUPS.format("COUNT(*) AS c"), {}),
    "one phase": (GROUP.format("SUM(x), AVG(y)"), TWO, GROUP.format("SUM(x), AVG(y)"), ONE),
    "two phases": (GROUP.format("SUM(x), AVG(y)"), ONE, GROUP.format("AVG(y), SUM(x)"), TWO),
    "one phase, of windows": (WINDOW.format("SUM(x), AVG(y)"), TWO, WINDOW.format("SUM(x), AVG(y)"), ONE),
    "two phases, of windows": (WINDOW.format("SUM(x), AVG(y)"), ONE, WINDOW.format("AVG(y)"), TWO),
    "mini-batch": (GROUP.format("SUM(x), MIN(y)"), {}, GROUP.format("SUM(x), MIN(y)"), MINI),
    "without mini-batch": (GROUP.format("SUM(x), MIN(y)"), MINI, GROUP.format("MIN(y), SUM(x)"), {}),
    "mini-batch and one phase": (GROUP.format("SUM(x)"), {**MINI, **TWO}, GROUP.format("SUM(x)"), ONE),
    "names and projections before": (
        "SELECT g AS a, SUM(x) FROM t GROUP BY g", {},
        "SELECT k, SUM(z) FROM (SELECT g AS k, x AS z FROM t) GROUP BY k", {}),
}  # fmt: skip
"""what is split in other ways"""
REFUSED = {
    "more columns of a join": (
        JOIN.format("t.g, r.y", "", "t.x = r.x"), JOIN.format("t.g, r.y, r.s", "", "t.x = r.x"),
        "its stored rows of input 2 have .*, and not s of input 2"),
    "more columns of a left side": (
        JOIN.format("t.g, r.y", "", "t.x = r.x"), JOIN.format("t.g, t.h, r.y", "", "t.x = r.x"),
        "its stored rows of input 1 have .*, and not h"),
    "more columns of an interval join": (
        JOIN.format("t.g", "", NEAR), JOIN.format("t.g, r.h", "", NEAR), "of input 2 have .*, and not h of input 2"),
    "more columns of a join of windows": (
        WINDOWS.format("L.g", ""), WINDOWS.format("L.g, R.y", ""), "and not y of input 2"),
    "more columns of versions": (AS_OF.format("t.g, v.x", ""), AS_OF.format("t.g, v.x, v.s", ""), "not s of input 2"),
    "more columns of Top-N": (TOP.format("g, x", "x, at", "t"), TOP.format("g, x, s", "x, at", "t"),
                              "its stored rows have .*, and not s"),
    "more columns of a sink with another key": (
        OF_SINK.format("g, h, m"), OF_SINK.format("g, h, m, y"), "SinkMaterializer.*stored rows have .*, and not MIN"),
    "fewer columns of a sink with another key, without the key of the rows": (
        OF_SINK.format("g, h, m"), OF_SINK.format("g, m"), r"SinkMaterializer.*unique=\['g', 'h'\] is not there"),
    "more columns of rows of sessions": (
        ROWS_OF_SESSIONS.format("g, s", "t PARTITION BY g"), ROWS_OF_SESSIONS.format("g, s, x", "t PARTITION BY g"),
        "its stored rows have .*, and not x"),
    "another condition": (
        JOIN.format("t.g, r.s", "", "t.x = r.x AND t.y < r.y"), JOIN.format("t.g", "", "t.x = r.x AND t.y > r.y"),
        "what was .*y < y of input 2.* is .*y > y of input 2"),
    "a new aggregate of a session": (SESSION.format("SUM(x)"), SESSION.format("SUM(x), COUNT(*)"), BEGIN_EMPTY),
    "a new aggregate of OVER": (
        OVER.format("SUM(x) OVER w", ""), OVER.format("SUM(x) OVER w, COUNT(*) OVER w", ""), BEGIN_EMPTY),
    "a longer frame": (
        OVER.format("SUM(x) OVER w", ROWS_BACK), OVER.format("SUM(x) OVER w", ROWS_BACK.replace("3", "5")),
        "rows that it looks back at were not kept until now"),
    "a frame over another column": (
        OVER.format("SUM(x) OVER w, y", ROWS_BACK), OVER.format("SUM(y) OVER w", ROWS_BACK), "and not y"),
    "a new result of an OVER that changes": (
        BY_VALUE.format("x, SUM(y) OVER w"), BY_VALUE.format("x, SUM(y) OVER w, COUNT(*) OVER w"), "and not COUNT"),
    "DISTINCT comes": (
        GROUP.format("SUM(x)"), GROUP.format("SUM(x), COUNT(DISTINCT y)"), r"COUNT\(DISTINCT y\) is new"),
    "a function of the user comes": (GROUP.format("SUM(x)"), GROUP.format("JOINED(s), SUM(x)"), r"JOINED\(s\) is new"),
    "the other one of two columns of a name": (
        "SELECT t.g, SUM(t.x) FROM t JOIN r ON t.h = r.h GROUP BY t.g",
        "SELECT t.g, SUM(r.x) FROM t JOIN r ON t.h = r.h GROUP BY t.g", "x of input 2"),
    "another input": (
        GROUP.format("SUM(x)"), "SELECT g, SUM(x) FROM (SELECT g, x FROM t WHERE x IN (SELECT x FROM r)) GROUP BY g",
        "dropped: .*GroupAggregate"),
    "another table": (GROUP.format("SUM(x)"), GROUP.replace("t GROUP", "r GROUP").format("SUM(x)"), "dropped: "),
}  # fmt: skip
OF_SETS = "SELECT {0} FROM t {1} SELECT {0} FROM r WHERE x > 3"
# Rows that differ in a column alone are one row without it: what was given so far is not what is given now.
REFUSED |= {
    f"fewer columns of {kind}": (OF_SETS.format("g, x", kind), OF_SETS.format("g", kind), "its query has changed")
    for kind in ("INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL", "UNION")
}
LIMITS = {
    "LIMIT over changes": (f"SELECT g, c, m FROM {COUNTED} LIMIT 90", f"SELECT g, c FROM {COUNTED} LIMIT 90", (0, 1)),
    "LIMIT over changes, rows that become equal": (
        f"SELECT g, h, c FROM {COUNTED} LIMIT 90", f"SELECT g FROM {COUNTED} LIMIT 90", (0,)),
    "LIMIT of insertions": ("SELECT g, x FROM t LIMIT 90", "SELECT g FROM t LIMIT 90", (0,)),
}  # fmt: skip
MAPPED = {**FEWER, **AGGREGATES, **SEEN, **LIMITS}


class Numbered(LookupTableSource):
    """Finds another row each time it is given another number."""

    given = 0

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
        rows = [{"k": key, "v": Numbered.given + ord(key), "w": Numbered.given + len(key)} for (key,) in keys]
        return [[tuple(row[name] for name in self._names)] for row in rows]


class NumberedFactory(TableFactory):
    identifier = "numbered"

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        return Numbered([column.name for column in table.columns])


REMEMBERS = {"table.optimizer.non-deterministic-update.strategy": "TRY_RESOLVE"}
LOOKED_UP = {
    "fewer columns of the rows": (
        LOOK_UP.format("l.g, l.c, l.m, d.w"), LOOK_UP.format("l.g, l.c, d.w"), (0, 1, 3)),
    "fewer columns of what is found": (
        LOOK_UP.format("l.g, l.c, d.v, d.w"), LOOK_UP.format("l.g, l.c, d.w"), (0, 1, 3)),
}  # fmt: skip


@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
@pytest.mark.parametrize("what", MAPPED)
def test_what_is_still_taken_goes_on(what: str, source: str, disk: Path | None, tmp_path: Path) -> None:
    before, after, places = MAPPED[what]
    first, path = saved(tmp_path, job_of(before, disk), source)
    second = SavedJob(job_of(after, disk), tmp_path / "second")
    second.restore(path)
    found, expected = table(second.finish()), whole(tmp_path, after)
    if what in SEEN:  # then nothing was given of what is new
        assert found <= expected and found.total() == expected.total() - len(first)
    else:
        assert table([*given(first, places), *second.collected]) == expected


@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
@pytest.mark.parametrize("what", LOOKED_UP)
def test_what_was_looked_up_goes_on(what: str, source: str, disk: Path | None, tmp_path: Path) -> None:
    """A row is taken back with what was found for it, though something else is found now."""
    before, after, places = LOOKED_UP[what]
    Numbered.given = 100
    first, path = saved(tmp_path, job_of(before, disk, settings=REMEMBERS), source)
    Numbered.given = 200
    second = SavedJob(job_of(after, disk, settings=REMEMBERS), tmp_path / "second")
    second.restore(path)
    found: Counter[Any] = Counter()
    for row in [*given(first, places), *second.finish()]:
        found[tuple(row)] += 1 if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER) else -1
        assert found[tuple(row)] >= 0, "what is taken back was given"
    now = Counter(row for row, count in found.items() for _ in range(count))
    whole_table = whole(tmp_path, after, settings=REMEMBERS)
    assert {row[0] for row in now} == {row[0] for row in whole_table} and now.total() == whole_table.total()
    assert all(200 <= row[-1] < 300 for row in now), "each group has changed since"


def test_what_was_not_looked_up_is_refused(tmp_path: Path) -> None:
    before, after = LOOK_UP.format("l.g, l.c, d.w"), LOOK_UP.format("l.g, l.c, d.v, d.w")
    _, path = saved(tmp_path, job_of(before, settings=REMEMBERS), "savepoint")
    second = SavedJob(job_of(after, settings=REMEMBERS), tmp_path / "second")
    why = "RememberingLookupJoin.*what it has found have k, w, and not v"
    with pytest.raises(RestoreError, match=f"(?s)nothing has run.*{why}"):
        second.restore(path)
    assert second.collected == []


@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
def test_rows_of_a_sink_with_another_key_go_on(source: str, disk: Path | None, tmp_path: Path) -> None:
    """Which of the groups with one maximum is the row of that key is a matter of arrival."""
    before, after, places = OF_SINK.format("g, h, c, m, y"), OF_SINK.format("y, m, h, g"), (4, 3, 1, 0)
    first, path = saved(tmp_path, job_of(before, disk), source)
    second = SavedJob(job_of(after, disk), tmp_path / "second")
    second.restore(path)
    found: dict[int, tuple[Any, ...]] = {}
    for row in [*given(first, places), *second.finish()]:
        if row.get_row_kind() is RowKind.DELETE:
            del found[row[1]]
        else:
            found[row[1]] = tuple(row)
    groups = whole(tmp_path, after.partition(KEY)[0])
    assert set(found) == {row[1] for row in groups}
    assert set(found.values()) <= set(groups)


@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
@pytest.mark.parametrize("what", PHASES)
def test_it_may_be_computed_in_other_phases(what: str, source: str, disk: Path | None, tmp_path: Path) -> None:
    before, old, after, new = PHASES[what]
    first, path = saved(tmp_path, job_of(before, disk, settings=old), source)
    second = SavedJob(job_of(after, disk, settings=new), tmp_path / "second")
    second.restore(path)
    found, expected = table(second.finish()), whole(tmp_path, after)
    if "windows" in what:
        assert found <= expected and found.total() == expected.total() - len(first)
    else:
        assert found == expected  # every group has changed since


@pytest.mark.parametrize("what", LIMITS)
def test_never_more_rows_than_a_limit(what: str, disk: Path | None, tmp_path: Path) -> None:
    """Which ones they are is a matter of arrival."""
    before, after, places = LIMITS[what]
    first, path = saved(tmp_path, job_of(before.replace("90", "4"), disk), "savepoint")
    second = SavedJob(job_of(after.replace("90", "4"), disk), tmp_path / "second")
    second.restore(path)
    found: Counter[Any] = Counter()
    for row in [*given(first, places), *second.finish()]:
        found[tuple(row)] += 1 if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER) else -1
    assert min(found.values()) >= 0 and found.total() == 4


RESCALED = [
    *((what, 3) for what in ("a join", "a left interval join", "a join of windows", "OVER rows", "OVER with LAG")),
    *((what, 3) for what in ("a session", "the last row", "a temporal join", "a full join of groups")),
    *((what, 1) for what in ("a join", "a full join", "Top-N", "a join of groups", "Top-N over groups")),
]  # fmt: skip
"""with one subtask behind two sources, rows that come in another order may be late"""


@pytest.mark.parametrize(("what", "parallelism"), RESCALED)
@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
def test_in_another_number_of_subtasks(
    what: str, source: str, parallelism: int, disk: Path | None, tmp_path: Path
) -> None:
    before, after, places = MAPPED[what]
    first, path = saved(tmp_path, job_of(before, disk), source)
    second = SavedJob(job_of(after, disk, parallelism=parallelism), tmp_path / "second")
    second.restore(path)
    assert table([*given(first, places), *second.finish()]) == whole(tmp_path, after)


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_there_is_refused(what: str, disk: Path | None, tmp_path: Path) -> None:
    before, after, why = REFUSED[what]
    _, path = saved(tmp_path, job_of(before, disk), "savepoint")
    second = SavedJob(job_of(after, disk), tmp_path / "second")
    with pytest.raises(RestoreError, match=f"(?s)nothing has run.*{why}"):
        second.restore(path)
    assert second.collected == []


INT = {"x": "INT"}
WIDER = ["a join", "an interval join", "a join of windows", "OVER rows", "a session", "Top-N"]


@pytest.mark.parametrize("what", WIDER)
def test_wider_types_go_on(what: str, disk: Path | None, tmp_path: Path) -> None:
    before, after, places = MAPPED[what]
    first, path = saved(tmp_path, job_of(before, disk, types=INT), "savepoint")
    second = SavedJob(job_of(after, disk), tmp_path / "second")
    second.restore(path)
    assert table([*given(first, places), *second.finish()]) == whole(tmp_path, after)
    back = SavedJob(job_of(before, disk), tmp_path / "third", 1)
    back.epoch(tmp_path / "wide")
    narrow = SavedJob(job_of(before, disk, types=INT), tmp_path / "fourth")
    with pytest.raises(RestoreError, match="its query"):
        narrow.restore(str(tmp_path / "wide"))


BEGINS = {BEGIN_EMPTY: "true"}


def test_new_aggregates_of_over_begin_with_nothing_where_that_is_allowed(disk: Path | None, tmp_path: Path) -> None:
    before, after = (OVER.format(f"`at`, {calls}", "") for calls in ("SUM(x) OVER w", "SUM(x) OVER w, COUNT(*) OVER w"))
    first, path = saved(tmp_path, job_of(before, disk), "savepoint")
    second = SavedJob(job_of(after, disk, settings=BEGINS), tmp_path / "second")
    second.restore(path)
    found = {row[1]: row for row in table(second.finish())}
    done = {row[1] for row in first}
    expected, counts = {}, Counter[str]()
    for row in sorted(whole(tmp_path, after), key=lambda row: row[1]):
        if row[1] not in done:
            counts[row[0]] += 1
            expected[row[1]] = (*row[:3], counts[row[0]])
    assert found == expected


def test_new_aggregates_of_sessions_too(disk: Path | None, tmp_path: Path) -> None:
    """All rows of a group are in one session."""
    _, path = saved(tmp_path, job_of(SESSION.format("SUM(x)"), disk), "savepoint")
    after = SESSION.format("COUNT(*), SUM(x)")
    second = SavedJob(job_of(after, disk, settings=BEGINS), tmp_path / "second")
    second.restore(path)
    found = {row[0]: row for row in table(second.finish())}
    sums = {row[0]: row[2] for row in whole(tmp_path / "all", after)}
    counts = {row[0]: row[1] for row in whole(tmp_path / "left", after, rows=LEFT)}
    assert found == {g: (g, counts[g], sums[g]) for g in sums}


def test_a_driver_that_goes_on_with_fewer_columns_lets_its_tasks_take_over(tmp_path: Path) -> None:
    before, after, places = FEWER["a full join of groups"]
    first = SavedJob(job_of(before), tmp_path, 1)
    first.epoch()
    second = SavedJob(replace(job_of(after), job_id=first.job.job_id), tmp_path, 1)
    second.go_on()
    second.epoch()
    third = SavedJob(replace(job_of(after), job_id=first.job.job_id), tmp_path, 1)  # and once more
    third.go_on()
    given_so_far = [*given(first.collected, places), *second.collected, *third.finish()]
    assert table(given_so_far) == whole(tmp_path, after)


@pytest.mark.parametrize("what", ["a join with a condition", "a join of groups", "a join of three tables"])
def test_savepoints_that_do_not_say_which_input_a_column_is_of_go_on_unchanged(
    what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before, after, _ = FEWER[what]
    with monkeypatch.context() as earlier:
        earlier.setattr(plan, "Meanings", lambda of_inputs=True: Meanings(of_inputs=False))
        first, path = saved(tmp_path, job_of(before), "savepoint")
    second = SavedJob(job_of(before), tmp_path / "second")
    second.restore(path)
    assert table([*first, *second.finish()]) == whole(tmp_path, before)
    with pytest.raises(RestoreError, match="its query has changed"):
        SavedJob(job_of(after), tmp_path / "third").restore(path)
