"""The state of transactions, and the end of those of another process, which librdkafka cannot do."""

from __future__ import annotations

import contextlib
import ssl
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from millrace.connectors.kafka.kafka_admin import Cluster
from millrace.connectors.kafka.kafka_settings import client_settings, kafka_python

if TYPE_CHECKING:
    from kafka import KafkaAdminClient

T = TypeVar("T")
Partition = tuple[str, int]
"""(topic, partition)"""

TRANSACTION_SECONDS = 60.0
"""How long one request is tried again, while coordinators move and brokers start."""
_PAUSE_SECONDS = 0.2
_AT_ONCE = 4
"""requests at the same time: a client refuses the fifth of a connection, and two threads of a writer share one"""
_FETCH_BYTES = 4 << 20
_LAST_WITH_NAMES = 12
"""From this version of Fetch on topics are named by ids."""
_FIRST_OWN_EPOCH = 5
"""From this version of EndTxn on the broker raises the epoch with each end, which would be another protocol."""

ONGOING, COMMITTED, ABORTED = "Ongoing", "CompleteCommit", "CompleteAbort"
_ON_THE_WAY = {"PrepareCommit", "PrepareAbort", "PrepareEpochFence"}


class Transaction(Protocol):
    """One transaction of a transactional id; ``begun`` (ms) tells it from the others of the id."""

    @property
    def transactional_id(self) -> str: ...
    @property
    def producer_id(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def begun(self) -> int: ...


class Described(NamedTuple):
    """A transactional id, as its coordinator knows it.

    :ivar begun: when the transaction began (ms); it tells one transaction of an id from another.
    """

    transactional_id: str
    state: str
    producer_id: int
    epoch: int
    begun: int
    partitions: tuple[Partition, ...]


class Refused(Exception):
    """The coordinator does not end a transaction: it is not the one that is open.

    :ivar code: the name of Kafka's error.
    """

    def __init__(self, transactional_id: str, code: str) -> None:
        super().__init__(f"{transactional_id}: {code}")
        self.code = code


class Transactions:
    """A connection to the coordinators, opened with the first request. Every request is tried for
    ``TRANSACTION_SECONDS``.

    :param properties: of the sink; its settings of TLS and SASL count here, too.
    :raises ConnectionError: by every request: no answer in that time, or the brokers refuse these settings.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = dict(properties)
        self._admin: KafkaAdminClient | None = None
        self._leaders: dict[Partition, int] = {}
        """the brokers that were asked last for the producers of a partition"""
        self._let_in = client_settings(properties).get("security.protocol", "PLAINTEXT").upper() == "PLAINTEXT"

    def describe(self, ids: Iterable[str]) -> dict[str, Described]:
        """What is known of transactional ids; unknown ones are left out."""
        wanted = list(ids)
        return self._asked("its transactions", lambda admin: _described(admin, wanted)) if wanted else {}

    def prepared(self, transactional_id: str) -> tuple[Described | None, dict[Partition, int]]:
        """What is known of an id, and the first offset of its open transaction in each of its partitions; -1 where that
        is not told. In one round trip, if this was asked last of a transaction in the same partitions."""

        async def ask(admin: KafkaAdminClient) -> tuple[Described | None, dict[Partition, dict[int, int]]]:
            producers = _ask_producers(admin, self._leaders)
            found = await _described(admin, [transactional_id])
            offsets: dict[Partition, dict[int, int]] = {}
            for each in producers:
                with contextlib.suppress(kafka_python().errors.KafkaError):  # is asked again, of the leader of now
                    offsets |= _offsets_of(await each)
            return found.get(transactional_id), offsets

        found, offsets = self._asked("its transactions", ask)
        if found is None:
            return None, {}
        first = {at: offsets[at].get(found.producer_id, -1) for at in found.partitions if at in offsets}
        others = [at for at in found.partitions if at not in offsets]
        if others:
            first |= self.began_at(found.producer_id, others)
        self._leaders = {at: leader for at, leader in self._leaders.items() if at in first}
        return found, first

    def began_at(self, producer_id: int, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The first offset of a producer's open transaction in each of its partitions; -1 where that is not told."""
        wanted = list(partitions)
        library = kafka_python()

        async def ask(admin: KafkaAdminClient) -> dict[Partition, dict[int, int]]:
            led = await admin._async_get_leader_for_partitions([library.TopicPartition(*each) for each in wanted])
            leaders = {(at.topic, at.partition): leader for leader, parts in led.items() for at in parts}
            offsets: dict[Partition, dict[int, int]] = {}
            for each in _ask_producers(admin, leaders):
                offsets |= _offsets_of(await each)
            self._leaders |= leaders
            return offsets

        try:
            told = self._asked("the producers of partitions", ask)
        except library.errors.KafkaError:
            told = {}  # it may be forbidden, and is for messages only
        return {at: told.get(at, {}).get(producer_id, -1) for at in wanted}

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

        async def ask(admin: KafkaAdminClient) -> int:
            return (await _coordinators(admin, [transactional_id]))[transactional_id]

        return self._asked(f"the coordinator of {transactional_id}", ask)

    def end_all(self, transactions: Sequence[Transaction], commit: bool) -> dict[int, Refused]:
        """Commit or abort open transactions, some at the same time; twice is as good as once.

        :returns: index of a transaction -> why it was not ended: it is not open any more, or another one of its id is.
        """
        left = dict(enumerate(transactions))
        refused: dict[int, Refused] = {}
        errors, final = kafka_python().errors, _final_errors()
        again = False

        async def send(admin: KafkaAdminClient) -> None:
            nonlocal again
            if again:
                # The answer to an earlier try may be lost, and the id be used for the next transaction by now: this
                # request would end that one, since it has neither a number nor a time.
                known = await _described(admin, {each.transactional_id for each in left.values()})
                for index, each in list(left.items()):
                    found = known.get(each.transactional_id)
                    if found is None or (found.state, found.begun) != (ONGOING, each.begun):
                        refused[index] = Refused(each.transactional_id, "NotOpen")
                        del left[index]
            again = True
            waiting = list(left.items())
            for first in range(0, len(waiting), _AT_ONCE):
                part = waiting[first : first + _AT_ONCE]
                at = await _coordinators(admin, [each.transactional_id for _, each in part])
                sent = [
                    admin._manager.send(_ending(each, commit), node_id=at[each.transactional_id]) for _, each in part
                ]
                for (index, each), answer in zip(part, sent, strict=True):
                    kind = errors.for_code((await answer).error_code)
                    if kind in final:
                        refused[index] = Refused(each.transactional_id, kind.__name__.removesuffix("Error"))
                    elif kind is not errors.NoError:
                        raise kind(each.transactional_id)
                    del left[index]

        names = ", ".join(each.transactional_id for each in transactions[:3])
        try:
            self._asked(f"the end of transactions {names}", send)
        except errors.KafkaError as error:
            code = type(error).__name__.removesuffix("Error")
            refused |= {index: Refused(each.transactional_id, code) for index, each in left.items()}
        return refused

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

        async def ask(admin: KafkaAdminClient) -> bytes:
            leaders = await admin._async_get_leader_for_partitions([library.TopicPartition(topic, partition)])
            (leader,) = leaders
            answer = await admin._manager.send(request, node_id=leader)
            ((found,),) = (each.partitions for each in answer.responses)
            kind = library.errors.for_code(found.error_code)
            if kind is not library.errors.NoError:
                raise kind(f"{topic}-{partition}")
            return bytes(found.records or b"")

        return self._asked(f"records of {topic}-{partition}", ask)

    def close(self) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def _asked(self, what: str, ask: Callable[[KafkaAdminClient], Awaitable[T]]) -> T:
        """The answer of a coroutine that is given the client."""

        def run() -> T:
            admin = self._client()
            found: T = admin._manager.run(ask, admin)
            return found

        return self._tried(what, run)

    def _tried(self, what: str, ask: Callable[[], T]) -> T:
        """Ask again as long as an answer may come: the coordinator moves, or its broker is away."""
        errors, final = kafka_python().errors, _final_errors()
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
                self._leaders = {}
                time.sleep(_PAUSE_SECONDS)

    def _client(self) -> KafkaAdminClient:
        if self._admin is None:
            self._admin = kafka_python().KafkaAdminClient(**admin_settings(self._properties))
        return self._admin

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_admin": None}


def _final_errors() -> tuple[type[Exception], ...]:
    """What asking again does not mend."""
    errors = kafka_python().errors
    return (
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


async def _coordinators(admin: KafkaAdminClient, ids: Iterable[str]) -> dict[str, int]:
    """id -> its broker; the client remembers them."""
    from kafka.protocol.metadata import CoordinatorType

    found: dict[str, int] = await admin._find_coordinator_ids(list(ids), key_type=CoordinatorType.TRANSACTION)
    return found


async def _described(admin: KafkaAdminClient, ids: Iterable[str]) -> dict[str, Described]:
    """One request to each coordinator, all at the same time."""
    from kafka.protocol.admin.transactions import DescribeTransactionsRequest

    wanted = list(ids)
    errors = kafka_python().errors
    by_broker: dict[int, list[str]] = defaultdict(list)
    for name, broker in (await _coordinators(admin, wanted)).items():
        by_broker[broker].append(name)
    sent = [
        admin._manager.send(DescribeTransactionsRequest(transactional_ids=names), node_id=broker)
        for broker, names in by_broker.items()
    ]
    found: dict[str, Described] = {}
    for answer in sent:
        for each in (await answer).transaction_states:
            kind = errors.for_code(each.error_code)
            if kind is errors.TransactionalIdNotFoundError:
                continue
            if kind is not errors.NoError:
                raise kind(each.transactional_id)
            partitions = sorted((topic.topic, part) for topic in each.topics for part in topic.partitions)
            found[each.transactional_id] = Described(
                each.transactional_id,
                each.transaction_state,
                each.producer_id,
                each.producer_epoch,
                each.transaction_start_time_ms,
                tuple(partitions),
            )
    return {name: found[name] for name in wanted if name in found}


def _ask_producers(admin: KafkaAdminClient, leaders: Mapping[Partition, int]) -> list[Awaitable[Any]]:
    """Ask the leaders of partitions for their producers, all at the same time."""
    from kafka.protocol.admin.transactions import DescribeProducersRequest

    by_leader: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for (topic, partition), leader in leaders.items():
        by_leader[leader][topic].append(partition)
    kind = DescribeProducersRequest.TopicRequest
    return [
        admin._manager.send(
            DescribeProducersRequest(
                topics=[kind(name=name, partition_indexes=parts) for name, parts in topics.items()]
            ),
            node_id=leader,
        )
        for leader, topics in by_leader.items()
    ]


def _offsets_of(answer: Any) -> dict[Partition, dict[int, int]]:
    """partition -> producer -> first offset of its open transaction there, -1 for none.

    :raises KafkaError: a broker does not answer for one of its partitions.
    """
    errors = kafka_python().errors
    found: dict[Partition, dict[int, int]] = {}
    for topic in answer.topics:
        for part in topic.partitions:
            kind = errors.for_code(part.error_code)
            if kind is not errors.NoError:
                raise kind(f"{topic.name}-{part.partition_index}")
            found[topic.name, part.partition_index] = {
                each.producer_id: each.current_txn_start_offset for each in part.active_producers
            }
    return found


def _ending(transaction: Transaction, commit: bool) -> Any:
    from kafka.protocol.producer.transaction import EndTxnRequest

    return EndTxnRequest(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        committed=commit,
        max_version=_FIRST_OWN_EPOCH - 1,
    )


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
