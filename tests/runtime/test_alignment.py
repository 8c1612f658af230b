"""Watermark alignment: sources wait for slower ones, but never for one that has nothing to say."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common import Duration, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.connectors.generated_sources import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing.local import LocalEngine


class Itself(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


def aligned(idleness_ms: int | None) -> WatermarkStrategy:
    strategy = (
        WatermarkStrategy.for_monotonous_timestamps()
        .with_timestamp_assigner(Itself())
        .with_watermark_alignment("group", Duration.of_millis(10))
    )
    return strategy if idleness_ms is None else strategy.with_idleness(Duration.of_millis(idleness_ms))


def progress(idleness_ms: int | None) -> list[int]:
    """The fast source's watermark over epochs one second apart, beside a source that stalls after its first element."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    fast = DataGeneratorSource(lambda index: index * 100, None, RateLimiterStrategy.per_checkpoint(5))
    # One element in 10,000 s: it has a split, but nothing to give.
    stalled = DataGeneratorSource(lambda index: index, None, RateLimiterStrategy.per_second(0.0001))
    streams = [
        env.from_source(source, aligned(idleness_ms), name) for source, name in ((fast, "fast"), (stalled, "stalled"))
    ]
    streams[0].union(streams[1]).print()
    clock = {"now": 1_000_000}
    engine = LocalEngine(env.job_graph(), lambda: clock["now"])
    marks: list[int] = []
    for _ in range(12):
        result = engine.run_epoch(engine.coordinator.plan())
        by_name: dict[str, Any] = {engine.job.by_id[r.operator].name: r.source for r in result.reports if r.source}
        marks.append(by_name["Source: fast"].watermark)
        clock["now"] += 1_000
    return marks


def test_a_source_waits_for_a_slower_one_that_is_not_idle() -> None:
    marks = progress(idleness_ms=None)
    assert marks[-1] == marks[1] < 1_000


@pytest.mark.parametrize("idleness_ms", [500, 3_000])
def test_nobody_waits_for_an_idle_source(idleness_ms: int) -> None:
    marks = progress(idleness_ms)
    assert marks[-1] > 2_000
    assert marks == sorted(marks)
