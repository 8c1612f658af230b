"""A connector whose package is not installed is found before a job starts."""

from __future__ import annotations

import sys

import pytest

from millrace.common import WatermarkStrategy
from millrace.common.serialization import SimpleStringSchema
from millrace.common.typeinfo import Types
from millrace.connectors import extras
from millrace.connectors.extras import missing_extra
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from millrace.datastream.connectors.kafka import KafkaSource
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.catalogs.jdbc_catalog import JdbcCatalog
from millrace.table.sessions import table_info
from millrace.util import plugins
from millrace.util.exceptions import CatalogException, TableException


def source() -> KafkaSource:
    builder = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:1").set_topics("orders")
    return builder.set_value_only_deserializer(SimpleStringSchema()).build()


def test_what_is_installed_is_not_missing() -> None:
    assert missing_extra(source()) is None
    assert missing_extra("text") is None


def test_the_error_names_the_operator_its_line_and_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """And comes alone, without the tracebacks of those that looked for it."""
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(source(), WatermarkStrategy.no_watermarks(), "orders")
    stream.print()
    monkeypatch.setattr(env, "_is_elsewhere", lambda: False)
    with pytest.raises(ImportError) as raised:
        env._prepare("job")
    assert str(raised.value).endswith(
        " needs confluent-kafka, which is not installed: pip install 'millrace-streaming[kafka]'"
    )
    assert "operator 'Source: orders', made at " in str(raised.value) and __file__ in str(raised.value)
    assert raised.value.__cause__ is None and raised.value.__context__ is None


def test_a_source_within_another_one_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    class Around:
        def __init__(self) -> None:
            self.inner = source()

    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    assert "confluent-kafka" in (missing_extra(Around()) or "")


@pytest.mark.parametrize("name", extras._NEEDED)
def test_each_is_the_name_of_a_folder_and_an_extra(name: str) -> None:
    from importlib.util import find_spec
    from pathlib import Path

    assert find_spec(f"millrace.connectors.{name}") is not None
    project = Path(__file__).parents[2] / "pyproject.toml"
    assert f"\n{name} = [" in project.read_text()


TABLES = {
    "kafka": ("confluent_kafka", "kafka", "'properties.bootstrap.servers' = 'x:1', 'topic' = 't', 'format' = 'json'"),
    "upsert-kafka": (
        "confluent_kafka",
        "kafka",
        "'properties.bootstrap.servers' = 'x:1', 'topic' = 't', 'key.format' = 'json', 'value.format' = 'json'",
    ),
    "rabbitmq": ("pika", "rabbitmq", "'hostname' = 'h', 'queue' = 'q', 'format' = 'json'"),
    "redis-stream": ("redis", "redis", "'url' = 'redis://x', 'stream' = 's', 'format' = 'json'"),
    "redis": ("redis", "redis", "'command' = 'SET'"),
    "nats": ("nats", "nats", "'servers' = 'nats://x', 'format' = 'json'"),
    "mqtt": ("paho", "mqtt", "'url' = 'mqtt://x', 'topic' = 't', 'format' = 'json'"),
    "kinesis": ("boto3", "kinesis", "'stream.arn' = 'a', 'aws.region' = 'eu', 'format' = 'json'"),
    "mongodb": ("pymongo", "mongodb", "'uri' = 'mongodb://x', 'database' = 'd', 'collection' = 'c'"),
    "cassandra": ("cassandra", "cassandra", "'hosts' = 'h', 'keyspace' = 'k', 'table-name' = 't'"),
    "elasticsearch-7": ("httpx", "search", "'hosts' = 'http://x:1', 'index' = 'i'"),
    "mysql-cdc": (
        "pymysql",
        "mysql-cdc",
        "'hostname' = 'h', 'username' = 'u', 'password' = 'p', 'database-name' = 'd', 'table-name' = 't'",
    ),
    "postgres-cdc": (
        "psycopg",
        "postgres-cdc",
        "'hostname' = 'h', 'username' = 'u', 'password' = 'p', 'database-name' = 'd', 'schema-name' = 's', "
        "'table-name' = 't', 'slot.name' = 's'",
    ),
}
DRIVERS = {
    "postgresql": ("psycopg", "postgres"),
    "mysql": ("pymysql", "mysql"),
    "mariadb": ("pymysql", "mysql"),
    "duckdb": ("duckdb", "duckdb"),
}


def asked(sql: str, *before: str) -> str:
    """The error of a statement that needs no job."""
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for statement in before:
        environment.execute_sql(statement)
    with pytest.raises((TableException, CatalogException)) as raised:
        environment.explain_sql(sql) if sql.startswith(("SELECT", "INSERT")) else environment.execute_sql(sql)
    return str(raised.value)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_says_it_before_anything_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, extra, options = TABLES[name]
    monkeypatch.setitem(sys.modules, module, None)
    created = f"CREATE TABLE t (id STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = '{name}'"
    text = asked("SELECT * FROM t", f"{created}{', ' if options else ''}{options})")
    assert f"connector '{name}' needs " in text
    assert text.endswith(f"which is not installed: pip install 'millrace-streaming[{extra}]'")


@pytest.mark.parametrize("kind", DRIVERS)
def test_a_database_says_it_before_anything_runs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a table, for rows that are read and written, and as a catalog."""
    module, extra = DRIVERS[kind]
    monkeypatch.setitem(sys.modules, module, None)
    url = f"jdbc:{kind}:{'' if kind == 'duckdb' else '//127.0.0.1:1/'}d"
    created = f"CREATE TABLE t (id INT) WITH ('connector' = 'jdbc', 'url' = '{url}', 'table-name' = 't')"
    end = f"which is not installed: pip install 'millrace-streaming[{extra}]'"
    assert asked("SELECT * FROM t", created).endswith(end)
    assert asked("INSERT INTO t VALUES (1)", created).endswith(end)
    base = "jdbc:duckdb:." if kind == "duckdb" else f"jdbc:{kind}://127.0.0.1:1"
    with pytest.raises(CatalogException, match=r"catalog c needs .*pip install 'millrace-streaming\["):
        JdbcCatalog("c", "d", "u", "p", base)


def test_a_sink_for_a_database_says_it_before_the_job_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    types = Types.ROW([Types.INT()])
    options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:mysql://127.0.0.1:1/d").build()
    sink = JdbcSink.sink("INSERT INTO t VALUES (?)", types, options)
    assert missing_extra(sink) is None
    monkeypatch.setitem(sys.modules, "pymysql", None)
    assert missing_extra(sink) == ("needs PyMySQL, which is not installed: pip install 'millrace-streaming[mysql]'")


FORMATS = {
    "avro": ("fastavro", "avro", ""),
    "protobuf": ("google.protobuf", "protobuf", ", 'protobuf.message-class-name' = 'm.M'"),
    "avro-confluent": ("confluent_kafka", "registry", ", 'avro-confluent.url' = 'http://127.0.0.1:1'"),
    "debezium-avro-confluent": (
        "confluent_kafka",
        "registry",
        ", 'debezium-avro-confluent.url' = 'http://127.0.0.1:1'",
    ),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_says_it_before_anything_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, extra, more = FORMATS[name]
    for each in [module, *(each for each in sys.modules if each.startswith(f"{module}."))]:
        monkeypatch.setitem(sys.modules, each, None)
    options = f"'connector' = 'socket', 'hostname' = 'h', 'port' = '1', 'format' = '{name}'{more}"
    text = asked("SELECT * FROM t", f"CREATE TABLE t (id INT) WITH ({options})")
    assert f"format '{name}' needs " in text
    assert f"pip install 'millrace-streaming[{extra}]'" in text


def test_every_connector_of_a_package_is_known() -> None:
    """Each folder that has tables and needs something is found by its factory's module, and each name is an extra."""
    from pathlib import Path

    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    for name in (*extras._BY_NAME, *(extra for extra, _ in extras._DRIVERS.values())):
        assert f"\n{name} = [" in project
    factories = {name: plugins.load(table_info.ENTRY_POINTS, name) for name in plugins.names(table_info.ENTRY_POINTS)}
    for name, factory in factories.items():
        # What is not named after its package's folder has a row of its own.
        folders = {*factory.__module__.split(".")} & {*extras._NEEDED, "jdbc"}
        assert factory.extra == (name if name in extras._BY_NAME else next(iter(folders), None)), name
    found = {name for name, factory in factories.items() if factory.extra is not None}
    without = {"blackhole", "datagen", "filesystem", "older-filesystem", "print", "socket", "spark", "values"}
    assert set(plugins.names(table_info.ENTRY_POINTS)) - found == without
