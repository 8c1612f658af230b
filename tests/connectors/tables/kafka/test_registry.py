"""Avro with a schema registry: a real one, against what Confluent's own serializers write and read."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from tests.connectors.tables.kafka.topic_tables import BOUNDED, Tables, TopicTables

from millrace.runtime.failure import JobFailedError
from millrace.testing.services import SchemaRegistry
from millrace.util.exceptions import TableException

ORDER = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "more", "type": {"type": "map", "values": "int"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "buyer", "type": ["null", {"type": "record", "name": "Buyer", "fields": [
            {"name": "name", "type": "string"}, {"name": "age", "type": ["null", "int"], "default": None}]}]},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["SOLD", "RETURNED"]}},
    ],
}  # fmt: skip
AT = datetime(2024, 5, 6, 7, 8, 9, 120_000, tzinfo=timezone.utc)


class Registered:
    """Messages by Confluent's serializers."""

    def __init__(self, url: str) -> None:
        self.client = SchemaRegistryClient({"url": url})

    def message(self, topic: str, schema: Any, record: Any) -> bytes:
        serializer: Any = AvroSerializer(self.client, json.dumps(schema))
        made: bytes = serializer(record, SerializationContext(topic, MessageField.VALUE))
        return made

    def record(self, topic: str, message: bytes) -> Any:
        reader: Any = AvroDeserializer(self.client)
        return reader(message, SerializationContext(topic, MessageField.VALUE))


@pytest.fixture
def registered(registry: SchemaRegistry) -> Registered:
    return Registered(registry.url)


@pytest.mark.services
def test_records_of_several_schemas(tables: Tables, registry: SchemaRegistry, registered: Registered) -> None:
    topic = tables.topics.create(1)
    order = {"id": 1, "more": {"a": 2}, "price": Decimal("9.90"), "at": AT, "kind": "SOLD",
             "buyer": {"name": "Ann", "age": 7}}  # fmt: skip
    wider = {**ORDER, "fields": [{"name": "note", "type": "string", "default": ""}, *ORDER["fields"][:-1]]}
    later = {**order, "id": 2, "note": "new", "buyer": None}
    del later["kind"]
    tables.topics.write(topic, [registered.message(topic, ORDER, order), None, registered.message(topic, wider, later)])
    columns = (
        "id BIGINT, more MAP<STRING, INT>, price DECIMAL(8, 2), `at` TIMESTAMP_LTZ(3), "
        "buyer ROW<name STRING, age INT>, kind STRING, nowhere INT"
    )
    options = f"'format' = 'avro-confluent', 'avro-confluent.url' = '{registry.url}', {BOUNDED}"
    tables.create("t", columns, topic, options)
    wanted = "id, more['a'], CAST(price AS STRING), `at`, buyer.name, buyer.age, kind, nowhere"
    first, second = tables.rows(f"SELECT {wanted} FROM t")
    assert first == (1, 2, "9.90", AT, "Ann", 7, "SOLD", None)
    assert second == (2, 2, "9.90", AT, None, None, None, None)


@pytest.mark.services
def test_what_is_written(tables: Tables, registry: SchemaRegistry, registered: Registered) -> None:
    topic = tables.topics.create(1)
    at = f"'{registry.url}'"
    columns = "id BIGINT NOT NULL, name STRING, tags ARRAY<STRING NOT NULL>, ts TIMESTAMP_LTZ(3)"
    options = (
        f"'key.format' = 'avro-confluent', 'key.fields' = 'id', 'key.avro-confluent.url' = {at}, "
        f"'value.format' = 'avro-confluent', 'value.avro-confluent.schema-registry.url' = {at}"
    )
    tables.create("t", columns, topic, f"{options}, {BOUNDED}")
    tables.insert(
        "INSERT INTO t VALUES (1, 'a', ARRAY['x', 'y'], TO_TIMESTAMP_LTZ(5000, 3)), "
        "(2, CAST(NULL AS STRING), ARRAY[''], TO_TIMESTAMP_LTZ(6000, 3))"
    )
    found = sorted((registered.record(topic, value or b"") for *_, value in tables.topics.read(topic)), key=str)
    assert [(each["id"], each["name"], each["tags"]) for each in found] == [(1, "a", ["x", "y"]), (2, None, [""])]
    assert [each["ts"].timestamp() for each in found] == [5, 6]
    assert {f"{topic}-key", f"{topic}-value"} <= set(registered.client.get_subjects())
    tables.environment.get_config().set_local_timezone("UTC")
    assert tables.rows("SELECT id, name, tags[1] FROM t") == [(1, "a", "x"), (2, None, "")]


@pytest.mark.services
def test_a_schema_that_is_not_compatible(tables: Tables, registry: SchemaRegistry, registered: Registered) -> None:
    topic = tables.topics.create(1)
    registered.client.register_schema(f"{topic}-value", Schema(json.dumps(ORDER), "AVRO"))
    registered.client.set_compatibility(f"{topic}-value", level="BACKWARD")
    options = f"'format' = 'avro-confluent', 'avro-confluent.url' = '{registry.url}'"
    tables.create("t", "id STRING NOT NULL", topic, options)
    with pytest.raises(JobFailedError, match=f"the schema registry refuses subject '{topic}-value': .*ncompatible"):
        tables.insert("INSERT INTO t VALUES ('x')")
    assert tables.topics.read(topic) == []


@pytest.mark.services
@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (b"\x00\x00\x00\xff\xff\x02", "the schema registry refuses schema 65535: .*65535"),
        (b"{}", "it does not begin with the id of a schema"),
    ],
)
def test_messages_of_no_schema(tables: Tables, registry: SchemaRegistry, message: bytes, problem: str) -> None:
    topic = tables.topics.create(1)
    tables.topics.write(topic, [message])
    options = f"'format' = 'avro-confluent', 'avro-confluent.url' = '{registry.url}', {BOUNDED}"
    tables.create("t", "id BIGINT", topic, options)
    with pytest.raises(JobFailedError, match=f"topic '{topic}', partition 0, offset 0 cannot be read: .*{problem}"):
        tables.rows("SELECT * FROM t")


@pytest.mark.services
def test_changes_of_a_database(tables: Tables, registry: SchemaRegistry, registered: Registered) -> None:
    fields = [{"name": "id", "type": "int"}, {"name": "v", "type": "string"}]
    row = {"type": "record", "name": "Value", "fields": fields}
    source = {"type": "record", "name": "Source", "fields": [{"name": "db", "type": "string"}]}
    envelope = {
        "type": "record",
        "name": "Envelope",
        "fields": [
            {"name": "before", "type": ["null", row]},
            {"name": "after", "type": ["null", "Value"]},
            {"name": "source", "type": source},
            {"name": "op", "type": "string"},
        ],
    }
    topic, target = tables.topics.create(1), tables.topics.create(1)
    old, new, other = {"id": 1, "v": "a"}, {"id": 1, "v": "b"}, {"id": 2, "v": "c"}
    sides: list[tuple[Any, Any, str]] = [(None, old, "r"), (old, new, "u"), (new, None, "d"), (None, other, "c")]
    records = [{"before": a, "after": b, "op": op, "source": {"db": "x"}} for a, b, op in sides]
    tables.topics.write(topic, [registered.message(topic, envelope, each) for each in records])
    options = f"'format' = 'debezium-avro-confluent', 'debezium-avro-confluent.url' = '{registry.url}', {BOUNDED}"
    tables.create("t", "id INT, v STRING", topic, options)
    expected = [(0, (1, "a")), (1, (1, "a")), (2, (1, "b")), (3, (1, "b")), (0, (2, "c"))]
    assert tables.query("SELECT * FROM t") == expected
    tables.create("out", "id INT, v STRING", target, options)
    tables.insert("INSERT INTO out SELECT * FROM t", parallelism=1)
    written = [registered.record(target, value or b"") for *_, value in tables.topics.read(target)]
    assert [(each["op"], (each["before"] or each["after"])["v"]) for each in written] == [
        ("c", "a"), ("d", "a"), ("c", "b"), ("d", "b"), ("c", "c"),
    ]  # fmt: skip
    assert [kind for kind, _ in tables.query("SELECT * FROM out")] == [0, 3, 0, 3, 0]


WRONG = [
    ("", "format 'avro-confluent' needs avro-confluent.url"),
    (", 'avro-confluent.url' = 'http://x', 'avro-confluent.ssl.truststore.location' = 'a.jks'", "has to be a PEM file"),
    (", 'avro-confluent.url' = 'http://x', 'avro-confluent.urls' = 'y'", "has no option 'avro-confluent.urls'"),
    (", 'avro-confluent.url' = 'http://x', 'avro-confluent.properties.nonsense' = 'y'", "nonsense"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_options(options: str, message: str) -> None:
    tables = TopicTables("127.0.0.1:1")
    tables.create("t", "a INT", "x", f"'format' = 'avro-confluent', {BOUNDED}{options}")
    with pytest.raises(TableException, match=message):
        tables.environment.sql_query("SELECT * FROM t")


def test_passwords_are_not_shown() -> None:
    from millrace.formats.tables.confluent import Registry

    assert "secret" not in repr(Registry({"url": "http://x", "basic.auth.user.info": "me:secret"}))


@pytest.mark.services
def test_json_with_its_schema(tables: Tables, registry: SchemaRegistry, registered: Registered) -> None:
    topic = tables.topics.create(1)
    columns = "id INT, name STRING, tags ARRAY<STRING>, more ROW<x DOUBLE, at TIMESTAMP(3)>, part MAP<STRING, INT>"
    format = f"'format' = 'json-confluent', 'json-confluent.url' = '{registry.url}', {BOUNDED}"
    tables.create("j", columns, topic, format)
    tables.insert(
        "INSERT INTO j VALUES (1, 'a', ARRAY['x'], ROW(0.5, TIMESTAMP '2024-05-06 07:08:09'), MAP['k', 1]), "
        "(2, CAST(NULL AS STRING), CAST(NULL AS ARRAY<STRING>), CAST(NULL AS ROW<x DOUBLE, at TIMESTAMP(3)>), "
        "CAST(NULL AS MAP<STRING, INT>))"
    )
    # Confluent's own client finds the schema by the id that each message begins with.
    schema = registered.client.get_latest_version(f"{topic}-value").schema
    assert schema.schema_type == "JSON"
    written = sorted((each for _, _, _, each in tables.topics.read(topic) if each), key=len, reverse=True)
    assert written[0][0] == 0
    assert registered.client.get_schema(int.from_bytes(written[0][1:5], "big")).schema_str == schema.schema_str
    declared, content = json.loads(schema.schema_str or ""), json.loads(written[0][5:])
    assert set(content) == set(declared["properties"])
    assert content["id"] == 1
    assert tables.rows("SELECT id, name, tags[1], more.x, part['k'] FROM j WHERE id = 1") == [(1, "a", "x", 0.5, 1)]
    tables.topics.write(topic, [b'{"id": 3}'])
    with pytest.raises(JobFailedError, match="does not begin with the id of a schema"):
        tables.rows("SELECT id FROM j")
    tables.create("lenient", columns, topic, f"{format}, 'json-confluent.ignore-parse-errors' = 'true'")
    assert tables.rows("SELECT id FROM lenient") == [(1,), (2,)]


@pytest.mark.services
def test_avro_is_no_json(tables: Tables, registry: SchemaRegistry, registered: Registered) -> None:
    topic = tables.topics.create(1)
    schema = {"type": "record", "name": "One", "fields": [{"name": "id", "type": "long"}]}
    tables.topics.write(topic, [registered.message(topic, schema, {"id": 1})])
    format = f"'format' = 'json-confluent', 'json-confluent.url' = '{registry.url}', {BOUNDED}"
    tables.create("j", "id INT", topic, format)
    with pytest.raises(JobFailedError, match="of the registry is AVRO, not JSON"):
        tables.rows("SELECT id FROM j")
