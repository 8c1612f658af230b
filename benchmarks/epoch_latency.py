"""How long an epoch with one exchange takes on small input, against a hand-written micro-batch query of the same shape.

The hand-written side is mapInArrow, repartition, mapInArrow and a foreachBatch that collects; both run on the same
clock (rate-micro-batch) on the same session, in turn. Prints p50 and p99 of the time from the start of one micro-batch
to the start of the next, and the ratios.

    python -m benchmarks.epoch_latency
    python -m benchmarks.epoch_latency --subtasks 128 --epochs 40
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from millrace.common.configuration import Configuration
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from millrace.spark.jobs.listeners import EpochDone, PlainListener, set_listener
from millrace.spark.sessions.session import local_session, workplace
from millrace.spark.sessions.settings import SessionWishes

WARM_UP = 20
TUNED = {
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.pollingDelay": "5ms",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}
"""What makes micro-batches of the hand-written side fast."""


class Beats(PlainListener):
    """Remembers when each epoch was complete."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def epoch(self, epoch: EpochDone) -> None:
        self.times.append(time.perf_counter())


def millrace_beats(session: Any, epochs: int, subtasks: int = 2) -> list[float]:
    beats = Beats()
    set_listener(beats)
    configuration = Configuration()
    configuration.set_integer("millrace.epoch.interval-ms", 1)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, session)
    env.set_parallelism(subtasks)
    source = DataGeneratorSource(lambda index: index, None, RateLimiterStrategy.per_second(50))
    events = env.from_source(source, WatermarkStrategy.no_watermarks(), "events")
    events.key_by(lambda index: index % 10).reduce(lambda a, b: a + b).filter(lambda total: False).print()
    client = env.execute_async("latency")
    _wait(beats.times, epochs)
    client.cancel().result()
    return beats.times


def _first(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = batch.num_rows
        yield pa.RecordBatch.from_arrays(
            [pa.array(range(rows), pa.int32()), pa.array([b"element"] * rows)], names=["target", "payload"]
        )


def _second(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.select(["payload"])


def native_beats(session: Any, epochs: int, subtasks: int = 2) -> list[float]:
    times: list[float] = []
    session = workplace(session, SessionWishes(2)).session
    for key, value in TUNED.items():
        session.conf.set(key, value)

    def collect(frame: Any, batch: int) -> None:
        frame.collect()
        times.append(time.perf_counter())

    ticks = session.readStream.format("rate-micro-batch").option("rowsPerBatch", subtasks)
    ticks = ticks.option("numPartitions", subtasks).load()
    frame = ticks.mapInArrow(_first, "target int, payload binary").repartition(subtasks, "target")
    frame = frame.mapInArrow(_second, "payload binary")
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = frame.writeStream.foreachBatch(collect).option("checkpointLocation", checkpoint)
        query = writer.trigger(processingTime="1 milliseconds").start()
        _wait(times, epochs)
        query.stop()
    return times


def _wait(times: list[float], epochs: int) -> None:
    deadline = time.monotonic() + 300
    while len(times) < epochs + WARM_UP:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(times)} of {epochs + WARM_UP} micro-batches within 300 s")
        time.sleep(0.05)


def _gaps(times: list[float]) -> list[float]:
    return [(b - a) * 1000 for a, b in zip(times[WARM_UP:], times[WARM_UP + 1 :])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--subtasks", type=int, default=2)
    given = parser.parse_args()
    session = local_session(2)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(given.repeat):
        ours += _gaps(millrace_beats(session, given.epochs, given.subtasks))
        theirs += _gaps(native_beats(session, given.epochs, given.subtasks))
    for name, gaps in (("millrace", ours), ("pyspark", theirs)):
        print(f"{name:9} p50 {statistics.median(gaps):5.0f} ms   p99 {_p99(gaps):5.0f} ms   ({len(gaps)} epochs)")
    print(
        f"ratio     p50 {statistics.median(ours) / statistics.median(theirs):5.2f}      "
        f"p99 {_p99(ours) / _p99(theirs):5.2f}      ({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})"
    )


def _p99(gaps: list[float]) -> float:
    return sorted(gaps)[int(len(gaps) * 0.99)]


if __name__ == "__main__":
    main()
