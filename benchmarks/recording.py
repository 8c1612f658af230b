"""What the end of an epoch costs a job in flow: the share of time in which its tasks do nothing but record.

    python -m benchmarks.recording [--seconds 20] [--interval 100,1000] [--state small,large] [--sink none,files,kafka]

A keyed count with a checkpoint every 100 ms, or every second. The small state has 1,000 keys, all of them touched; the
large one has 1,000,000 keys of which 1 % is touched in a second. With ``files`` or ``kafka`` a two-phase sink is
committed with each checkpoint, into files or into a topic with 4 partitions of a broker on this machine. A task
stands still from the last mark of its epoch to its next order. Prints which part of the time that is (``standing``),
and its median in ms in parts:

- record: the task finds its changes, makes bytes of them and writes the file;
- answer: from then on, to the moment when the driver has the acknowledgements of all tasks;
- judge: until the driver plans the next epoch;
- begin: until it has sent the orders;
- conclude: it syncs files, records the checkpoint and commits; while the next epoch runs, or as a part of ``judge``.

``latency`` is the time (ms, p50 and p99) from the moment at which the source should give a record to its arrival in the
function behind the exchange, in slices of records.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from millrace.common import Configuration, Encoder, SimpleStringSchema, Types, WatermarkStrategy
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream.connectors.file_system import FileSink
from millrace.datastream.state import ValueStateDescriptor
from millrace.runtime.bases.epoch_protocol import TaskAck
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.spark.jobs.flow_carrier import OwnerConnections
from millrace.spark.sessions.session import local_session
from millrace.testing.services import Kafka

WARM_SECONDS = 5.0
RATE = 1_000
"""records a second of which the latency is measured"""
STATES = {"small": (1_000, RATE), "large": (1_000_000, 10_000)}
"""keys, and keys touched a second"""


class Count(KeyedProcessFunction):
    """Counts the records of a key, and notes how long some of them were on their way."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        path = Path(self._folder) / f"latency-{runtime_context.get_index_of_this_subtask()}"
        self._notes = path.open("a", buffering=1 << 16)

    def process_element(self, value: Any, ctx: Any) -> Any:
        key, sent = value
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if sent is not None:
            now = time.time()
            self._notes.write(f"{now} {(now - sent) * 1000:.3f}\n")
        yield f"{key},{count}"

    def close(self) -> None:
        self._notes.close()


class Epoch(NamedTuple):
    """The end of one epoch; times are seconds since 1970, durations ms."""

    began: float
    ended: float
    """when the first task stood still"""
    standing: float
    record: float
    answer: float
    judge: float
    begin: float
    conclude: float


class Observer:
    """Notes when the driver does what, by its own methods."""

    def __init__(self) -> None:
        self.epochs: list[Epoch] = []
        self._acks: Sequence[TaskAck] = ()
        self._answered = self._planned = self._began = 0.0
        self._concluding = 0.0

    def install(self) -> None:
        """Put the notes around the methods."""
        _around(OwnerConnections, "_say", self._said)
        _around(OwnerConnections, "run", self._ran)
        _around(Coordinator, "_conclude", self._concluded)
        _around(Coordinator, "plan", self._plans)

    def _said(self, call: Callable[[], Any], connections: Any, message: Any) -> Any:
        result = call()
        if type(message).__name__ == "Begin":
            self._note(time.time())
        return result

    def _note(self, now: float) -> None:
        acks, began, self._began = self._acks, self._began, now
        if not acks or not began:
            return
        stops = [ack.at / 1000 - ack.times.record / 1e6 for ack in acks]
        self.epochs.append(
            Epoch(
                began,
                min(stops),
                statistics.mean(now - stop for stop in stops) * 1000,
                max(ack.times.record for ack in acks) / 1000,
                (self._answered - max(ack.at for ack in acks) / 1000) * 1000,
                (self._planned - self._answered) * 1000,
                (now - self._planned) * 1000,
                self._concluding * 1000,
            )
        )

    def _ran(self, call: Callable[[], Any], *args: Any) -> Any:
        self._acks = call()
        self._answered = time.time()
        return self._acks

    def _concluded(self, call: Callable[[], Any], *args: Any) -> Any:
        began = time.time()
        try:
            return call()
        finally:
            self._concluding = time.time() - began

    def _plans(self, call: Callable[[], Any], *args: Any) -> Any:
        self._planned = time.time()
        return call()


def _around(owner: type, name: str, note: Callable[..., Any]) -> None:
    method = getattr(owner, name)

    @wraps(method)
    def noted(self: Any, *args: Any, **named: Any) -> Any:
        return note(lambda: method(self, *args, **named), self, *args)

    setattr(owner, name, noted)


def kafka_sink(bootstrap: str) -> Any:
    """A sink that writes texts exactly once into a topic of its own."""
    from confluent_kafka.admin import AdminClient, NewTopic

    from millrace.datastream.connectors.base import DeliveryGuarantee
    from millrace.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink

    topic = f"recording-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 4)])[topic].result()
    schema = KafkaRecordSerializationSchema.builder().set_topic(topic)
    builder = KafkaSink.builder().set_bootstrap_servers(bootstrap).set_property("linger.ms", "0")
    builder.set_record_serializer(schema.set_value_serialization_schema(SimpleStringSchema()).build())
    return builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix(topic).build()


def run(session: Any, interval: int, state: str, sink: str, seconds: float, observer: Observer, bootstrap: str) -> None:
    keys, touched = STATES[state]
    folder = tempfile.mkdtemp(prefix="millrace-recording-")
    observer.epochs.clear()
    configuration = Configuration()
    configuration.set_string("millrace.epoch.execution", "flow")
    configuration.set_string("execution.checkpointing.dir", f"{folder}/checkpoints")
    env = StreamExecutionEnvironment.get_execution_environment(configuration, session).set_parallelism(2)
    env.enable_checkpointing(interval)
    each = max(1, touched // RATE)
    filling = keys // 1_000 if keys > touched else 0

    def spread(index: int) -> Any:
        if index < filling:
            return [(key, None) for key in range(index * 1_000, (index + 1) * 1_000)]
        first = index * 7919 % keys
        return [((first + number) % keys, time.time() if not number else None) for number in range(each)]

    source = DataGeneratorSource(lambda index: index, None, RateLimiterStrategy.per_second(RATE))
    indexes = env.from_source(source, WatermarkStrategy.no_watermarks(), "indexes").set_parallelism(1)
    counted = indexes.flat_map(spread).key_by(lambda pair: pair[0]).process(Count(folder), Types.STRING())
    if sink == "files":
        counted.sink_to(FileSink.for_row_format(f"{folder}/out", Encoder.simple_string_encoder()).build())
    elif sink == "kafka":
        counted.sink_to(kafka_sink(bootstrap))
    else:
        counted.filter(lambda text: False).print()
    client = env.execute_async("recording")
    begin = time.time() + WARM_SECONDS + 3.0 * filling / 1_000
    time.sleep(begin - time.time() + seconds)
    client.cancel().result()
    _tell(f"{interval} ms, {state}, {sink}", [each for each in observer.epochs if each.began > begin], begin, folder)
    shutil.rmtree(folder, ignore_errors=True)


def _tell(name: str, epochs: Sequence[Epoch], begin: float, folder: str) -> None:
    lengths = [later.began - one.began for one, later in pairwise(epochs)]
    share = sum(each.standing for each in epochs[:-1]) / 1000 / max(sum(lengths), 0.001)
    parts = ("standing", "record", "answer", "judge", "begin", "conclude")
    medians = ", ".join(f"{part} {statistics.median(getattr(each, part) for each in epochs):.1f}" for part in parts)
    took = sorted(
        float(took)
        for path in Path(folder).glob("latency-*")
        for at, _, took in (line.partition(" ") for line in path.read_text().splitlines())
        if took and float(at) > begin
    )
    latency = f"latency p50 {statistics.median(took):.1f}, p99 {took[int(len(took) * 0.99)]:.1f} ms" if took else ""
    print(f"{name}: {share:.1%} standing in {len(epochs)} epochs; {medians} ms; {latency}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--interval", default="100,1000")
    parser.add_argument("--state", default="small,large")
    parser.add_argument("--sink", default="none,files")
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    observer = Observer()
    observer.install()
    session = local_session(2)
    with ExitStack() as running:
        bootstrap = ""
        if "kafka" in given.sink.split(","):
            broker = Kafka(java_options=("-Xmx768m", "-XX:TieredStopAtLevel=4"))
            bootstrap = running.enter_context(broker).bootstrap
        for _ in range(given.rounds):
            for state in given.state.split(","):
                for sink in given.sink.split(","):
                    for interval in given.interval.split(","):
                        run(session, int(interval), state, sink, given.seconds, observer, bootstrap)
    print(f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
