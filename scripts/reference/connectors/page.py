"""``docs/sql/connectors.md`` and ``docs/sql/formats.md``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from millrace.connectors.file_system.table.line_formats import CSV_HEADER
from millrace.formats.tables.format_options import format_factory, format_names
from millrace.relational.sources import TableFactory
from millrace.table.sessions.table_info import Connectors

from .meanings import Meaning, group, meaning, shared

TITLES = {
    "filesystem": "Files of a folder, read once or as they come, written exactly once: [files](../guide/tables.md).",
    "older-filesystem": "Files with options as of Flink 1.10 (`connector.type`).",
    "spark": "Any data source of Spark, by `format`; its options are Spark's.",
    "datagen": "Made-up rows.",
    "print": "Prints rows.",
    "blackhole": "Forgets rows.",
    "values": "Rows of the program, for tests.",
    "socket": "Messages from a server, at most once.",
    "kafka": "Topics of Kafka: [Kafka](../guide/kafka.md).",
    "upsert-kafka": "The newest row of each key in a topic.",
    "nats": "JetStream: [other message systems](../guide/messages.md).",
    "mqtt": "Topics of a broker.",
    "rabbitmq": "A queue.",
    "redis": "Keys of Redis, written and looked up.",
    "redis-stream": "Streams of Redis.",
    "redis-pubsub": "What is published while the job runs.",
    "kinesis": "Streams of AWS.",
    "kinesis-legacy": "The same with older options.",
    "aws-kinesis-firehose": "Delivery streams of AWS.",
    "jdbc": "Tables of a database: [databases](../guide/databases.md).",
    "postgres-cdc": "Changes of PostgreSQL: [changes](../guide/cdc.md).",
    "mysql-cdc": "Changes of MySQL and MariaDB: [changes](../guide/cdc-mysql.md).",
    "mongodb": "Collections: [stores](../guide/stores.md).",
    "cassandra": "Tables of Cassandra.",
    "clickhouse": "Tables of ClickHouse.",
    "hbase-2.2": "Tables of HBase by its Thrift server; also `hbase-1.4`, `hbase-2.6`.",
    "influxdb": "Points of a measurement.",
    "opensearch": "Documents of an index: [search](../guide/search.md). Also `opensearch-2`.",
    "elasticsearch-7": "Documents of an index. Also `elasticsearch-8`, `elasticsearch`.",
    "http": "Services: [HTTP](../guide/http.md). Also under `gid.connector.http.*`, as older programs have it.",
    "rest-lookup": "Services that are looked up.",
    "http-sink": "Services that rows are sent to.",
}
"""What has a section of its own."""
ALIASES = {"kafka-0.10", "kafka-0.11", "hbase-1.4", "hbase-2.6", "opensearch-2", "elasticsearch", "elasticsearch-8",
           "elasticsearch-6"}  # fmt: skip
"""Other names of these, and one that is refused."""
_GROUPS = {
    "lookup": ("Look-ups", "Of connectors that are looked up: [lookups](../guide/lookups.md#caches)."),
    "watermark": ("Watermarks", "Of connectors that make watermarks as they read."),
    "call": ("Requests", "Behind `http.sink.` or `http.source.lookup.`."),
}
_FORMATS = {
    "json": "Objects, one a message or line.",
    "csv": "Lines with fields.",
    "avro": "Records of Avro, with the schema of the table.",
    "raw": "One column, as it is.",
    "protobuf": "Messages of a generated module.",
    "avro-confluent": "Records of Avro, whose schemas a registry has.",
    "json-confluent": "JSON whose schemas a registry has.",
    "debezium-json": "Changes as Debezium tells them.",
    "debezium-avro-confluent": "The same as Avro.",
    "canal-json": "Changes as Canal tells them.",
    "canal-protobuf": "The same as Protobuf.",
    "maxwell-json": "Changes as Maxwell tells them.",
    "ogg-json": "Changes as Oracle GoldenGate tells them.",
    "changelog-json": "Rows with the kind of change.",
}
_OF_FILES = {"csv": (CSV_HEADER.removeprefix("csv."),)}
"""options that are the connector's, of files of a format"""
_CONNECTORS = """# Connectors of tables

`'connector' = 'NAME'` in WITH, and these options. One that a connector does not have is an error. A name that ends with
a dot stands for all that begin with it. A number is whole and has 32 bits, a long has 64; a span is `10 s`, `5 min`, `1 d`;
a size `64 mb`; a list has `;` between its parts where nothing else is said. Options of a [format](formats.md) have its name before them: `'json.ignore-parse-errors'`.
"""
_FORMATS_HEAD = """# Formats of tables

`'format' = 'NAME'` in WITH, for messages and files; `'key.format'` and `'value.format'` where a message has two. Options
have the name of the format before them: `'csv.field-delimiter'`, `'key.json.ignore-parse-errors'`. Files can also be
`parquet` and `orc`, whose options are those of their writers (`parquet.compression`).
"""


def page() -> str:
    """All connectors; without the first line of the page."""
    return "\n".join(_connectors())


def formats_page() -> str:
    """All formats; without the first line of the page."""
    return "\n".join(_formats())


def undescribed() -> set[str]:
    """Connectors and formats that the pages say nothing about."""
    return {*Connectors().names(), *format_names()} - {*TITLES, *ALIASES, *_FORMATS}


def _connectors() -> Iterator[str]:
    yield _CONNECTORS
    for name, text in TITLES.items():
        factory = _factory(name)
        yield from (f"## {name}", "", text, "")
        yield from _table(_own(name, factory))
    for name, (title, text) in _GROUPS.items():
        yield from (f"## {title}", "", text, "")
        yield from _table((option, False, found) for option, found in group(name))


def _formats() -> Iterator[str]:
    yield _FORMATS_HEAD
    for name, text in _FORMATS.items():
        factory = format_factory(name, "")
        options = dict.fromkeys((*factory.required, *factory.optional, *_OF_FILES.get(name, ())))
        yield from (f"## {name}", "", text, "")
        yield from _table((each, each in factory.required, meaning(f"!{name}", each)) for each in options)


def _own(name: str, factory: TableFactory) -> Iterator[tuple[str, bool, Meaning]]:
    """A connector's options, without those of formats and older names, then the groups that it shares."""
    prefixes = {f"{part}{each}." for each in format_names() for part in ("", "key.", "value.")}
    groups: dict[str, None] = {}
    for option in dict.fromkeys((*factory.required, *factory.optional)):
        if shared(option):
            groups[shared(option)] = None
        elif option not in prefixes and not option.startswith("gid."):
            yield option, option in factory.required, meaning(name, option)
    for each in groups:
        title = _GROUPS[each][0]
        yield "", False, Meaning("", "", f"and those of [{title}](#{title.lower()})")


def _table(rows: Iterable[tuple[str, bool, Meaning]]) -> Iterator[str]:
    lines = [_row(*each) for each in rows]
    if lines:
        yield from ("| option | type | default | |", "|---|---|---|---|", *lines, "")


def _row(option: str, needed: bool, found: Meaning) -> str:
    name = f"`{option}{'*' if option.endswith('.') else ''}`" if option else ""
    default = "(needed)" if needed else found.default
    return f"| {name} | {found.kind} | {default} | {found.text} |"


def _factory(name: str) -> TableFactory:
    found = Connectors()._factory(name)
    assert found is not None, name
    return found
