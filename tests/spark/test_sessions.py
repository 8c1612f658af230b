"""The user's own Spark session is used, and stays as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.conftest import MakeEnvironment

from millrace.datastream import StreamExecutionEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def settings(spark: SparkSession) -> dict[str, str]:
    return {row.key: row.value for row in spark.sql("SET").collect()}


def test_the_session_of_the_user_keeps_its_settings(spark: SparkSession, environment: MakeEnvironment) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "12345")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    spark.sparkContext.setLocalProperty("my.property", "mine")
    spark.range(3).createOrReplaceTempView("mine")
    tables = spark.catalog.listTables()
    before = settings(spark)

    assert list(environment(1).from_collection([1, 2]).execute_and_collect()) == [1, 2]

    assert settings(spark) == before
    assert spark.sparkContext.getLocalProperty("my.property") == "mine"
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None
    assert spark.sparkContext.getLocalProperty("millrace.epoch") is None
    assert spark.table("mine").groupBy().sum("id").collect()[0][0] == 3
    assert spark.catalog.listTables() == tables
    spark.catalog.dropTempView("mine")


def test_the_active_session_is_used(spark: SparkSession) -> None:
    assert type(spark).getActiveSession() is not None
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    env.from_collection([1, 2, 3]).print()
    job = env.execute_async().get_job_execution_result().result().get_job_id()
    tracker = spark.sparkContext.statusTracker()
    assert tracker.getJobIdsForGroup(str(job)), "the job ran on the context of the active session"


def test_a_session_can_be_set_later(spark: SparkSession) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    env.set_spark_session(spark.newSession())
    assert list(env.from_collection([1]).execute_and_collect()) == [1]
