"""A producer of librdkafka: sends, waits, and says what went wrong."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from millrace.connectors.kafka.library import client_log, confluent_kafka
from millrace.connectors.kafka.record import ProducerRecord

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
