"""Ends transactions of Kafka from the driver."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millrace.common.sink import Committer
from millrace.connectors.kafka.exactly_once import KafkaCommittable, WriterIds, epoch_of
from millrace.connectors.kafka.lost import LostPart, again, lost_error, parts_of
from millrace.connectors.kafka.transactions import COMMITTED, ONGOING, Refused, Transactions

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
        self._take_back(each.transactional_id, each.producer_id, each.epoch)
        logger.warning("transaction %s came too near to its time-out: its records are written again", each)
        parts = parts_of(self._transactions, each)
        name = f"{each.transactional_id}a"
        again(self._properties, each, parts, name, self._deadline)  # not closed: that would abort it
        made = self._transactions.describe([name])[name]
        first = self._transactions.began_at(made.producer_id, made.partitions)
        partitions = tuple((*at, offset) for at, offset in first.items())
        return KafkaCommittable(name, made.producer_id, made.epoch, made.begun, partitions, each.records)

    def commit(self, committables: Sequence[KafkaCommittable]) -> None:
        lost = {each: parts_of(self._transactions, each) for each in committables if not self._committed(each)}
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
        sending = again(self._properties, each, parts, name, self._deadline)
        sending.producer.commit_transaction(self._deadline)
        sending.producer.close()

    def _committed(self, each: KafkaCommittable) -> bool:
        try:
            self._transactions.end(each.transactional_id, each.producer_id, each.epoch, True)
            return True
        except Refused as refusal:
            found = self._transactions.settled(each.transactional_id)
            if found is None:
                logger.error("%s is not known to Kafka any more (%s)", each.transactional_id, refusal.code)
                return False
            # Its id is used again only after it was committed; if it is the last one of its id, its state tells.
            return found.begun != each.begun or found.state == COMMITTED

    def abort(self, committables: Sequence[KafkaCommittable]) -> None:
        for each in committables:
            self._take_back(each.transactional_id, each.producer_id, each.epoch)

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
        for name, found in self._transactions.describe(open_).items():
            if (name, found.begun) not in kept:
                self._take_back(name, found.producer_id, found.epoch)

    def _take_back(self, name: str, producer_id: int, epoch: int) -> None:
        try:
            self._transactions.end(name, producer_id, epoch, False)
        except Refused as refusal:
            logger.info("transaction %s was over already: %s", name, refusal.code)

    def close(self) -> None:
        self._transactions.close()

