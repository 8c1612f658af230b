"""Kafka: how long a record takes from topic to topic, and how long a job with many partitions takes to start.

    python -m benchmarks.kafka_latency [--seconds 60] [--rate 1000] [--partitions 1000] [--way resident:10]

One broker. The job counts by key in between and writes at least once, with a linger of 5 ms. The way is what carries
its epochs (``millrace.epoch.execution``), and their interval in ms; with --partitions 0 only the latency is measured.
A record's latency is the time from the call that sends it to the moment at which a consumer has its result; the first
ten seconds do not count. Wanted: a median of 150 ms (25 ms with ``resident:10``), and 1,000 partitions on 2 subtasks
5 s after 4 at most. With --seconds 1800 the memory of all processes of the job is compared, too: the last quarter's
median with the second's.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import threading
import time

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from millrace.testing.services import Kafka

KEYS = 100
WARM_SECONDS = 10
BAR_MS = {"spark-jobs": 150, "resident": 25, "flow": 7}
BAR_SECONDS, BAR_MEMORY = 5.0, 1.05


def job(bootstrap: str, source: str, sink: str, bounded: bool, way: str) -> None:
    """What is measured, in a process of its own."""
    from millrace.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
    from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    from millrace.datastream.connectors.base import DeliveryGuarantee
    from millrace.datastream.connectors.kafka import (
        KafkaOffsetsInitializer,
        KafkaRecordSerializationSchema,
        KafkaSink,
        KafkaSource,
    )
    from millrace.datastream.state import ValueStateDescriptor

    class Count(KeyedProcessFunction):
        def open(self, runtime_context):  # type: ignore[no-untyped-def]
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

        def process_element(self, value, ctx):  # type: ignore[no-untyped-def]
            count = (self.count.value() or 0) + 1
            self.count.update(count)
            yield f"{value},{count}"

    configuration = Configuration()
    execution, _, interval = way.partition(":")
    configuration.set_string("millrace.epoch.execution", execution)
    configuration.set_string("millrace.epoch.interval-ms", interval)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    reading = KafkaSource.builder().set_bootstrap_servers(bootstrap).set_topics(source)
    reading.set_value_only_deserializer(SimpleStringSchema())
    if bounded:
        reading.set_bounded(KafkaOffsetsInitializer.latest())
    schema = KafkaRecordSerializationSchema.builder().set_topic(sink)
    writing = KafkaSink.builder().set_bootstrap_servers(bootstrap).set_property("linger.ms", "5")
    writing.set_record_serializer(schema.set_value_serialization_schema(SimpleStringSchema()).build())
    writing.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
    records = env.from_source(reading.build(), WatermarkStrategy.no_watermarks(), "source")
    counted = records.key_by(lambda value: value.partition(",")[0]).process(Count(), Types.STRING())
    counted.sink_to(writing.build())
    began = time.perf_counter()
    env.execute("latency")
    print("seconds", time.perf_counter() - began, flush=True)


def start(bootstrap: str, source: str, sink: str, bounded: bool, way: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.kafka_latency", "--job", bootstrap, source, sink, str(bounded), way]
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


def produce(bootstrap: str, rate: int, until: float) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    begin, number = time.time(), 0
    while (now := time.time()) < until:
        while number < (now - begin) * rate:
            producer.produce("in", f"{number % KEYS},{time.time():.6f}")
            number += 1
        producer.poll(0)
        time.sleep(0.001)
    producer.flush()


def latency(bootstrap: str, rate: int, seconds: float, way: str) -> None:
    running = start(bootstrap, "in", "out", False, way)
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "group.id": "oracle", "fetch.wait.max.ms": 5, "enable.auto.commit": False,
    })  # fmt: skip
    consumer.assign([TopicPartition("out", each, 0) for each in range(4)])
    Producer({"bootstrap.servers": bootstrap}).produce("in", f"0,{time.time()}")
    begin = time.time() + WARM_SECONDS + 20  # with the start of Spark
    until = begin + seconds
    sender = threading.Thread(target=produce, args=(bootstrap, rate, until))
    sender.start()
    took: list[float] = []
    memory: list[tuple[float, dict[str, float]]] = []
    while time.time() < until:
        message = consumer.poll(0.5)
        now = time.time()
        if message is not None and message.error() is None and now > begin:
            sent = float((message.value() or b"").split(b",")[1])
            if sent > begin:
                took.append((now - sent) * 1000)
        if now > begin and (not memory or now > memory[-1][0] + max(1, seconds / 200)):
            memory.append((now, megabytes(running)))
    sender.join()
    for each in psutil.Process(running.pid).children(recursive=True):
        each.kill()
    running.kill()
    took.sort()
    p50, p99 = statistics.median(took), took[int(len(took) * 0.99)]
    bar = BAR_MS[way.partition(":")[0]]
    verdict = "reached" if p50 <= bar else "NOT reached"
    print(f"{len(took):,} records at {rate:,}/s: p50 {p50:.0f} ms (bar {bar}: {verdict}), p99 {p99:.0f} ms")
    parts = [[sizes for at, sizes in memory if number <= (at - begin) / seconds * 4 < number + 1] for number in (1, 3)]
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
            out, _ = start(bootstrap, topic, "out", True, way).communicate()
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
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--partitions", type=int, default=1_000)
    parser.add_argument("--way", default="spark-jobs:100")
    parser.add_argument("--job", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        bootstrap, source, sink, bounded, way = given.job
        job(bootstrap, source, sink, bounded == "True", way)
        return
    with Kafka(java_options=("-Xmx768m",)) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        for each in admin.create_topics([NewTopic("in", 4), NewTopic("out", 4)]).values():
            each.result()
        if given.partitions:
            partitions(broker.bootstrap, given.partitions, given.way)
        latency(broker.bootstrap, given.rate, given.seconds, given.way)
    print(f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
