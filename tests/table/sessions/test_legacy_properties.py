"""Options of older versions mean the same as today's."""

from __future__ import annotations

import pytest

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.sessions.table_info import todays
from millrace.util.exceptions import TableException

KAFKA = {
    "connector.type": "kafka",
    "connector.version": "universal",
    "connector.topic": "user_behavior",
    "connector.startup-mode": "earliest-offset",
    "connector.properties.0.key": "zookeeper.connect",
    "connector.properties.0.value": "localhost:2181",
    "connector.properties.1.key": "bootstrap.servers",
    "connector.properties.1.value": "localhost:9092",
    "update-mode": "append",
    "format.type": "json",
    "format.derive-schema": "true",
    "format.fail-on-missing-field": "true",
}


def test_kafka() -> None:
    assert todays(KAFKA, "t") == {
        "connector": "kafka",
        "topic": "user_behavior",
        "scan.startup.mode": "earliest-offset",
        "properties.zookeeper.connect": "localhost:2181",
        "properties.bootstrap.servers": "localhost:9092",
        "format": "json",
        "json.fail-on-missing-field": "true",
    }


def test_offsets_and_partitioners() -> None:
    given = {
        "connector.type": "kafka",
        "connector.properties.bootstrap.servers": "h:1",
        "connector.startup-mode": "specific-offsets",
        "connector.specific-offsets.0.partition": "0",
        "connector.specific-offsets.0.offset": "42",
        "connector.specific-offsets.1.partition": "1",
        "connector.specific-offsets.1.offset": "300",
        "connector.sink-partitioner": "custom",
        "connector.sink-partitioner-class": "my.module:Mine",
    }
    found = todays(given, "t")
    assert found["scan.startup.specific-offsets"] == "partition:0,offset:42;partition:1,offset:300"
    assert (found["sink.partitioner"], found["properties.bootstrap.servers"]) == ("my.module:Mine", "h:1")


def test_todays_options_stay() -> None:
    options = {"connector": "kafka", "connector.type": "x"}
    assert todays(options, "t") is options


WRONG = [
    ({"connector.type": "pigeon"}, "'connector.type' = 'pigeon' is of an older Flink; there are kafka, filesystem"),
    ({**KAFKA, "update-mode": "retract"}, "'update-mode' is one of append, not 'retract'"),
    ({**KAFKA, "connector.version": "0.8"}, "'connector.version' is one of universal"),
    ({**KAFKA, "format.json-schema": "{}"}, "'format.json-schema' is of an older Flink: leave it out"),
    ({**KAFKA, "connector.wings": "2"}, "'connector.wings' is of an older Flink and has no word today"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_what_has_no_word_today(options: dict[str, str], message: str) -> None:
    with pytest.raises(TableException, match=message):
        todays(options, "t")


@pytest.mark.parametrize("name", ["kafka-0.10", "kafka-0.11"])
def test_connectors_of_other_versions_of_kafka(name: str) -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql(
        f"CREATE TABLE t (a INT) WITH ('connector' = '{name}', 'topic' = 'x', 'format' = 'json', "
        "'properties.bootstrap.servers' = 'h:1', 'scan.startup.mode' = 'earliest-offset')"
    )
    assert "TableSourceScan" in environment.sql_query("SELECT * FROM t").explain()


def test_a_table_of_an_older_program() -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    given = ", ".join(f"'{name}' = '{value}'" for name, value in KAFKA.items())
    environment.execute_sql(f"CREATE TABLE t (a INT) WITH ({given})")
    assert "TableSourceScan" in environment.sql_query("SELECT * FROM t").explain()


def test_a_table_of_a_database() -> None:
    given = {
        "connector.type": "jdbc",
        "connector.url": "jdbc:mysql://localhost:3306/flink-test",
        "connector.table": "jdbc_table_name",
        "connector.driver": "com.mysql.jdbc.Driver",
        "connector.username": "name",
        "connector.password": "password",
        "connector.read.partition.column": "id",
        "connector.read.fetch-size": "100",
        "connector.lookup.cache.ttl": "10s",
        "connector.write.flush.max-rows": "5000",
        "connector.write.max-retries": "3",
        "update-mode": "upsert",
    }
    assert todays(given, "t") == {
        "connector": "jdbc",
        "url": "jdbc:mysql://localhost:3306/flink-test",
        "table-name": "jdbc_table_name",
        "driver": "com.mysql.jdbc.Driver",
        "username": "name",
        "password": "password",
        "scan.partition.column": "id",
        "scan.fetch-size": "100",
        "lookup.cache.ttl": "10s",
        "sink.buffer-flush.max-rows": "5000",
        "sink.max-retries": "3",
    }


@pytest.mark.parametrize(
    "hosts",
    [
        {"connector.hosts": "http://host_name:9092;http://other:9093"},
        {
            "connector.hosts.0.hostname": "host_name",
            "connector.hosts.0.port": "9092",
            "connector.hosts.1.hostname": "other",
            "connector.hosts.1.port": "9093",
            "connector.hosts.0.protocol": "http",
            "connector.hosts.1.protocol": "http",
        },
    ],
    ids=["one text", "numbered"],
)
@pytest.mark.parametrize("version", ["6", "7"])
def test_an_index_of_elasticsearch(hosts: dict[str, str], version: str) -> None:
    given = {
        "connector.type": "elasticsearch",
        "connector.version": version,
        "connector.index": "MyUsers",
        "connector.document-type": "user",
        "connector.bulk-flush.backoff.type": "exponential",
        "update-mode": "append",
        "format.type": "json",
        **hosts,
    }
    assert todays(given, "t") == {
        "connector": f"elasticsearch-{version}",
        "hosts": "http://host_name:9092;http://other:9093",
        "index": "MyUsers",
        **({"document-type": "user"} if version == "6" else {}),
        "sink.bulk-flush.backoff.strategy": "exponential",
        "format": "json",
    }


def test_the_connectors_of_today_know_the_words() -> None:
    from millrace.connectors.jdbc.jdbc_table import JdbcFactory
    from millrace.connectors.search.search_table import Elasticsearch7Factory
    from millrace.table.sessions import table_info

    of_version_6 = {"document-type"}
    for factory, words in (
        (JdbcFactory, table_info._JDBC),
        (Elasticsearch7Factory, table_info._SEARCH),
    ):
        assert set(words.values()) - of_version_6 <= {*factory.required, *factory.optional}
