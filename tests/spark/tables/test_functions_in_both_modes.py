"""The same Python functions in streaming and in batch mode: the same rows, and the same errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.tables.function_corpus import ANSWERS, FAILURES, ROWS, TYPES, Case
from tests.spark.tables.plans import rows_of
from tests.table.planner.programs import final
from tests.table.programs.running import changes_in, comparable

from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.runtime.failure import JobFailedError
from millrace.spark.tables.execute import batch_context, collect
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of
from millrace.testing.local import run_locally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLAIN = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""compiling code for a handful of rows takes longer than reading them"""


def planned(case: Case, settings: EnvironmentSettings) -> tuple[TableEnvironment, Any]:
    environment = TableEnvironment.create(settings)
    for key, value in case.settings.items():
        environment.get_config().set(key, value)
    environment.create_temporary_view("t", environment.from_elements(ROWS, TYPES))
    for name, function in case.functions.items():
        environment.create_temporary_system_function(name, function)
    table = environment.sql_query(case.query) if isinstance(case.query, str) else case.query(environment)
    return environment, table._plan


def streamed(case: Case) -> list[tuple[Any, ...]]:
    environment, plan = planned(case, EnvironmentSettings.in_streaming_mode())
    streams = StreamExecutionEnvironment()
    streams.set_parallelism(2)
    streams.configure(environment.get_config().get_configuration())
    session = environment._session
    add_to_program([optimise_streaming(plan, surroundings_of(session))], streams._program, options_of(session))
    content = final(changes_in(run_locally(streams).collected, plan.schema))
    return sorted(content.elements(), key=repr)


def batched(case: Case, spark: SparkSession) -> list[tuple[Any, ...]]:
    environment, plan = planned(case, EnvironmentSettings.in_batch_mode())
    context = batch_context(spark, configuration={**environment.get_config().to_map(), **PLAIN})
    return sorted(map(comparable, rows_of(collect(plan, context), plan)), key=repr)


def told(error: BaseException) -> str:
    """An error without what differs between runs: the operator, its subtask, and the line that ran the query."""
    return re.sub(r"^operator .*?, failed", "failed", str(error))


@pytest.mark.draw(8)
@pytest.mark.parametrize("case", ANSWERS, ids=str)
def test_the_rows(case: Case, spark: SparkSession) -> None:
    expected = sorted(map(comparable, case.rows), key=repr)
    assert streamed(case) == expected
    assert batched(case, spark) == expected


@pytest.mark.parametrize("case", FAILURES, ids=str)
def test_the_errors(case: Case, spark: SparkSession) -> None:
    with pytest.raises(JobFailedError) as streaming:
        streamed(case)
    with pytest.raises(JobFailedError) as batch:
        batched(case, spark)
    for part in case.fails:
        assert part in str(streaming.value)
    assert told(batch.value) == told(streaming.value)
    assert f"made at {__file__}" in str(batch.value)
