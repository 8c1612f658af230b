"""Records of transactions that Kafka aborted although they count as written: finds them, and writes them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from millrace.common.restart_strategy import SuppressRestartsException
from millrace.connectors.kafka.exactly_once import KafkaCommittable
from millrace.connectors.kafka.library import confluent_kafka, kafka_python
from millrace.connectors.kafka.producing import Sending
from millrace.connectors.kafka.properties import client_settings, reaching
from millrace.connectors.kafka.record import ProducerRecord
from millrace.connectors.kafka.transactions import Transactions

_READ_SECONDS = 60.0


class LostTransactionError(SuppressRestartsException):
    """Kafka has aborted what a checkpoint has recorded as written, since it waited longer than its time-out.

    No restart strategy goes on after it: the records would be missing without a word.
    """


@dataclass(frozen=True)
class LostPart:
    """What one partition has of a lost transaction.

    :ivar ranges: first and last offsets of batches; empty if they are not there any more.
    """

    topic: str
    partition: int
    ranges: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        if not self.ranges:
            return f"{self.topic}-{self.partition} (its records are not found any more)"
        return f"{self.topic}-{self.partition} offsets {self.ranges[0][0]} to {self.ranges[-1][1]}"


def lost_error(lost: Mapping[KafkaCommittable, Sequence[LostPart]]) -> LostTransactionError:
    """What to raise."""
    texts = (
        f"{each.transactional_id} ({each.records} records in {', '.join(map(str, parts))})"
        for each, parts in lost.items()
    )
    return LostTransactionError(
        "Kafka aborted transactions whose records count as written: they waited for their commit longer than "
        f"'transaction.timeout.ms'. Their records are lost: {'; '.join(texts)}. To write them once more and go on, at "
        "least once, set 'millrace.kafka.on-lost-transaction' = 'replay' among the sink's properties"
    )


def parts_of(transactions: Transactions, lost: KafkaCommittable) -> list[LostPart]:
    """Where the records of a transaction lie: aborted ones stay in the log, and only committed ones are shown."""
    return [
        LostPart(topic, partition, tuple(_ranges(transactions, topic, partition, first, lost)))
        for topic, partition, first in lost.partitions
    ]


def _ranges(
    transactions: Transactions, topic: str, partition: int, first: int, lost: KafkaCommittable
) -> Iterator[tuple[int, int]]:
    errors = kafka_python().errors
    if first < 0:
        return
    from kafka.record.memory_records import MemoryRecords

    offset = first
    while True:
        try:
            content = transactions.fetch(topic, partition, offset)
        except (errors.OffsetOutOfRangeError, errors.UnknownTopicOrPartitionError):
            return
        batches = MemoryRecords(content)
        before = offset
        while batches.has_next():
            batch = batches.next_batch()
            offset = batch.base_offset + batch.last_offset_delta + 1
            if batch.producer_id == lost.producer_id and batch.base_offset >= first:
                if batch.is_control_batch:
                    return  # the mark of its end
                if batch.producer_epoch == lost.epoch:
                    yield batch.base_offset, offset - 1
        if offset == before:
            return


def again(
    properties: Mapping[str, str], lost: KafkaCommittable, parts: Sequence[LostPart], name: str, deadline: float
) -> Sending:
    """Write the records of an aborted transaction to the same partitions once more, in a transaction that stays open.

    :param name: of the transaction; one of that name that is open is aborted.
    :param deadline: seconds until all records are acknowledged.
    :raises LostTransactionError: some are not there any more.
    """
    gone = [each for each in parts if not each.ranges]
    if gone:
        shown = ", ".join(map(str, gone))
        raise LostTransactionError(f"records of {lost.transactional_id} cannot be written again: {shown}")
    settings = client_settings(properties)
    settings.pop("enable.idempotence", None)
    sending = Sending({**settings, "transactional.id": name}, deadline)
    sending.producer.init_transactions(deadline)
    sending.producer.begin_transaction()
    found = 0
    for part in parts:
        for record in _records(properties, part):
            sending.send(record)
            found += 1
            if found % 1_000 == 0:
                sending.serve()
    if found != lost.records:
        sending.close()  # and aborts it
        raise LostTransactionError(
            f"records of {lost.transactional_id} cannot be written again: {found} of {lost.records} are still there"
        )
    sending.flush()
    return sending


def _records(properties: Mapping[str, str], part: LostPart) -> Iterator[ProducerRecord]:
    library = confluent_kafka()
    consumer = library.Consumer({
        **reaching(properties),
        "group.id": "millrace-lost-records",
        "enable.auto.commit": False,
        "isolation.level": "read_uncommitted",
        "auto.offset.reset": "error",
    })  # fmt: skip
    try:
        consumer.assign([library.TopicPartition(part.topic, part.partition, part.ranges[0][0])])
        wanted = {offset for first, last in part.ranges for offset in range(first, last + 1)}
        while wanted:
            message = consumer.poll(_READ_SECONDS)
            if message is None:
                raise ConnectionError(f"{part}: not read within {_READ_SECONDS:g} s")
            if message.error() is not None:
                raise library.KafkaException(message.error())
            if message.offset() in wanted:
                wanted.discard(message.offset())
                time = message.timestamp()[1]
                headers = tuple(message.headers() or ())
                yield ProducerRecord(part.topic, message.value(), message.key(), part.partition, time, headers)
            elif message.offset() > part.ranges[-1][1]:
                raise LostTransactionError(f"{part}: some of them are not there any more")
    finally:
        consumer.close()
