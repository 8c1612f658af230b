"""Marks whose way is timed reach every operator that hears of their source, and change nothing else."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common import Types
from millrace.common.configuration import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.metrics.report import HistogramSnapshot
from millrace.runtime.elements import Chunk, LatencyMark, Status
from millrace.runtime.exchange.codec import decode, encode
from millrace.testing import run_locally
from millrace.testing.flow import FlowEngine
from millrace.testing.local import job_of

LATENCY_MARKS = st.builds(LatencyMark, st.integers(0), st.integers(0), st.integers(0))
MARKS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.sampled_from(Status), LATENCY_MARKS)


@given(st.lists(st.one_of(st.integers(), st.just(object)), max_size=5), st.lists(MARKS, max_size=4))
def test_they_travel(values: list[Any], marks: list[Any]) -> None:
    """As plain data and in a pickle (a class is no plain data)."""
    placed = [(min(place, len(values)), mark) for place, mark in enumerate(marks)]
    items = list(decode(encode(Chunk(values), placed)))
    assert [item for item in items if not isinstance(item, Chunk)] == marks
    assert [type(item) for item in items if not isinstance(item, Chunk)] == [type(mark) for mark in marks]
    assert [value for item in items if isinstance(item, Chunk) for value in item.values] == values


def program(interval: int) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("metrics.latency.interval", f"{interval} ms")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    stream = env.from_sequence(1, 40).uid("source").map(lambda n: n).uid("map")
    stream.key_by(lambda n: n % 3).map(lambda n: n, Types.LONG()).uid("keyed").print().uid("sink")
    return env


def latencies(run: Any) -> dict[tuple[str, str, str], HistogramSnapshot]:
    return {
        (e.variables["<source_id>"], e.variables["<operator_id>"], e.variables["<operator_subtask_index>"]): e.value
        for e in run.metrics
        if e.path[0] == "latency"
    }


def test_every_operator_sees_how_long_they_took() -> None:
    ticks = itertools.count(1_000_000, 7)
    run = run_locally(program(1), epoch_records=10, clock=lambda: next(ticks))
    plain = run_locally(program(0), epoch_records=10)
    found = latencies(run)
    assert found.keys() == {
        ("source", operator, subtask) for operator in ("map", "keyed", "sink") for subtask in ("0", "1")
    }
    for value in found.values():
        assert value.count > 0
        assert value.statistics()["p50"] >= 7
    # What is further down the stream hears of a mark later; marks of both sources come there.
    assert found["source", "sink", "0"].quantile(0.5) > found["source", "map", "0"].quantile(0.5)
    assert found["source", "keyed", "0"].count == 2 * found["source", "map", "0"].count
    assert sorted(run.printed) == sorted(plain.printed)
    assert not latencies(plain)


def test_the_interval_is_kept() -> None:
    run = run_locally(program(1_000_000), epoch_records=10, clock=lambda: 2_000_000)
    assert {value.count for (_, operator, _), value in latencies(run).items() if operator == "map"} == {1}


def test_statistics_of_a_histogram() -> None:
    many = HistogramSnapshot(500, tuple(float(n) for n in range(1, 101)))
    assert many.statistics() == pytest.approx(
        {
            "count": 500,
            "min": 1,
            "max": 100,
            "mean": 50.5,
            "stddev": 28.866070047722118,
            "p50": 51,
            "p75": 76,
            "p95": 96,
            "p98": 99,
            "p99": 100,
            "p999": 100,
        }
    )
    assert HistogramSnapshot(0, ()).statistics()["p99"] == 0


def test_in_flow_there_is_one_an_interval_however_long_the_epoch_is() -> None:
    ticks = itertools.count(1_000_000, 7)
    job = job_of(program(50).set_parallelism(1))
    engine = FlowEngine(job, lambda: next(ticks), Random(3), aligned=False)
    (source,) = [info.id for info in job.operators if info.uid == "source"]
    found = [
        [latency for report in epoch.reports for latency in report.latencies if latency[0] == source]
        for epoch in engine.epochs()
    ]
    assert len(found) < 4
    assert max(map(len, found)) > 5
