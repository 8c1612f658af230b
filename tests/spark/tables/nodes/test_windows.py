"""Windows, compared with their definition worked out row by row in plain Python."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.tables.conftest import Run
from tests.spark.tables.plans import (
    BIGINT,
    DECIMAL,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    agg,
    at,
    by,
    cast,
    fn,
    lit,
    rows_of,
    values,
)

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.rex import AggCall, Ref
from millrace.spark.tables.execute import batch_context, collect, explain
from millrace.spark.tables.nodes.windows import reads_local_times
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import frame_of_sql
from millrace.spark.tables.steps.sql_text import micros

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EPOCH = dt.datetime(1970, 1, 1)
MILLISECOND = dt.timedelta(milliseconds=1)
TIMES = (-100_001, -100_000, -1, 0, 1, 4_999, 5_000, 12_345, 12_346, 60_000, 70_001)
KEYS = ("a", "b", None)


def moment(millis: int) -> dt.datetime:
    return EPOCH + millis * MILLISECOND


def millis(time: dt.datetime) -> int:
    return (time - EPOCH) // MILLISECOND


ROWS = [(KEYS[index % 3], index, moment(time)) for index, time in enumerate(TIMES)]
TABLE = values({"k": STRING, "v": INT, "ts": TIMESTAMP}, *ROWS, ("a", 100, None))
NO_ROWS = values({"k": STRING, "v": INT, "ts": TIMESTAMP})

WINDOWS = {
    "tumble": n.WindowSpec("TUMBLE", 5_000),
    "tumble with offset": n.WindowSpec("TUMBLE", 5_000, None, 1_001),
    "tumble with negative offset": n.WindowSpec("TUMBLE", 5_000, None, -2_000),
    "hop": n.WindowSpec("HOP", 10_000, 4_000),
    "hop with gaps": n.WindowSpec("HOP", 2_000, 5_000, 500),
    "cumulate": n.WindowSpec("CUMULATE", 15_000, 5_000),
    "cumulate with offset": n.WindowSpec("CUMULATE", 15_000, 5_000, -3_000),
    "session": n.WindowSpec("SESSION", 7_346),
}


def windows_of(time: int, window: n.WindowSpec) -> Iterator[tuple[int, int]]:
    """Start and end of every fixed window that a time is in, by trying all that could be."""
    step = window.slide if window.kind == "HOP" and window.slide else window.size
    first = (time - window.size - window.offset) // step - 1
    for number in range(first, first + 3 * window.size // step + 6):
        start = number * step + window.offset
        ends: Iterable[int] = [start + window.size]
        if window.kind == "CUMULATE" and window.slide:
            ends = range(start + window.slide, start + window.size + 1, window.slide)
        yield from ((start, end) for end in ends if start <= time < end)


def sessions(rows: list[tuple[Any, ...]], gap: int) -> list[tuple[Any, ...]]:
    """Rows of one key with their session: neighbours whose distance is at most the gap are in one."""
    groups: list[list[tuple[Any, ...]]] = []
    for row in sorted(rows, key=lambda row: row[2]):
        if not groups or millis(row[2]) - millis(groups[-1][-1][2]) > gap:
            groups.append([])
        groups[-1].append(row)
    bounds = [(millis(each[0][2]), millis(each[-1][2]) + gap) for each in groups]
    return [(*row, *bound) for each, bound in zip(groups, bounds) for row in each]


def assigned(window: n.WindowSpec, keyed: bool) -> list[tuple[Any, ...]]:
    """All rows with start and end of their windows."""
    if window.kind != "SESSION":
        return [(*row, *bounds) for row in ROWS for bounds in windows_of(millis(row[2]), window)]
    groups: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    for row in ROWS:
        groups[row[0] if keyed else ""].append(row)
    return [row for rows in groups.values() for row in sessions(rows, window.size)]


def window_table(window: n.WindowSpec, table: n.Rel = TABLE, partition: tuple[int, ...] = ()) -> n.WindowTable:
    fields = [n.Field(name, TIMESTAMP) for name in ("window_start", "window_end", "window_time")]
    return n.WindowTable(table, window, 2, partition, (*table.schema, *fields))


def window_aggregate(window: n.WindowSpec, attached: bool, *calls: AggCall) -> n.WindowAggregate:
    below = window_table(window, partition=(0,)) if attached else TABLE
    columns = [n.Field("k", STRING), *(n.Field(f"a{index}", call.type) for index, call in enumerate(calls))]
    columns += [n.Field(name, TIMESTAMP) for name in ("start", "end", "rowtime")]
    properties = ("START", "END", "ROWTIME")
    time, bounds = (4, (3, 4)) if attached else (2, None)
    return n.WindowAggregate(below, window, time, (0,), calls, properties, tuple(columns), bounds)


@pytest.mark.parametrize(("name", "keyed"), [*((name, False) for name in WINDOWS), ("session", True)])
def test_each_row_is_in_its_windows(run: Run, name: str, keyed: bool) -> None:
    window = WINDOWS[name]
    expected = [(*row, moment(start), moment(end), moment(end - 1)) for *row, start, end in assigned(window, keyed)]
    assert expected
    assert run(window_table(window, partition=(0,) if keyed else ())) == sorted(expected, key=repr)


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("attached", [False, True], ids=["group window", "after the table function"])
def test_aggregates_of_windows(run: Run, name: str, attached: bool) -> None:
    window = WINDOWS[name]
    groups: dict[Any, list[int]] = defaultdict(list)
    for key, value, _, start, end in assigned(window, True):
        groups[key, start, end].append(value)
    expected = [
        (key, len(found), sum(found), moment(start), moment(end), moment(end - 1))
        for (key, start, end), found in groups.items()
    ]
    plan = window_aggregate(window, attached, agg("COUNT"), agg("SUM", at(TABLE, "v")))
    assert run(plan) == sorted(expected, key=repr)


@pytest.mark.parametrize("name", ["tumble", "cumulate", "session"])
def test_no_rows_make_no_windows(run: Run, name: str) -> None:
    assert run(window_table(WINDOWS[name], NO_ROWS)) == []


@pytest.mark.parametrize("attached", [False, True], ids=["group window", "after the table function"])
def test_aggregates_of_windows_that_python_makes(run: Run, attached: bool) -> None:
    """Without others beside them their rows are put together before they are sent."""
    window = WINDOWS["hop"]
    groups: dict[Any, list[int]] = defaultdict(list)
    for key, value, _, start, end in assigned(window, True):
        groups[key, start, end].append(value)
    expected = [
        (key, sorted(found), moment(start), moment(end), moment(end - 1)) for (key, start, end), found in groups.items()
    ]
    value = at(TABLE, "v")
    found = run(window_aggregate(window, attached, agg("ARRAY_AGG", value, order=by(value))))
    assert sorted(found, key=repr) == sorted(expected, key=repr)


SLICED = ("hop", "cumulate", "cumulate with offset")


@pytest.mark.parametrize("name", SLICED)
def test_aggregates_of_windows_that_share_their_rows(run: Run, name: str) -> None:
    """Each value is what the whole window gives, though it is made of partial results: also where a slice has NULLs
    alone, where the filter leaves none of its rows, and where an average of averages would be another."""
    columns = {"k": STRING, "v": INT, "ts": TIMESTAMP, "x": DOUBLE, "d": DECIMAL, "s": STRING}
    rows = [
        (
            key,
            None if index % 4 == 1 else index * index - 50,
            time,
            None if index % 5 == 2 else index / 8,
            Decimal(index * 7 - 30) / 4,
            None if index % 2 else f"text {index % 6}",
        )
        for index, (key, _, time) in enumerate(ROWS)
    ]
    table = values(columns, *rows, ("a", 1, None, 1.0, Decimal(1), "none"))
    v, x, d, s = (at(table, name) for name in ("v", "x", "d", "s"))
    calls = [
        agg("COUNT", v),
        agg("COUNT", filter=fn(">", v, lit(0))),
        agg("SUM", v, filter=fn(">", v, lit(0))),
        agg("AVG", v),
        agg("AVG", x),
        agg("SUM", d),
        agg("MIN", s),
        agg("MAX", x),
    ]
    window = WINDOWS[name]
    groups: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        for start, end in windows_of(millis(row[2]), window):
            groups[row[0], start, end].append(row)
    expected = []
    for (key, start, end), found in groups.items():
        of_v, _, of_x, of_d, of_s = ([row[at] for row in found if row[at] is not None] for at in range(1, 6))
        positive = [each for each in of_v if each > 0]
        made = (
            len(of_v),
            len(positive),
            sum(positive) if positive else None,
            int(sum(of_v) / len(of_v)) if of_v else None,
            sum(of_x) / len(of_x) if of_x else None,
            sum(of_d),
            min(of_s, default=None),
            max(of_x, default=None),
        )
        expected.append((key, *made, moment(start), moment(end), moment(end - 1)))
    assert len(expected) > len(KEYS)
    assert run(over_rows(table, window, *calls)) == sorted(expected, key=repr)


def over_rows(table: n.Rel, window: n.WindowSpec, *calls: AggCall) -> n.WindowAggregate:
    columns = [n.Field("k", STRING), *(n.Field(f"a{index}", call.type) for index, call in enumerate(calls))]
    columns += [n.Field(name, TIMESTAMP) for name in ("start", "end", "rowtime")]
    return n.WindowAggregate(table, window, 2, (0,), calls, ("START", "END", "ROWTIME"), tuple(columns))


LONG = t.DecimalType(30, 0)


@pytest.mark.parametrize(
    ("name", "call", "sliced"),
    [
        ("hop", agg("COUNT"), True),
        ("cumulate", agg("AVG", Ref(INT, 1)), True),
        ("hop", agg("COUNT", Ref(INT, 1), distinct=True), False),
        ("hop", agg("FIRST_VALUE", Ref(INT, 1)), False),
        ("hop", agg("SUM", cast(Ref(INT, 1), LONG)), False),
        ("hop with gaps", agg("COUNT"), False),
        ("hop with nothing in common", agg("COUNT"), False),
    ],
)
def test_rows_are_aggregated_once_a_slice_where_results_can_be_merged(
    context: Context, name: str, call: AggCall, sliced: bool
) -> None:
    windows = {**WINDOWS, "hop with nothing in common": n.WindowSpec("HOP", 10_000, 3_001)}
    plan = explain(over_rows(TABLE, windows[name], call), context, "simple")
    _, exploded, below = plan.partition("explode(")
    assert exploded
    assert ("Aggregate" in below) is sliced, plan


def test_rows_are_sorted_once_for_their_sessions(context: Context) -> None:
    plan = explain(over_rows(TABLE, WINDOWS["session"], agg("COUNT")), context, "simple")
    assert plan.count(" Sort [") == 1, plan


def test_the_hour_that_summer_time_skips_is_an_hour_of_the_local_clock(spark: SparkSession) -> None:
    """Both ways to the microseconds of a TIMESTAMP agree, and are right: on 2021-03-14 New York's clocks skip two
    o'clock, on 2021-11-07 one o'clock comes twice. Neither matters to a time that has no zone."""
    times = ["2021-03-14 01:59:59.999999", "2021-03-14 02:30:00", "2021-03-14 03:30:00", "2021-11-07 01:30:00.000001"]
    times += ["1883-11-18 12:00:01", "1500-02-28 01:00:00", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"]
    session = batch_context(spark, zone="America/New_York").session
    rows = ", ".join(f"(TIMESTAMP_NTZ '{time}')" for time in times)
    ways = [False, True] if reads_local_times(session) else [False]
    for way in ways:
        text = micros("ts", TIMESTAMP, way)
        found = [row[0] for row in frame_of_sql(session, f"SELECT {text} FROM VALUES {rows} AS t(ts)").collect()]
        assert found == [(dt.datetime.fromisoformat(time) - EPOCH) // dt.timedelta(microseconds=1) for time in times]


def test_the_installed_spark_takes_local_times_as_they_are_if_the_answer_shows_it(spark: SparkSession) -> None:
    """What is read off the analysis of the function agrees with what the function gives in the skipped hour."""
    session = batch_context(spark, zone="America/New_York").session
    (row,) = frame_of_sql(session, "SELECT unix_micros(TIMESTAMP_NTZ '2021-03-14 02:30:00')").collect()
    local = (dt.datetime(2021, 3, 14, 2, 30) - EPOCH) // dt.timedelta(microseconds=1)
    assert reads_local_times(session) == (row[0] == local)


def test_windows_of_a_window_with_grouping_sets(run: Run) -> None:
    plan = window_aggregate(n.WindowSpec("TUMBLE", 10**9), False, agg("COUNT"))
    sets = n.WindowAggregate(
        plan.input,
        plan.window,
        2,
        (0,),
        plan.aggregates,
        ("END",),
        (*plan.columns[:2], plan.columns[3]),
        None,
        ((0,), ()),
    )
    found = [row[:2] for row in run(sets) if row[2] > EPOCH]
    kept = [row for row in ROWS if row[2] >= EPOCH]
    counts = [(key, sum(row[0] == key for row in kept)) for key in KEYS]
    assert sorted(found, key=repr) == sorted([*counts, (None, len(kept))], key=repr)


def test_days_begin_at_local_midnight(spark: SparkSession) -> None:
    """On 2021-03-14 the clocks of New York skip two o'clock: that day has 23 hours."""
    ltz = t.LocalZonedTimestampType(3)
    utc = dt.timezone.utc
    table = values(
        {"ts": ltz},
        *((dt.datetime(2021, 3, day, hour, tzinfo=utc),) for day, hour in ((14, 4), (14, 5), (15, 3), (15, 4))),
    )
    columns = (n.Field("n", BIGINT), n.Field("start", TIMESTAMP), n.Field("end", TIMESTAMP), n.Field("time", ltz))
    plan = n.WindowAggregate(
        table, n.WindowSpec("TUMBLE", 86_400_000), 0, (), (agg("COUNT"),), ("START", "END", "ROWTIME"), columns
    )
    found = rows_of(collect(plan, batch_context(spark, zone="America/New_York")), plan)
    last = dt.timedelta(milliseconds=-1)
    assert sorted(found, key=lambda row: row[1]) == [
        (1, dt.datetime(2021, 3, 13), dt.datetime(2021, 3, 14), dt.datetime(2021, 3, 14, 5, tzinfo=utc) + last),
        (2, dt.datetime(2021, 3, 14), dt.datetime(2021, 3, 15), dt.datetime(2021, 3, 15, 4, tzinfo=utc) + last),
        (1, dt.datetime(2021, 3, 15), dt.datetime(2021, 3, 16), dt.datetime(2021, 3, 16, 4, tzinfo=utc) + last),
    ]
