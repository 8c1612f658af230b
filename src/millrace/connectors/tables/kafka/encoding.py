"""Rows as records, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.connectors.kafka.record import ProducerRecord
from millrace.connectors.kafka.serializing import KafkaPartitioner, Partitions, RecordSerializer
from millrace.relational.formats import EncodingFormat
from millrace.relational.rows import Rows


@dataclass
class RowsSerializer(RecordSerializer[Rows]):
    """
    :ivar topic: None: the metadata column ``topic`` says it.
    :ivar key: None: records have no keys.
    :ivar key_columns: positions of the columns in the keys; ``value_columns`` those in the values.
    :ivar metadata: metadata key -> the position of its column.
    :ivar upserts: whether a row that is deleted is a record without value.
    """

    topic: str | None
    key: EncodingFormat | None
    value: EncodingFormat
    key_columns: tuple[int, ...]
    value_columns: tuple[int, ...]
    metadata: dict[str, int]
    partitioner: KafkaPartitioner | None = None
    upserts: bool = False

    def open(self, subtask: int, subtasks: int, partitions: Partitions) -> None:
        self._partitions = partitions
        if self.partitioner is not None:
            self.partitioner.open(subtask, subtasks)

    def records(self, element: Rows, timestamp: int | None) -> Iterable[ProducerRecord]:
        columns = element.columns
        count = len(element)
        keys = _encoded(self.key, element, self.key_columns) if self.key is not None else [None] * count
        values = self._values(element)
        times = self._column(columns, "timestamp", pa.timestamp("ms"))
        headers = self._column(columns, "headers", None)
        topics = self._column(columns, "topic", None) if self.topic is None else None
        for place in range(count):
            topic = self.topic if topics is None else topics[place]
            if topic is None:
                raise ValueError("the metadata column 'topic' is NULL: a record has to go somewhere")
            key, value = keys[place], values[place]
            partition = None
            if self.partitioner is not None:
                partition = self.partitioner.partition(element, key, value, topic, self._partitions(topic))
            known = None if headers is None else headers[place]
            made = () if known is None else tuple(known)
            yield ProducerRecord(topic, value, key, partition, None if times is None else times[place], made)

    def _values(self, rows: Rows) -> Sequence[bytes | None]:
        if not self.upserts or rows.kinds is None:
            return _encoded(self.value, rows, self.value_columns)
        stays = rows.adds()
        encoded = iter(_encoded(self.value, Rows(rows.where(stays).batch), self.value_columns))
        return [next(encoded) if stay else None for stay in stays.tolist()]

    def _column(self, columns: list[pa.Array], key: str, kind: pa.DataType | None) -> list[Any] | None:
        place = self.metadata.get(key)
        if place is None:
            return None
        column = columns[place]
        if kind is not None:
            column = pc.cast(column, pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64())
        found: list[Any] = column.to_pylist()
        return found


def _encoded(format: EncodingFormat, rows: Rows, places: tuple[int, ...]) -> Sequence[bytes | None]:
    chosen = Rows(rows.with_columns([rows.columns[place] for place in places]).batch, rows.kinds)
    found: list[bytes | None] = format.encode(chosen).to_pylist()
    return found
