"""Ends transactions of Kafka from the driver."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millrace.common.sink import Committer
from millrace.connectors.kafka.exactly_once import KafkaCommittable, WriterIds, epoch_of
from millrace.connectors.kafka.lost import lost_error, parts_of, write_again
from millrace.connectors.kafka.transactions import COMMITTED, Refused, Transactions

ON_LOST = "millrace.kafka.on-lost-transaction"
"""``fail`` or ``replay``: what happens to records that Kafka has aborted although they count as written"""

logger = logging.getLogger(__name__)


class KafkaCommitter(Committer[KafkaCommittable]):
    """Commits what is recorded, and aborts what is not.

    :param prefix: what the transactional ids of all jobs with this sink begin with.
    :param deadline: seconds that records may take which are written again.
    """

    def __init__(self, properties: Mapping[str, str], prefix: str, deadline: float) -> None:
        self._properties, self._prefix, self._deadline = properties, prefix, deadline
        self._transactions = Transactions(properties)

    def commit(self, committables: Sequence[KafkaCommittable]) -> None:
        lost = {
            each: parts_of(self._transactions, each) for each in committables if not self._committed(each)
        }
        if not lost:
            return
        error = lost_error(lost)
        if self._properties.get(ON_LOST, "fail").lower() != "replay":
            raise error
        logger.error("%s", error)
        write_again(self._properties, [part for parts in lost.values() for part in parts], self._deadline)

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

