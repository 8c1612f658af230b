"""Wrong options are refused by name when a query is made."""

from __future__ import annotations

import pytest
from tests.connectors.tables.kafka.topic_tables import BOUNDED, TopicTables

from millrace.util.exceptions import TableException

WRONG = [
    ("kafka", "'format' = 'json', 'topic-pattern' = 'a', " + BOUNDED, "'topic' or 'topic-pattern' is set, one of them"),
    ("kafka", "'scan.startup.mode' = 'earliest-offset'", "needs 'format' or 'value.format'"),
    ("kafka", "'format' = 'json'", "'scan.startup.mode' = 'group-offsets' needs 'properties.group.id'"),
    ("kafka", "'format' = 'json', 'scan.startup.mode' = 'earliest'", "is one of earliest-offset, latest-offset"),
    ("kafka", "'format' = 'json', 'key.format' = 'raw'", "'key.format' and 'key.fields' are set both, or none"),
    ("kafka", "'value.format' = 'json', 'key.format' = 'raw', 'key.fields' = 'x'", "'key.fields' has 'x', no column"),
    ("kafka", "'format' = 'json', 'scan.startup.mode' = 'timestamp'", "needs 'scan.startup.timestamp-millis'"),
    ("kafka", "'format' = 'json', 'propertie.x' = 'y'", "has no option 'propertie.x'"),
    ("kafka", "'format' = 'json', 'properties.interceptor.classes' = 'x', " + BOUNDED, "interceptors are Java classes"),
    ("upsert-kafka", "'key.format' = 'raw', 'value.format' = 'json'", "needs a PRIMARY KEY"),
    ("upsert-kafka", "'key.format' = 'raw'", "needs value.format"),
]


@pytest.mark.parametrize(("connector", "options", "message"), WRONG)
def test_wrong_options(connector: str, options: str, message: str) -> None:
    tables = TopicTables("127.0.0.1:1")
    tables.create("t", "a INT", "x", options, connector)
    with pytest.raises(TableException, match=message):
        tables.environment.sql_query("SELECT * FROM t")


SINKS = [
    ("'sink.delivery-guarantee' = 'exactly-once'", "needs 'sink.transactional-id-prefix'"),
    ("'sink.delivery-guarantee' = 'twice'", "is one of exactly-once, at-least-once, none"),
    ("'sink.partitioner' = 'mine'", "'mine' names no class"),
]


@pytest.mark.parametrize(("options", "message"), SINKS)
def test_wrong_options_of_sinks(options: str, message: str) -> None:
    tables = TopicTables("127.0.0.1:1")
    tables.create("t", "a INT", "x", f"'format' = 'json', {options}")
    with pytest.raises(TableException, match=message):
        tables.environment.explain_sql("INSERT INTO t SELECT 1")
