"""What the driver asks the brokers and has them do: topics, partitions and offsets; topics that are made; the state of
transactions, and the end of those of another process, which librdkafka cannot do.
"""

from __future__ import annotations

import contextlib
import ssl
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from millrace.connectors.kafka.kafka_offsets import KafkaTopicPartition
from millrace.connectors.kafka.kafka_settings import (
    client_log,
    client_settings,
    confluent_kafka,
    kafka_python,
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


TRANSACTION_SECONDS = 60.0
"""How long one request is tried again, while coordinators move and brokers start."""


_FETCH_BYTES = 4 << 20
_LAST_WITH_NAMES = 12
"""From this version of Fetch on topics are named by ids."""
_FIRST_OWN_EPOCH = 5
"""From this version of EndTxn on the broker raises the epoch with each end, which would be another protocol."""

ONGOING, COMMITTED, ABORTED = "Ongoing", "CompleteCommit", "CompleteAbort"
_ON_THE_WAY = {"PrepareCommit", "PrepareAbort", "PrepareEpochFence"}


class Described(NamedTuple):
    """A transactional id, as its coordinator knows it.

    :ivar begun: when the transaction began (ms); it tells one transaction of an id from another.
    """

    state: str
    producer_id: int
    epoch: int
    begun: int
    partitions: tuple[tuple[str, int], ...]


class Refused(Exception):
    """The coordinator does not end a transaction: it is not the one that is open.

    :ivar code: the name of Kafka's error.
    """

    def __init__(self, transactional_id: str, code: str) -> None:
        super().__init__(f"{transactional_id}: {code}")
        self.code = code


class Transactions:
    """A connection to the coordinators, opened with the first request. Every request is tried for ``ANSWER_SECONDS``.

    :param properties: of the sink; its settings of TLS and SASL count here, too.
    :raises ConnectionError: by every request: no answer in that time, or the brokers refuse these settings.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = dict(properties)
        self._admin: Any = None
        self._let_in = client_settings(properties).get("security.protocol", "PLAINTEXT").upper() == "PLAINTEXT"

    def describe(self, ids: Iterable[str]) -> dict[str, Described]:
        """What is known of transactional ids; unknown ones are left out."""
        wanted = list(ids)
        if not wanted:
            return {}
        errors = kafka_python().errors

        def ask() -> dict[str, Any]:
            found: dict[str, Any] = {}
            for each in wanted:
                try:
                    found |= self._client().describe_transactions([each])
                except errors.TransactionalIdNotFoundError:
                    continue
            return found

        return {
            name: Described(
                str(each.state.value),
                each.producer_id,
                each.producer_epoch,
                each.transaction_start_time_ms,
                tuple(sorted((at.topic, at.partition) for at in each.topic_partitions)),
            )
            for name, each in self._tried("its transactions", ask).items()
        }

    def began_at(self, producer_id: int, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """The first offset of a producer's open transaction in each of its partitions; -1 where that is not told."""
        wanted = list(partitions)
        library = kafka_python()
        found = dict.fromkeys(wanted, -1)

        def ask() -> Any:
            return self._client().describe_producers([library.TopicPartition(*each) for each in wanted])

        try:
            told = self._tried("the producers of partitions", ask)
        except library.errors.KafkaError:
            return found  # it may be forbidden, and is for messages only
        for at, state in told.items():
            for producer in state.active_producers:
                if producer.producer_id == producer_id:
                    found[at.topic, at.partition] = producer.current_transaction_start_offset
        return found

    def of_prefix(self, prefix: str, state: str = ONGOING) -> list[str]:
        """The transactional ids that begin so and are in a state, on all brokers."""
        found = self._tried("a list of transactions", lambda: self._client().list_transactions(state_filters=[state]))
        return sorted(
            each.transactional_id
            for listed in found.values()
            for each in listed
            if each.transactional_id.startswith(prefix)
        )

    def coordinator(self, transactional_id: str) -> int:
        """The broker that knows a transactional id."""
        from kafka.protocol.metadata import CoordinatorType

        async def ask() -> int:
            found = await self._client()._find_coordinator_ids([transactional_id], key_type=CoordinatorType.TRANSACTION)
            return int(found[transactional_id])

        return int(self._tried(f"the coordinator of {transactional_id}", lambda: self._client()._manager.run(ask)))

    def end(self, transactional_id: str, producer_id: int, epoch: int, commit: bool) -> None:
        """Commit or abort the open transaction of an id; twice is as good as once.

        :raises Refused: it is not open any more, or another one is.
        """
        from kafka.protocol.metadata import CoordinatorType
        from kafka.protocol.producer.transaction import EndTxnRequest

        async def ask() -> Any:
            admin = self._client()
            at = await admin._find_coordinator_ids([transactional_id], key_type=CoordinatorType.TRANSACTION)
            request = EndTxnRequest(
                transactional_id=transactional_id,
                producer_id=producer_id,
                producer_epoch=epoch,
                committed=commit,
                max_version=_FIRST_OWN_EPOCH - 1,
            )
            return await admin._manager.send(request, node_id=at[transactional_id])

        errors = kafka_python().errors

        def send() -> None:
            answer = self._client()._manager.run(ask)
            kind = errors.for_code(answer.error_code)
            if kind is not errors.NoError:
                raise kind(transactional_id)

        try:
            self._tried(f"the end of transaction {transactional_id}", send)
        except errors.KafkaError as error:
            raise Refused(transactional_id, type(error).__name__.removesuffix("Error")) from error

    def settled(self, transactional_id: str) -> Described | None:
        """As ``describe``, once nothing is on the way any more."""
        until = time.monotonic() + TRANSACTION_SECONDS
        while True:
            found = self.describe([transactional_id]).get(transactional_id)
            if found is None or found.state not in _ON_THE_WAY or time.monotonic() > until:
                return found
            time.sleep(_PAUSE_SECONDS)

    def fetch(self, topic: str, partition: int, offset: int) -> bytes:
        """Batches of records as they lie in a partition, from the one with this offset on; nothing at its end."""
        from kafka.protocol.consumer import FetchRequest

        library = kafka_python()
        wanted = FetchRequest.FetchTopic.FetchPartition(
            partition=partition, fetch_offset=offset, partition_max_bytes=_FETCH_BYTES, current_leader_epoch=-1
        )
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=_FETCH_BYTES,
            isolation_level=0,
            session_id=0,
            session_epoch=-1,
            topics=[FetchRequest.FetchTopic(topic=topic, partitions=[wanted])],
            forgotten_topics_data=[],
            rack_id="",
            max_version=_LAST_WITH_NAMES,
        )

        async def ask() -> Any:
            admin = self._client()
            leaders = await admin._async_get_leader_for_partitions([library.TopicPartition(topic, partition)])
            (leader,) = leaders
            return await admin._manager.send(request, node_id=leader)

        def send() -> bytes:
            ((found,),) = (each.partitions for each in self._client()._manager.run(ask).responses)
            kind = library.errors.for_code(found.error_code)
            if kind is not library.errors.NoError:
                raise kind(f"{topic}-{partition}")
            return bytes(found.records or b"")

        return self._tried(f"records of {topic}-{partition}", send)

    def close(self) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def _tried(self, what: str, ask: Callable[[], T]) -> T:
        """Ask again as long as an answer may come: the coordinator moves, or its broker is away."""
        errors = kafka_python().errors
        final = (
            errors.InvalidProducerEpochError,
            errors.InvalidTxnStateError,
            errors.InvalidProducerIdMappingError,
            errors.TransactionalIdAuthorizationFailedError,
            errors.TransactionalIdNotFoundError,
            errors.UnsupportedVersionError,
            errors.SaslAuthenticationFailedError,
            errors.ProducerFencedError,
            errors.OffsetOutOfRangeError,
            errors.UnknownTopicOrPartitionError,
            errors.TopicAuthorizationFailedError,
        )
        if not self._let_in:
            # kafka-python goes on trying where its first connection is refused, and does not say why. This does.
            Cluster(self._properties).partitions()
            self._let_in = True
        until = time.monotonic() + TRANSACTION_SECONDS
        while True:
            try:
                return ask()
            except final:
                raise
            except (errors.KafkaError, OSError) as error:
                if time.monotonic() > until:
                    servers = self._properties.get("bootstrap.servers", "")
                    raise ConnectionError(
                        f"Kafka at {servers} did not answer for {what} in {TRANSACTION_SECONDS:g} s: {error!r}"
                    ) from error
                # A new client looks up the coordinators again; this one would go on asking the old ones.
                with contextlib.suppress(Exception):
                    self.close()
                self._admin = None
                time.sleep(_PAUSE_SECONDS)

    def _client(self) -> Any:
        if self._admin is None:
            self._admin = kafka_python().KafkaAdminClient(**admin_settings(self._properties))
        return self._admin

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_admin": None}


def admin_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """The settings of kafka-python that reach the same brokers in the same way."""
    known = client_settings(properties)
    found: dict[str, Any] = {
        "bootstrap_servers": str(known.get("bootstrap.servers", "")).split(","),
        "security_protocol": str(known.get("security.protocol", "PLAINTEXT")).upper(),
        "client_id": str(known.get("client.id", "millrace-transactions")),
    }
    if "sasl.mechanisms" in known:
        found["sasl_mechanism"] = str(known["sasl.mechanisms"]).upper()
        found["sasl_plain_username"] = known.get("sasl.username")
        found["sasl_plain_password"] = known.get("sasl.password")
    if "SSL" in found["security_protocol"]:
        found["ssl_context"] = _tls(known)
        found["ssl_check_hostname"] = known.get("ssl.endpoint.identification.algorithm", "https") != "none"
    return found


def _tls(known: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=known.get("ssl.ca.location"), cadata=known.get("ssl.ca.pem"))
    context.check_hostname = known.get("ssl.endpoint.identification.algorithm", "https") != "none"
    password = known.get("ssl.key.password")
    if "ssl.certificate.location" in known:
        context.load_cert_chain(known["ssl.certificate.location"], known.get("ssl.key.location"), password)
    elif "ssl.certificate.pem" in known:
        # Python reads keys from files only; this one is gone at once.
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(f"{known['ssl.key.pem']}\n{known['ssl.certificate.pem']}")
            file.flush()
            context.load_cert_chain(file.name, password=password)
    return context
