"""Metrics and accumulators of a job on Spark, while it runs and at its end."""

from __future__ import annotations

import time
from typing import Any

from tests.spark.conftest import MakeEnvironment

from millrace.common import Types, WatermarkStrategy
from millrace.connectors.generated_sources import DataGeneratorSource
from millrace.datastream.functions import MapFunction, RuntimeContext


class Counts(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.counter = runtime_context.get_metrics_group().add_group("mine").counter("seen")
        self.sum = runtime_context.get_int_counter("sum")

    def map(self, value: int) -> int:
        self.counter.inc()
        self.sum.add(value)
        return value


def test_at_the_end(environment: MakeEnvironment) -> None:
    env = environment(2, **{"millrace.epoch.max-records": 10})
    env.from_sequence(1, 100).rebalance().map(Counts()).name("counts").key_by(lambda v: v % 7).sum().print()
    result = env.execute()
    metrics = result.get_metrics()
    assert metrics.counter("counts", "mine.seen") == metrics.counter("counts", "numRecordsIn") == 100
    assert result.get_accumulator_result("sum") == 5050
    epochs: Any = metrics.job("numEpochs")
    assert epochs.count > 3, "several workers took turns"


def test_while_it_runs(environment: MakeEnvironment) -> None:
    env = environment(1)
    source = DataGeneratorSource(lambda index: index, type_info=Types.LONG())
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").map(Counts()).name("counts")
    stream.filter(lambda value: False).print()
    client = env.execute_async()
    try:
        seen: list[int] = []
        until = time.monotonic() + 60
        while len(set(seen)) < 3 and time.monotonic() < until:
            seen.append(client.get_metrics().counter("counts", "numRecordsIn"))
            time.sleep(0.05)
        assert len(set(seen)) >= 3 and seen == sorted(seen)
        metrics, accumulators = client.get_metrics(), client.get_accumulators().result()
        assert 0 < metrics.counter("counts", "mine.seen") <= accumulators["sum"]
    finally:
        client.cancel().result()
