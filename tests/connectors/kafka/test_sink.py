"""``KafkaSink`` on a real broker: what another client reads."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Producer
from kafka.errors import KafkaConnectionError
from kafka.future import Future
from kafka.net.manager import KafkaConnectionManager
from tests.connectors.kafka.topics import Topics

from millrace.common.serialization import SimpleStringSchema
from millrace.common.sink import SinkWriterContext, WriterInitContext
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.kafka.kafka_sink import KafkaCommitter, LostTransactionError
from millrace.connectors.kafka.kafka_transactions import ABORTED, COMMITTED, ONGOING, Transactions
from millrace.connectors.kafka.kafka_writers import KafkaCommittable
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.kafka import (
    FlinkFixedPartitioner,
    FlinkKafkaProducer,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaSource,
    Semantic,
)
from millrace.runtime.failure import JobFailedError
from millrace.testing.local import run_locally

pytestmark = pytest.mark.services

EXACTLY, AT_LEAST, NONE = DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.NONE


def to(topic: str) -> Any:
    schema = KafkaRecordSerializationSchema.builder().set_topic(topic)
    return schema.set_value_serialization_schema(SimpleStringSchema()).build()


def builder(topics: Topics, serializer: Any, guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
    made = KafkaSink.builder().set_bootstrap_servers(topics.bootstrap).set_record_serializer(serializer)
    return made.set_delivery_guarantee(guarantee).set_transactional_id_prefix("tests")


def copy_topic(topics: Topics, source: str, sink: Any, **how: Any) -> Any:
    environment = StreamExecutionEnvironment().set_parallelism(2)
    reading = KafkaSource.builder().set_bootstrap_servers(topics.bootstrap).set_topics(source)
    reading.set_value_only_deserializer(SimpleStringSchema()).set_bounded(KafkaOffsetsInitializer.latest())
    stream = environment.from_source(reading.build(), WatermarkStrategy.no_watermarks(), "kafka")
    (stream.add_sink if isinstance(sink, FlinkKafkaProducer) else stream.sink_to)(sink)
    return run_locally(environment, **how)


def filled(topics: Topics, count: int) -> tuple[str, list[str]]:
    name = topics.create(3)
    values = sorted(f"{name}-{number}" for number in range(count))
    topics.write(name, values)
    return name, values


@pytest.mark.parametrize("guarantee", list(DeliveryGuarantee))
def test_every_record_once(topics: Topics, guarantee: DeliveryGuarantee) -> None:
    (source, values), target = filled(topics, 500), topics.create(2)
    copy_topic(topics, source, builder(topics, to(target), guarantee).build())
    topics.expect(target, values)


def test_exactly_once_over_epochs_and_tasks_that_move(topics: Topics) -> None:
    (source, values), target = filled(topics, 900), topics.create(2)
    sink = builder(topics, to(target), EXACTLY).build()
    run = copy_topic(topics, source, sink, epoch_records=100, workers=3, seed=11)
    assert len(run.epochs) > 2
    topics.expect(target, values)
    assert Transactions({"bootstrap.servers": topics.bootstrap}).of_prefix("tests-") == []


def test_keys_headers_topics_and_partitions(topics: Topics) -> None:
    source, _ = filled(topics, 40)
    names = topics.create(2), topics.create(2)
    schema = KafkaRecordSerializationSchema.builder().set_topic_selector(lambda value: names[int(value[-1]) % 2])
    schema.set_value_serialization_schema(SimpleStringSchema()).set_key_serialization_schema(LastDigit())
    schema.set_header_provider(lambda value: [("digit", value[-1].encode())])
    copy_topic(topics, source, builder(topics, schema.build(), AT_LEAST).build())
    found = [message for name in names for message in topics.messages(name)]
    assert len(found) == 40
    for message in found:
        digit = message.value()[-1:]
        assert message.key() == digit
        assert message.headers() == [("digit", digit)]
        assert message.topic() == names[int(digit) % 2]
    places = {(message.key(), message.partition()) for message in found}
    assert len(places) == len({key for key, _ in places}), "a key has one partition"


class LastDigit(SimpleStringSchema):
    def serialize(self, value: Any) -> bytes:
        return str(value)[-1].encode()


def test_keys_lie_where_the_clients_of_java_put_them(topics: Topics) -> None:
    """Kafka's documented murmur2, computed here from its definition."""
    source, values = filled(topics, 60)
    target = topics.create(7)
    schema = KafkaRecordSerializationSchema.builder().set_topic(target)
    schema.set_value_serialization_schema(SimpleStringSchema()).set_key_serialization_schema(SimpleStringSchema())
    copy_topic(topics, source, builder(topics, schema.build(), NONE).build())
    found = {message.key().decode(): message.partition() for message in topics.messages(target)}
    assert found == {value: (murmur2(value.encode()) & 0x7FFFFFFF) % 7 for value in values}


def murmur2(data: bytes) -> int:
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for place in range(0, whole, 4):
        k = int.from_bytes(data[place : place + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
    if len(data) > whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


def test_a_partition_for_each_subtask(topics: Topics) -> None:
    source, values = filled(topics, 200)
    target = topics.create(4)
    schema = KafkaRecordSerializationSchema.builder().set_topic(target).set_partitioner(FlinkFixedPartitioner())
    serializer = schema.set_value_serialization_schema(SimpleStringSchema()).build()
    copy_topic(topics, source, builder(topics, serializer, EXACTLY).build())
    topics.expect(target, values)
    assert {partition for partition, _, _, _ in topics.read(target)} == {0, 1}


@pytest.mark.parametrize("semantic", list(Semantic))
def test_the_producer_of_older_programs(topics: Topics, semantic: Semantic) -> None:
    (source, values), target = filled(topics, 50), topics.create(2)
    sink = FlinkKafkaProducer(target, SimpleStringSchema(), {"bootstrap.servers": topics.bootstrap}, semantic=semantic)
    copy_topic(topics, source, sink)
    topics.expect(target, values)


def test_a_topic_that_is_not_there(topics: Topics) -> None:
    source, _ = filled(topics, 5)
    sink = builder(topics, to("nowhere"), AT_LEAST).set_property("delivery.timeout.ms", "5000").build()
    with pytest.raises(JobFailedError, match="'nowhere'"):
        copy_topic(topics, source, sink)


def test_a_time_out_that_the_broker_refuses(topics: Topics) -> None:
    source, _ = filled(topics, 5)
    sink = builder(topics, to(topics.create()), EXACTLY).set_property("transaction.timeout.ms", "3600000").build()
    with pytest.raises(JobFailedError, match=r"transaction\.timeout\.ms.*transaction\.max\.timeout\.ms"):
        copy_topic(topics, source, sink)


# -- one writer, by hand ------------------------------------------------------------------------------------------


class Init(WriterInitContext):
    def __init__(self, subtask: int = 0, job: str = "job", epoch: int = 1) -> None:
        self._subtask, self._job, self._epoch = subtask, job, epoch

    def get_index_of_subtask(self) -> int:
        return self._subtask

    def get_number_of_parallel_subtasks(self) -> int:
        return 2

    def get_job_id(self) -> str:
        return self._job

    def get_checkpoint_id(self) -> int:
        return self._epoch

    def current_processing_time(self) -> int:
        return 0


class Now(SinkWriterContext):
    def timestamp(self) -> int | None:
        return None

    def current_watermark(self) -> int:
        return 0


def prepared(writer: Any, *values: str) -> list[KafkaCommittable]:
    for value in values:
        writer.write(value, Now())
    writer.flush(False)
    return writer.prepare_commit()  # type: ignore[no-any-return]


@pytest.fixture
def exactly(topics: Topics) -> Iterator[tuple[Any, str, KafkaCommitter, Transactions]]:
    target = topics.create()
    sink = builder(topics, to(target), EXACTLY).set_property("transaction.timeout.ms", "20000").build()
    sink = sink.for_operator(target)
    committer, transactions = sink.create_committer(), Transactions({"bootstrap.servers": topics.bootstrap})
    yield sink, target, committer, transactions
    committer.close()
    transactions.close()


def test_nothing_is_seen_before_its_commit_and_a_commit_may_be_repeated(topics: Topics, exactly: Any) -> None:
    sink, target, committer, _ = exactly
    writer = sink.create_writer(Init())
    first = prepared(writer, "a", "b")
    assert topics.values(target) == []
    assert topics.values(target, committed=False) == ["a", "b"]
    second = prepared(writer, "c")
    assert prepared(writer) == []
    for _ in range(2):
        committer.commit(first)
    topics.expect(target, ["a", "b"])
    committer.commit([*first, *second])
    topics.expect(target, ["a", "b", "c"])
    writer.close()
    committer.commit([*first, *second])
    topics.expect(target, ["a", "b", "c"])


def test_ids_are_used_again_and_old_commits_may_still_be_repeated(topics: Topics, exactly: Any) -> None:
    sink, target, committer, _ = exactly
    writer = sink.create_writer(Init())
    committables = []
    for number in range(8):
        committables += prepared(writer, str(number))
        if number:
            committer.commit(committables[-2:-1])
    ids = {each.transactional_id for each in committables}
    assert len(ids) <= 4
    assert len({(each.transactional_id, each.epoch) for each in committables}) == len(ids), "new producers"
    # The driver does not know any more which of them it has committed.
    committer.commit(committables)
    topics.expect(target, sorted(map(str, range(8))))
    writer.close()


def test_a_commit_whose_answer_is_lost_does_not_end_the_next_transaction_of_its_id(
    topics: Topics, exactly: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The id is free for the next epoch once the broker has committed, though the driver does not know that yet."""
    sink, target, committer, transactions = exactly
    writer = sink.create_writer(Init())
    first = prepared(writer, "a")
    second = prepared(writer, "b")
    committed = transactions.end_all(first, True)  # what the driver's request does, whose answer does not come
    assert committed == {}
    while transactions.settled(first[0].transactional_id).state != COMMITTED:
        time.sleep(0.05)
    writer._next.result()  # looked for a free id before that
    third = prepared(writer, "c")
    fourth = prepared(writer, "d")
    assert {each.transactional_id for each in (*third, *fourth)} > {first[0].transactional_id}
    lost: list[int] = []
    send = KafkaConnectionManager.send

    def without_answer(self: Any, request: Any, *args: Any, **named: Any) -> Any:
        if type(request).__name__ == "EndTxnRequest" and not lost:
            lost.append(1)
            return Future().failure(KafkaConnectionError("the answer is lost"))
        return send(self, request, *args, **named)

    monkeypatch.setattr(KafkaConnectionManager, "send", without_answer)
    committer.commit(first)
    assert lost
    monkeypatch.undo()
    topics.expect(target, ["a"])
    states = transactions.describe(each.transactional_id for each in (*second, *third, *fourth))
    assert [each.state for each in states.values()] == [ONGOING, ONGOING, ONGOING]
    committer.commit([*second, *third, *fourth])
    topics.expect(target, ["a", "b", "c", "d"])
    writer.close()


def test_requests_of_an_epoch(topics: Topics, exactly: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A subtask asks twice when it prepares, at the same time; the driver asks once for each transaction."""
    sink, target, committer, _ = exactly
    writers = [sink.create_writer(Init(subtask)) for subtask in range(3)]
    sent: list[str] = []
    send = KafkaConnectionManager.send

    def noted(self: Any, request: Any, *args: Any, **named: Any) -> Any:
        sent.append(type(request).__name__.removesuffix("Request"))
        return send(self, request, *args, **named)

    def quiet() -> None:
        for writer in writers:
            writer._next.result()

    monkeypatch.setattr(KafkaConnectionManager, "send", noted)
    for number in range(3):
        quiet()
        sent.clear()
        made = []
        for writer in writers:
            writer.write(str(number), Now())
            writer.flush(False)
            made += writer.prepare_commit()
            quiet()
        asked = Counter(sent)
        sent.clear()
        committer.commit(made)
    assert asked["DescribeProducers"] == 3 and asked["Metadata"] == 0
    assert asked["DescribeTransactions"] <= 6, "one in the task, and one in the thread that makes the next producer"
    assert Counter(sent) == {"EndTxn": 3}
    topics.expect(target, sorted(str(number) for number in range(3) for _ in writers))
    for writer in writers:
        writer.close()


def test_a_producer_that_is_fenced_is_replaced(topics: Topics, exactly: Any) -> None:
    sink, target, committer, _ = exactly
    writer = sink.create_writer(Init())
    committables = []
    for number in range(4):
        made = prepared(writer, str(number))
        writer._next.result()  # it has looked for one that is committed before this one is
        committer.commit(made)
        fencing = Producer({"bootstrap.servers": topics.bootstrap, "transactional.id": made[0].transactional_id})
        fencing.init_transactions(30)
        committables += made
    committer.commit(committables)
    topics.expect(target, ["0", "1", "2", "3"])
    writer.close()


def test_what_no_checkpoint_has_is_aborted_by_listing(topics: Topics, exactly: Any) -> None:
    sink, target, committer, transactions = exactly
    writer, other = sink.create_writer(Init()), sink.create_writer(Init(1))
    kept, lost = prepared(writer, "kept"), prepared(other, "lost")
    another_job = prepared(sink.create_writer(Init(0, "another")), "another")
    committer.recover("job", kept, [])
    states = transactions.describe(each.transactional_id for each in (*kept, *lost, *another_job))
    assert [each.state for each in states.values()] == [ONGOING, ABORTED, ONGOING]
    committer.commit(kept)
    committer.abort(another_job)
    topics.expect(target, ["kept"])
    writer.close()
    other.close()


def test_a_job_that_starts_afresh_aborts_what_dead_ones_have_left(topics: Topics, exactly: Any) -> None:
    sink, target, committer, transactions = exactly
    dead = [*prepared(sink.create_writer(Init(0, "yesterday's")), "lost")]
    other = prepared(sink.for_operator("another").create_writer(Init()), "of another sink")
    # Readers would not see what comes after it before its time is over.
    committer.begin()
    states = transactions.describe(each.transactional_id for each in (*dead, *other))
    assert [each.state for each in states.values()] == [ABORTED, ONGOING]
    writer = sink.create_writer(Init())
    committer.commit(prepared(writer, "new"))
    committer.abort(other)
    topics.expect(target, ["new"])
    writer.close()


def _write_and_die(sink: Any, pipe: Any) -> None:
    pipe.send(prepared(sink.create_writer(Init()), "from the dead"))
    os.kill(os.getpid(), signal.SIGKILL)


def test_commit_of_a_writer_that_was_killed(topics: Topics, exactly: Any) -> None:
    sink, target, committer, _ = exactly
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_write_and_die, args=(sink, there))
    process.start()
    committables = here.recv()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert topics.values(target) == []
    committer.commit(committables)
    topics.expect(target, ["from the dead"])


def test_a_zombie_does_no_harm(topics: Topics, exactly: Any) -> None:
    """A run of the task that was given up goes on beside the one that has taken its place."""
    sink, target, committer, _ = exactly
    zombie, writer = sink.create_writer(Init()), sink.create_writer(Init())
    prepared(zombie, "z1")
    first = prepared(writer, "w1")
    zombie.write("z2", Now())
    committer.recover("job", first, [])
    second = prepared(writer, "w2")
    prepared_late = prepared(sink.create_writer(Init()), "z3")
    assert prepared_late
    committer.commit([*first, *second])
    committer.recover("job", [], [])
    topics.expect(target, ["w1", "w2"])
    zombie.close()
    writer.close()


def test_a_later_transaction_of_a_committed_id_is_taken_back(topics: Topics, exactly: Any) -> None:
    """A driver goes on from a checkpoint whose transaction was committed before it died, and its id in use again."""
    sink, _, committer, transactions = exactly
    writer = sink.create_writer(Init())
    committables = []
    while len({each.transactional_id for each in committables}) == len(committables):
        committables += prepared(writer, f"{len(committables)}")
        committer.commit(committables[-1:])
    again = committables[-1].transactional_id
    recorded = next(each for each in committables if each.transactional_id == again)
    lost = prepared(writer, "never recorded")
    while lost[0].transactional_id != again:
        committer.commit(lost)
        committables += lost
        lost = prepared(writer, "never recorded")
    committer.recover("job", [recorded], [])
    committer.commit([recorded])
    assert transactions.of_prefix(again) == []
    assert transactions.settled(again).state == ABORTED
    writer.close()


def test_a_sweep_takes_back_what_is_of_no_writer(topics: Topics, exactly: Any) -> None:
    sink, target, committer, transactions = exactly
    dead, later, living = (sink.create_writer(Init(epoch=epoch)) for epoch in (3, 9, 4))
    waiting = prepared(sink.create_writer(Init(epoch=2)), "waits")
    for writer, value in ((dead, "dead"), (later, "of a later driver"), (living, "lives")):
        writer.write(value, Now())
        writer.flush(False)
    committer.sweep("job", 5, waiting, living.snapshot_state(5))
    assert [each.split("-")[-3] for each in transactions.of_prefix(f"{sink._ids}job-")] == ["2", "4", "9"]
    committer.commit([*waiting, *living.prepare_commit(), *later.prepare_commit()])
    topics.expect(target, ["lives", "of a later driver", "waits"])
    for writer in (dead, later, living):
        writer.close()


def test_a_transaction_that_timed_out_is_an_error(topics: Topics) -> None:
    target = topics.create()
    made = builder(topics, to(target), EXACTLY).set_property("transaction.timeout.ms", "1000")
    sink = made.build().for_operator(target)
    committer, transactions = sink.create_committer(), Transactions({"bootstrap.servers": topics.bootstrap})
    writer = sink.create_writer(Init())
    (committable,) = prepared(writer, "late")
    until = time.monotonic() + 120
    while transactions.describe([committable.transactional_id])[committable.transactional_id].state == ONGOING:
        assert time.monotonic() < until, "the coordinator looks every ten seconds"
        time.sleep(0.2)
    text = rf"{committable.transactional_id} \(1 records in {target}-0 offsets 0 to 0\)"
    for _ in range(2):
        with pytest.raises(LostTransactionError, match=text):
            committer.commit([committable])
    assert topics.values(target) == []
    writer.close()


@pytest.mark.parametrize("compression", ["none", "lz4"])
def test_lost_records_are_written_again_where_that_is_asked_for(topics: Topics, compression: str) -> None:
    target = topics.create(2)
    schema = KafkaRecordSerializationSchema.builder().set_topic(target).set_key_serialization_schema(LastDigit())
    schema.set_value_serialization_schema(SimpleStringSchema()).set_header_provider(lambda value: [("h", b"1")])
    made = builder(topics, schema.build(), EXACTLY).set_property("compression.type", compression)
    sink = made.set_property("millrace.kafka.on-lost-transaction", "replay").build().for_operator(target)
    committer, transactions = sink.create_committer(), Transactions({"bootstrap.servers": topics.bootstrap})
    assert committer is not None
    writers = [sink.create_writer(Init()) for _ in range(3)]
    for number in range(60):  # batches of three transactions, mixed
        writers[number % 3].write(f"{number % 3}-{number}", Now())
        if number % 7 == 0:
            for writer in writers:
                writer.flush(False)
    committables = [each for writer in writers for each in prepared(writer)]
    lost = committables[1]
    assert transactions.end_all([lost], False) == {}
    for _ in range(2):
        committer.commit(committables)
    topics.expect(target, sorted(f"{number % 3}-{number}" for number in range(60)))
    places = {(message.key(), message.partition()) for message in topics.messages(target)}
    assert len(places) == 10
    assert all(message.headers() == [("h", b"1")] for message in topics.messages(target))
    for writer in writers:
        writer.close()


def test_what_nothing_has_recorded_yet_is_written_again(topics: Topics) -> None:
    """A transaction that waited too long for its checkpoint, one that is over already, and a young one."""
    target = topics.create(2)
    made = builder(topics, to(target), EXACTLY).set_property("transaction.timeout.ms", "9000")
    sink = made.build().for_operator(target)
    committer, transactions = sink.create_committer(), Transactions({"bootstrap.servers": topics.bootstrap})
    assert committer is not None
    writers = [sink.create_writer(Init(subtask)) for subtask in range(3)]
    (gone,) = prepared(writers[0], *(f"gone {number}" for number in range(30)))
    assert transactions.end_all([gone], False) == {}
    (old,) = prepared(writers[1], "old")
    old = replace(old, begun=old.begun - 7_000)
    (young,) = prepared(writers[2], "young")
    recorded = committer.before_recorded([gone, old, young])
    assert [each.transactional_id for each in recorded][:2] == [f"{gone.transactional_id}", f"{old.transactional_id}a"]
    gone = replace(gone, begun=gone.begun - 4_000)
    recorded = committer.before_recorded([gone, *recorded[1:]])
    assert recorded[0].transactional_id == f"{gone.transactional_id}a"
    assert recorded[2] == young
    committer.recover("job", recorded, [])
    for _ in range(2):
        committer.commit(recorded)
    topics.expect(target, sorted(["old", "young", *(f"gone {number}" for number in range(30))]))
    for writer in writers:
        writer.close()


def test_a_transaction_that_times_out_while_it_is_prepared(
    topics: Topics, exactly: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task may stand still between any two requests; what is aborted by then must not count as written."""
    sink, _, _, transactions = exactly
    ask = Transactions.began_at

    def late(self: Transactions, producer_id: int, partitions: Any) -> dict[tuple[str, int], int]:
        ((name, found),) = transactions.describe(transactions.of_prefix(sink._ids)).items()
        assert transactions.end_all([found], False) == {}
        assert transactions.settled(name).state == ABORTED  # type: ignore[union-attr]
        return ask(self, producer_id, partitions)

    monkeypatch.setattr(Transactions, "began_at", late)
    writer = sink.create_writer(Init())
    with pytest.raises(ConnectionError, match="is CompleteAbort before its epoch ended"):
        prepared(writer, "late")
    writer.close()


def test_lost_records_that_are_partly_there(topics: Topics, exactly: Any) -> None:
    """One that is missing is told, and nothing is written of the others."""
    sink, target, committer, transactions = exactly
    writer = sink.create_writer(Init())
    (lost,) = prepared(writer, *(f"value {number}" for number in range(5)))
    assert transactions.end_all([lost], False) == {}
    aged = replace(lost, begun=lost.begun - 10_000, records=6)
    with pytest.raises(LostTransactionError, match="cannot be written again: 5 of 6 are still there"):
        committer.before_recorded([aged])
    assert topics.values(target) == []
    assert transactions.of_prefix(sink._ids) == []
    writer.close()


def test_states_and_refusals(topics: Topics, exactly: Any) -> None:
    sink, target, committer, transactions = exactly
    assert transactions.describe(["unknown"]) == {}
    writer = sink.create_writer(Init())
    (made,) = prepared(writer, "a")
    found = transactions.describe([made.transactional_id])[made.transactional_id]
    assert (found.producer_id, found.epoch, found.begun) == (made.producer_id, made.epoch, made.begun)
    assert (found.partitions, made.partitions) == (((target, 0),), ((target, 0, 0),))
    assert transactions.of_prefix(made.transactional_id) == [made.transactional_id]
    committer.commit([made])
    settled = transactions.settled(made.transactional_id)
    assert settled is not None and (settled.state, settled.begun) == (COMMITTED, made.begun)
    (refused,) = transactions.end_all([made], False).values()
    assert refused.code == "InvalidTxnState"
    writer.close()
