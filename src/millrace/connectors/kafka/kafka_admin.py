"""What the driver asks the brokers and has them do: topics, partitions and offsets; topics that are made."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from millrace.connectors.kafka.kafka_offsets import KafkaTopicPartition
from millrace.connectors.kafka.kafka_settings import (
    client_log,
    client_settings,
    confluent_kafka,
    reaching,
)

T = TypeVar("T")

ANSWER_SECONDS = 30.0
PATIENCE = "default.api.timeout.ms"
"""The property that says how long they may take, as in Java's clients."""
_TRY_SECONDS = 5.0
_PAUSE_SECONDS = 0.2
_MOVING = (
    "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION",
    "BROKER_NOT_AVAILABLE", "REPLICA_NOT_AVAILABLE", "OFFSET_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "NETWORK_EXCEPTION", "REQUEST_TIMED_OUT", "_TRANSPORT",
    "_TIMED_OUT",
)  # fmt: skip
"""What passes when a broker is away."""
_CONSUMER_ONLY = ("group.id", "isolation.level", "auto.offset.reset", "fetch.", "max.partition", "queued.", "session.",
                  "heartbeat.", "max.poll", "check.crcs", "group.", "enable.auto", "enable.partition")  # fmt: skip


class Cluster:
    """Answers about the topics of one cluster. Waits for them as long as ``default.api.timeout.ms`` says.

    :param properties: as the user gives them to a source.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._servers = properties.get("bootstrap.servers", "")
        self._group = properties.get("group.id")
        self._committed_only = properties.get("isolation.level", "").lower() == "read_committed"
        self._patience = _seconds(properties.get(PATIENCE))
        settings = client_settings(properties)
        self._problems: list[str] = []
        self._refused = False
        own = {name: value for name, value in settings.items() if not name.startswith(_CONSUMER_ONLY)}
        library = confluent_kafka()
        from confluent_kafka import admin

        self._library, self._admin_module = library, admin
        self._settings = {**own, "error_cb": self._note}
        self._admin = self._client()

    def _client(self) -> Any:
        return self._admin_module.AdminClient(self._settings, logger=client_log)

    def _note(self, error: Any) -> None:
        self._problems = [*self._problems[-4:], error.str()]
        # What no other try will mend.
        self._refused |= error.code() in (self._library.KafkaError._AUTHENTICATION, self._library.KafkaError._SSL)

    def partitions(self) -> dict[str, int]:
        """Every topic with its number of partitions.

        :raises ConnectionError: no broker answers.
        """
        found = self._tried("topics", lambda: self._admin.list_topics(timeout=min(_TRY_SECONDS, self._patience)))
        return {name: len(topic.partitions) for name, topic in found.topics.items() if topic.error is None}

    def earliest(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        return self._ask(partitions, self._admin_module.OffsetSpec.earliest())

    def latest(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        return self._ask(partitions, self._admin_module.OffsetSpec.latest())

    def at_time(self, partitions: Sequence[KafkaTopicPartition], ms: int) -> dict[KafkaTopicPartition, int]:
        found = self._ask(partitions, self._admin_module.OffsetSpec.for_timestamp(ms))
        without = [each for each, offset in found.items() if offset < 0]
        return found | (self.latest(without) if without else {})

    def _ask(self, partitions: Sequence[KafkaTopicPartition], spec: Any) -> dict[KafkaTopicPartition, int]:
        if not partitions:
            return {}
        level = self._library.IsolationLevel
        level = level.READ_COMMITTED if self._committed_only else level.READ_UNCOMMITTED
        wanted = {self._library.TopicPartition(each.topic, each.partition): spec for each in partitions}

        def ask() -> dict[KafkaTopicPartition, int]:
            asked = self._admin.list_offsets(wanted, isolation_level=level, request_timeout=ANSWER_SECONDS)
            return {KafkaTopicPartition(at.topic, at.partition): each.result().offset for at, each in asked.items()}

        return self._tried("offsets", ask)

    def committed(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        if not partitions or not self._group:
            return {}
        wanted = [self._library.TopicPartition(each.topic, each.partition) for each in partitions]
        group = self._library.ConsumerGroupTopicPartitions(self._group, wanted)

        def ask() -> Any:
            asked = self._admin.list_consumer_group_offsets([group], request_timeout=ANSWER_SECONDS)
            return asked[self._group].result().topic_partitions

        answers = self._tried(f"committed offsets of group {self._group!r}", ask)
        return {KafkaTopicPartition(at.topic, at.partition): at.offset for at in answers if at.offset >= 0}

    def commit(self, offsets: Mapping[KafkaTopicPartition, int]) -> None:
        """Make these the group's offsets.

        :raises ConnectionError: that could not be done in time, or is refused.
        """
        if not offsets or not self._group:
            return
        wanted = [self._library.TopicPartition(at.topic, at.partition, offset) for at, offset in offsets.items()]
        group = self._library.ConsumerGroupTopicPartitions(self._group, wanted)

        def ask() -> None:
            asked = self._admin.alter_consumer_group_offsets([group], request_timeout=ANSWER_SECONDS)
            asked[self._group].result()

        self._tried(f"group {self._group!r} where it stands", ask)

    def _tried(self, what: str, ask: Callable[[], T]) -> T:
        """Ask again while leaders and coordinators move."""
        errors = self._library.KafkaError
        moving = {getattr(errors, name) for name in _MOVING}
        began = time.monotonic()
        while True:
            try:
                return ask()
            except self._library.KafkaException as error:
                self._admin.poll(0)  # lets it say why
                code = error.args[0].code() if error.args else None
                waited = time.monotonic() - began
                if code not in moving or self._refused or waited > self._patience:
                    # Its own traceback says nothing that the text does not.
                    raise self._failed(what, error, waited > self._patience) from None
                time.sleep(_PAUSE_SECONDS)
                self._admin = self._client()  # the old one goes on asking the leaders that it knows

    def _failed(self, what: str, error: Exception, whole: bool) -> Exception:
        """:param whole: whether it was tried for as long as that is done."""
        said = error.args[0].str() if error.args and hasattr(error.args[0], "str") else str(error)
        causes = "; ".join(dict.fromkeys(self._problems))
        return ConnectionError(
            f"Kafka at {self._servers} ('bootstrap.servers') does not tell its {what}"
            f"{f', asked for {self._patience:g} s ({PATIENCE!r})' if whole else ''}: "
            f"{said}{f' ({causes})' if causes else ''}"
        )


def _seconds(millis: str | None) -> float:
    """:raises ValueError: it is no number of milliseconds."""
    if millis is None:
        return ANSWER_SECONDS
    if not millis.strip().isdecimal():
        raise ValueError(f"'{PATIENCE}' is a number of milliseconds, not {millis!r}")
    return int(millis) / 1000


_AS_THE_BROKER_SAYS = -1


def ensure_topic(name: str, properties: Mapping[str, str]) -> None:
    """:param properties: of the client, in the names of Java's.

    :raises ConnectionError: it is not there, and cannot be made.
    """
    library = confluent_kafka()
    from confluent_kafka import admin

    client = admin.AdminClient(dict(reaching(properties)), logger=client_log)
    topic = admin.NewTopic(name, _AS_THE_BROKER_SAYS, _AS_THE_BROKER_SAYS)
    try:
        client.create_topics([topic], request_timeout=ANSWER_SECONDS)[name].result(ANSWER_SECONDS * 2)
    except library.KafkaException as error:
        if error.args[0].code() != library.KafkaError.TOPIC_ALREADY_EXISTS:
            raise ConnectionError(f"topic {name!r} cannot be made: {error.args[0].str()}") from None
