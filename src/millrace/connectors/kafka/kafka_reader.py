"""Reads partitions with one consumer of librdkafka. Records that cannot be read fail the job, or go to a topic of dead
letters.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from millrace.common.typeinfo import TypeInformation
from millrace.connectors.kafka.kafka_offsets import KafkaSplit
from millrace.connectors.kafka.kafka_records import ProducerRecord, RecordDecoder, RecordError
from millrace.connectors.kafka.kafka_settings import client_log, confluent_kafka, reaching
from millrace.connectors.kafka.kafka_writers import Sending
from millrace.connectors.source_base import Pace
from millrace.connectors.split_reader import SplitBatch, SplitReader
from millrace.util.skipped import counting_skipped, record_skipped

T = TypeVar("T")

WAIT_SECONDS = 0.05
"""How long a fetch waits for a first record: wake-ups and the end of the job wait as long."""
MOST_RECORDS = 10_000

logger = logging.getLogger(__name__)


class KafkaSplitReader(SplitReader[T, KafkaSplit], Generic[T]):
    """Fetches the records of any number of partitions.

    :param settings: librdkafka's.
    :param pace: None: as fast as possible.
    """

    any_order = True

    def __init__(self, settings: Mapping[str, Any], decoder: RecordDecoder[T], pace: Pace | None = None) -> None:
        self._pace = pace
        self._library = confluent_kafka()
        self._decoder = decoder
        self._failure: Any = None
        settings = {**settings, "error_cb": self._on_error, "enable.partition.eof": True}
        self._consumer = self._library.Consumer(settings, logger=client_log)
        self._splits: dict[tuple[str, int], KafkaSplit] = {}
        self._empty: list[KafkaSplit] = []
        """splits that end where they begin"""
        self._logged: set[str] = set()

    def _on_error(self, error: Any) -> None:
        if error.fatal() or error.code() == self._library.KafkaError._AUTHENTICATION:
            self._failure = error

    def handle_splits_changes(self, added: Sequence[KafkaSplit]) -> None:
        wanted = []
        for split in added:
            if split.stop is not None and split.offset >= split.stop:
                self._empty.append(split)
                continue
            self._splits[split.topic, split.partition] = split
            wanted.append(self._library.TopicPartition(split.topic, split.partition, split.offset))
        if wanted:
            self._consumer.incremental_assign(wanted)

    def fetch(self) -> list[SplitBatch[T, KafkaSplit]]:
        found = [SplitBatch[T, KafkaSplit](each.split_id, [], None) for each in self._empty]
        self._empty = []
        most = MOST_RECORDS if self._pace is None else self._pace.allowed(MOST_RECORDS)
        if most == 0:
            time.sleep(WAIT_SECONDS / 5)
            return found
        first = self._consumer.poll(WAIT_SECONDS)
        if self._failure is not None:
            raise self._library.KafkaException(self._failure)
        if first is None:
            return found
        by_partition: defaultdict[tuple[str, int], list[Any]] = defaultdict(list)
        ended: list[tuple[str, int]] = []
        messages = [first, *(self._consumer.consume(most - 1, 0) if most > 1 else ())]
        if self._pace is not None:
            self._pace.take(len(messages))
        for message in messages:
            at = (message.topic(), message.partition())
            if message.error() is None:
                by_partition[at].append(message)
            elif self._ends(message):
                ended.append(at)
        found += [batch for at, some in by_partition.items() if (batch := self._batch(at, some)) is not None]
        for at in ended:
            # Behind the last record there may be markers of transactions, which consumers do not get.
            split = self._splits.get(at)
            if split is not None and split.stop is not None:
                found.append(self._end(at))
        return found

    def _ends(self, message: Any) -> bool:
        """Whether the end of a partition is reached; other news of it are errors, or told once."""
        error, codes = message.error(), self._library.KafkaError
        if error.code() == codes._PARTITION_EOF:
            split = self._splits.get((message.topic(), message.partition()))
            return split is not None and split.stop is not None and message.offset() >= split.stop
        if error.code() in (codes.UNKNOWN_TOPIC_OR_PART, codes._UNKNOWN_PARTITION, codes._UNKNOWN_TOPIC):
            text = f"topic {message.topic()!r}, partition {message.partition()}: {error.str()}"
            if text not in self._logged:
                self._logged.add(text)
                logger.warning("%s; it is read again should it come back", text)
            return False
        if error.code() == codes._AUTO_OFFSET_RESET:
            raise ValueError(
                f"topic {message.topic()!r}, partition {message.partition()}: the offset to go on from is not there "
                f"({error.str()}), and there is no strategy to reset it: give KafkaOffsetResetStrategy.EARLIEST or "
                "LATEST, or 'auto.offset.reset'"
            )
        if error.retriable():
            return False
        raise self._library.KafkaException(error)

    def _batch(self, at: tuple[str, int], messages: list[Any]) -> SplitBatch[T, KafkaSplit] | None:
        split = self._splits.get(at)
        if split is None:
            return None  # it was read to its end before these came
        last = messages[-1].offset()
        if split.stop is not None and last >= split.stop:
            messages = [each for each in messages if each.offset() < split.stop]
        with counting_skipped() as skipped:
            elements, times = self._decoder.decode(messages)
        size = sum(map(len, messages))
        if split.stop is not None and last + 1 >= split.stop:
            self._end(at)
            return SplitBatch(split.split_id, elements, None, times, size, skipped=skipped.number)
        left = self._splits[at] = KafkaSplit(split.topic, split.partition, last + 1, split.stop)
        return SplitBatch(split.split_id, elements, left, times, size, skipped=skipped.number)

    def _end(self, at: tuple[str, int]) -> SplitBatch[T, KafkaSplit]:
        self._consumer.incremental_unassign([self._library.TopicPartition(*at)])
        return SplitBatch(self._splits.pop(at).split_id, [], None)

    def leave(self, names: Sequence[str]) -> None:
        """Read these splits no more."""
        for at in [at for at, split in self._splits.items() if split.split_id in names]:
            self._end(at)

    def pause_or_resume_splits(self, to_pause: Sequence[str], to_resume: Sequence[str]) -> None:
        for names, act in ((set(to_pause), self._consumer.pause), (set(to_resume), self._consumer.resume)):
            chosen = [self._library.TopicPartition(*at) for at, each in self._splits.items() if each.split_id in names]
            if chosen:
                act(chosen)

    def commit(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """Tell the group how far its records are used."""
        try:
            wanted = [self._library.TopicPartition(*at, offset) for at, offset in offsets.items()]
            self._consumer.commit(offsets=wanted, asynchronous=True)
        except self._library.KafkaException as error:
            # The checkpoint is what counts: these offsets are for others to look at.
            logger.warning("offsets of the consumer group were not committed: %s", error)

    def close(self) -> None:
        # What was not committed yet is left to the driver, whose offsets are newer if the job has ended.
        self._consumer.close()
        self._decoder.close()


DEADLINE_SECONDS = 60.0
_HEADER = "__connect.errors."
"""Kafka Connect's names of headers, which tools know."""


class DeadLetters(RecordDecoder[T]):
    """Decodes what can be decoded. The others are in the other topic, as they were, before those around them go on, so
    that none is lost. A record that is read again after a failure is there once more.

    :param topic: where they go, on the same brokers.
    :param properties: of the source.
    """

    def __init__(self, decoder: RecordDecoder[T], topic: str, properties: Mapping[str, str]) -> None:
        self._decoder, self._topic, self._properties = decoder, topic, dict(properties)
        self._sending: Sending | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_sending": None}

    def decode(self, messages: Sequence[Any]) -> tuple[list[T], list[int] | None]:
        bad: list[RecordError] = []
        found = self._good(messages, bad)
        if bad:
            self._send(bad)
            record_skipped(len(bad))
        return found

    def _good(self, messages: Sequence[Any], bad: list[RecordError]) -> tuple[list[T], list[int] | None]:
        """What can be decoded; halves where something can't."""
        try:
            return self._decoder.decode(messages)
        except RecordError as error:
            if len(messages) == 1:
                bad.append(error)
                return [], None
        middle = len(messages) // 2
        (first, times), (second, more) = (self._good(part, bad) for part in (messages[:middle], messages[middle:]))
        if not first or not second:
            return (first, times) if first else (second, more)
        return first + second, None if times is None or more is None else times + more

    def _send(self, bad: Sequence[RecordError]) -> None:
        if self._sending is None:
            self._sending = Sending(reaching(self._properties), DEADLINE_SECONDS)
        for error in bad:
            record = error.record
            own = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
            headers = [(f"{_HEADER}{name}", str(value).encode()) for name, value in own.items()]
            headers.append((f"{_HEADER}exception.message", str(error).encode()))
            time = record.timestamp if record.timestamp >= 0 else None
            self._sending.send(
                ProducerRecord(self._topic, record.value, record.key, None, time, (*record.headers, *headers))
            )
        self._sending.flush()
        logger.warning("%d records cannot be read and are in topic %r; the first: %s", len(bad), self._topic, bad[0])

    def produced_type(self) -> TypeInformation | None:
        return self._decoder.produced_type()

    def close(self) -> None:
        if self._sending is not None:
            self._sending.close()
            self._sending = None
