"""Ends transactions of Kafka from the driver."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from millrace.common.sink import Committer
from millrace.connectors.kafka.exactly_once import KafkaCommittable
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
        kept = {each.transactional_id for each in committables}
        lingering = [each for each in self._transactions.of_prefix(f"{self._prefix}{job_id}-") if each not in kept]
        for name, found in self._transactions.describe(lingering).items():
            self._take_back(name, found.producer_id, found.epoch)

    def _take_back(self, name: str, producer_id: int, epoch: int) -> None:
        try:
            self._transactions.end(name, producer_id, epoch, False)
        except Refused as refusal:
            logger.info("transaction %s was over already: %s", name, refusal.code)

    def close(self) -> None:
        self._transactions.close()

