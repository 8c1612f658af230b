"""The processor time of an unbounded job that has nothing to do: a share of a core, of all its processes together.

    python -m benchmarks.idle [--seconds 30] [--source function,kafka] [--way flow,spark-jobs]

A source function that emits one element and sleeps, and an empty topic of Kafka; by what carries the epochs
(``millrace.epoch.execution``), with a checkpoint each second and without any. Each is a job in a process of its own.
What Spark's start and the first ten seconds take does not count; Kafka's server does not, either. Wanted: 0.1 of a
core, in flow what ``BARS`` says. Ends with 1 if one takes more.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.slow_shapes import MARK
from benchmarks.slow_steps import Run, started, wait_for
from benchmarks.start import processor_seconds
from millrace.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from millrace.common.functions import SourceFunction
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.kafka import KafkaSource
from millrace.testing.services import Kafka

BARS = {"flow": (0.02, 0.03)}
"""way -> share of a core without checkpoints, and with one a second"""
BAR = 0.1
WARM_SECONDS, START_SECONDS = 10.0, 120.0
TOPIC, PARTITIONS = "empty", 4
SOURCES, WAYS = ("function", "kafka"), ("flow", "spark-jobs")


class One(SourceFunction[int]):
    """An element, and then nothing."""

    def __init__(self) -> None:
        self._over = threading.Event()

    def __getstate__(self) -> dict[str, object]:
        return {}

    def __setstate__(self, state: dict[str, object]) -> None:
        self._over = threading.Event()

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        ctx.collect(1)
        self._over.wait()

    def cancel(self) -> None:
        self._over.set()


def job(source: str, way: str, folder: str, kafka: str) -> None:
    """What is measured, in a process of its own.

    :param folder: of checkpoints; empty: there are none.
    """
    configuration = Configuration()
    configuration.set_string("millrace.epoch.execution", way)
    if folder:
        configuration.set_string("execution.checkpointing.dir", folder)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    env.from_sequence(1, 8).rebalance().map(lambda value: value, Types.LONG()).print()
    env.execute("first")  # starts Spark
    if folder:
        env.enable_checkpointing(1_000)
    if source == "kafka":
        reading = KafkaSource.builder().set_bootstrap_servers(kafka).set_topics(TOPIC)
        records = env.from_source(
            reading.set_value_only_deserializer(SimpleStringSchema()).build(),
            WatermarkStrategy.no_watermarks(),
            "nothing",
        )
    else:
        records = env.add_source(One(), "one", Types.LONG())
    records.key_by(lambda value: 0).map(lambda value: value).print()
    print(MARK, "began", flush=True)
    env.execute("idle")


def share(source: str, way: str, checkpoints: bool, kafka: str, seconds: float) -> float | None:
    """Of a core; None: the job has ended."""
    run = Run()
    with tempfile.TemporaryDirectory(prefix="millrace-idle-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        command = [sys.executable, "-m", "benchmarks.idle", "--job", source, way, name if checkpoints else "", kafka]
        over = threading.Event()
        with started(command) as process:
            threads = [
                threading.Thread(target=run.read, args=(process,)),
                threading.Thread(target=run.watch, args=(folder, over)),
            ]
            for each in threads:
                each.start()
            wait_for(process, run, "began", START_SECONDS)
            time.sleep(WARM_SECONDS)
            before, began, known = processor_or_none(process.pid), time.time(), len(run.checkpoints)
            time.sleep(seconds)
            after, ended = processor_or_none(process.pid), time.time()
            made = len(run.checkpoints) - known
            good = process.poll() is None
            over.set()
        for each in threads:
            each.join()
    if before is None or after is None or not good:
        print(*run.said[-20:], sep="", file=sys.stderr)
        return None
    found = (after - before) / (ended - began)
    when = f"{made} checkpoints" if checkpoints else "no checkpoints"
    bar = BARS.get(way, (BAR, BAR))[checkpoints]
    verdict = "OK" if found <= bar else "FAIL"
    print(f"{source:9} {way:11} {when:15} {found:5.3f} of a core (bar {bar})  {verdict}", flush=True)
    return found / bar


def processor_or_none(process: int) -> float | None:
    with contextlib.suppress(Exception):
        return processor_seconds(process)
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--source", default=",".join(SOURCES))
    parser.add_argument("--way", default=",".join(WAYS))
    parser.add_argument("--job", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        job(*given.job)
        return
    found = []
    with contextlib.ExitStack() as stack:
        kafka = ""
        if "kafka" in given.source:
            from confluent_kafka.admin import AdminClient, NewTopic

            kafka = stack.enter_context(Kafka(java_options=("-Xmx768m",))).bootstrap
            admin = AdminClient({"bootstrap.servers": kafka})
            admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result()
        for source in given.source.split(","):
            for way in given.way.split(","):
                for checkpoints in (False, True):
                    found.append(share(source, way, checkpoints, kafka, given.seconds))
    print(f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")
    sys.exit(not all(each is not None and each <= 1 for each in found))


if __name__ == "__main__":
    main()
