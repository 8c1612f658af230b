"""State as Spark DataFrames, state from Spark DataFrames, and a job on Spark that goes on from it."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.checkpoint.jobs import SavedJob, collecting
from tests.state.every_state import Memo, every_state, key_of

from millrace.common import Configuration, Types
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millrace.state import (
    BootstrapError,
    KeyedStateBootstrapFunction,
    OperatorTransformation,
    SavepointReader,
    SavepointWriter,
    StateView,
    Timer,
)
from millrace.state.diff import compare_savepoints
from millrace.state.open_savepoint import open_snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LONG, OBJECT = Types.LONG(), Types.PICKLED_BYTE_ARRAY()
TOTAL = ValueStateDescriptor("total", LONG)


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A savepoint, and a checkpoint of the same moment."""
    root = tmp_path_factory.mktemp("lives")
    job = SavedJob(collecting(every_state, 2), root / "job", checkpoint_every=1)
    for _ in range(4):
        job.epoch()
    checkpoint = job.epoch(root / "savepoint").checkpoint
    assert checkpoint is not None
    return str(root / "savepoint"), checkpoint


def views(reader: SavepointReader) -> dict[str, StateView]:
    """Some of all kinds."""
    keyed = ("value", "memo", "list", "map", "ttl map", "mean")
    return {
        **{name: reader.keyed_state("states", name) for name in keyed},
        "timers": reader.timers("states"),
        "tumbling": reader.window_state("tumbling"),
        "merging": reader.window_state("merging"),
        "sliding": reader.window_state("sliding"),
        "operator list": reader.list_state("positions", "mine"),
        "broadcast": reader.broadcast_state("rules", "rules"),
    }


READ_BY_WORKERS = {"memo", "merging"}
"""They hold pickles, or windows that have merged."""


def as_rows(frame: DataFrame) -> list[Any]:
    return sorted(repr(row.asDict(recursive=True)) for row in frame.collect())


def test_spark_reads_the_files_of_a_savepoint(spark: SparkSession, lives: tuple[str, str]) -> None:
    for name, view in views(SavepointReader.read(lives[0], trust=True)).items():
        frame = view.to_spark(spark)
        expected = sorted(map(repr, view.to_arrow().to_pylist()))
        assert as_rows(frame) == expected, name
        plan = frame._jdf.queryExecution().toString()
        assert ("MapInArrow" in plan) == (name in READ_BY_WORKERS), name
        assert ("parquet" in plan.lower()) != (name in READ_BY_WORKERS), name


def test_a_checkpoint_comes_through_the_driver(spark: SparkSession, lives: tuple[str, str]) -> None:
    savepoint, checkpoint = (SavepointReader.read(path, trust=True) for path in lives)
    for name in ("value", "memo", "list"):
        frame = checkpoint.keyed_state("states", name).to_spark(spark)
        assert as_rows(frame) == as_rows(savepoint.keyed_state("states", name).to_spark(spark))


def test_types_that_spark_has_not(spark: SparkSession, tmp_path: Path) -> None:
    values = {
        "time": (datetime.time(1, 2, 3), "string", "01:02:03.000000"),
        "delta": (datetime.timedelta(seconds=90), "interval day to second", datetime.timedelta(seconds=90)),
        "unsigned": (np.uint32(2**31), "bigint", 2**31),
        "nested": ([datetime.time(1)], "array<string>", ["01:00:00.000000"]),
    }
    writer = SavepointWriter.new()
    for name, (value, _, _) in values.items():
        writer.keyed_state("op", ValueStateDescriptor(name, OBJECT), [value], lambda row: 0)
    reader = SavepointReader.read(writer.write(str(tmp_path / "s")), trust=True)
    for name, (_, type_name, expected) in values.items():
        frame = reader.keyed_state("op", name).to_spark(spark)
        assert frame.dtypes == [("key", "bigint"), ("value", type_name)]
        assert frame.first().value == expected  # type: ignore[union-attr]


def test_state_that_holds_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = SavepointWriter.new().keyed_state("op", TOTAL, [], "a").write(str(tmp_path / "s"))
    assert SavepointReader.read(path, trust=True).keyed_state("op", "total").to_spark(spark).count() == 0


def test_spark_reads_the_folder_itself(spark: SparkSession, lives: tuple[str, str]) -> None:
    frame = spark.read.parquet(f"file://{lives[0]}/states-states/largest-*.parquet")
    expected = dict(SavepointReader.read(lives[0], trust=True).keyed_state("states", "largest").items())
    assert {row.key: row.value for row in frame.collect()} == expected


# -- making state -----------------------------------------------------------------------------------------------------


class Begin(KeyedStateBootstrapFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(TOTAL)
        self.memos = runtime_context.get_list_state(ListStateDescriptor("memos", OBJECT))

    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        self.total.update((self.total.value() or 0) + value["amount"])
        self.memos.add(Memo(str(value["amount"])))
        timestamp = ctx.timestamp()
        assert timestamp is not None
        ctx.timer_service().register_event_time_timer(timestamp)


def amounts(spark: SparkSession, count: int) -> DataFrame:
    return spark.range(count).selectExpr(f"CAST(id % {KEYS} AS BIGINT) AS user", "id AS amount").repartition(3)


KEYS = 30


def test_a_function_runs_on_spark_as_it_does_here(spark: SparkSession, tmp_path: Path) -> None:
    frame = amounts(spark, 100)
    paths = []
    for rows, name in ((frame, "spark"), (frame.toPandas(), "here")):
        transformation = (
            OperatorTransformation.bootstrap_with(rows, parallelism=3)
            .assign_timestamps(lambda row: row["amount"])
            .key_by("user")
            .transform(Begin())
        )
        writer = SavepointWriter.new().with_operator("totals", transformation)
        writer.list_state("lists", ListStateDescriptor("list", LONG), rows, "amount")
        paths.append(writer.write(str(tmp_path / name)))
    # Rows of one key come in any order, so lists are in any.
    readers = [SavepointReader.read(path, trust=True) for path in paths]
    lists = [
        {key: Counter(memos) for key, memos in reader.keyed_state("totals", "memos").items()} for reader in readers
    ]
    assert lists[0] == lists[1]
    assert {user: sum(memos.values()) for user, memos in lists[0].items()} == Counter(n % KEYS for n in range(100))
    found = compare_savepoints(open_snapshot(paths[0], trust=True), open_snapshot(paths[1], trust=True), 5)
    assert {state.name for operator in found.operators for state in operator.states} <= {"memos"}
    assert set(readers[0].timers("totals").items()) == {(n % KEYS, Timer("event", n)) for n in range(100)}
    files = {path.relative_to(tmp_path / "spark").as_posix() for path in (tmp_path / "spark").rglob("*.parquet")}
    known = {file.path for saved in open_snapshot(paths[0], trust=True).metadata.saved.values() for file in saved.files}
    assert files == known
    assert len({path.split("-")[-3] for path in known if "/total-" in path}) == 3, "a file for each task"


class Failing(KeyedStateBootstrapFunction):
    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        raise ArithmeticError("no such sum")


@pytest.mark.parametrize("key", ["user", "usr"])
def test_a_failure_on_spark_reads_as_one_here(spark: SparkSession, tmp_path: Path, key: str) -> None:
    rows = OperatorTransformation.bootstrap_with(amounts(spark, 3), parallelism=2)
    writer = SavepointWriter.new().with_operator("totals", rows.key_by(key).transform(Failing()))
    with pytest.raises(BootstrapError) as caught:
        writer.write(str(tmp_path / "s"))
    text = str(caught.value)
    assert "operator 'totals'" in text and f"made at {__file__}:" in text and "\n  element: {'user': " in text
    assert ("ArithmeticError: no such sum" if key == "user" else "KeyError: 'usr'") in text
    assert not (tmp_path / "s").exists()


def test_without_a_row_the_states_are_there(spark: SparkSession, tmp_path: Path) -> None:
    rows = OperatorTransformation.bootstrap_with(amounts(spark, 0)).key_by("user").transform(Begin())
    path = SavepointWriter.new().with_operator("totals", rows).write(str(tmp_path / "s"))
    assert [(state.name, state.rows) for state in SavepointReader.read(path, trust=True).states("totals")] == [
        ("total", 0),
        ("memos", 0),
    ]


# -- a job goes on from it --------------------------------------------------------------------------------------------


class Adding(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(TOTAL)
        self.names = runtime_context.get_map_state(MapStateDescriptor("names", LONG, Types.STRING()))

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        self.total.update((self.total.value() or 0) + value)
        yield key_of(value), self.total.value(), self.names.get(0)


def test_a_job_on_spark_begins_with_it(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(7).selectExpr("id AS user", "id * 1000 AS total")
    path = (
        SavepointWriter.new()
        .keyed_state("adding", TOTAL, frame, key="user", value="total")
        .keyed_state(
            "adding",
            MapStateDescriptor("names", LONG, Types.STRING()),
            frame,
            key="user",
            value=lambda row: (0, f"user {row['user']}"),
        )
        .write(str(tmp_path / "s"))
    )
    configuration = Configuration()
    configuration.set_string("execution.state-recovery.path", path)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark)
    env.set_parallelism(2)
    stream = env.from_sequence(0, 19).set_parallelism(1).key_by(key_of).process(Adding()).uid("adding")
    with stream.execute_and_collect() as results:
        found = Counter(results)
    expected = []
    totals = {user: user * 1_000 for user in range(7)}
    for value in range(20):
        totals[key_of(value)] += value
        expected.append((key_of(value), totals[key_of(value)], f"user {key_of(value)}"))
    assert found == Counter(expected)
