"""A pipeline into a real Kafka, read back by the format of tables: ``pytest -m slow``."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from tests.cdc.running import Running
from tests.connectors.kafka.topics import Topics

pytestmark = [pytest.mark.services, pytest.mark.slow]

EVENTS = """
source:
  type: values
  events:
    - {table: app.TABLE, create: {columns: {id: INT, s: STRING}, primary-key: [id]}}
    - {table: app.TABLE, insert: [[1, a], [2, b]]}
    - {table: app.TABLE, update: [[1, a], [1, c]]}
    - {table: app.TABLE, add-column: {name: n, type: INT}}
    - {table: app.TABLE, delete: [[2, b, null]]}
"""


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_changes_in_a_topic(topics: Topics, guarantee: str) -> None:
    name = f"t{uuid.uuid4().hex[:8]}"
    sink = {
        "type": "kafka",
        "properties.bootstrap.servers": topics.bootstrap,
        "partition.strategy": "hash-by-key",
        "sink.delivery-guarantee": guarantee,
        "sink.transactional-id-prefix": name,
    }
    job = Running(f"{EVENTS.replace('TABLE', name)}sink: {json.dumps(sink)}\n", epoch_records=2)
    fails = iter([guarantee == "exactly-once"])
    while not job.ended:
        if next(fails, False):
            job.fail()
        job.epoch()
    job.close()
    found: list[Any] = [json.loads(value or b"") for _, _, _, value in topics.read(f"app.{name}")]
    assert sorted((each["op"], str(each["before"]), str(each["after"])) for each in found) == [
        ("c", "None", "{'id': 1, 's': 'a'}"),
        ("c", "None", "{'id': 2, 's': 'b'}"),
        ("d", "{'id': 2, 's': 'b', 'n': None}", "None"),
        ("u", "{'id': 1, 's': 'a'}", "{'id': 1, 's': 'c'}"),
    ]
