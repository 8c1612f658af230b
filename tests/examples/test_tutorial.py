"""Every program of examples/tutorial/ gives its stated result, without Spark."""

from __future__ import annotations

import datetime
from importlib import import_module
from typing import Any

import pytest
from tests.examples.conftest import EXAMPLES
from tests.examples.results import ANY_MODE, BATCH, PACED_PAGE_VIEWS, STREAMING

from millrace.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.testing import run_locally

LONG = {"stateful_flat_map", "aggregating_state"}
"""Programs with hundreds of elements."""

STREAM, BATCH_MODE = RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH


def program(name: str, mode: RuntimeExecutionMode = STREAM, parallelism: int = 1) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism).set_runtime_mode(mode)
    stream: DataStream = import_module(name).build(env)
    return stream


def same(found: list[Any], expected: list[Any]) -> bool:
    return sorted(map(repr, found)) == sorted(map(repr, expected))


def test_every_program_has_a_stated_result() -> None:
    names = {path.stem for path in (EXAMPLES / "tutorial").glob("*.py")} - {"fixture"}
    assert names == ANY_MODE.keys() | STREAMING.keys() | {"processing_time_timer"}


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize("epoch_records", [None, 1, 2, 5])
@pytest.mark.parametrize("name", ANY_MODE)
def test_streaming_in_any_epochs(name: str, epoch_records: int | None, parallelism: int) -> None:
    limit = epoch_records and epoch_records * (100 if name in LONG else 1)
    run = run_locally(program(name, STREAM, parallelism), epoch_records=limit, workers=2, seed=7)
    assert same(run.collected, ANY_MODE[name]), run.collected
    assert limit is not None or len(run.epochs) == 1
    assert limit != 1 or len(run.epochs) > 2


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("name", ANY_MODE)
def test_batch(name: str, parallelism: int) -> None:
    run = run_locally(program(name, BATCH_MODE, parallelism))
    assert same(run.collected, ANY_MODE[name]), run.collected
    assert len(run.epochs) == 1


@pytest.mark.parametrize("name", STREAMING)
def test_streaming_in_one_epoch(name: str) -> None:
    assert same(run_locally(program(name)).collected, STREAMING[name])


@pytest.mark.parametrize("name", BATCH)
def test_batch_where_it_differs(name: str) -> None:
    assert same(run_locally(program(name, BATCH_MODE)).collected, BATCH[name])


@pytest.mark.parametrize("name", ["bill_check", "top_n"])
def test_results_come_in_the_order_of_time(name: str) -> None:
    assert run_locally(program(name)).collected == ANY_MODE[name]
    assert run_locally(program(name), epoch_records=1).collected == ANY_MODE[name]


def test_timer_probe_in_order_also_with_an_epoch_per_element() -> None:
    assert run_locally(program("timer_probe")).collected == STREAMING["timer_probe"]
    assert run_locally(program("timer_probe"), epoch_records=1).collected == STREAMING["timer_probe"]


def test_side_output_has_its_own_stream() -> None:
    module = import_module("side_output")
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    side = module.build(env).get_side_output(module.SIDE)
    assert run_locally(side).collected == ["side-output: 1", "side-output: 2", "side-output: 3"]


def test_throttled_page_views_with_a_watermark_after_every_click() -> None:
    from fixture import PACED

    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    assert run_locally(import_module("throttled_page_views").build(env, PACED)).collected == PACED_PAGE_VIEWS


def test_union_watermark_when_both_inputs_come_by_turns() -> None:
    run = run_locally(program("union_watermark"), epoch_records=1)
    lowest = -(2**63)
    assert run.collected == [f"当前水位线是:{mark}" for mark in (lowest, lowest, 999, 1999, 2999, 2999)]


@pytest.mark.parametrize(("mode", "lines"), [(STREAM, 3), (BATCH_MODE, 4)])
def test_processing_time_timer(mode: RuntimeExecutionMode, lines: int) -> None:
    times = iter(range(1_000_000, 10**9, 20))
    run = run_locally(program("processing_time_timer", mode), clock=lambda: next(times))
    check_processing_time_timer(run.collected, lines, delay=2_000)


def check_processing_time_timer(found: list[str], lines: int, delay: int) -> None:
    """Every timer is as late as it shall be; in streaming mode the last one is dropped at the end of the input."""
    arrived = [at(line) for line in found if line.startswith("数据到达")]
    fired = [at(line) for line in found if line.startswith("定时器触发")]
    assert len(arrived) == 2
    due = [element + datetime.timedelta(milliseconds=delay) for element in arrived]
    assert fired == sorted(set(due[: lines - 2])), found  # one timer, if both came in the same millisecond


def at(line: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(line.partition(":")[2].ljust(30, "0")[:30].split(".")[0]) + (
        datetime.timedelta(seconds=float("0." + line.rpartition(".")[2]))
    )


def test_keyed_states_needs_no_order_of_epochs() -> None:
    runs = [run_locally(program("keyed_states", parallelism=2), epoch_records=n).collected for n in (1, 4, None)]
    assert runs[0] == runs[1] == runs[2]
