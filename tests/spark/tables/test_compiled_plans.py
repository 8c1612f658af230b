"""Plans that are compiled in batch mode run later, in another program."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from millrace.table import EnvironmentSettings, PlanReference, TableEnvironment
from millrace.util.exceptions import TableException

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def program(spark: SparkSession, folder: Path) -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    made._session.streams.set_spark_session(spark).set_parallelism(1)
    options = "WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{}')"
    for name in ("given", "sums"):
        made.execute_sql(f"CREATE TABLE {name} (k STRING, n BIGINT) {options.format(folder / name)}")
    return made


def test_a_plan_runs_on_what_is_there_by_then(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "a.json").write_text('{"k": "a", "n": 1}\n{"k": "b", "n": 2}\n')
    first = program(spark, tmp_path)
    plan = tmp_path / "plan.json"
    first.execute_sql(f"COMPILE PLAN '{plan}' FOR INSERT INTO sums SELECT k, SUM(n) FROM given GROUP BY k")
    (tmp_path / "given" / "b.json").write_text('{"k": "a", "n": 40}\n')
    second = program(spark, tmp_path)
    second.execute_sql(f"EXECUTE PLAN '{plan}'").wait()
    with second.execute_sql("SELECT k, n FROM sums").collect() as rows:
        assert sorted(map(tuple, rows)) == [("a", 41), ("b", 2)]
    assert "HashAggregate" in second.load_plan(PlanReference.from_file(plan)).explain()
    document = json.loads(plan.read_text())
    streaming = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    with pytest.raises(TableException, match="was compiled in batch mode"):
        streaming.load_plan(PlanReference.from_json_string(json.dumps(document)))
