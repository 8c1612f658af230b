"""Kafka: the same jobs on Millrace and on Flink, and a plain read beside bare consumers of librdkafka.

    python -m benchmarks.kafka_throughput [--rows 2000000] [--turns 3] [--kinds window,plain] [--flink-python PYTHON]
    python -m benchmarks.kafka_throughput --ways flow,spark-jobs --kinds window,mapped,plain,exactly-once

Starts one broker. Records are JSON of about 150 bytes in four partitions. Each side has a process of its own, two
subtasks, a checkpoint every 10 s, and reads to the end that is there; sides take turns. Without --flink-python (an
interpreter with apache-flink; `make .venv-flink/.installed`) only the plain read is compared. Processor time is that
of all processes of a side, without the broker's. With --ways Millrace is compared with itself, by what carries
its epochs (``millrace.epoch.execution``): the first way against each other one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from millrace.connectors.kafka.kafka_source import DEFAULTS
from millrace.testing.services import Kafka
from millrace.testing.services.downloads import jars

PROGRAM = Path(__file__).with_name("kafka_program.py")
CONNECTOR = "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2"
PARTITIONS = 4
PROCESSES = 2
SMALL_ROWS = 1_000
Side = tuple[list[float], float]
"""seconds of each turn, and processor seconds of all"""
BARS = {"window": 1.5, "mapped": 5.0, "at-least-once": 0.8, "exactly-once": 0.8, "plain": 0.7}


def fill(bootstrap: str, rows: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for each in admin.create_topics([NewTopic(name, PARTITIONS) for name in ("small", "large", "out")]).values():
        each.result()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 2_000_000})
    draw = random.Random(1)
    for topic, count in (("small", SMALL_ROWS), ("large", rows)):
        for number in range(count):
            second, milli = divmod(number * 2, 1000)  # 500 records a second of event time
            hour, rest = divmod(second, 3600)
            user, price = draw.randrange(1000), draw.random() * 100
            record = (
                f'{{"id": {number}, "user": {user}, "kind": "view", "price": {price:.2f}, '
                f'"ts": "2024-05-{1 + hour // 24:02} {hour % 24:02}:{rest // 60:02}:{rest % 60:02}.{milli:03}", '
                f'"note": "a note of some forty characters or so {number % 97:02}"}}'
            )
            producer.produce(topic, record, partition=number % PARTITIONS)
            if number % 10_000 == 0:
                producer.poll(0)
    producer.flush()


def run(python: str, kind: str, given: dict[str, object], turns: int, *more: str) -> tuple[list[float], float]:
    """Seconds of each turn, and processor seconds of all of it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    path = os.pathsep.join([str(Path(python).absolute().parent), os.environ["PATH"]])
    command = [python, str(PROGRAM), kind, json.dumps({**given, "turns": turns}), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    line = next((each for each in done.stdout.splitlines() if each.startswith("seconds ")), None)
    if line is None:
        raise RuntimeError(f"{python} {kind} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(line.removeprefix("seconds ")), cpu


def consume(bootstrap: str, partitions: list[int], rows: int) -> None:
    # As the source's: what librdkafka has by default waits a second when a partition's queue was full.
    consumer = Consumer({
        **DEFAULTS, "bootstrap.servers": bootstrap, "group.id": "bare", "enable.auto.commit": False,
    })  # fmt: skip
    consumer.assign([TopicPartition("large", each, 0) for each in partitions])
    got = 0
    while got < rows:
        for message in consumer.consume(10_000, 1.0):
            message.value()
            got += 1
    consumer.close()


def bare(bootstrap: str, rows: int) -> float:
    """Consumers that only look at each value, in as many processes."""
    context = get_context("spawn")
    shares = [list(range(PARTITIONS))[number::PROCESSES] for number in range(PROCESSES)]
    began = time.perf_counter()
    running = [
        context.Process(target=consume, args=(bootstrap, share, rows // PARTITIONS * len(share))) for share in shares
    ]
    for each in running:
        each.start()
    for each in running:
        each.join()
    return time.perf_counter() - began


def compare_ways(kind: str, ways: list[str], given: dict[str, object], rows: int, turns: int) -> None:
    """The same job by each way, in turn."""
    found: dict[str, Side] = {way: ([], 0.0) for way in ways}
    for turn in range(turns):
        for way in ways if turn % 2 == 0 else reversed(ways):
            some, used = run(sys.executable, kind, {**given, "execution": way}, 1, "--millrace")
            found[way] = [*found[way][0], *some], found[way][1] + used
    first, cpu = found[ways[0]]
    for way, (took, used) in found.items():
        speeds = [rows / each for each in took]
        shares = sorted(mine / other for mine, other in zip(first, took, strict=True))
        print(
            f"{kind:14} {way:11} {statistics.median(speeds):>10,.0f} records/s, processor {used / turns:.1f} s a turn "
            f"with its start; {ways[0]} takes {statistics.median(shares):.2f} of its time ({shares[0]:.2f} to "
            f"{shares[-1]:.2f}), {cpu / used:.2f} of its processor time",
            flush=True,
        )


def compare(kind: str, rows: int, ours: list[float], theirs: list[float], who: str, cpu: tuple[float, float]) -> None:
    mine, other = (rows / statistics.median(each) for each in (ours, theirs))
    ratios = sorted(b / a for a, b in zip(ours, theirs))
    print(
        f"{kind:14} millrace {mine:>10,.0f} records/s   {who} {other:>10,.0f} records/s   ratio {mine / other:.2f} "
        f"({ratios[0]:.2f} to {ratios[-1]:.2f}; bar {BARS[kind]}: "
        f"{'reached' if mine >= BARS[kind] * other else 'NOT reached'})   processor {cpu[0]:.0f} s, {cpu[1]:.0f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--kinds", default=",".join(BARS))
    parser.add_argument("--flink-python")
    parser.add_argument("--ways", default="", help="flow, spark-jobs, resident: compare these")
    given = parser.parse_args()
    with Kafka() as broker:
        fill(broker.bootstrap, given.rows)
        print(f"{given.rows:,} records, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
        around: dict[str, object] = {
            "bootstrap": broker.bootstrap, "small": "small", "large": "large", "out": "out", "rows": given.rows,
        }  # fmt: skip
        for kind in given.kinds.split(","):
            if given.ways:
                compare_ways(kind, given.ways.split(","), around, given.rows, given.turns)
            elif kind == "plain":
                ours, cpu = run(sys.executable, kind, around, given.turns, "--millrace")
                start = bare(broker.bootstrap, 0)
                theirs = [bare(broker.bootstrap, given.rows) - start for _ in range(given.turns)]
                compare(kind, given.rows, ours, theirs, "bare ", (cpu, 0))
            elif given.flink_python:
                jar = next(jars("flink-kafka", CONNECTOR).glob("flink-sql-connector-kafka*.jar"))
                there = {**around, "jar": str(jar)}
                ours, theirs, cpu_ours, cpu_theirs = [], [], 0.0, 0.0
                for _ in range(given.turns):
                    some, used = run(sys.executable, kind, around, 1, "--millrace")
                    ours, cpu_ours = [*ours, *some], cpu_ours + used
                    some, used = run(given.flink_python, kind, there, 1)
                    theirs, cpu_theirs = [*theirs, *some], cpu_theirs + used
                who = "PyFlink" if kind == "mapped" else "Flink"
                compare(kind, given.rows, ours, theirs, who, (cpu_ours, cpu_theirs))


if __name__ == "__main__":
    main()
