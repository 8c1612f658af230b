"""Latency of a job with large state in flow: without checkpoints, with one each second, and while a savepoint is taken.

    python -m benchmarks.large_checkpoints [--keys 10000000] [--seconds 30] [--sides tasks,files]

A keyed count: every key is set once, then 1 % of the keys are touched in a second. Prints p50, p99 and the longest (ms)
from the moment at which the source should give a record to its arrival behind the exchange: of a job without
checkpoints; of one with a checkpoint each second; from the request of a savepoint to its end; from the request of a
full checkpoint to its end. On the side ``tasks`` the tasks write whole states and savepoints themselves, as before ADR
31, on the side ``files`` another process makes them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.recording import Count
from millrace.common import Configuration, Types, WatermarkStrategy
from millrace.datastream import FlatMapFunction, StreamExecutionEnvironment
from millrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from millrace.runtime.coordination import compactions
from millrace.spark.sessions.session import local_session

RATE = 1_000
"""records of the source a second, of each of which the latency is noted"""
TOUCHED = 100
"""which part of the keys is touched in a second: one in so many"""
WARM_SECONDS = 5.0
FILLED_TOGETHER = 1_000
"""keys that a record of the source sets at first"""
WAIT_SECONDS = 600.0
SMALL_BYTES = compactions.SMALL_BYTES


class Spread(FlatMapFunction):
    """The keys that a record of the source touches; one of them goes with the time at which the record was due, so that
    a source that is held up shows as latency, too."""

    def __init__(self, keys: int) -> None:
        self._keys = keys
        self._filling = -(-keys // FILLED_TOGETHER)
        self._each = max(1, keys // TOUCHED // RATE)
        self._began = float("inf")

    def flat_map(self, value: int) -> Any:
        # The source gives no record before its time, so the earliest one so far says when it began.
        self._began = min(self._began, time.time() - value / RATE)
        due = self._began + value / RATE
        if value < self._filling:
            first, count = value * FILLED_TOGETHER, FILLED_TOGETHER
        else:
            first, count = value * 7_919, self._each
        for number in range(count):
            yield (first + number) % self._keys, None if number else due


class Noting(Count):
    """Counts, and writes each latency at once."""

    def open(self, runtime_context: Any) -> None:
        super().open(runtime_context)
        self._notes.reconfigure(line_buffering=True)


def started(session: Any, keys: int, folder: str, interval: int | None) -> Any:
    """The client of a job.

    :param interval: ms between checkpoints; None: there are none.
    """
    configuration = Configuration()
    configuration.set_string("millrace.epoch.execution", "flow")
    configuration.set_string("execution.checkpointing.dir", f"{folder}/checkpoints")
    configuration.set_string("millrace.state.directory", f"{folder}/state")
    env = StreamExecutionEnvironment.get_execution_environment(configuration, session).set_parallelism(2)
    if interval is not None:
        env.enable_checkpointing(interval)

    source = DataGeneratorSource(lambda index: index, None, RateLimiterStrategy.per_second(RATE))
    indexes = env.from_source(source, WatermarkStrategy.no_watermarks(), "indexes").set_parallelism(1)
    counted = indexes.flat_map(Spread(keys)).key_by(lambda pair: pair[0]).process(Noting(folder), Types.STRING())
    counted.filter(lambda text: False).print()
    return env.execute_async("large checkpoints")


def notes(folder: str) -> list[tuple[float, float]]:
    """(time in s at which it was due, latency in ms) of the records so far."""
    found = []
    for path in Path(folder).glob("latency-*"):
        for line in path.read_text().splitlines():
            at, _, took = line.partition(" ")
            if took:
                found.append((float(at) - float(took) / 1000, float(took)))
    return found


def tell(name: str, folder: str, begin: float, end: float) -> None:
    took = sorted(millis for at, millis in notes(folder) if begin <= at <= end)
    if took:
        p50, p99 = took[len(took) // 2], took[int(len(took) * 0.99)]
        print(
            f"{name}: {len(took):,} records in {end - begin:.1f} s; p50 {p50:.1f}, p99 {p99:.1f}, longest "
            f"{took[-1]:.1f} ms",
            flush=True,
        )


def catch_up(folder: str, records: int = 0) -> None:
    """Wait until the job has processed some records, and those that are due."""
    until = time.time() + WAIT_SECONDS
    while time.time() < until:
        time.sleep(1.0)
        found = notes(folder)
        if len(found) > records and max(due for due, _ in found) > time.time() - 1.0:
            break
    time.sleep(WARM_SECONDS)


def run(session: Any, keys: int, seconds: float, interval: int | None) -> None:
    folder = tempfile.mkdtemp(prefix="millrace-large-")
    try:
        client = started(session, keys, folder, interval)
        catch_up(folder, -(-keys // FILLED_TOGETHER))
        begin = time.time()
        time.sleep(seconds)
        end = time.time()
        begun = {}
        if interval is not None:
            for name, request in (
                ("while a savepoint is taken", lambda: client.trigger_savepoint(f"{folder}/savepoints")),
                ("while a full checkpoint is taken", lambda: client.checkpoint(full=True)),
            ):
                since = time.time()
                request().result()
                begun[name] = since, time.time()
                catch_up(folder)
        client.cancel().result()
        tell("without checkpoints" if interval is None else "with checkpoints", folder, begin, end)
        for name, (since, until) in begun.items():
            tell(name, folder, since, until)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--interval", type=int, default=1_000, help="ms between checkpoints")
    parser.add_argument("--sides", default="tasks,files")
    given = parser.parse_args()
    session = local_session(2)
    run(session, given.keys, given.seconds, None)
    for side in given.sides.split(","):
        print(f"whole states by {side}:", flush=True)
        compactions.SMALL_BYTES = 1 << 62 if side == "tasks" else SMALL_BYTES
        run(session, given.keys, given.seconds, given.interval)
    print(f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
