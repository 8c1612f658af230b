"""Kinesis in PyFlink's words; shards that are split; records that are refused; DynamoDB Streams and Firehose."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

import pytest
from tests.connectors.kinesis.streams import KEYS, Streams

from millrace.common.serialization import SimpleStringSchema
from millrace.connectors.kinesis import kinesis_sink
from millrace.connectors.kinesis.kinesis_shards import Answer, Shard, ShardService, ShardSplit, client
from millrace.connectors.kinesis.kinesis_sink import BatchSender, Buffering
from millrace.connectors.kinesis.kinesis_source import KinesisStreamsSource, instant
from millrace.connectors.messages import Message, Outgoing, SchemaDecoder
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.kinesis import (
    FlinkKinesisConsumer,
    KinesisDeserializationSchema,
    KinesisFirehoseSink,
    KinesisShardAssigner,
    KinesisStreamsSink,
    PartitionKeyGenerator,
)
from millrace.testing.connectors.sources import SourceJob
from millrace.testing.local import run_locally

services = pytest.mark.services


def _until(job: SourceJob, count: int) -> list[Any]:
    until = time.monotonic() + 60
    while len(job.emitted) < count:
        job.epoch()
        assert time.monotonic() < until, job.emitted
    return job.emitted


@pytest.fixture
def streams(aws: Any) -> Streams:
    return Streams(aws.url)


@services
def test_a_program_of_pyflink(streams: Streams) -> None:
    source, target = streams.create(2), streams.create(2)
    values = [str(number) for number in range(200)]
    streams.write(source, values)
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    properties = {
        "aws.region": "eu-west-1",
        "aws.endpoint": streams.properties["aws.endpoint"],
        "aws.credentials.provider.basic.accesskeyid": "test",
        "aws.credentials.provider.basic.secretkey": "test",
        "flink.stream.initpos": "TRIM_HORIZON",
        "flink.shard.getrecords.intervalmillis": 10,
    }
    consumer = FlinkKinesisConsumer(source, SimpleStringSchema(), properties)
    consumer.set_shard_assigner(KinesisShardAssigner.uniform_shard_assigner())
    sink = (
        KinesisStreamsSink.builder()
        .set_kinesis_client_properties(properties)
        .set_serialization_schema(SimpleStringSchema())
        .set_partition_key_generator(PartitionKeyGenerator.fixed())
        .set_stream_name(target)
        .set_fail_on_error(False)
        .set_max_batch_size(100)
        .set_max_in_flight_requests(50)
        .set_max_buffered_requests(10_000)
        .set_max_batch_size_in_bytes(5 * 1024 * 1024)
        .set_max_time_in_buffer_ms(5_000)
        .set_max_record_size_in_bytes(1024 * 1024)
        .build()
    )
    env.add_source(consumer).map(lambda value: value + "!").sink_to(sink)
    with pytest.raises(TimeoutError):  # it has no end
        run_locally(env, max_epochs=60)
    written = streams.read(target)
    assert sorted(value for _, value in written) == sorted(value + "!" for value in values)
    assert {key for key, _ in written} <= {"0", "1"}


class Whole(KinesisDeserializationSchema):
    def deserialize(self, record_value: bytes, partition_key: str, *more: Any) -> Any:
        number, time, stream, shard = more
        return (record_value.decode(), partition_key, bool(number), time is not None, stream, shard)


@services
def test_whole_records_and_a_start_by_time(streams: Streams) -> None:
    name = streams.create(1)
    streams.write(name, ["old"], "k")
    time.sleep(1.1)
    since = time.time()
    streams.write(name, ["new"], "k")
    properties = {
        **streams.properties,
        "flink.stream.initpos": "AT_TIMESTAMP",
        "flink.stream.initpos.timestamp": str(since),
    }
    job = SourceJob(FlinkKinesisConsumer(name, Whole(), properties))
    assert _until(job, 1) == [("new", "k", True, True, name, "shardId-000000000000")]
    job.close()


@services
def test_latest_is_the_time_of_the_first_start(streams: Streams) -> None:
    name = streams.create(1)
    streams.write(name, ["old"])
    time.sleep(1.1)
    source = KinesisStreamsSource.of(name, SimpleStringSchema(), streams.properties)
    job = SourceJob(source)
    job.epoch(polls=1)
    recorded = job.checkpoint()
    job.close()
    streams.write(name, ["while it was down"])
    again = SourceJob(source, checkpoint=recorded)
    assert _until(again, 1) == ["while it was down"]
    again.close()


@services
def test_changes_of_a_table(streams: Streams) -> None:
    dynamodb = streams.client("dynamodb")
    name = f"t-{uuid.uuid4().hex[:8]}"
    dynamodb.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    arn = dynamodb.describe_table(TableName=name)["Table"]["LatestStreamArn"]
    source = KinesisStreamsSource.of_tables(arn, SimpleStringSchema(), streams.properties, start="TRIM_HORIZON")
    dynamodb.put_item(TableName=name, Item={"id": {"S": "a"}, "n": {"N": "1"}})
    dynamodb.put_item(TableName=name, Item={"id": {"S": "a"}, "n": {"N": "2"}})
    job = SourceJob(source)
    _until(job, 2)
    recorded = job.checkpoint()
    job.close()
    dynamodb.delete_item(TableName=name, Key={"id": {"S": "a"}})
    again = SourceJob(source, checkpoint=recorded)
    changes = [json.loads(each) for each in _until(again, 3)]
    again.close()
    assert [each["eventName"] for each in changes] == ["INSERT", "MODIFY", "REMOVE"]
    assert changes[1]["dynamodb"]["NewImage"]["n"] == {"N": "2"}


@services
def test_a_delivery_stream(streams: Streams) -> None:
    storage, firehose = streams.client("s3"), streams.client("firehose")
    bucket, name = f"b-{uuid.uuid4().hex[:8]}", f"d-{uuid.uuid4().hex[:8]}"
    storage.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    to = {"RoleARN": "arn:aws:iam::123456789012:role/r", "BucketARN": f"arn:aws:s3:::{bucket}"}
    firehose.create_delivery_stream(DeliveryStreamName=name, ExtendedS3DestinationConfiguration=to)
    builder = KinesisFirehoseSink.builder().set_delivery_stream_name(name)
    builder.set_firehose_client_properties(streams.properties).set_serialization_schema(SimpleStringSchema())
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(["a", "b", "c"]).sink_to(builder.build())
    run_locally(env)
    keys = [each["Key"] for each in storage.list_objects_v2(Bucket=bucket)["Contents"]]
    stored = b"".join(storage.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys)
    assert sorted(stored) == sorted(b"abc")


# -- without the service ------------------------------------------------------------------------------------------


class Resharded(ShardService):
    """A stream whose first shard is closed and was split, which the stand-in does not close."""

    name = "kinesis"
    lists = [
        [Shard("s", "parent"), Shard("s", "other")],
        [
            Shard("s", "parent", (), False),
            Shard("s", "other"),
            Shard("s", "left", ("parent",)),
            Shard("s", "right", ("parent", "long gone")),
        ],
    ]
    records_of = {"parent": ["p1", "p2"], "other": ["o1"], "left": ["l1"], "right": ["r1"]}
    asked = 0

    @property
    def errors(self) -> Any:
        class Errors:
            ExpiredIteratorException = KeyError

        return Errors

    def shards(self, stream: str) -> list[Shard]:
        Resharded.asked += 1
        return self.lists[min(Resharded.asked - 1, 1)]

    def iterator(self, split: ShardSplit) -> str:
        return "0" if split.after is None else str(int(split.after) + 1)

    def records(self, split: ShardSplit, iterator: str, most: int) -> Answer:
        at = int(iterator)
        values = self.records_of[split.shard][at : at + 1]
        closed = split.shard == "parent" and at + 1 >= len(self.records_of["parent"])
        messages = [Message(each.encode(), split.shard) for each in values]
        return Answer(messages, [str(at)] * len(values), None if closed else str(at + len(values)))

    def _named(self, stream: str) -> dict[str, str]:
        return {}

    def _sequence(self, record: Any) -> str:
        return ""

    def _message(self, split: ShardSplit, record: Any) -> Message:
        raise NotImplementedError


@pytest.mark.parametrize("crash", [False, True])
def test_shards_are_read_after_their_parents(crash: bool) -> None:
    Resharded.asked = 0
    decoder = SchemaDecoder[str](SimpleStringSchema())
    source = KinesisStreamsSource(Resharded({}), ("s",), decoder, "TRIM_HORIZON", empty_pause_ms=5)
    job = SourceJob(source, 2)
    until = time.monotonic() + 60
    while len(job.emitted) < 5:
        job.epoch(polls=1)
        assert time.monotonic() < until, job.emitted
        if crash:
            # What readers have told the enumerator since its last plan is in the checkpoint of the next epoch.
            job.epoch(polls=0)
            recorded = job.checkpoint()
            job.close()
            job = SourceJob(source, 2, recorded)
    assert sorted(job.emitted) == ["l1", "o1", "p1", "p2", "r1"]
    order = [each for each in job.emitted if each != "o1"]
    assert order[:2] == ["p1", "p2"]
    job.close()


class Refuses(BatchSender):
    """A service that refuses every second record, for a while."""

    def __init__(self, buffering: Buffering, times: int) -> None:
        super().__init__(None, "s", buffering)
        self.times, self.taken, self.requests = times, list[bytes](), 0

    def _record(self, message: Outgoing) -> dict[str, Any]:
        return {"Data": message.value}

    def _put(self, records: list[dict[str, Any]]) -> list[Any]:
        self.requests += 1
        answers: list[dict[str, str]] = []
        for number, record in enumerate(records):
            if self.requests <= self.times and number % 2:
                answers.append({"ErrorCode": "ProvisionedThroughputExceededException", "ErrorMessage": "slow down"})
            else:
                answers.append({})
                self.taken.append(record["Data"])
        return answers


def test_records_that_are_refused_are_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinesis_sink, "_FIRST_PAUSE", 0.001)
    sender = Refuses(Buffering(), 3)
    sender.send([Outgoing(str(number).encode()) for number in range(20)])
    assert sorted(sender.taken) == sorted(str(number).encode() for number in range(20))
    with pytest.raises(ConnectionError, match=r"stream 's' has refused 1 records: ProvisionedThroughput.* slow down"):
        Refuses(Buffering(fail_on_error=True), 1).send([Outgoing(b"a"), Outgoing(b"b")])


def test_sizes_of_requests_and_records() -> None:
    sender = Refuses(Buffering(max_batch_size_in_bytes=10, max_record_size_in_bytes=8), 0)
    sender.send([Outgoing(b"12345")] * 5)
    assert sender.requests == 3
    with pytest.raises(ValueError, match="a record of 9 bytes is too large for stream 's', which takes 8"):
        sender.send([Outgoing(b"123456789")])


def test_times() -> None:
    assert instant("1459799926.480") == 1_459_799_926_480
    assert instant("2016-04-04T19:58:46.480-00:00") == 1_459_799_926_480
    with pytest.raises(ValueError, match="has no time zone"):
        instant("2016-04-04T19:58:46")


def test_properties_that_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'aws.credentials.provider' = 'CUSTOM' is for Java"):
        client("kinesis", {"aws.region": "x", "aws.credentials.provider": "CUSTOM"})
    with pytest.raises(ValueError, match="needs an access key and a secret"):
        client("kinesis", {"aws.region": "x", "aws.credentials.provider": "BASIC"})
    with pytest.raises(NotImplementedError, match=r"leave out 'flink.stream.recordpublisher' = 'EFO'"):
        FlinkKinesisConsumer("s", SimpleStringSchema(), {"flink.stream.recordpublisher": "EFO"})
    builder = KinesisStreamsSink.builder().set_stream_name("s").set_serialization_schema(SimpleStringSchema())
    with pytest.raises(ValueError, match="needs set_partition_key_generator"):
        builder.build()
    assert client("kinesis", {"aws.region": "x", **KEYS}).meta.region_name == "x"
