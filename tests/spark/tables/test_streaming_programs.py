"""Some of the declared programs as one streaming job on Spark, through the public API: stopped with a savepoint, and
restored with another parallelism."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.spark.conftest import MakeEnvironment, Watch
from tests.table.programs.every import PROGRAMS
from tests.table.programs.program import Program
from tests.table.programs.running import announced, bound, comparable, expected, final_table
from tests.table.programs.tables import create_statements

from millrace.common.jobs import JobStatus
from millrace.connectors.tables.values_table import clear_values, results_of
from millrace.table import StreamTableEnvironment, TableResult

NAMES = (
    "change_aggregate_1",
    "change_join_4",
    "change_top_2",
    "change_set_7",
    "tumble_by_item",
    "session_by_item",
    "window_join_full",
    "interval_left",
    "temporal_left",
    "over_time_range",
    "deduplicate_last",
)
SAMPLE = [program for program in PROGRAMS if program.name in NAMES]


@pytest.fixture(autouse=True)
def results() -> Iterator[None]:
    clear_values()
    yield
    clear_values()


def submitted(environment: MakeEnvironment, parallelism: int, **options: Any) -> TableResult:
    streams = environment(parallelism, **{"millrace.epoch.max-records": 1, **options})
    streams.set_max_parallelism(16)
    tables = StreamTableEnvironment.create(streams)
    tables.get_config().set_local_timezone("UTC")
    statements = tables.create_statement_set()
    created: set[str] = set()
    for program in SAMPLE:
        for source, statement in zip(program.tables, create_statements(program, ", 'alone' = 'true'")):
            if source.name not in created:
                tables.execute_sql(statement)
                created.add(source.name)
        columns = ", ".join(f"`{column.name}` {column.type.nullable()}" for column in bound(program).plan.schema)
        tables.execute_sql(f"CREATE TABLE s_{program.name} ({columns}) WITH ('connector' = 'values')")
        statements.add_insert_sql(f"INSERT INTO s_{program.name} {program.sql}")
    return statements.execute()


def written(program: Program) -> Sequence[tuple[int, tuple[Any, ...]]]:
    rows = results_of(f"default_catalog.default_database.s_{program.name}")
    return [(row.get_row_kind().value, comparable(row)) for row in rows]


def test_the_sample_is_complete() -> None:
    assert {program.name for program in SAMPLE} == set(NAMES)
    assert {id(table) for program in SAMPLE for table in program.tables} == {
        id(table) for table in {table.name: table for program in SAMPLE for table in program.tables}.values()
    }, "tables of one name are one table"


def test_they_go_on_from_a_savepoint(environment: MakeEnvironment, watch: Watch, tmp_path: Path) -> None:
    client = submitted(environment, 2).get_job_client()
    assert client is not None
    path = client.stop_with_savepoint(False, str(tmp_path)).result()
    client.get_job_execution_result().result()
    assert watch.ends == [JobStatus.FINISHED]
    before = sum(len(written(program)) for program in SAMPLE)
    submitted(environment, 3, **{"execution.state-recovery.path": path, "millrace.epoch.max-records": 4}).wait()
    assert sum(len(written(program)) for program in SAMPLE) > before
    for program in SAMPLE:
        made = bound(program)
        assert final_table([written(program)], announced(made)) == Counter(expected(program)), program.name
