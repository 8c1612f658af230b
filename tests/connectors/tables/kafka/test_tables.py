"""Connectors ``kafka`` and ``upsert-kafka`` on a real broker, against what another client writes and reads."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest
from tests.connectors.kafka.topics import Topics
from tests.connectors.tables.kafka.topic_tables import BOUNDED, Tables

from millrace.runtime.failure import JobFailedError

pytestmark = pytest.mark.services


def numbers(count: int) -> list[str]:
    return [json.dumps({"n": each, "name": f"n{each}", "even": each % 2 == 0}) for each in range(count)]


def test_json_and_the_columns_that_a_query_wants(tables: Tables) -> None:
    topic = tables.topics.create(3)
    tables.topics.write(topic, numbers(500))
    tables.create("t", "n INT, name STRING, even BOOLEAN", topic, f"'format' = 'json', {BOUNDED}")
    assert tables.rows("SELECT * FROM t") == [(each, f"n{each}", each % 2 == 0) for each in range(500)]
    assert tables.rows("SELECT name FROM t WHERE even") == sorted((f"n{each}",) for each in range(0, 500, 2))
    assert tables.query("SELECT COUNT(*) FROM t", epoch_records=50, workers=3, seed=3)[-1] == (2, (500,))


def test_metadata_is_read(tables: Tables) -> None:
    topic = tables.topics.create(2)
    for partition in (0, 1):
        tables.topics.write(topic, [(b"k", b"v%d" % partition, 1_500)], partition, headers=[("h", b"x"), ("h", b"y")])
    columns = (
        "v STRING, topic STRING METADATA VIRTUAL, p INT METADATA FROM 'partition' VIRTUAL, `offset` BIGINT METADATA "
        "VIRTUAL, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', local_ts TIMESTAMP(3) METADATA FROM 'timestamp', "
        "kind STRING METADATA FROM 'timestamp-type' VIRTUAL, headers MAP<STRING, BYTES> METADATA, "
        "epoch INT METADATA FROM 'leader-epoch' VIRTUAL, wide BIGINT METADATA FROM 'partition' VIRTUAL"
    )
    tables.create("t", columns, topic, f"'format' = 'raw', {BOUNDED}")
    moment = datetime(1970, 1, 1, 0, 0, 1, 500_000)
    instant = moment.replace(tzinfo=timezone.utc)
    tables.environment.get_config().set_local_timezone("UTC")
    found = tables.query("SELECT * FROM t")
    rows = sorted(([*row[:7], *row[8:]] for _, row in found), key=lambda row: str(row[0]))
    assert rows == [[f"v{each}", topic, each, 0, instant, moment, "CreateTime", 0, each] for each in (0, 1)]
    assert [dict(row[7]) for _, row in found] == [{"h": b"y"}] * 2
    assert tables.rows("SELECT p, v FROM t") == [(0, "v0"), (1, "v1")]
    assert tables.rows("SELECT p FROM t") == [(0,), (1,)]


def test_metadata_and_keys_are_written(tables: Tables) -> None:
    topic = tables.topics.create(3)
    columns = "id INT, name STRING, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', headers MAP<STRING, BYTES> METADATA"
    options = "'key.format' = 'raw', 'key.fields' = 'id', 'value.format' = 'json'"
    options += ", 'value.fields-include' = 'EXCEPT_KEY'"
    tables.create("t", columns, topic, options)
    tables.environment.get_config().set_local_timezone("UTC")
    tables.insert(
        "INSERT INTO t VALUES (1, 'a', TO_TIMESTAMP_LTZ(5000, 3), MAP['h', CAST('x' AS BYTES)]), "
        "(2, 'b', TO_TIMESTAMP_LTZ(6000, 3), CAST(NULL AS MAP<STRING, BYTES>))"
    )
    found = {message.key(): message for message in tables.topics.messages(topic)}
    first, second = found[(1).to_bytes(4, "big")], found[(2).to_bytes(4, "big")]
    assert (json.loads(first.value()), first.timestamp()[1], first.headers()) == ({"name": "a"}, 5_000, [("h", b"x")])
    assert (json.loads(second.value()), second.timestamp()[1], second.headers()) == ({"name": "b"}, 6_000, None)
    tables.create("back", "id INT, name STRING", topic, f"{options}, {BOUNDED}")
    assert tables.rows("SELECT * FROM back") == [(1, "a"), (2, "b")]
    assert tables.rows("SELECT id FROM back") == [(1,), (2,)]


def test_prefixed_keys(tables: Tables) -> None:
    topic = tables.topics.create(1)
    tables.topics.write(topic, [(b'{"id": 7}', b'{"id": 8, "v": "x"}', 0), (None, b'{"id": 9, "v": "y"}', 0)])
    options = (
        "'key.format' = 'json', 'key.fields' = 'k_id', 'key.fields-prefix' = 'k_', 'value.format' = 'json', "
        "'value.fields-include' = 'EXCEPT_KEY'"
    )
    tables.create("t", "k_id INT, id INT, v STRING", topic, f"{options}, {BOUNDED}")
    found = [row for _, row in tables.query("SELECT * FROM t")]
    assert sorted(found, key=lambda row: row[1]) == [(7, 8, "x"), (None, 9, "y")]


@pytest.mark.parametrize("guarantee", ["none", "at-least-once", "exactly-once"])
def test_guarantees(tables: Tables, guarantee: str) -> None:
    source, target = tables.topics.create(3), tables.topics.create(2)
    tables.topics.write(source, numbers(300))
    tables.create("s", "n INT, name STRING", source, f"'format' = 'json', {BOUNDED}")
    more = f"'sink.delivery-guarantee' = '{guarantee}', 'sink.transactional-id-prefix' = 'tables-{guarantee}'"
    tables.create("t", "n INT, name STRING", target, f"'format' = 'csv', {more}")
    tables.insert("INSERT INTO t SELECT n + 1, name FROM s", epoch_records=60, workers=2, seed=1)
    assert tables.topics.values(target) == sorted(f"{each + 1},n{each}" for each in range(300))


def test_upserts_and_tombstones_are_read(tables: Tables) -> None:
    topic = tables.topics.create(2)
    upserts = [(b"a", 1), (b"b", 2), (b"a", 3), (b"b", None), (b"c", 4), (b"c", 5), (b"d", None)]
    for key, value in upserts:
        content = None if value is None else json.dumps({"k": key.decode(), "v": value}).encode()
        tables.topics.write(topic, [(key, content, 0)], 0 if key in b"ab" else 1)
    options = "'key.format' = 'raw', 'value.format' = 'json', 'scan.bounded.mode' = 'latest-offset'"
    columns = "k STRING, v INT, `offset` BIGINT METADATA VIRTUAL, PRIMARY KEY (k) NOT ENFORCED"
    tables.create("t", columns, topic, options, "upsert-kafka")
    table: dict[str, int] = {}
    for kind, (key, value) in tables.query("SELECT k, v FROM t"):
        if kind in (1, 3):
            assert table.pop(key) == value
        else:
            table[key] = value
    assert table == {"a": 3, "c": 5}
    assert tables.query("SELECT SUM(v) FROM t")[-1][1] == (8,)


def test_upserts_are_written(tables: Tables) -> None:
    source, target = tables.topics.create(2), tables.topics.create(3)
    tables.topics.write(source, [json.dumps({"n": each % 5, "name": "x"}) for each in range(100)])
    tables.create("s", "n INT, name STRING", source, f"'format' = 'json', {BOUNDED}")
    options = "'key.format' = 'json', 'value.format' = 'json'"
    columns = "n INT, c BIGINT, PRIMARY KEY (n) NOT ENFORCED"
    tables.create("t", columns, target, options, "upsert-kafka")
    tables.insert("INSERT INTO t SELECT n, COUNT(*) FROM s GROUP BY n", epoch_records=20)
    last: dict[Any, Any] = {}
    for _, _, key, value in tables.topics.read(target):
        last[json.loads(key or b"")["n"]] = None if value is None else json.loads(value)
    assert last == {each: {"n": each, "c": 20} for each in range(5)}
    # A row that goes leaves a record without value.
    tables.create("gone", columns, target, f"{options}, 'scan.bounded.mode' = 'latest-offset'", "upsert-kafka")
    kept = tables.topics.create(1)
    tables.create("kept", columns, kept, options, "upsert-kafka")
    tables.topics.write(target, [(b'{"n": 3}', None, 0)])
    tables.insert("INSERT INTO kept SELECT * FROM gone WHERE n > 2", parallelism=1)
    found: dict[bytes | None, bytes | None] = {}
    for _, _, key, value in tables.topics.read(kept):
        found[key] = value
    # Of the row with n = 3 there is nothing, or what was there and then its end: as the fetches come.
    assert found.get(b'{"n":3}') is None
    assert found.keys() <= {b'{"n":3}', b'{"n":4}'}
    assert json.loads(found[b'{"n":4}'] or b"") == {"n": 4, "c": 20}


def test_changes_of_a_database(tables: Tables) -> None:
    topic = tables.topics.create(1)
    changes = [
        {"before": None, "after": {"id": 1, "v": "a"}, "op": "c", "source": {"table": "things"}},
        {"before": {"id": 1, "v": "a"}, "after": {"id": 1, "v": "b"}, "op": "u", "source": {"table": "things"}},
        {"before": {"id": 1, "v": "b"}, "after": None, "op": "d", "source": {"table": "things"}},
    ]
    tables.topics.write(topic, [None, *map(json.dumps, changes)])
    columns = "id INT, v STRING, o BIGINT METADATA FROM 'offset'"
    columns += ", origin STRING METADATA FROM 'value.source.table' VIRTUAL"
    tables.create("t", columns, topic, f"'format' = 'debezium-json', {BOUNDED}")
    assert tables.query("SELECT id, v, origin, o FROM t") == [
        (0, (1, "a", "things", 1)),
        (1, (1, "a", "things", 2)),
        (2, (1, "b", "things", 2)),
        (3, (1, "b", "things", 3)),
    ]


def test_where_reading_begins_and_ends(tables: Tables) -> None:
    topic = tables.topics.create(1)
    tables.topics.write(topic, [(None, str(each), 1_000 + each) for each in range(10)])

    def between(options: str) -> list[str]:
        tables.environment.execute_sql("DROP TABLE IF EXISTS t")
        tables.create("t", "v STRING", topic, f"'format' = 'raw', {options}")
        return [row[0] for row in tables.rows("SELECT v FROM t")]

    end = "'scan.bounded.mode' = 'latest-offset'"
    start = "'scan.startup.mode' = 'specific-offsets', 'scan.startup.specific-offsets' = 'partition:0,offset:7'"
    assert between(f"{start}, {end}") == ["7", "8", "9"]
    start = "'scan.startup.mode' = 'timestamp', 'scan.startup.timestamp-millis' = '1008'"
    assert between(f"{start}, {end}") == ["8", "9"]
    assert between(f"'scan.startup.mode' = 'latest-offset', {end}") == []
    end = "'scan.bounded.mode' = 'specific-offsets', 'scan.bounded.specific-offsets' = 'partition:0,offset:2'"
    assert between(f"'scan.startup.mode' = 'earliest-offset', {end}") == ["0", "1"]
    group = "'properties.group.id' = 'tables', 'properties.auto.offset.reset' = 'earliest'"
    assert between(f"{group}, {end}") == ["0", "1"]


def test_a_record_that_cannot_be_read(tables: Tables) -> None:
    topic = tables.topics.create(1)
    tables.topics.write(topic, ['{"n": 1}', "no json", '{"n": 3}'])
    tables.create("t", "n INT", topic, f"'format' = 'json', {BOUNDED}")
    place = f"topic '{topic}', partition 0, offset 1"
    with pytest.raises(JobFailedError, match=f"{place} cannot be read: .*record: b'no json'"):
        tables.query("SELECT * FROM t")
    tables.create("lenient", "n INT", topic, f"'format' = 'json', 'json.ignore-parse-errors' = 'true', {BOUNDED}")
    assert tables.rows("SELECT * FROM lenient") == [(1,), (3,)]
    failed = tables.topics.create(1)
    tables.create("others", "n INT", topic, f"'format' = 'json', 'scan.dead-letter.topic' = '{failed}', {BOUNDED}")
    assert tables.rows("SELECT * FROM others") == [(1,), (3,)]
    assert tables.topics.values(failed) == ["no json"]


def test_a_temporal_join_with_an_upsert_topic(topics: Topics, tables: Tables) -> None:
    rates, orders = topics.create(), topics.create(2)
    topics.write(rates, [("EUR", '{"rate": 2, "ts": "2020-01-01 00:00:00"}', 0)])
    topics.write(rates, [("EUR", '{"rate": 3, "ts": "2020-01-01 01:00:00"}', 0)])
    topics.write(rates, [("USD", '{"rate": 1, "ts": "2020-01-01 00:00:00"}', 0)])
    topics.write(rates, [("USD", '{"rate": 9, "ts": "2020-01-01 03:00:00"}', 0)])
    amounts = [("EUR", 1, "00:30:00"), ("EUR", 10, "01:30:00"), ("USD", 100, "02:59:59"), ("GBP", 7, "01:00:00")]
    topics.write(orders, [f'{{"cur": "{cur}", "amount": {n}, "ts": "2020-01-01 {at}"}}' for cur, n, at in amounts])
    watermark = "ts TIMESTAMP(3), WATERMARK FOR ts AS ts"
    tables.create(
        "rates",
        f"cur STRING, rate INT, {watermark}, PRIMARY KEY (cur) NOT ENFORCED",
        rates,
        "'key.format' = 'raw', 'value.format' = 'json', 'value.fields-include' = 'EXCEPT_KEY', "
        "'scan.bounded.mode' = 'latest-offset'",
        "upsert-kafka",
    )
    tables.create("orders", f"cur STRING, amount INT, {watermark}", orders, f"'format' = 'json', {BOUNDED}")
    join = "FROM orders AS o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur"
    found = tables.rows(f"SELECT o.amount, o.amount * r.rate {join}")
    assert found == [(1, 2), (7, None), (10, 30), (100, 100)]
