"""``KafkaSource`` on a real broker, against what another client has written."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from tests.connectors.kafka.topics import Topics

from millrace.common import Types
from millrace.common.serialization import SimpleStringSchema
from millrace.common.source import SplitEnumeratorContext
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.generated_sources import RateLimiterStrategy
from millrace.connectors.kafka.kafka_offsets import KafkaSplit
from millrace.connectors.kafka.kafka_records import ConsumerRecord
from millrace.connectors.kafka.kafka_source import reader_of
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from millrace.runtime.failure import JobFailedError
from millrace.testing.connectors.sources import SourceJob
from millrace.testing.local import run_locally

pytestmark = pytest.mark.services

Start = KafkaOffsetsInitializer


def builder(topics: Topics, *names: str) -> KafkaSourceBuilder:
    made = KafkaSource.builder().set_bootstrap_servers(topics.bootstrap).set_bounded(Start.latest())
    made.set_value_only_deserializer(SimpleStringSchema())
    return made.set_topics(*names) if names else made


def read(source: Any, parallelism: int = 2, **how: Any) -> list[Any]:
    environment = StreamExecutionEnvironment().set_parallelism(parallelism)
    stream = environment.from_source(source, WatermarkStrategy.no_watermarks(), "kafka")
    return sorted(run_locally(stream, **how).collected)


def numbered(count: int, prefix: str = "") -> list[str]:
    return sorted(f"{prefix}{number}" for number in range(count))


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_all_records_of_all_partitions(topics: Topics, parallelism: int) -> None:
    names = topics.create(3), topics.create(1)
    for name in names:
        topics.write(name, numbered(100, name))
    expected = sorted(numbered(100, names[0]) + numbered(100, names[1]))
    assert read(builder(topics, *names).build(), parallelism) == expected


def test_readers_that_move_go_on_where_they_were(topics: Topics) -> None:
    name = topics.create(4)
    topics.write(name, numbered(3_000))
    assert read(builder(topics, name).build(), 3, epoch_records=100, workers=3, seed=7) == numbered(3_000)


class KeyedTimes(KeyedProcessFunction):
    """The time of an element and the watermark when it comes."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        assert ctx.timestamp() == int(value)
        yield ctx.timestamp(), ctx.timer_service().current_watermark()


def test_records_have_their_times_and_each_partition_its_watermark(topics: Topics) -> None:
    name = topics.create(2)
    # The second partition is a day behind the first: a watermark of all would call its records late.
    for partition, day in ((0, 86_400_000), (1, 0)):
        topics.write(name, [(None, f"{day + second}", day + second) for second in range(1, 51)], partition)
    environment = StreamExecutionEnvironment().set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = environment.from_source(builder(topics, name).build(), strategy, "kafka")
    found = run_locally(stream.key_by(lambda _: 0).process(KeyedTimes()), epoch_records=20).collected
    assert sorted(time for time, _ in found) == sorted(int(each) for each in topics.values(name))
    assert all(watermark < time for time, watermark in found if time < 86_400_000)


def test_start_and_stop(topics: Topics) -> None:
    name = topics.create(1)
    topics.write(name, [(None, str(number), 1_000 + number) for number in range(20)])
    at = KafkaTopicPartition(name, 0)

    def between(start: KafkaOffsetsInitializer, stop: KafkaOffsetsInitializer) -> list[int]:
        made = builder(topics, name).set_starting_offsets(start).set_bounded(stop).set_group_id("group-between")
        return sorted(map(int, read(made.build(), 1)))

    assert between(Start.earliest(), Start.latest()) == list(range(20))
    assert between(Start.offsets({at: 5}), Start.offsets({at: 9})) == list(range(5, 9))
    assert between(Start.timestamp(1_012), Start.latest()) == list(range(12, 20))
    assert between(Start.timestamp(9_999), Start.latest()) == []
    assert between(Start.earliest(), Start.timestamp(1_003)) == [0, 1, 2]
    assert between(Start.latest(), Start.latest()) == []
    assert between(Start.offsets({}), Start.latest()) == list(range(20))
    assert between(Start.offsets({}, KafkaOffsetResetStrategy.LATEST), Start.latest()) == []
    wanted = ConsumerGroupTopicPartitions("group-between", [TopicPartition(name, 0, 15)])
    topics.admin.alter_consumer_group_offsets([wanted])["group-between"].result()
    assert between(Start.committed_offsets(), Start.latest()) == list(range(15, 20))


def test_without_a_committed_offset_and_a_strategy(topics: Topics) -> None:
    name = topics.create(1)
    topics.write(name, ["a"])
    made = builder(topics, name).set_group_id("group-nowhere")
    earliest = Start.committed_offsets(KafkaOffsetResetStrategy.EARLIEST)
    assert read(made.set_starting_offsets(earliest).build()) == ["a"]
    made = builder(topics, name).set_group_id("group-elsewhere").set_starting_offsets(Start.committed_offsets())
    with pytest.raises(JobFailedError, match=f"no offset is committed for {name}-0, and the reset strategy is NONE"):
        read(made.build())


def test_offsets_are_committed_with_checkpoints(topics: Topics) -> None:
    name, group = topics.create(2), "group-commits"
    topics.write(name, numbered(60))
    # Slow enough for several epochs.
    made = builder(topics, name).set_group_id(group).set_rate_limiter_strategy(RateLimiterStrategy.per_second(60))
    assert len(read(made.build(), 1, epoch_records=10)) == 60
    # Of the last epoch no reader hears, since none comes after it: the driver tells the group.
    places = Counter(message.partition() for message in topics.messages(name))
    assert committed(topics, group, name) == [places[0], places[1]]


def test_offsets_are_committed_while_a_job_runs(topics: Topics) -> None:
    name, group = topics.create(2), "group-of-readers"
    topics.write(name, numbered(60))
    job = SourceJob(builder(topics, name).set_group_id(group).build(), 2)
    until = time.monotonic() + 30
    while len(job.emitted) < 60 or sum(committed(topics, group, name)) < 60:
        assert time.monotonic() < until, committed(topics, group, name)
        job.epoch()
        job.checkpoint()
        time.sleep(0.05)
    job.close()


def committed(topics: Topics, group: str, topic: str) -> list[int]:
    wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, each) for each in (0, 1)])
    answer = topics.admin.list_consumer_group_offsets([wanted])[group].result()
    return [each.offset for each in answer.topic_partitions]


def test_aborted_records_and_marks_at_the_end(topics: Topics) -> None:
    name = topics.create(1)
    producer = Producer({"bootstrap.servers": topics.bootstrap, "transactional.id": f"tests-{name}"})
    producer.init_transactions(30)
    for prefix, end in (("a", producer.commit_transaction), ("b", producer.abort_transaction)):
        producer.begin_transaction()
        for number in range(5):
            producer.produce(name, f"{prefix}{number}")
        producer.flush()
        end()
    made = builder(topics, name)
    assert read(made.build()) == numbered(5, "a") + numbered(5, "b")
    assert read(made.set_property("isolation.level", "read_committed").build()) == numbered(5, "a")


def test_a_topic_that_is_not_there(topics: Topics) -> None:
    with pytest.raises(JobFailedError, match="there is no Kafka topic 'nowhere': create it before the job starts"):
        read(builder(topics, "nowhere").build())


def test_topics_by_pattern_and_partitions(topics: Topics) -> None:
    for name in ("pattern-a", "pattern-b", "other-pattern-a"):
        topics.create(2, name)
        topics.write(name, [name])
    assert read(builder(topics).set_topic_pattern("pattern-.").build()) == ["pattern-a", "pattern-b"]
    chosen = topics.create(2)
    for partition in (0, 1):
        topics.write(chosen, [str(partition)], partition)
    assert read(builder(topics).set_partitions({KafkaTopicPartition(chosen, 1)}).build()) == ["1"]
    with pytest.raises(JobFailedError, match=f"there is no Kafka partition {chosen}-2"):
        read(builder(topics).set_partitions({KafkaTopicPartition(chosen, 2)}).build())


class Whole(KafkaRecordDeserializationSchema[Any]):
    def deserialize(self, record: ConsumerRecord) -> Iterable[Any]:
        yield record


def test_whole_records(topics: Topics) -> None:
    name = topics.create(1)
    topics.write(name, [(b"k", b"v", 5_000), (None, None, 6_000)], headers=[("h", b"1"), ("h", None)])
    made = KafkaSource.builder().set_bootstrap_servers(topics.bootstrap).set_topics(name).set_bounded(Start.latest())
    environment = StreamExecutionEnvironment().set_parallelism(1)
    strategy = WatermarkStrategy.no_watermarks()
    found = run_locally(environment.from_source(made.set_deserializer(Whole()).build(), strategy, "kafka")).collected
    headers = (("h", b"1"), ("h", None))
    assert found == [
        ConsumerRecord(name, 0, 0, b"k", b"v", 5_000, "CreateTime", headers, 0),
        ConsumerRecord(name, 0, 1, None, None, 6_000, "CreateTime", headers, 0),
    ]
    assert read(builder(topics, name).build()) == ["v"]  # what has no value is no element


class Numbers(SimpleStringSchema):
    def deserialize(self, message: bytes) -> Any:
        return int(message)

    def get_produced_type(self) -> Any:
        return Types.LONG()


def test_a_record_that_cannot_be_read(topics: Topics) -> None:
    name = topics.create(1)
    topics.write(name, ["1", "2", "three" * 50])
    made = builder(topics, name).set_value_only_deserializer(Numbers()).build()
    place = f"topic '{name}', partition 0, offset 2 cannot be read"
    with pytest.raises(JobFailedError, match=rf"{place}: .*three\S*'\.{{3}}"):
        read(made)


def test_partitions_and_topics_that_come_later(topics: Topics) -> None:
    name, prefix = topics.create(1, "later-1"), "later-.*"
    topics.write(name, ["a"])
    made = KafkaSource.builder().set_bootstrap_servers(topics.bootstrap).set_topic_pattern(prefix)
    made = made.set_property("partition.discovery.interval.ms", "100").set_value_only_deserializer(SimpleStringSchema())
    enumerator = made.build().create_enumerator(context := Splits(2))
    enumerator.start()
    try:
        context.ask(enumerator)
        assert context.names() == {"later-1-0"}
        topics.widen(name, 3)
        topics.create(1, "later-2")
        until = time.monotonic() + 60
        while len(context.names()) < 4 and time.monotonic() < until:
            context.ask(enumerator)
            time.sleep(0.05)
        assert context.names() == {"later-1-0", "later-1-1", "later-1-2", "later-2-0"}
        assert all(reader_of(split.at, 2) == reader for reader, split in context.given)
        assert not context.ended
        assert set(enumerator.snapshot_state(1).known) == {split.at for _, split in context.given}
    finally:
        enumerator.close()


class Splits(SplitEnumeratorContext[KafkaSplit]):
    """Takes splits as readers would."""

    def __init__(self, parallelism: int) -> None:
        self._parallelism = parallelism
        self.given: list[tuple[int, KafkaSplit]] = []
        self.ended: set[int] = set()

    def names(self) -> set[str]:
        return {split.split_id for _, split in self.given}

    def ask(self, enumerator: Any) -> None:
        before = -1
        while before != len(self.given):
            before = len(self.given)
            for reader in range(self._parallelism):
                enumerator.handle_split_request(reader)

    def current_parallelism(self) -> int:
        return self._parallelism

    def assign_split(self, split: KafkaSplit, subtask_id: int) -> None:
        self.given.append((subtask_id, split))

    def signal_no_more_splits(self, subtask_id: int) -> None:
        self.ended.add(subtask_id)

    def current_processing_time(self) -> int:
        return 0


def test_the_consumer_of_older_programs(topics: Topics) -> None:
    name = topics.create(1)
    topics.write(name, numbered(10))
    properties = {"bootstrap.servers": topics.bootstrap, "group.id": "old"}
    consumer = FlinkKafkaConsumer(name, SimpleStringSchema(), properties)
    consumer.set_start_from_earliest()
    environment = StreamExecutionEnvironment().set_parallelism(1)
    stream = environment.add_source(consumer)
    assert str(stream.get_type()) == "String"
    enumerator = consumer.create_enumerator(context := Splits(1))
    enumerator.start()
    context.ask(enumerator)
    assert [split for _, split in context.given] == [KafkaSplit(name, 0, 0)]


def test_a_limit_per_second(topics: Topics) -> None:
    """So many in a time that no machine can make longer than it is: what matters is that it is not shorter."""
    name = topics.create(2)
    topics.write(name, numbered(60))
    made = builder(topics, name).set_rate_limiter_strategy(RateLimiterStrategy.per_second(40)).build()
    began = time.monotonic()
    assert read(made) == sorted(numbered(60))
    assert time.monotonic() - began > 1
    with pytest.raises(ValueError, match="none per checkpoint"):
        builder(topics, name).set_rate_limiter_strategy(RateLimiterStrategy.per_checkpoint(5))


def test_records_that_cannot_be_read_go_elsewhere(topics: Topics) -> None:
    name, failed = topics.create(2), topics.create(1)
    values = [f"bad {each}" if each % 7 == 3 else str(each) for each in range(200)]
    for partition in (0, 1):
        topics.write(name, [(b"k", each, 0) for each in values[partition::2]], partition, headers=[("own", b"1")])
    made = builder(topics, name).set_value_only_deserializer(Numbers()).set_dead_letter_topic(failed).build()
    assert read(made) == [each for each in range(200) if each % 7 != 3]
    found = topics.messages(failed)
    assert sorted(each.value().decode() for each in found) == sorted(each for each in values if each.startswith("bad"))
    for each in found:
        headers = dict(each.headers())
        number = int(each.value()[4:])
        place = tuple(headers[f"__connect.errors.{each}"] for each in ("topic", "partition", "offset"))
        assert place == (name.encode(), str(number % 2).encode(), str(number // 2).encode())
        assert (each.key(), headers["own"]) == (b"k", b"1")
        assert b"invalid literal for int()" in headers["__connect.errors.exception.message"]


def test_without_a_place_for_bad_records_they_fail_the_job(topics: Topics) -> None:
    name = topics.create(1)
    topics.write(name, ["1", "bad"])
    with pytest.raises(JobFailedError, match=f"topic '{name}', partition 0, offset 1 cannot be read"):
        read(builder(topics, name).set_value_only_deserializer(Numbers()).build())
