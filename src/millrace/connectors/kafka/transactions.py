"""What librdkafka cannot do with transactions: tell their state, and end those of another process."""

from __future__ import annotations

import contextlib
import ssl
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from millrace.connectors.kafka.cluster import Cluster
from millrace.connectors.kafka.library import kafka_python
from millrace.connectors.kafka.properties import client_settings

T = TypeVar("T")

ANSWER_SECONDS = 60.0
"""How long one request is tried again, while coordinators move and brokers start."""
_PAUSE_SECONDS = 0.2
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
        until = time.monotonic() + ANSWER_SECONDS
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
        until = time.monotonic() + ANSWER_SECONDS
        while True:
            try:
                return ask()
            except final:
                raise
            except (errors.KafkaError, OSError) as error:
                if time.monotonic() > until:
                    servers = self._properties.get("bootstrap.servers", "")
                    raise ConnectionError(
                        f"Kafka at {servers} did not answer for {what} in {ANSWER_SECONDS:g} s: {error!r}"
                    ) from error
                # The next client asks anew who coordinates what: this one would go on asking who did.
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
