"""Reading a topic as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.source import Source
from millrace.connectors.kafka.offsets import KafkaOffsetsInitializer
from millrace.connectors.kafka.source import KafkaSource
from millrace.connectors.kafka.subscriber import Subscriber
from millrace.connectors.tables.formats import Format
from millrace.connectors.tables.kafka.decoding import RowsDecoder, UpsertDecoder, Wanted
from millrace.connectors.tables.kafka.layout import Layout
from millrace.connectors.tables.kafka.pushed import Bounds, bounds_of
from millrace.connectors.tables.watermark_options import source_watermarks
from millrace.relational.fields import Field
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.sources import INSERT_ONLY, UPSERT, TableSource


@dataclass(frozen=True)
class Topic:
    """What is read, and from where to where."""

    subscriber: Subscriber
    properties: dict[str, str]
    start: KafkaOffsetsInitializer
    stop: KafkaOffsetsInitializer | None
    parallelism: int | None = None
    per_second: float | None = None
    dead_letters: str | None = None


class KafkaTableSource(TableSource):
    """Records as rows.

    :param upserts: whether records are the newest content of the rows that their keys name.
    """

    uses_filters = True

    def __init__(self, topic: Topic, layout: Layout, key: Format | None, value: Format, upserts: bool = False) -> None:
        self._topic, self._layout, self._key, self._value, self._upserts = topic, layout, key, value, upserts
        self.watermarks = source_watermarks(layout.table)
        self.bounded = topic.stop is not None
        whole = value.decoding(layout.value_columns(), tuple(name for _, name in layout.of_value), layout.table)
        self.kinds = UPSERT if upserts else whole.kinds

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        topic, layout = self._topic, self._layout
        width = len(layout.table.columns)
        # Formats read only what is asked for.
        in_value = [place for place in layout.value if place in columns]
        in_key = [place for place in layout.key if place in columns and place not in in_value]
        if self._upserts:
            in_key, in_value = list(layout.key), [place for place in in_value if place not in layout.key]
        asked = {place for place in columns if place >= width}
        of_value = [(place, name) for place, name in layout.of_value if place + width in asked]
        own = {place + width: column for place, column in layout.metadata}
        wanted = []
        for place in columns:
            if place in own:
                wanted.append(Wanted("metadata", metadata=own[place]))
            elif place >= width:
                names = [each for each, _ in of_value]
                wanted.append(Wanted("value", len(in_value) + names.index(place - width)))
            elif place in in_value:
                wanted.append(Wanted("value", in_value.index(place)))
            else:
                wanted.append(Wanted("key", in_key.index(place)))
        table = layout.table
        fields = dict(zip(layout.key, layout.key_columns()))
        key = None
        if in_key and self._key is not None:
            key = self._key.decoding(tuple(fields[place] for place in in_key), (), table)
        value_fields = tuple(table.columns[place] for place in in_value)
        if not value_fields and not of_value:
            # Which messages are rows is what the format says, also where nothing of them is wanted.
            value_fields = self._least(layout)
        value = self._value.decoding(value_fields, tuple(name for _, name in of_value), table)
        decoder: Any = RowsDecoder(key, value, tuple(wanted))
        if self._upserts:
            types = [*table.columns, *(Field(name, kind) for name, _, kind in table.metadata)]
            decoder = UpsertDecoder(decoder, tuple(types[place] for place in columns))
        # A record that is passed over may be an older state of a row that is wanted.
        bounds = bounds_of(filters, own) if self.kinds == INSERT_ONLY else Bounds()
        return KafkaSource(
            bounds.of(topic.subscriber),
            decoder,
            topic.properties,
            bounds.start(topic.start),
            bounds.stop(topic.stop),
            bounded=topic.stop is not None,
            parallelism=topic.parallelism,
            per_second=topic.per_second,
            dead_letters=topic.dead_letters,
        )

    @staticmethod
    def _least(layout: Layout) -> tuple[Field, ...]:
        return layout.value_columns()[:1]
