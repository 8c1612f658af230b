"""``table.exec.mini-batch``: how long a task in flow gathers changes at least."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millrace.common import Configuration, Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.runtime.exchange.flow_writer import FlowWriter
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.tasks.flow import FlowTask
from millrace.runtime.tasks.task import StageTask
from millrace.table import StreamTableEnvironment
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of

QUERY = "SELECT k, COUNT(*) FROM t GROUP BY k"
MS = 1_000_000


def job_with(**settings: str) -> JobGraph:
    streams = StreamExecutionEnvironment(Configuration())
    tables = StreamTableEnvironment.create(streams)
    for key, value in settings.items():
        tables.get_config().set(key.replace("__", ".").replace("_", "-"), value)
    rows = streams.from_collection([("a",)], Types.ROW_NAMED(["k"], [Types.STRING()]))
    tables.create_temporary_view("t", rows)
    plan = optimise_streaming(tables.sql_query(QUERY)._plan, surroundings_of(tables._session))
    add_to_program([plan], streams._program, options_of(tables._session))
    return streams.job_graph()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, 0),
        ({"table__exec__mini_batch__allow_latency": "2 s"}, 0),
        ({"table__exec__mini_batch__enabled": "true", "table__exec__mini_batch__allow_latency": "2 s"}, 2_000),
    ],
)
def test_slices_of_tasks_that_aggregate(settings: dict[str, str], expected: int) -> None:
    job = replace(job_with(**settings), batch=False)
    task = StageTask(job, 1, 0, lambda: 0, 0, FlowWriter)
    task.open()
    flow = FlowTask(task)
    flow._gathered(7)
    assert flow._answers.end_at(at_rest=True) == 7 + expected * MS
    task.close()
