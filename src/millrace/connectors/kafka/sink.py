"""``KafkaSink``: writes records, at least once or exactly once."""

from __future__ import annotations

import copy
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from millrace.common.sink import Sink, SinkWriter, WriterInitContext
from millrace.connectors.base import DeliveryGuarantee
from millrace.connectors.kafka.builders import KafkaSinkBuilder
from millrace.connectors.kafka.committer import KafkaCommitter
from millrace.connectors.kafka.exactly_once import TransactionalWriter
from millrace.connectors.kafka.properties import client_settings
from millrace.connectors.kafka.serializing import RecordSerializer
from millrace.connectors.kafka.transactions import Transactions
from millrace.connectors.kafka.writer import PlainWriter

T = TypeVar("T")

TRANSACTION_TIMEOUT = "transaction.timeout.ms"
DEFAULT_TRANSACTION_MS = 15 * 60 * 1000
"""what brokers allow unless they are told otherwise; Flink has an hour, which they refuse"""
DEFAULT_DELIVERY_MS = 120_000


@dataclass(frozen=True)
class KafkaSink(Sink[T], Generic[T]):
    """Made by ``KafkaSink.builder()`` or a table.

        >>> lines = KafkaRecordSerializationSchema.builder().set_topic("lines")
        >>> serializer = lines.set_value_serialization_schema(SimpleStringSchema()).build()
        >>> builder = KafkaSink.builder().set_bootstrap_servers("localhost:9092").set_record_serializer(serializer)
        >>> sink = env.from_collection(["a"]).sink_to(builder.build())

    :ivar prefix: of transactional ids; no other application on the cluster may have it.
    :ivar properties: of the client, in the names of Java's.
    """

    serializer: RecordSerializer[T]
    properties: Mapping[str, str]
    guarantee: DeliveryGuarantee = DeliveryGuarantee.NONE
    prefix: str = ""
    uid: str = ""

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Begins a sink; ``build()`` ends it."""
        return KafkaSinkBuilder()

    def for_operator(self, uid: str) -> KafkaSink[T]:
        return replace(self, uid=uid)

    @property
    def _deadline(self) -> float:
        """seconds"""
        return int(self.properties.get("delivery.timeout.ms", DEFAULT_DELIVERY_MS)) / 1000

    @property
    def _ids(self) -> str:
        return f"{self.prefix}-{zlib.crc32(self.uid.encode()):08x}-"

    def create_writer(self, context: WriterInitContext) -> SinkWriter[T]:
        settings = client_settings(self.properties)
        deadline = self._deadline
        place = context.get_index_of_subtask(), context.get_number_of_parallel_subtasks()
        serializer = copy.copy(self.serializer)
        if self.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            waits = self.guarantee is DeliveryGuarantee.AT_LEAST_ONCE
            return PlainWriter(settings, serializer, place, deadline, waits)
        settings.setdefault(TRANSACTION_TIMEOUT, DEFAULT_TRANSACTION_MS)
        settings.pop("enable.idempotence", None)
        prefix = f"{self._ids}{context.get_job_id()}-"
        transactions, epoch = Transactions(self.properties), context.get_checkpoint_id()
        return TransactionalWriter(settings, serializer, place, deadline, transactions, prefix, epoch)

    def create_committer(self) -> KafkaCommitter | None:
        if self.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return None
        timeout = int(self.properties.get(TRANSACTION_TIMEOUT, DEFAULT_TRANSACTION_MS))
        return KafkaCommitter(self.properties, self._ids, timeout, self._deadline)

    def __repr__(self) -> str:
        return f"KafkaSink({self.properties.get('bootstrap.servers')}, {self.guarantee.name})"


