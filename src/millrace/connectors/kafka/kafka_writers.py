"""Writers of ``KafkaSink``: at least once or without any promise, and exactly once, with a transaction for each epoch
that has records. Both send by ``Sending``, a producer of librdkafka that says what went wrong.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millrace.common.sink import SinkWriter, SinkWriterContext
from millrace.connectors.kafka.kafka_records import ProducerRecord, RecordSerializer
from millrace.connectors.kafka.kafka_settings import client_log, confluent_kafka
from millrace.connectors.kafka.kafka_transactions import COMMITTED, ONGOING, Described, Partition, Transactions
from millrace.util.threads import JobPool

_ROOM_SECONDS = 0.1
_GRACE_SECONDS = 5.0
DEFAULTS: dict[str, Any] = {
    # Java's choice of partitions, so that keys stay where they are.
    "partitioner": "murmur2_random",
    "linger.ms": 5,
    "allow.auto.create.topics": False,
    "delivery.report.only.error": True,
}


class Sending:
    """Sends records. An error of one shows with the next call.

    :param deadline: seconds after which records that are not acknowledged are an error.
    """

    def __init__(self, settings: Mapping[str, Any], deadline: float) -> None:
        self._library = confluent_kafka()
        self._deadline = deadline
        self._error: Any = None
        self._problem = ""
        self._failed = False
        self._topics: dict[str, int] = {}
        self._where = f"Kafka at {settings.get('bootstrap.servers')} ('bootstrap.servers')"
        own = dict(DEFAULTS)
        if not {"transactional.id", "delivery.timeout.ms", "message.timeout.ms"} & settings.keys():
            own["message.timeout.ms"] = int(deadline * 1000)  # as in Java; librdkafka's own is five minutes
        self.producer = self._library.Producer(
            {**own, **settings, "on_delivery": self._on_delivery, "error_cb": self._on_error}, logger=client_log
        )

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None and self._error is None:
            why = f" ({self._problem})" if self._problem else ""
            self._error = (
                f"{self._where}: a record for topic {message.topic()!r} was not written: {error.str()}{why}; "
                f"'delivery.timeout.ms' says how long is waited"
            )

    def _on_error(self, error: Any) -> None:
        self._problem = error.str()
        fatal = error.fatal() or error.code() == self._library.KafkaError._AUTHENTICATION
        if fatal and self._error is None:
            self._error = f"{self._where} refuses the producer: {error.str()}"

    def check(self) -> None:
        """:raises ConnectionError: records were not written."""
        if self._error is not None:
            self._failed = True
            raise ConnectionError(self._error)

    def send(self, record: ProducerRecord) -> None:
        until = 0.0
        while True:
            try:
                self.producer.produce(
                    record.topic,
                    record.value,
                    record.key,
                    -1 if record.partition is None else record.partition,
                    timestamp=0 if record.timestamp is None else record.timestamp,
                    headers=list(record.headers) or None,
                )
                return
            except BufferError:
                # The queue is full: its records must leave first.
                until = until or time.monotonic() + self._deadline
                self.producer.poll(_ROOM_SECONDS)
                self.check()
                if time.monotonic() > until:
                    raise self._gone(f"no room in the producer's queue for {self._deadline:g} s") from None
            except self._library.KafkaException as error:
                self.check()
                raise ConnectionError(f"topic {record.topic!r}: {error}") from error

    def serve(self) -> None:
        """Let callbacks run."""
        self.producer.poll(0)
        self.check()

    def flush(self) -> None:
        """Wait until all records are acknowledged.

        :raises ConnectionError: they are not, within the deadline.
        """
        # The client's own deadline for a record is the same; what it says of it names the topic and the reason.
        until = time.monotonic() + self._deadline + _GRACE_SECONDS
        while (left := self.producer.flush(_ROOM_SECONDS)) and self._error is None:
            if time.monotonic() > until:
                limit = f"{self._deadline:g} s ('delivery.timeout.ms')"
                raise self._gone(f"{left} records were not acknowledged in {limit}")
        self.check()

    def partitions(self, topic: str) -> int:
        """How many partitions a topic has."""
        if topic not in self._topics:
            try:
                found = self.producer.list_topics(topic, timeout=self._deadline).topics[topic]
            except self._library.KafkaException as error:
                raise self._gone(f"it does not tell of topic {topic!r}: {error.args[0].str()}") from None
            if found.error is not None or not found.partitions:
                raise ValueError(f"there is no Kafka topic {topic!r}: create it before the job starts")
            self._topics[topic] = len(found.partitions)
        return self._topics[topic]

    def _gone(self, what: str) -> ConnectionError:
        self._failed = True
        return ConnectionError(f"{self._where}: {what}{f' ({self._problem})' if self._problem else ''}")

    def close(self) -> None:
        """Let the producer go; what a failed one has not written is written again by the one after it."""
        if self._failed:
            self.producer.purge(blocking=False)
        self.producer.close()


T = TypeVar("T")

_SERVE_EVERY = 1_000
"""records"""
_SERVE_EVERY_MS = 50


class PlainWriter(SinkWriter[T], Generic[T]):
    """Sends records as they come.

    :param waits: whether an epoch waits until its records are acknowledged.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        serializer: RecordSerializer[T],
        place: tuple[int, int],
        deadline: float,
        waits: bool,
    ) -> None:
        self._sending = Sending(settings, deadline)
        self._serializer = serializer
        self._waits = waits
        self._count = 0
        self._serve_at = 0
        """ms"""
        serializer.open(*place, self._sending.partitions)

    def write(self, element: T, context: SinkWriterContext) -> None:
        for record in self._serializer.records(element, context.timestamp()):
            self._sending.send(record)
            self._count += 1
            if self._count % _SERVE_EVERY == 0:
                self._sending.serve()

    def end_slice(self, now: int) -> None:
        # Records go by themselves, ``linger.ms`` after they have come; this only hears what became of them.
        if now >= self._serve_at:
            self._serve_at = now + _SERVE_EVERY_MS
            self._sending.serve()

    def flush(self, end_of_input: bool) -> None:
        if self._waits or end_of_input:
            self._sending.flush()
        else:
            self._sending.serve()

    def close(self) -> None:
        self._sending.close()


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class KafkaCommittable:
    """A transaction whose records are all on the brokers, and that waits for its end.

    :ivar begun: when it began, by the coordinator's clock (ms): it tells it from later ones of the same id.
    :ivar partitions: topic, partition, and its first offset there, -1 if that is not known.
    :ivar records: how many it has.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    begun: int
    partitions: tuple[tuple[str, int, int], ...]
    records: int


@dataclass(frozen=True)
class WriterIds:
    """What the transactional ids of a writer that lives begin with."""

    prefix: str


def epoch_of(transactional_id: str) -> int:
    """The epoch in which the writer of an id was made."""
    return int(transactional_id.rsplit("-", 3)[1])


@dataclass
class _Open:
    transactional_id: str
    sending: Sending
    records: int = 0


@dataclass(frozen=True)
class _Prepared:
    """A transaction that the driver commits, and the producer that wrote it."""

    committable: KafkaCommittable
    sending: Sending


class TransactionalWriter(SinkWriter[T], Generic[T]):
    """Every epoch's records are a transaction; what is prepared is committed by the driver, while another producer
    writes the next one.

    Its transactional ids are no other writer's, so that nothing that still runs of an earlier one can get in the way.
    An id and its producer are used again when their transaction is committed, so there are as many as transactions
    wait: a new producer takes half a second before it may begin.

    :param prefix: what its transactional ids begin with; subtask, epoch, a random part and a number follow.
    :param epoch: in which it is made.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        serializer: RecordSerializer[T],
        place: tuple[int, int],
        deadline: float,
        transactions: Transactions,
        prefix: str,
        epoch: int,
    ) -> None:
        self._settings, self._deadline = dict(settings), deadline
        self._serializer = serializer
        self._transactions = transactions
        self._prefix = f"{prefix}{place[0]}-{epoch}-{uuid.uuid4().hex[:8]}"
        self._ids = 0
        self._waiting: list[_Prepared] = []
        """what the driver commits, as far as is known here"""
        self._thread = JobPool(1, "millrace-kafka-transactions")
        self._next: Future[_Open] = self._thread.submit(self._make)
        self._open: _Open | None = None
        serializer.open(*place, lambda topic: self._begun().sending.partitions(topic))

    def _make(self) -> _Open:
        """A producer that may begin: it takes some round trips, which nothing waits for as a rule."""
        over = self._committed()
        if over is None:
            self._ids += 1
            return self._new(f"{self._prefix}-{self._ids}")
        name, sending = over.committable.transactional_id, over.sending
        try:
            # The driver has ended it, which this producer does not know. To end it once more in the same way is no
            # error for the brokers, and it is ready for the next one.
            sending.check()
            sending.producer.commit_transaction(self._deadline)
        except (ConnectionError, confluent_kafka().KafkaException) as error:
            logger.info("the producer of %s is not used again: %s", name, error)
            return self._new(name)
        return _Open(name, sending)

    def _new(self, name: str) -> _Open:
        sending = Sending({**self._settings, "transactional.id": name}, self._deadline)
        library = confluent_kafka()
        try:
            sending.producer.init_transactions(self._deadline)
        except library.KafkaException as error:
            if error.args[0].code() == library.KafkaError.INVALID_TRANSACTION_TIMEOUT:
                raise ValueError(
                    f"'transaction.timeout.ms' is {self._settings['transaction.timeout.ms']}, more than the brokers "
                    "allow ('transaction.max.timeout.ms' there, 900000 unless it is set)"
                ) from None
            raise ConnectionError(f"no transaction can begin under the id {name}: {error}") from error
        return _Open(name, sending)

    def _committed(self) -> _Prepared | None:
        """Take a transaction off the waiting list that was committed meanwhile, so that its producer can be used
        again; None: none was."""
        known = self._transactions.describe(each.committable.transactional_id for each in self._waiting)
        for waiting in list(self._waiting):
            made = waiting.committable
            found = known.get(made.transactional_id)
            if found is not None and (found.state, found.begun) == (COMMITTED, made.begun):
                self._waiting.remove(waiting)
                return waiting
        return None

    def _begun(self) -> _Open:
        if self._open is None:
            self._open = self._next.result()
            self._next = Future()
            self._open.sending.producer.begin_transaction()
        return self._open

    def write(self, element: T, context: SinkWriterContext) -> None:
        opened = self._begun()
        for record in self._serializer.records(element, context.timestamp()):
            opened.sending.send(record)
            opened.records += 1
            if opened.records % 1_000 == 0:
                opened.sending.serve()

    def end_slice(self, now: int) -> None:
        if self._open is not None:
            self._open.sending.serve()

    def flush(self, end_of_input: bool) -> None:
        if self._open is not None:
            self._open.sending.flush()

    def prepare_commit(self) -> list[KafkaCommittable]:
        opened = self._open
        if opened is None or not opened.records:
            return []  # one without records goes on to the next epoch
        found, first = self._ongoing(opened.transactional_id)
        if -1 in first.values():
            # Brokers may not say it to this user. Or it is over by now, and must not count as prepared.
            self._ongoing(opened.transactional_id)
        partitions = tuple((*at, offset) for at, offset in first.items())
        made = KafkaCommittable(
            opened.transactional_id, found.producer_id, found.epoch, found.begun, partitions, opened.records
        )
        # Not closed: that would abort what is prepared.
        self._open = None
        self._waiting.append(_Prepared(made, opened.sending))
        self._next = self._thread.submit(self._make)
        return [made]

    def _ongoing(self, name: str) -> tuple[Described, dict[Partition, int]]:
        found, first = self._transactions.prepared(name)
        if found is None or found.state != ONGOING:
            raise ConnectionError(
                f"transaction {name} is {'gone' if found is None else found.state} before its epoch ended: its time "
                "('transaction.timeout.ms') must be longer than an epoch with its checkpoint takes"
            )
        return found, first

    def snapshot_state(self, checkpoint_id: int) -> list[WriterIds]:
        return [WriterIds(f"{self._prefix}-")]

    def close(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened.sending.close()  # and aborts it
        # The next one is closed when it is there, and nothing waits for that.
        self._next.add_done_callback(_discard)
        self._thread.shutdown(wait=False)
        self._transactions.close()


def _discard(made: Future[_Open]) -> None:
    if not made.cancelled() and made.exception() is None:
        made.result().sending.close()
