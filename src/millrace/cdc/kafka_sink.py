"""``type: kafka``: a topic for each table, or one for all."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from millrace.cdc.change_text import CANAL, DEBEZIUM, ChangeTexts, plain_value
from millrace.cdc.elements import Batch, PipelineSink, SinkElement
from millrace.cdc.pipeline_file import EndOptions, Pipeline
from millrace.cdc.table_selection import Selector, selector
from millrace.connectors.cdc.events import TableId
from millrace.connectors.kafka.kafka_admin import ensure_topic
from millrace.connectors.kafka.kafka_records import ProducerRecord, RecordSerializer
from millrace.connectors.kafka.kafka_sink import KafkaSink
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.relational.values import to_python

if TYPE_CHECKING:
    from millrace.datastream import DataStream


_OPTIONS = (
    *("partition.strategy", "key.format", "value.format", "topic", "sink.add-tableId-to-header-enabled"),
    *("sink.custom-header", "sink.tableId-to-topic.mapping", "sink.debezium-json.include-schema.enabled"),
    *("sink.delivery-guarantee", "sink.transactional-id-prefix"),
)
_PREFIX = "properties."
_GUARANTEES = {each.name.lower().replace("_", "-"): each for each in DeliveryGuarantee}
Headers = tuple[tuple[str, bytes | None], ...]


@dataclass
class ChangeSerializer(RecordSerializer[SinkElement]):
    """Makes Kafka records of changes. Schema changes produce none: readers see new columns in the rows.

    :ivar by_key: whether the key selects the partition; otherwise all records go to partition 0.
    """

    texts: ChangeTexts
    topic: str | None
    topics: tuple[tuple[Selector, str], ...]
    key_form: str
    by_key: bool
    names_in_headers: bool
    headers: Headers
    ensure: Callable[[str], None]
    """creates a missing topic"""
    _known: dict[TableId, tuple[str, Headers]] = field(default_factory=dict)

    def records(self, element: SinkElement, timestamp: int | None) -> Iterable[ProducerRecord]:
        if not isinstance(element, Batch):
            return
        topic, headers = self._place(element.table)
        keys = self._keys(element)
        partition = None if self.by_key else 0
        for change, text in self.texts.of(element):
            yield ProducerRecord(topic, text.encode(), keys[change.place], partition, None, headers)

    def _place(self, table: TableId) -> tuple[str, Headers]:
        found = self._known.get(table)
        if found is None:
            mapped = next((topic for tables, topic in self.topics if tables.match(table) is not None), None)
            topic = mapped or self.topic or str(table)
            if all(topic != known for known, _ in self._known.values()):
                self.ensure(topic)
            found = self._known[table] = topic, self._headers(table)
        return found

    def _headers(self, table: TableId) -> Headers:
        if not self.names_in_headers:
            return self.headers
        names = {"namespace": table.namespace, "schemaName": table.schema, "tableName": table.table}
        return (*((name, text.encode()) for name, text in names.items()), *self.headers)

    def _keys(self, batch: Batch) -> list[bytes]:
        """The key of each row: the table's name and the values of its primary key."""
        schema, name = batch.schema, str(batch.table)
        columns = [to_python(batch.rows.columns[place], schema.types[place]) for place in schema.key_places]
        rows = zip(*columns) if columns else [()] * len(batch.rows)
        if self.key_form == "csv":
            return [_csv((name, *row)) for row in rows]
        return [_json({"TableId": name, **dict(zip(schema.primary_key, row))}) for row in rows]


def _csv(row: Iterable[Any]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow([plain_value(each) for each in row])
    return text.getvalue().encode()


def _json(row: Mapping[str, Any]) -> bytes:
    plain = {name: value if isinstance(value, (int, float, str)) else plain_value(value) for name, value in row.items()}
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()


class KafkaPipelineSink(PipelineSink):
    """:raises PipelineError: an option is wrong."""

    def __init__(self, pipeline: Pipeline) -> None:
        options = EndOptions(pipeline.sink, _OPTIONS, (_PREFIX,))
        self._options = options
        properties = options.below(_PREFIX)
        if "bootstrap.servers" not in properties:
            options.needed("properties.bootstrap.servers")
        form = options.one_of("value.format", DEBEZIUM, (DEBEZIUM, CANAL))
        schemas = options.flag("sink.debezium-json.include-schema.enabled")
        if schemas and form != DEBEZIUM:
            options.fail(
                "sink.debezium-json.include-schema.enabled", f"'value.format' {form} has no schemas in its messages"
            )
        serializer = ChangeSerializer(
            ChangeTexts(form, schemas),
            options.text("topic"),
            self._mapping(),
            options.one_of("key.format", "json", ("json", "csv")),
            options.one_of("partition.strategy", "all-to-zero", ("all-to-zero", "hash-by-key")) == "hash-by-key",
            options.flag("sink.add-tableId-to-header-enabled"),
            self._custom_headers(),
            partial(ensure_topic, properties=properties),
        )
        self._sink = self._built(serializer, properties)

    def _built(self, serializer: ChangeSerializer, properties: Mapping[str, str]) -> KafkaSink[SinkElement]:
        options = self._options
        guarantee = _GUARANTEES[options.one_of("sink.delivery-guarantee", "at-least-once", _GUARANTEES)]
        builder = KafkaSink.builder().set_record_serializer(serializer).set_delivery_guarantee(guarantee)
        for name, value in properties.items():
            builder.set_property(name, value)
        if guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            builder.set_transactional_id_prefix(options.needed("sink.transactional-id-prefix"))
        try:
            return builder.build()
        except ValueError as error:
            options.fail("properties", str(error))

    def _mapping(self) -> tuple[tuple[Selector, str], ...]:
        name = "sink.tableId-to-topic.mapping"
        found = []
        for each in filter(str.strip, (self._options.text(name) or "").split(";")):
            table, colon, topic = each.rpartition(":")
            if not colon or not topic.strip():
                self._options.fail(name, f"'{name}' is table:topic;table:topic, and this has '{each}'")
            found.append((selector(table, self._options.end.block, name), topic.strip()))
        return tuple(found)

    def _custom_headers(self) -> Headers:
        name = "sink.custom-header"
        found = []
        for each in filter(str.strip, (self._options.text(name) or "").split(",")):
            key, colon, value = each.partition(":")
            if not colon or not key.strip():
                self._options.fail(name, f"'{name}' is key:value,key:value, and this has '{each}'")
            found.append((key.strip(), value.strip().encode()))
        return tuple(found)

    def attach(self, stream: DataStream) -> Any:
        return stream.sink_to(self._sink)
