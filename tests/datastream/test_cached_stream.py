"""``DataStream.cache``: computed by the first job, read by the later ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from millrace.common import Duration, Types, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.connectors.generated_sources import DataGeneratorSource
from millrace.datastream import (
    MapFunction,
    OutputTag,
    ProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from millrace.datastream.data_stream import DataStream
from millrace.datastream.derived_streams import CachedDataStream
from millrace.graph.program import GraphError
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.testing import run_locally


class Logged(MapFunction):
    """Notes every call in a file: functions are copied into the tasks."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def map(self, value: Any) -> Any:
        with self._log.open("a") as file:
            file.write(f"{value}\n")
        return [value]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "calls"


@pytest.fixture(params=[RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH], ids=["streaming", "batch"])
def env(request: pytest.FixtureRequest) -> Iterator[StreamExecutionEnvironment]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(request.param)
    env.set_parallelism(2)
    yield env
    env.close()


def calls(log: Path) -> int:
    return len(log.read_text().splitlines())


def logged(env: StreamExecutionEnvironment, log: Path) -> DataStream:
    return env.from_sequence(1, 10).map(Logged(log))


EXPECTED = [[number] for number in range(1, 11)]


def collected(stream: DataStream, **options: Any) -> list[Any]:
    return sorted(run_locally(stream, **options).collected)


@pytest.mark.parametrize("epoch_records", [None, 3])
def test_only_the_first_job_computes(env: StreamExecutionEnvironment, log: Path, epoch_records: int | None) -> None:
    cached = logged(env, log).cache()
    assert isinstance(cached, CachedDataStream)
    assert collected(cached, epoch_records=epoch_records) == EXPECTED
    assert calls(log) == 10
    for _ in range(2):
        assert collected(cached.map(lambda v: v[0]), epoch_records=epoch_records) == list(range(1, 11))
    assert calls(log) == 10


def test_the_order_within_a_subtask_stays(env: StreamExecutionEnvironment) -> None:
    cached = env.from_collection(list("cab")).cache()
    assert run_locally(cached, epoch_records=1).collected == list("cab")
    assert run_locally(cached, epoch_records=2).collected == list("cab")


def test_a_cache_that_nobody_reads_is_not_filled(env: StreamExecutionEnvironment, log: Path) -> None:
    cached = logged(env, log).cache()
    env.from_collection([1]).print()
    run_locally(env)  # computes the map, as in Flink
    assert collected(cached) == EXPECTED
    assert calls(log) == 20


def test_branches_of_one_job_share_the_computation(env: StreamExecutionEnvironment, log: Path) -> None:
    cached = logged(env, log).cache()
    cached.map(lambda v: f"a{v[0]}").print()
    cached.union(cached.map(lambda v: v)).map(lambda v: f"b{v[0]}").print()
    assert len(run_locally(env).printed) == 30
    assert calls(log) == 10
    cached.print()
    assert len(run_locally(env).printed) == 10
    assert calls(log) == 10


def test_elements_are_kept_as_they_were(env: StreamExecutionEnvironment, log: Path) -> None:
    """Also where a function behind the cache changes them in place."""

    def change(value: list[int]) -> list[int]:
        value.append(0)
        return value

    cached = logged(env, log).cache()
    for _ in range(2):
        assert collected(cached.map(change)) == [[number, 0] for number in range(1, 11)]
    assert collected(cached) == EXPECTED


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value) * 1000


class Stamp(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp()


def test_timestamps_are_kept(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    cached = (
        env.from_sequence(1, 4).assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Seconds())).cache()
    )
    for _ in range(2):
        assert collected(cached.process(Stamp())) == [(n, n * 1000) for n in range(1, 5)]


def test_side_outputs_unions_and_caches_of_caches(env: StreamExecutionEnvironment, log: Path) -> None:
    odd = OutputTag("odd", Types.LONG())

    class Split(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
            yield (odd, value) if value % 2 else value

    split = env.from_sequence(1, 6).process(Split(), Types.LONG())
    first = split.get_side_output(odd).cache()
    second = first.union(split).map(Logged(log)).cache()
    assert collected(second) == [[number] for number in range(1, 7)]
    assert collected(first) == [1, 3, 5]
    assert collected(second) == [[number] for number in range(1, 7)]
    assert calls(log) == 6


def test_invalidate_computes_again(env: StreamExecutionEnvironment, log: Path) -> None:
    cached = logged(env, log).cache()
    cached.invalidate()  # nothing there yet
    collected(cached)
    cached.invalidate()
    for _ in range(2):
        assert collected(cached) == EXPECTED
    assert calls(log) == 20


def test_closing_the_environment_invalidates(env: StreamExecutionEnvironment, log: Path) -> None:
    cached = logged(env, log).cache()
    collected(cached)
    env.close()
    assert collected(cached) == EXPECTED
    assert calls(log) == 20


def test_a_job_that_fails_fills_nothing(env: StreamExecutionEnvironment, log: Path) -> None:
    def fail(value: Any) -> Any:
        raise RuntimeError(f"no {value}")

    cached = logged(env, log).cache()
    with pytest.raises(JobFailedError, match="no "):
        run_locally(cached.map(fail))
    log.unlink(missing_ok=True)
    assert collected(cached) == EXPECTED
    assert calls(log) == 10


def test_what_cannot_be_kept_names_the_operator(env: StreamExecutionEnvironment) -> None:
    cached = env.from_collection([1]).map(lambda v: (n for n in range(v))).cache()
    with pytest.raises(JobFailedError, match=r"(?s)Cache.* to keep its elements.*cannot pickle 'generator'"):
        run_locally(cached.map(lambda v: sum(v)))


def test_the_parallelism_is_that_of_the_stream(env: StreamExecutionEnvironment, log: Path) -> None:
    cached = logged(env, log).set_parallelism(3).cache()
    mapped = cached.map(lambda v: v)
    for name in ("Cache", "Source: Cache"):
        nodes = {node["type"]: node for node in _plan(env, mapped)}
        assert nodes[name]["parallelism"] == 3
        assert collected(mapped) == EXPECTED


def _plan(env: StreamExecutionEnvironment, stream: DataStream) -> list[dict[str, Any]]:
    stream.print()
    nodes: list[dict[str, Any]] = json.loads(env.get_execution_plan())["nodes"]
    return nodes


def test_derived_uids_may_be_off(env: StreamExecutionEnvironment) -> None:
    env.get_config().disable_auto_generated_uids()
    cached = env.from_collection([1]).uid("source").cache()
    for number in range(2):
        mapped = cached.map(lambda v: v + 1).uid(f"map {number}")
        assert collected(mapped) == [2]


def test_a_result_without_end_is_refused() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    endless = DataGeneratorSource(lambda index: index, type_info=Types.LONG())
    stream = env.from_source(endless, WatermarkStrategy.no_watermarks(), "numbers")
    stream.map(lambda v: v).cache().print()
    with pytest.raises(GraphError, match=r"(?s)^operator 'Cache' at .*: cache\(\) keeps the whole result of bounded "):
        env.get_execution_plan()


def test_a_bounded_result_beside_endless_input_is_not_refused() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    endless = DataGeneratorSource(lambda index: index, type_info=Types.LONG())
    stream = env.from_source(endless, WatermarkStrategy.no_watermarks(), "numbers")
    env.from_sequence(1, 2).cache().union(stream).print()
    assert "Cache" in env.get_execution_plan()


def test_the_operator_is_not_the_users(env: StreamExecutionEnvironment) -> None:
    cached = env.from_collection([1]).cache()
    for change in (partial(cached.name, "x"), cached.get_name, partial(cached.set_parallelism, 2)):
        with pytest.raises(GraphError, match="a cached stream is no operator of its own"):
            change()


def test_keyed_streams_are_refused(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(GraphError, match=r"^cache\(\) at .*: a keyed stream can't be cached; call cache\(\) before "):
        env.from_collection([1]).key_by(lambda v: v).cache()
