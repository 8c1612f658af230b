"""``KafkaSink``: writes records, at least once or exactly once.

Its committer ends transactions from the driver. If Kafka has aborted a transaction that a checkpoint counts as written,
its records are found and written again, or the job fails.
"""

from __future__ import annotations

import copy
import logging
import time
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from millrace.common.restart_strategy import SuppressRestartsException
from millrace.common.sink import Committer, Sink, SinkWriter, WriterInitContext
from millrace.connectors.kafka.kafka_records import ProducerRecord, RecordSerializer
from millrace.connectors.kafka.kafka_settings import (
    ClientBuilder,
    client_settings,
    confluent_kafka,
    kafka_python,
    reaching,
)
from millrace.connectors.kafka.kafka_transactions import COMMITTED, ONGOING, Refused, Transaction, Transactions
from millrace.connectors.kafka.kafka_writers import (
    KafkaCommittable,
    PlainWriter,
    Sending,
    TransactionalWriter,
    WriterIds,
    epoch_of,
)
from millrace.connectors.sink_base import DeliveryGuarantee

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


def write_again(
    properties: Mapping[str, str], lost: KafkaCommittable, parts: Sequence[LostPart], name: str, deadline: float
) -> Sending:
    """Write the records of an aborted transaction again to the same partitions, in a transaction that stays open.

    :param name: of the transaction; an open transaction with that name is aborted.
    :param deadline: seconds until all records are acknowledged.
    :raises LostTransactionError: some of the records do not exist any more.
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


ON_LOST = "millrace.kafka.on-lost-transaction"
"""``fail`` or ``replay``: what happens to records that Kafka has aborted although they count as written"""

logger = logging.getLogger(__name__)


class KafkaCommitter(Committer[KafkaCommittable]):
    """Commits what is recorded, and aborts what is not.

    :param prefix: what the transactional ids of all jobs with this sink begin with.
    :param timeout: of transactions, in ms.
    :param deadline: seconds that records may take which are written again.
    """

    def __init__(self, properties: Mapping[str, str], prefix: str, timeout: int, deadline: float) -> None:
        self._properties, self._prefix = dict(properties), prefix
        self._properties.setdefault("transaction.timeout.ms", str(timeout))
        self._timeout, self._deadline = timeout, deadline
        self._transactions = Transactions(properties)

    def begin(self) -> None:
        """Transactions that are open under the prefix are of jobs that died: readers would wait for their time-out."""
        self._abort_others(self._prefix, (), lambda name: True)

    def before_recorded(self, committables: Sequence[KafkaCommittable]) -> Sequence[KafkaCommittable]:
        """Transactions that waited for long are over, or will be soon. Nothing says yet that they are written, so
        their records are written once more, in others that take their place."""
        now = time.time() * 1000
        return [self._young(each) if now - each.begun > self._timeout / 3 else each for each in committables]

    def _young(self, each: KafkaCommittable) -> KafkaCommittable:
        found = self._transactions.settled(each.transactional_id)
        is_open = found is not None and (found.state, found.begun) == (ONGOING, each.begun)
        if is_open and time.time() * 1000 - each.begun < self._timeout * 2 / 3:
            return each
        if found is not None and (found.state, found.begun) == (COMMITTED, each.begun):
            return each  # an earlier try of this checkpoint came that far
        self._take_back([each])
        logger.warning("transaction %s came too near to its time-out: its records are written again", each)
        parts = parts_of(self._transactions, each)
        name = f"{each.transactional_id}a"
        write_again(self._properties, each, parts, name, self._deadline)  # not closed: that would abort it
        made = self._transactions.describe([name])[name]
        first = self._transactions.began_at(made.producer_id, made.partitions)
        partitions = tuple((*at, offset) for at, offset in first.items())
        return KafkaCommittable(name, made.producer_id, made.epoch, made.begun, partitions, each.records)

    def commit(self, committables: Sequence[KafkaCommittable]) -> None:
        refused = self._transactions.end_all(committables, True)
        over = [
            committables[index]
            for index, refusal in refused.items()
            if not self._was_committed(committables[index], refusal)
        ]
        lost = {each: parts_of(self._transactions, each) for each in over}
        if not lost:
            return
        if self._properties.get(ON_LOST, "fail").lower() != "replay":
            raise lost_error(lost)
        for each, parts in lost.items():
            self._replay(each, parts)

    def _replay(self, each: KafkaCommittable, parts: Sequence[LostPart]) -> None:
        name = f"{each.transactional_id}r"
        found = self._transactions.settled(name)
        if found is not None and found.state == COMMITTED:
            return  # a driver that died after that
        logger.error("%s", lost_error({each: parts}))
        sending = write_again(self._properties, each, parts, name, self._deadline)
        sending.producer.commit_transaction(self._deadline)
        sending.producer.close()

    def _was_committed(self, each: KafkaCommittable, refusal: Refused) -> bool:
        found = self._transactions.settled(each.transactional_id)
        if found is None:
            logger.error("%s is not known to Kafka any more (%s)", each.transactional_id, refusal.code)
            return False
        # Its id is used again only after it was committed; if it is the last one of its id, its state tells.
        return found.begun != each.begun or found.state == COMMITTED

    def abort(self, committables: Sequence[KafkaCommittable]) -> None:
        self._take_back(committables)

    def recover(self, job_id: str, committables: Sequence[KafkaCommittable], states: Sequence[Any]) -> None:
        self._abort_others(f"{self._prefix}{job_id}-", committables, lambda name: True)

    def sweep(
        self, job_id: str, epoch: int, committables: Sequence[KafkaCommittable], states: Sequence[WriterIds]
    ) -> None:
        living = tuple(each.prefix for each in states)

        def is_left(name: str) -> bool:
            """Whether it is of a writer that is known to be none of the job's."""
            return not name.startswith(living) and epoch_of(name) <= epoch

        self._abort_others(f"{self._prefix}{job_id}-", committables, is_left)

    def _abort_others(
        self, prefix: str, committables: Sequence[KafkaCommittable], is_left: Callable[[str], bool]
    ) -> None:
        # An id alone says nothing: it is used again for the transactions of later epochs.
        kept = {(each.transactional_id, each.begun) for each in committables}
        open_ = [name for name in self._transactions.of_prefix(prefix) if is_left(name)]
        found = self._transactions.describe(open_).values()
        self._take_back([each for each in found if (each.transactional_id, each.begun) not in kept])

    def _take_back(self, transactions: Sequence[Transaction]) -> None:
        for index, refusal in self._transactions.end_all(transactions, False).items():
            logger.info("transaction %s was over already: %s", transactions[index].transactional_id, refusal.code)

    def close(self) -> None:
        self._transactions.close()


_MOST_PREFIX = 200


class KafkaSinkBuilder(ClientBuilder):
    """Builds a ``KafkaSink``. At least needed: bootstrap servers and a record serializer.

    >>> lines = KafkaRecordSerializationSchema.builder().set_topic("lines")
    >>> serializer = lines.set_value_serialization_schema(SimpleStringSchema()).build()
    >>> builder = KafkaSinkBuilder().set_bootstrap_servers("localhost:9092").set_record_serializer(serializer)
    >>> builder = builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    >>> sink = builder.set_transactional_id_prefix("shop").build()
    """

    def __init__(self) -> None:
        super().__init__()
        self._serializer: RecordSerializer[Any] | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix: str | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """``host:port``, several with commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """By default NONE."""
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """What transactional ids begin with: no other application on the cluster may have it. EXACTLY_ONCE needs it.

        :raises ValueError: longer than 200 bytes.
        """
        if len(transactional_id_prefix.encode()) > _MOST_PREFIX:
            raise ValueError(f"a transactional id prefix has {_MOST_PREFIX} bytes at most")
        self._prefix = transactional_id_prefix
        return self

    def set_record_serializer(self, record_serializer: RecordSerializer[Any]) -> KafkaSinkBuilder:
        """What makes records: ``KafkaRecordSerializationSchema.builder()``, or a ``RecordSerializer`` of your own."""
        if not isinstance(record_serializer, RecordSerializer):
            raise TypeError(f"set_record_serializer takes what its builder gives, not {record_serializer!r}")
        self._serializer = record_serializer
        return self

    def build(self) -> KafkaSink[Any]:
        """:raises ValueError: something is missing, or a setting cannot be had."""

        if not self._properties.get("bootstrap.servers"):
            raise ValueError("the Kafka sink lacks set_bootstrap_servers")
        if self._serializer is None:
            raise ValueError("the Kafka sink lacks set_record_serializer")
        exactly = self._guarantee is DeliveryGuarantee.EXACTLY_ONCE
        if exactly and not self._prefix:
            raise ValueError(
                "EXACTLY_ONCE needs set_transactional_id_prefix: a text that no other application on the cluster has"
            )
        client_settings(self._properties)
        return KafkaSink(
            self._serializer, dict(self._properties), self._guarantee, self._prefix or uuid.uuid4().hex[:8]
        )


T = TypeVar("T")

TRANSACTION_TIMEOUT = "transaction.timeout.ms"
DEFAULT_TRANSACTION_MS = 15 * 60 * 1000
"""Default timeout of transactions (ms): the most that brokers allow by default. Flink's default of one hour is
refused by such brokers."""
DEFAULT_DELIVERY_MS = 120_000


@dataclass(frozen=True)
class KafkaSink(Sink[T], Generic[T]):
    """Made by ``KafkaSink.builder()`` or a table.

        >>> lines = KafkaRecordSerializationSchema.builder().set_topic("lines")
        >>> serializer = lines.set_value_serialization_schema(SimpleStringSchema()).build()
        >>> builder = KafkaSink.builder().set_bootstrap_servers("localhost:9092").set_record_serializer(serializer)
        >>> sink = env.from_collection(["a"]).sink_to(builder.build())

    :ivar prefix: of transactional ids; no other application on the cluster may have it.
    :ivar properties: of the client, in the names of Java's.
    """

    serializer: RecordSerializer[T]
    properties: Mapping[str, str]
    guarantee: DeliveryGuarantee = DeliveryGuarantee.NONE
    prefix: str = ""
    uid: str = ""

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Begins a sink; ``build()`` ends it."""
        return KafkaSinkBuilder()

    def for_operator(self, uid: str) -> KafkaSink[T]:
        return replace(self, uid=uid)

    @property
    def _deadline(self) -> float:
        """seconds"""
        return int(self.properties.get("delivery.timeout.ms", DEFAULT_DELIVERY_MS)) / 1000

    @property
    def _ids(self) -> str:
        return f"{self.prefix}-{zlib.crc32(self.uid.encode()):08x}-"

    def create_writer(self, context: WriterInitContext) -> SinkWriter[T]:
        settings = client_settings(self.properties)
        deadline = self._deadline
        place = context.get_index_of_subtask(), context.get_number_of_parallel_subtasks()
        serializer = copy.copy(self.serializer)
        if self.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            waits = self.guarantee is DeliveryGuarantee.AT_LEAST_ONCE
            return PlainWriter(settings, serializer, place, deadline, waits)
        settings.setdefault(TRANSACTION_TIMEOUT, DEFAULT_TRANSACTION_MS)
        settings.pop("enable.idempotence", None)
        prefix = f"{self._ids}{context.get_job_id()}-"
        transactions, epoch = Transactions(self.properties), context.get_checkpoint_id()
        return TransactionalWriter(settings, serializer, place, deadline, transactions, prefix, epoch)

    def create_committer(self) -> KafkaCommitter | None:
        if self.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return None
        timeout = int(self.properties.get(TRANSACTION_TIMEOUT, DEFAULT_TRANSACTION_MS))
        return KafkaCommitter(self.properties, self._ids, timeout, self._deadline)

    def __repr__(self) -> str:
        return f"KafkaSink({self.properties.get('bootstrap.servers')}, {self.guarantee.name})"
