"""Kafka: how long a record takes from topic to topic, and how long a job with many partitions takes to start.

    python -m benchmarks.kafka_latency [--seconds 60] [--rate 1000] [--partitions 1000] [--way resident:10]
    python -m benchmarks.kafka_latency --partitions 0 --way flow:1000 --rounds 3 --peers /where/they/are/bin/python
    python -m benchmarks.kafka_latency --partitions 0 --way flow:1000 --kind windows,exactly-once,group-by
    python -m benchmarks.kafka_latency --partitions 0 --way 'flow:1000@local-cluster[3,2,1024]'
    python -m benchmarks.kafka_latency --partitions 0 --kind hops --way 'flow:1000@local-cluster[3,1,1024],flow:1000'

One broker. The job counts by key in between and writes at least once, with a checkpoint each second; all producers
linger for ``LINGER_MS``. The way is what carries its epochs (``millrace.epoch.execution``), and their interval in ms;
with --partitions 0 only the latency is measured. Behind an @ the way names Spark's master: then there are three
subtasks; ``crypto`` is flow where Spark's connections are encrypted. A record's latency is the time from the call that
sends it to the moment at which a consumer has its result; the first ten seconds do not count. Beside it stands the
share of a core that all processes of the job take meanwhile. With --peers an interpreter that has ``bytewax`` and
``quixstreams`` runs the same with these, in turn.
``windows`` counts by key in
windows of 100 ms, in SQL: a result's latency is the time since the end of its window. ``exactly-once`` is the first
job with transactions and a checkpoint every 100 ms, read by a consumer that sees what is committed. ``group-by`` counts
by key in SQL, into an upsert topic. ``hops`` is the first job, whose records note the time on their way: for each hop
it prints median and the 99th of a hundred, and where the slowest hundredth of all records spent its time.
Wanted: see ``BARS``, and 1,000 partitions on 2 subtasks 5 s after 4 at most. With --seconds 1800 the memory of all
processes of the job is compared, too: the last quarter's median with the second's.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import secrets
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from itertools import pairwise
from typing import NamedTuple

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.start import processor_seconds
from millrace.testing.services import Kafka

KEYS, PARTITIONS = 100, 4
WARM_SECONDS = 10
MEMORY_SECONDS, LEAST_LOOKS = 5, 8
"""seconds between two looks at the memory of all processes, and how many of them say something"""
START_SECONDS = 20
"""for the start of Spark, unless --start says otherwise"""
LINGER_MS = "0"
"""of all producers"""
BARS = {
    ("stream", "spark-jobs"): (150, 1_000, math.inf),
    ("stream", "resident"): (25, 200, math.inf),
    ("stream", "flow"): (7, 30, 0.3),
    ("stream", "flow@"): (12, 50, math.inf),
    ("windows", "flow"): (20, 60, 0.5),
    ("exactly-once", "flow"): (120, 250, math.inf),
    ("group-by", "flow"): (math.inf, math.inf, 0.35),
}
"""median and the 99th of a hundred (ms), share of a core"""
HOPS = ("to the broker", "to the source", "to the function", "to the broker again", "to the reader")
BAR_SECONDS, BAR_MEMORY = 5.0, 1.05

BYTEWAX = """
import sys
import bytewax.operators as op
from bytewax.connectors.kafka import KafkaSinkMessage, operators as kop
from bytewax.dataflow import Dataflow
from bytewax.testing import cluster_main

bootstrap, source, sink, linger = sys.argv[1:]

def count(known, value):
    known = (known or 0) + 1
    return known, f"{value},{known}"

flow = Dataflow("latency")
read = kop.input("read", flow, brokers=[bootstrap], topics=[source])
keyed = op.map("key", read.oks, lambda message: (message.value.decode().split(",")[0], message.value.decode()))
counted = op.stateful_map("count", keyed, count)
written = op.map("text", counted, lambda pair: KafkaSinkMessage(None, pair[1].encode()))
kop.output("write", written, brokers=[bootstrap], topic=sink, add_config={"linger.ms": linger})
cluster_main(flow, [], 0, worker_count_per_proc=2)
"""
QUIX = """
import sys, tempfile
from quixstreams import Application

bootstrap, source, sink, linger = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    app = Application(
        broker_address=bootstrap, consumer_group="quix", auto_offset_reset="earliest", commit_interval=1.0,
        state_dir=folder, producer_extra_config={"linger.ms": linger}, loglevel="ERROR",
    )

    def count(value, state):
        known = state.get("count", 0) + 1
        state.set("count", known)
        return f"{value},{known}"

    records = app.dataframe(app.topic(source, value_deserializer="string", key_deserializer="string"))
    records.apply(count, stateful=True).to_topic(app.topic(sink, value_serializer="string", key_serializer="string"))
    app.run()
"""
PEERS = {"bytewax": BYTEWAX, "quix": QUIX}


def settings_of(way: str) -> dict[str, str]:
    """The configuration of a way of ours: execution, interval, and perhaps master."""
    execution, _, rest = way.partition(":")
    interval, _, master = rest.partition("@")
    found = {"millrace.epoch.execution": execution, "millrace.epoch.interval-ms": interval, "parallelism.default": "2"}
    if master:
        shared = tempfile.mkdtemp(prefix="millrace-latency-state-")
        found |= {"millrace.master": master, "millrace.state.directory": shared, "parallelism.default": "3"}
        found["spark.executor.memory"] = "700m"
        if local := re.match(r"local-cluster\[(\d+),(\d+)", master):
            # The job begins when all executors are there: it would begin without flow else.
            found["spark.cores.max"] = str(int(local[1]) * int(local[2]))
            found["spark.scheduler.minRegisteredResourcesRatio"] = "1.0"
            found["spark.scheduler.maxRegisteredResourcesWaitingTime"] = "300s"
    if execution == "crypto":
        secret = secrets.token_hex(16)
        found |= {"millrace.epoch.execution": "flow", "spark.authenticate": "true", "spark.authenticate.secret": secret}
        found["spark.network.crypto.enabled"] = "true"
    return found


def sql_job(bootstrap: str, source: str, sink: str, kind: str, way: str) -> None:
    """The jobs of SQL, in a process of its own."""
    from millrace.table import EnvironmentSettings, TableEnvironment

    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {
        **settings_of(way),
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.dir": tempfile.mkdtemp(prefix="millrace-latency-"),
    }.items():
        tables.get_config().set(key, value)
    kafka = f"'properties.bootstrap.servers' = '{bootstrap}', 'properties.linger.ms' = '{LINGER_MS}'"
    tables.execute_sql(
        f"CREATE TABLE source (k STRING, sent DOUBLE, at AS TO_TIMESTAMP_LTZ(CAST(sent * 1000 AS BIGINT), 3), "
        f"WATERMARK FOR at AS at) WITH ('connector' = 'kafka', 'topic' = '{source}', "
        f"'scan.startup.mode' = 'earliest-offset', 'format' = 'csv', {kafka})"
    )
    if kind == "windows":
        tables.execute_sql(
            f"CREATE TABLE sink (k STRING, sent DOUBLE, n BIGINT) WITH ('connector' = 'kafka', 'topic' = '{sink}', "
            f"'format' = 'csv', {kafka})"
        )
        query = (
            "SELECT k, CAST(UNIX_TIMESTAMP(CAST(window_end AS STRING)) AS DOUBLE) "
            "+ EXTRACT(MILLISECOND FROM window_end) / 1000e0, n FROM "
            "(SELECT k, window_end, COUNT(*) AS n FROM TUMBLE(TABLE source, DESCRIPTOR(at), "
            "INTERVAL '0.1' SECOND) GROUP BY k, window_start, window_end)"
        )
    else:
        tables.execute_sql(
            f"CREATE TABLE sink (k STRING, sent DOUBLE, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ("
            f"'connector' = 'upsert-kafka', 'topic' = '{sink}', 'key.format' = 'csv', 'value.format' = 'csv', {kafka})"
        )
        query = "SELECT k, MAX(sent), COUNT(*) FROM source GROUP BY k"
    tables.execute_sql(f"INSERT INTO sink {query}").wait()


def job(bootstrap: str, source: str, sink: str, bounded: bool, kind: str, way: str) -> None:
    """What is measured, in a process of its own."""
    if kind in ("windows", "group-by"):
        sql_job(bootstrap, source, sink, kind, way)
        return
    from millrace.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
    from millrace.datastream import KeyedProcessFunction, ProcessFunction, StreamExecutionEnvironment
    from millrace.datastream.connectors.base import DeliveryGuarantee
    from millrace.datastream.connectors.kafka import (
        KafkaOffsetsInitializer,
        KafkaRecordSerializationSchema,
        KafkaSink,
        KafkaSource,
    )
    from millrace.datastream.state import ValueStateDescriptor

    class Note(ProcessFunction):
        """Notes when the broker had a record, and when the source gave it (s)."""

        def process_element(self, value, ctx):  # type: ignore[no-untyped-def]
            yield f"{value},{ctx.timestamp() / 1000:.3f},{time.time():.6f}"

    class Count(KeyedProcessFunction):
        def open(self, runtime_context):  # type: ignore[no-untyped-def]
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

        def process_element(self, value, ctx):  # type: ignore[no-untyped-def]
            count = (self.count.value() or 0) + 1
            self.count.update(count)
            yield f"{value},{time.time():.6f},{count}" if kind == "hops" else f"{value},{count}"

    configuration = Configuration.from_dict(settings_of(way))
    folder = tempfile.mkdtemp(prefix="millrace-latency-")
    configuration.set_string("execution.checkpointing.dir", folder)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.enable_checkpointing(100 if kind == "exactly-once" else 1_000)
    reading = KafkaSource.builder().set_bootstrap_servers(bootstrap).set_topics(source)
    reading.set_value_only_deserializer(SimpleStringSchema())
    if bounded:
        reading.set_bounded(KafkaOffsetsInitializer.latest())
    schema = KafkaRecordSerializationSchema.builder().set_topic(sink)
    writing = KafkaSink.builder().set_bootstrap_servers(bootstrap).set_property("linger.ms", LINGER_MS)
    writing.set_record_serializer(schema.set_value_serialization_schema(SimpleStringSchema()).build())
    if kind == "exactly-once":
        writing.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix("latency")
    else:
        writing.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
    records = env.from_source(reading.build(), WatermarkStrategy.no_watermarks(), "source")
    if kind == "hops":
        records = records.process(Note(), Types.STRING())
    counted = records.key_by(lambda value: value.partition(",")[0]).process(Count(), Types.STRING())
    counted.sink_to(writing.build())
    began = time.perf_counter()
    env.execute("latency")
    print("seconds", time.perf_counter() - began, flush=True)


def start(
    bootstrap: str, source: str, sink: str, bounded: bool, kind: str, way: str, peers: str
) -> subprocess.Popen[str]:
    """The job, by ``way``; of others than Millrace by the interpreter that has them."""
    arguments = [bootstrap, source, sink, str(bounded), kind, way]
    command = [sys.executable, "-m", "benchmarks.kafka_latency", "--job", *arguments]
    if way in PEERS:
        command = [peers, "-c", PEERS[way], bootstrap, source, sink, LINGER_MS]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def megabytes(process: subprocess.Popen[str]) -> dict[str, float]:
    """Of a process and all that it started, shared pages divided, by what they are."""
    found: dict[str, float] = {}
    own = psutil.Process(process.pid)
    for each in (own, *own.children(recursive=True)):
        try:
            kind = "driver" if each.pid == own.pid else "JVM" if each.name() == "java" else "Python"
            found[kind] = found.get(kind, 0.0) + each.memory_full_info().pss / 2**20
        except psutil.Error:
            continue
    return found


def produce(bootstrap: str, topic: str, rate: int, until: float) -> None:
    """Records with their key and the time, by ``rate`` a second."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": LINGER_MS})
    begin, number = time.time(), 0
    while (now := time.time()) < until:
        while number < (now - begin) * rate:
            producer.produce(topic, f"{number % KEYS},{time.time():.6f}", key=str(number % KEYS))
            number += 1
        producer.poll(0)
        time.sleep(0.001)
    producer.flush()


class Measured(NamedTuple):
    """Of one run."""

    took: list[float]
    """ms, each record's; sorted"""
    cores: float
    """the share of a core that the job's processes took"""
    memory: list[tuple[float, dict[str, float]]]
    """when (0 to 1), and MB by kind of process"""
    hops: list[list[float]]
    """ms of each record's hops; without ``hops`` none"""

    @property
    def p50(self) -> float:
        return statistics.median(self.took)

    @property
    def p99(self) -> float:
        return self.took[int(len(self.took) * 0.99)]


def latency(
    bootstrap: str,
    topics: tuple[str, str],
    rate: int,
    seconds: float,
    kind: str,
    way: str,
    peers: str,
    start_seconds: float,
) -> Measured:
    """One run of one side."""
    source, sink = topics
    running = start(bootstrap, source, sink, False, kind, way, peers)
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "group.id": "oracle", "fetch.wait.max.ms": 100, "enable.auto.commit": False,
    })  # fmt: skip
    consumer.assign([TopicPartition(sink, each, 0) for each in range(PARTITIONS)])
    begin = time.time() + WARM_SECONDS + start_seconds
    until = begin + seconds
    sender = threading.Thread(target=produce, args=(bootstrap, source, rate, until))
    sender.start()
    took: list[float] = []
    memory: list[tuple[float, dict[str, float]]] = []
    hops: list[list[float]] = []
    spent: float | None = None
    while time.time() < until:
        message = consumer.poll(0.5)
        now = time.time()
        if now > begin and spent is None:
            spent, measured_from = processor_seconds(running.pid), now
        if message is not None and message.error() is None and now > begin:
            fields = (message.value() or b"0,0").split(b",")
            sent = float(fields[1])
            if sent > begin:
                took.append((now - sent) * 1000)
                if kind == "hops":
                    moments = [*map(float, fields[1:-1]), message.timestamp()[1] / 1000, now]
                    hops.append([(later - one) * 1000 for one, later in pairwise(moments)])
        # To look takes a tenth of a second with three executors, and no record is read meanwhile: not in short runs.
        pause = max(MEMORY_SECONDS, seconds / 200)
        if seconds >= LEAST_LOOKS * MEMORY_SECONDS and now > begin + len(memory) * pause:
            memory.append(((now - begin) / seconds, megabytes(running)))
    cores = (processor_seconds(running.pid) - (spent or 0)) / (time.time() - measured_from)
    sender.join()
    for each in psutil.Process(running.pid).children(recursive=True):
        each.kill()
    running.kill()
    return Measured(sorted(took), cores, memory, hops)


def tell(kind: str, way: str, rate: int, found: Measured) -> None:
    """Print what was found, beside what is wanted."""
    name = way.partition(":")[0] + ("@" if "@" in way else "")
    wanted = BARS.get((kind, name), (math.inf, math.inf, math.inf))
    reached = found.p50 <= wanted[0] and found.p99 <= wanted[1] and found.cores <= wanted[2]
    bars = ", ".join(f"{bar:g}" for bar in wanted)
    bars = f" (bars {bars}: {'reached' if reached else 'NOT reached'})" if any(map(math.isfinite, wanted)) else ""
    print(
        f"{kind:12} {way:16} {len(found.took):,} records at {rate:,}/s: p50 {found.p50:.1f}, p99 {found.p99:.1f} ms, "
        f"{found.cores:.2f} of a core{bars}",
        flush=True,
    )


def tell_hops(hops: list[list[float]]) -> None:
    """Print how long the hops of records take, and those of the slowest hundredth."""
    slow = sorted(hops, key=sum)[int(len(hops) * 0.99) :]
    for place, name in enumerate(HOPS):
        took = sorted(each[place] for each in hops)
        share = sum(each[place] for each in slow) / sum(map(sum, slow))
        print(
            f"  {name:20} p50 {statistics.median(took):.1f}, p99 {took[int(len(took) * 0.99)]:.1f} ms; of the slowest "
            f"hundredth's time {share:.0%}",
            flush=True,
        )


def tell_memory(memory: list[tuple[float, dict[str, float]]]) -> None:
    """Print how it has changed in the second half."""
    if len(memory) < LEAST_LOOKS:
        return  # a short run says nothing of it
    parts = [[sizes for at, sizes in memory if number <= at * 4 < number + 1] for number in (1, 3)]
    second, last = (statistics.median(sum(each.values()) for each in part) for part in parts)
    print(f"memory: second quarter {second:.0f} MB, last {last:.0f} MB, ratio {last / second:.3f} (bar {BAR_MEMORY})")
    for kind in sorted(memory[-1][1]):
        sizes = [statistics.median(each.get(kind, 0.0) for each in part) for part in parts]
        print(f"  {kind}: {sizes[0]:.0f} to {sizes[1]:.0f} MB")


def partitions(bootstrap: str, many: int, way: str) -> None:
    found = []
    for count in (4, many):
        topic = f"p{count}"
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic(topic, count)])[topic].result()
        producer = Producer({"bootstrap.servers": bootstrap})
        for number in range(1_000):
            producer.produce(topic, f"{number},0", partition=number % count)
        producer.flush()
        best = []
        for _ in range(3):
            out, _ = start(bootstrap, topic, "out", True, "stream", way, "").communicate()
            best.append(float(out.split()[-1]))
        found.append(statistics.median(best))
    beyond = found[1] - found[0]
    verdict = "reached" if beyond <= BAR_SECONDS else "NOT reached"
    print(
        f"a bounded job with 4 partitions {found[0]:.1f} s, with {many} {found[1]:.1f} s: {beyond:.1f} s more "
        f"(bar {BAR_SECONDS}: {verdict})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--start", type=float, default=START_SECONDS, help="seconds for the start of Spark")
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--partitions", type=int, default=1_000)
    parser.add_argument("--way", default="spark-jobs:100")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--peers", default="", help="an interpreter that has bytewax and quixstreams")
    parser.add_argument("--kind", default="stream", help="stream, windows, exactly-once, group-by, hops")
    parser.add_argument("--job", nargs=6, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        bootstrap, source, sink, bounded, kind, way = given.job
        job(bootstrap, source, sink, bounded == "True", kind, way)
        return
    kinds = given.kind.split(",")
    sides = [(kind, way) for kind in kinds for way in re.split(r",(?=[a-z-]+:)", given.way) if way]
    sides += [("stream", peer) for peer in PEERS if given.peers]
    found: dict[tuple[str, str], list[Measured]] = {side: [] for side in sides}
    with Kafka(java_options=("-Xmx768m", "-XX:TieredStopAtLevel=4")) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        if given.partitions:
            partitions(broker.bootstrap, given.partitions, given.way)
        for number in range(given.rounds):
            for place, (kind, way) in enumerate(sides):
                topics = f"in-{place}-{number}", f"out-{place}-{number}"
                clock = {"message.timestamp.type": "LogAppendTime"} if kind == "hops" else {}
                made = [NewTopic(name, PARTITIONS, config=clock) for name in topics]
                for each in admin.create_topics(made).values():
                    each.result()
                measured = latency(
                    broker.bootstrap, topics, given.rate, given.seconds, kind, way, given.peers, given.start
                )
                if not measured.took:
                    raise SystemExit(f"{kind} {way}: no record of the time that counts has come; say a longer --start")
                found[kind, way].append(measured)
                tell(kind, way, given.rate, measured)
                if measured.hops:
                    tell_hops(measured.hops)
    if given.rounds > 1:
        print("medians of the rounds:")
        for (kind, way), rounds in found.items():
            tell(kind, way, given.rate, sorted(rounds, key=lambda each: each.p50)[len(rounds) // 2])
    if given.way:
        tell_memory(found[sides[0]][-1].memory)
    print(f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
