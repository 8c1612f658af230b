"""The program that is killed: numbered records from one topic, counted by key, exactly once into another.

    millrace run job.py '{"bootstrap": .., "source": TOPIC, "sink": TOPIC, "timeout": MS, "stall": FILE, "order": FILE}'

It ends when the file ``order`` appears. While the file ``stall`` is there, a commit waits just before it begins, and
says so with a file ``stall``-waits.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from millrace.common import SimpleStringSchema, Types, WatermarkStrategy
from millrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.connectors.base import DeliveryGuarantee
from millrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from millrace.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    """``key:number`` becomes ``key:number:how many of the key so far``."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value}:{count}"


def build(env: StreamExecutionEnvironment, given: dict[str, Any]) -> None:
    source = KafkaSource.builder().set_bootstrap_servers(given["bootstrap"]).set_topics(given["source"])
    source.set_value_only_deserializer(SimpleStringSchema()).set_group_id("crashes")
    source.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    source.set_property("partition.discovery.interval.ms", "500")
    records = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "source").uid("source")
    schema = KafkaRecordSerializationSchema.builder().set_topic(given["sink"])
    sink = KafkaSink.builder().set_bootstrap_servers(given["bootstrap"])
    sink.set_record_serializer(schema.set_value_serialization_schema(SimpleStringSchema()).build())
    sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix("crashes")
    sink.set_property("transaction.timeout.ms", str(given["timeout"]))
    counted = records.key_by(lambda value: value.partition(":")[0]).process(Count(), Types.STRING()).uid("count")
    counted.sink_to(sink.build()).uid("sink")


def stall(file: Path) -> None:
    """Let a commit wait while there is this file."""
    from millrace.connectors.kafka.kafka_sink import KafkaCommitter

    original = KafkaCommitter.commit

    def commit(self: KafkaCommitter, committables: Any) -> None:
        waits = file.with_name(f"{file.name}-waits")
        while file.exists():
            waits.write_text(" ".join(each.transactional_id for each in committables))
            time.sleep(0.02)
        original(self, committables)

    KafkaCommitter.commit = commit  # type: ignore[method-assign]


def main() -> None:
    given = json.loads(sys.argv[1])
    stall(Path(given["stall"]))
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, given)
    client = env.execute_async("crashes")
    print(f"driver {os.getpid()} job {client.get_job_id()}", flush=True)
    order = Path(given["order"])
    while not client.get_job_status().result().is_globally_terminal_state() and not order.exists():
        time.sleep(0.05)
    if order.exists():
        client.stop_with_savepoint(True, f"{order}-savepoint").result()
    client.get_job_execution_result().result()
    print("finished", flush=True)


if __name__ == "__main__":
    main()
