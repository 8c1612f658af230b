"""Conditions on metadata leave records unfetched, and never change the answer."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from tests.connectors.kafka.topics import Topics
from tests.connectors.tables.kafka.topic_tables import BOUNDED, Tables

from millrace.connectors.kafka import kafka_reader

pytestmark = pytest.mark.services

COLUMNS = (
    "a INT, p INT METADATA FROM 'partition' VIRTUAL, o BIGINT METADATA FROM 'offset' VIRTUAL, "
    "t STRING METADATA FROM 'topic' VIRTUAL, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL"
)
BASE = 1_700_000_000_000


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """(topic, partition, offset) of all records that are decoded."""
    seen: list[tuple[str, int, int]] = []
    plain = kafka_reader.KafkaSplitReader._batch

    def watched(self: Any, at: Any, messages: Any) -> Any:
        # What lies behind the end comes along with a fetch, and is left out before it is decoded.
        stop = self._splits[at].stop if at in self._splits else 0
        seen.extend((*at, each.offset()) for each in messages if stop is None or each.offset() < stop)
        return plain(self, at, messages)

    monkeypatch.setattr(kafka_reader.KafkaSplitReader, "_batch", watched)
    return seen


def filled(topics: Topics) -> str:
    """Two partitions with ten records each; times go up by a second, but for one that is late."""
    topic = topics.create(2)
    for partition in range(2):
        values = [(None, f'{{"a": {number}}}', BASE + 1000 * number) for number in range(10)]
        values[7] = (None, '{"a": 7}', BASE)
        topics.write(topic, values, partition)
    return topic


def at(second: int) -> str:
    moment = dt.datetime.fromtimestamp(BASE / 1000 + second, dt.timezone.utc)
    return f"TO_TIMESTAMP_LTZ({int(moment.timestamp() * 1000)}, 3)"


CONDITIONS = [
    ("o >= 8", 4, 2),
    ("o > 8 AND p = 1", 1, 1),
    ("8 <= o", 4, 2),
    ("o = 3", 2, 2),
    ("o < 2", 4, 2),
    ("o <= 1 AND p = 0", 2, 1),
    ("p = 0", 10, 1),
    ("p = 5", 0, 0),
    ("o > 100", 0, 0),
    ("t = 'another'", 0, 0),
    ("p = 0 OR o = 1", 20, 2),
    ("o + 1 = 4", 20, 2),
    ("a = 4", 20, 2),
]


@pytest.mark.parametrize(("condition", "records", "partitions"), CONDITIONS)
def test_what_is_fetched(
    topics: Topics, tables: Tables, fetched: list[Any], condition: str, records: int, partitions: int
) -> None:
    topic = filled(topics)
    tables.create("k", COLUMNS, topic, f"'format' = 'json', {BOUNDED}")
    whole = [(a, p, o) for a, p, o, *_ in tables.rows("SELECT a, p, o, t FROM k")]
    plain = condition.replace(" = ", " == ").replace("AND", "and").replace("OR", "or")
    wanted = [row for row in whole if eval(plain, {"t": topic, **dict(zip("apo", row))})]
    fetched.clear()
    assert tables.rows(f"SELECT a, p, o FROM k WHERE {condition}") == wanted
    assert len(fetched) == records
    assert len({partition for _, partition, _ in fetched}) == partitions


TIMES = [("ts >= {}", [5, 6, 8, 9]), ("ts > {}", [6, 8, 9]), ("ts = {}", [5])]


@pytest.mark.parametrize(("condition", "seconds"), TIMES)
def test_times(topics: Topics, tables: Tables, fetched: list[Any], condition: str, seconds: list[int]) -> None:
    tables.create("k", COLUMNS, filled(topics), f"'format' = 'json', {BOUNDED}")
    found = tables.rows(f"SELECT a FROM k WHERE p = 0 AND {condition.format(at(5))}")
    assert [a for (a,) in found] == seconds
    assert sorted(offset for _, _, offset in fetched) == [5, 6, 7, 8, 9]


def test_changes_are_all_read(topics: Topics, tables: Tables, fetched: list[Any]) -> None:
    topic = topics.create()
    topics.write(topic, [("k", '{"a": 1}', 0), ("k", '{"a": 2}', 0), ("k", '{"a": 3}', 0)])
    columns = "k STRING, a INT, o BIGINT METADATA FROM 'offset' VIRTUAL, PRIMARY KEY (k) NOT ENFORCED"
    end = BOUNDED.split(", ")[1]
    options = f"'key.format' = 'raw', 'value.format' = 'json', 'value.fields-include' = 'EXCEPT_KEY', {end}"
    tables.create("u", columns, topic, options, "upsert-kafka")
    tables.query("SELECT a FROM u WHERE o >= 2")
    assert len(fetched) == 3
