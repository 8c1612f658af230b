"""Programs that users of Flink know by heart, on a real broker: the playground's job from topic to topic, its function
with metrics, a job template with windows."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

import pytest
from tests.connectors.kafka.topics import Topics
from tests.connectors.tables.kafka.topic_tables import BOUNDED, Tables

from millrace.common import Duration, SimpleStringSchema, Time, Types, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.datastream import ReduceFunction, StreamExecutionEnvironment
from millrace.datastream.connectors.kafka import (
    DeliveryGuarantee,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.table import DataTypes
from millrace.table.udf import FunctionContext, ScalarFunction, udf
from millrace.testing.local import run_locally

pytestmark = pytest.mark.services

RIDES = (
    "rideId BIGINT, taxiId BIGINT, isStart BOOLEAN, lon FLOAT, lat FLOAT, psgCnt INT, eventTime TIMESTAMP_LTZ(3), "
    "WATERMARK FOR eventTime AS eventTime - INTERVAL '5' SECOND"
)


def rides(count: int) -> list[dict[str, Any]]:
    return [
        {
            "rideId": number,
            "taxiId": number % 7,
            "isStart": number % 3 != 0,
            "lon": -73.9,
            "lat": 40.7,
            "psgCnt": number % 5,
            "eventTime": f"2020-01-01 00:{number // 60:02d}:{number % 60:02d}Z",
        }
        for number in range(count)
    ]


def test_from_kafka_to_kafka(topics: Topics, tables: Tables) -> None:
    source, target = topics.create(2), topics.create(1)
    given = rides(300)
    topics.write(source, [json.dumps(each) for each in given])
    tables.create("Rides", RIDES, source, f"'format' = 'json', {BOUNDED}")
    tables.create("TempResults", "rideId BIGINT, taxiId BIGINT, psgCnt INT", target, "'format' = 'json'")
    tables.insert("INSERT INTO TempResults SELECT rideId, taxiId, psgCnt FROM Rides WHERE isStart")
    found = sorted(json.loads(value)["rideId"] for value in topics.values(target))
    assert found == [each["rideId"] for each in given if each["isStart"]]


def test_counts_of_windows_from_kafka_to_kafka(topics: Topics, tables: Tables) -> None:
    source, target = topics.create(2), topics.create(1)
    given = rides(300)
    topics.write(source, [json.dumps(each) for each in given])
    tables.create("Rides", RIDES, source, f"'format' = 'json', {BOUNDED}")
    tables.create("PassengerCounts", "taxiId BIGINT, t STRING, cnt BIGINT", target, "'format' = 'json'")
    tables.insert(
        "INSERT INTO PassengerCounts SELECT taxiId, DATE_FORMAT(window_end, 'mm:ss'), SUM(psgCnt) FROM TABLE(TUMBLE("
        "TABLE Rides, DESCRIPTOR(eventTime), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, taxiId"
    )
    wanted: Counter[tuple[int, str]] = Counter()
    for each in given:
        wanted[each["taxiId"], f"{each['rideId'] // 60 + 1:02d}:00"] += each["psgCnt"]
    found = [json.loads(value) for value in topics.values(target)]
    assert {(each["taxiId"], each["t"]): each["cnt"] for each in found} == dict(wanted)
    assert len(found) == len(wanted)


class CountsCalls(ScalarFunction):
    """The playground's function with a metric."""

    def open(self, function_context: FunctionContext) -> None:
        group = function_context.get_metric_group().add_group("aaa").add_group("bbb")
        self.counter = group.counter("my_counter")

    def eval(self, value: int) -> int:
        self.counter.inc()
        return value + 1


def test_a_function_with_metrics(topics: Topics, tables: Tables) -> None:
    source = topics.create(2)
    topics.write(source, [json.dumps(each) for each in rides(100)])
    tables.create("Rides", RIDES, source, f"'format' = 'json', {BOUNDED}")
    function = udf(CountsCalls(), result_type=DataTypes.INT())
    tables.environment.create_temporary_system_function("counted", function)
    plan = tables.environment.sql_query("SELECT counted(psgCnt) FROM Rides")._plan
    run = run_locally(tables.program([plan], 2))
    counters = [getattr(each.value, "count", 0) for each in run.metrics if each.name == "aaa.bbb.my_counter"]
    assert sum(counters) == 100


# -- a template for jobs: settings, parsing, watermarks, windows, a sink ----------------------------------------------


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Add(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], max(value1[1], value2[1]), value1[2] + value2[2]


def test_a_job_template(topics: Topics) -> None:
    source, target = topics.create(2), topics.create(1)
    settings = {
        "bootstrap.servers": topics.bootstrap,
        "source.topic": source,
        "sink.topic": target,
        "max.lagged.time": 2_000,
        "job.interval": 10_000,
        "application.name": "template",
    }
    lines = [f"user{number % 5},{number * 250},{number % 4}" for number in range(400)] + ["no event", ""]
    topics.write(source, lines)

    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    env.enable_checkpointing(1_000)
    reading = (
        KafkaSource.builder()
        .set_bootstrap_servers(str(settings["bootstrap.servers"]))
        .set_topics(str(settings["source.topic"]))
        .set_value_only_deserializer(SimpleStringSchema())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .build()
    )
    lag = Duration.of_millis(int(settings["max.lagged.time"]))
    watermarks = WatermarkStrategy.for_bounded_out_of_orderness(lag).with_timestamp_assigner(EventTime())
    event = Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT()])
    schema = KafkaRecordSerializationSchema.builder().set_topic(str(settings["sink.topic"]))
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(str(settings["bootstrap.servers"]))
        .set_record_serializer(schema.set_value_serialization_schema(SimpleStringSchema()).build())
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(str(settings["application.name"]))
        .build()
    )
    parsed = (
        env.from_source(reading, WatermarkStrategy.no_watermarks(), "kafka")
        .map(lambda line: line.split(","))
        .filter(lambda parts: len(parts) == 3)
        .map(lambda parts: (parts[0], int(parts[1]), int(parts[2])), output_type=event)
    )
    counted = (
        parsed.assign_timestamps_and_watermarks(watermarks)
        .key_by(lambda each: each[0])
        .window(TumblingEventTimeWindows.of(Time.milliseconds(int(settings["job.interval"]))))
        .reduce(Add())
    )
    counted.map(lambda each: json.dumps({"user": each[0], "sum": each[2]}), output_type=Types.STRING()).sink_to(sink)
    run_locally(env)

    wanted: dict[tuple[str, int], int] = defaultdict(int)
    for number in range(400):
        wanted[f"user{number % 5}", number * 250 // 10_000] += number % 4
    found = sorted((each["user"], each["sum"]) for each in map(json.loads, topics.values(target)))
    assert found == sorted((user, total) for (user, _), total in wanted.items())
