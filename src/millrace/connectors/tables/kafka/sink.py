"""Writing a table into a topic."""

from __future__ import annotations

from millrace.common.sink import Sink
from millrace.common.types import RowKind
from millrace.connectors.kafka.sink import KafkaSink
from millrace.relational.rows import Rows
from millrace.relational.sources import TableSink


class KafkaTableSink(TableSink):
    """Rows as records.

    :param keys: of upserts: the columns of the primary key.
    """

    def __init__(
        self, sink: KafkaSink[Rows], kinds: frozenset[RowKind], keys: tuple[str, ...], parallelism: int | None
    ) -> None:
        self._sink = sink
        self.kinds = kinds
        self.keys = keys
        self.parallelism = parallelism

    def stream(self) -> Sink[Rows]:
        return self._sink
