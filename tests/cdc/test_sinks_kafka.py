"""Records of changes: topics, keys, headers."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from millrace.cdc.elements import Batch, SinkChange
from millrace.cdc.kafka_sink import ChangeSerializer, KafkaPipelineSink
from millrace.cdc.pipeline_file import parse_pipeline
from millrace.connectors.cdc.events import Column, TableId, TableSchema, TruncateTableEvent
from millrace.connectors.kafka.kafka_records import ProducerRecord
from millrace.relational.rows import INSERT, Rows, record_batch
from millrace.table.sql.grammar.parser import parse_type

SCHEMA = TableSchema((Column("id", parse_type("INT NOT NULL")), Column("s", parse_type("STRING"))), ("id", "s"))
TABLE = TableId("", "app", "orders")


def records(**options: str) -> list[ProducerRecord]:
    lines = "".join(f"  {name.replace('__', '.').replace('_', '-')}: '{text}'\n" for name, text in options.items())
    text = f"source: {{type: values}}\nsink:\n  type: kafka\n  properties.bootstrap.servers: x:1\n{lines}"
    sink = KafkaPipelineSink(parse_pipeline(text))._sink
    assert isinstance(sink.serializer, ChangeSerializer)
    made: list[str] = []
    sink.serializer.ensure = made.append
    columns = [pa.array([1, 2], pa.int32()), pa.array(["a", 'b,"'])]
    batch = Batch(TABLE, SCHEMA, Rows(record_batch(columns, 2), np.array([INSERT] * 2, np.uint8)))
    assert list(sink.serializer.records(SinkChange(TruncateTableEvent(TABLE), 1, ""), None)) == []
    found = list(sink.serializer.records(batch, None))
    assert made == [found[0].topic]
    return found


def test_a_topic_for_each_table() -> None:
    first, second = records()
    assert first.topic == "app.orders" and first.partition == 0 and first.headers == ()
    assert first.key == b'{"TableId":"app.orders","id":1,"s":"a"}'
    assert json.loads(second.value or b"")["after"] == {"id": 2, "s": 'b,"'}


def test_one_topic_for_all() -> None:
    assert {each.topic for each in records(topic="changes")} == {"changes"}


def test_topics_by_tables() -> None:
    found = records(sink__tableId_to_topic__mapping="web.x:w;app.orders:mine", topic="rest")
    assert {each.topic for each in found} == {"mine"}


def test_keys_and_headers() -> None:
    found = records(
        key__format="csv",
        partition__strategy="hash-by-key",
        sink__add_tableId_to_header_enabled="true",
        sink__custom_header="a:1,b:2",
    )
    assert [each.key for each in found] == [b"app.orders,1,a", b'app.orders,2,"b,"""']
    assert found[0].partition is None
    assert found[0].headers == (
        ("namespace", b""), ("schemaName", b"app"), ("tableName", b"orders"), ("a", b"1"), ("b", b"2"),
    )  # fmt: skip
