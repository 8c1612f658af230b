"""The writer of transactions: one for each epoch that has records."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millrace.common.sink import SinkWriter, SinkWriterContext
from millrace.connectors.kafka.library import confluent_kafka
from millrace.connectors.kafka.producing import Sending
from millrace.connectors.kafka.serializing import RecordSerializer
from millrace.connectors.kafka.transactions import COMMITTED, ONGOING, Described, Transactions

T = TypeVar("T")

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
        self._thread = ThreadPoolExecutor(1, "millrace-kafka-transactions")
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
        """One of those that waited and are over by now; it waits no more."""
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
        found = self._ongoing(opened.transactional_id)
        first = self._transactions.began_at(found.producer_id, found.partitions)
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

    def _ongoing(self, name: str) -> Described:
        found = self._transactions.describe([name]).get(name)
        if found is None or found.state != ONGOING:
            raise ConnectionError(
                f"transaction {name} is {'gone' if found is None else found.state} before its epoch ended: its time "
                "('transaction.timeout.ms') must be longer than an epoch with its checkpoint takes"
            )
        return found

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
