"""Aggregates that take more than one operator, and table functions of sessions, as whole programs without Spark."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from tests.table.planner.programs import BIGINT, INT, STRING, changelog, final, ref, table

from millrace.common.types import Row
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rex import AggCall
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.table.planner.engine import add_to_program
from millrace.table.planner.plan import Options
from millrace.table.udf import TableAggregateFunction, udtaf
from millrace.testing.local import run_locally

ROWS = [("ab"[number % 2], number % 7) for number in range(30)]
START = datetime(2024, 1, 1)


def test_distinct_values_are_spread() -> None:
    source = table(ROWS, STRING, INT)
    calls = (aggregate_call("COUNT", (ref(source, 1),), distinct=True), aggregate_call("COUNT", ()))
    columns = (*source.schema[:1], n.Field("d", BIGINT), n.Field("n", BIGINT))
    plan = n.Aggregate(source, (0,), calls, columns)
    env = StreamExecutionEnvironment()
    env.set_parallelism(2)
    add_to_program([optimise_streaming(plan, Surroundings(1))], env._program, Options(split_distinct=True))
    assert "GlobalDistinctAggregate" in env.get_execution_plan()
    changes = [
        (kind, tuple(column[place] for column in columns))
        for rows in run_locally(env, epoch_records=4).collected
        for columns in [[column.to_pylist() for column in rows.columns]]
        for place, kind in enumerate(rows.kind_values().tolist())
    ]
    assert final(changes) == Counter([("a", 7, 15), ("b", 7, 15)])


def test_session_table() -> None:
    times = [0, 1, 10, 11, 30]
    kind = t.TimestampType(3)
    rows = [(key, START + timedelta(seconds=each)) for each in times for key in "ab"]
    source = n.Watermark(table(rows, STRING, kind), 1, ref(table(rows, STRING, kind), 1))
    added = [n.Field("window_start", kind), n.Field("window_end", kind), n.Field("window_time", kind, n.ROWTIME)]
    window = n.WindowSpec("SESSION", 5_000)
    plan = n.WindowTable(source, window, 1, (0,), (*source.schema, *added))
    found = final(changelog(plan))
    starts = {0: 0, 1: 0, 10: 10, 11: 10, 30: 30}
    ends = {0: 6, 10: 16, 30: 35}
    expected = []
    for key in "ab":
        for each in times:
            start, end = (START + timedelta(seconds=at) for at in (starts[each], ends[starts[each]]))
            expected.append((key, START + timedelta(seconds=each), start, end, end - timedelta(milliseconds=1)))
    assert found == Counter(expected)


class Extremes(TableAggregateFunction[Any, Any]):
    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator.append(args[0])

    def emit_value(self, accumulator: list[int]) -> Any:
        yield Row("least", min(accumulator))
        yield Row("most", max(accumulator))


def test_table_aggregate() -> None:
    source = table(ROWS, STRING, INT)
    result = t.RowType([t.RowField("which", STRING), t.RowField("value", INT)])
    function = udtaf(Extremes(), result_type=result, accumulator_type=t.ArrayType(INT))
    call = AggCall("extremes", (ref(source, 1),), result, udf=function)
    plan = n.TableAggregate(source, (0,), call, (source.schema[0], n.Field("which", STRING), n.Field("value", INT)))
    expected = [(key, which, value) for key in "ab" for which, value in (("least", 0), ("most", 6))]
    assert final(changelog(plan, epoch_records=3)) == Counter(expected)
