"""All programs of examples/ on Spark: one job in streaming mode, one in batch mode, each with all of them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import atm_timeout
import pytest
import word_count_files
from tests.examples.results import ANY_MODE, BATCH, BATCHES, STREAMING
from tests.examples.test_larger_programs import MACHINES, ranking, write_files
from tests.examples.test_tutorial import check_processing_time_timer, same

from millrace.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOP = 5


def labelled(name: str) -> Callable[[Any], tuple[str, Any]]:
    return lambda value: (name, value)


def build(name: str, env: StreamExecutionEnvironment, *arguments: Any) -> DataStream:
    stream: DataStream = import_module(name).build(env, *arguments)
    return stream


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
def test_all_programs_in_one_job(spark: SparkSession, tmp_path: Path, mode: RuntimeExecutionMode) -> None:
    batch = mode is RuntimeExecutionMode.BATCH
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    env.set_parallelism(2).set_runtime_mode(mode)
    files = write_files(tmp_path, seed=2)

    streams = [build(name, env).map(labelled(name)) for name in (*ANY_MODE, *STREAMING)]
    streams.append(word_count_files.build(env, files, TOP).map(labelled("word_count_files")))
    if batch:
        streams.append(build("processing_time_timer", env, 100).map(labelled("processing_time_timer")))
    else:
        streams.append(atm_timeout.build(env).map(labelled("atm_timeout")))
    found: dict[str, list[Any]] = {}
    with streams[0].union(*streams[1:]).execute_and_collect("all examples") as results:
        for name, value in results:
            found.setdefault(name, []).append(value)

    for name, expected in (ANY_MODE | (BATCH if batch else STREAMING)).items():
        if name == "union_watermark" and not batch:
            # How the two inputs interleave is not fixed when they come over an exchange, or in several epochs.
            assert len(found[name]) == len(expected)
            continue
        assert same(found[name], expected), (name, found[name])
    assert same(found["word_count_files"], ranking(files, TOP))
    if batch:
        check_processing_time_timer(found["processing_time_timer"], lines=4, delay=100)
    else:
        assert sorted(found["atm_timeout"]) == MACHINES


def test_buffering_sink(spark: SparkSession, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark).set_parallelism(2)
    import_module("buffering_sink").build(env, str(tmp_path / "batches"))
    env.execute("buffering sink")
    assert (tmp_path / "batches").read_text().splitlines() == BATCHES


def test_processing_time_timer_in_streaming_mode(spark: SparkSession) -> None:
    """A job of its own: its epochs must be shorter than the delay."""
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark).set_parallelism(1)
    found = list(build("processing_time_timer", env, 1_500).execute_and_collect())
    check_processing_time_timer(found, lines=3, delay=1_500)
