"""Random programs give the same on Spark, run locally and on plain lists, however their input is cut into epochs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, note, seed, settings
from hypothesis import strategies as st
from tests.programs import Program, build, expected, programs

from millrace.common import Configuration
from millrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.testing import run_locally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

epoch_sizes = st.one_of(st.none(), st.integers(2, 8))


def environment(
    batch: bool, epoch_records: int | None, spark: SparkSession | None = None
) -> StreamExecutionEnvironment:
    configuration = Configuration()
    if epoch_records is not None:
        configuration.set_string("millrace.epoch.max-records", str(epoch_records))
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark)
    mode = RuntimeExecutionMode.BATCH if batch else RuntimeExecutionMode.STREAMING
    return env.set_parallelism(2).set_runtime_mode(mode)


@pytest.mark.timeout(200)
@seed(20_261_121)
@settings(max_examples=8, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(program=programs(max_steps=6), epoch_records=epoch_sizes, batch=st.sampled_from([False, False, True]))
def test_spark_gives_what_the_local_engine_and_lists_give(
    spark: SparkSession, program: Program, epoch_records: int | None, batch: bool
) -> None:
    wanted = expected(program)
    local = run_locally(build(program, environment(batch, epoch_records)), workers=2, seed=1)
    assert Counter(local.collected) == wanted
    with build(program, environment(batch, epoch_records, spark)).execute_and_collect() as results:
        assert Counter(results) == wanted
    note(f"{sum(wanted.values())} results, {len(local.epochs)} epochs")
