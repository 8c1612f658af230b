"""Finds connectors by name: Millrace's own and those of installed packages (entry points ``millrace.connectors``).

Options from before Flink 1.11 (``connector.type``, ``format.type``) are translated into today's; for a connector that
Millrace does not have, the error names the nearest one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources

from millrace.connectors.extras import missing_extra_of_table
from millrace.relational.sources import MAX_JUMP, NULL_TIMES, TableFactory
from millrace.table.values.program_errors import problem
from millrace.util.names import close_to, did_you_mean, made_at
from millrace.util.plugins import points

# Connectors that Millrace does not have

_DEBEZIUM = "let {} send its changes to Kafka, and read them with 'connector' = 'kafka' and a format of changes"
_LAKE = (
    "'connector' = 'spark', 'format' = '{0}', once Spark has the package of {0} (spark.jars.packages): it is read as "
    "it is when the query begins, and written in batch mode"
)
_FILES = "'connector' = 'filesystem' over its files, 'format' = 'parquet' or 'orc'"
_LOADED = "write files with 'connector' = 'filesystem' and load these, or a sink in Python (millrace.common.sink.Sink)"
_DRIVER = "'connector' = 'jdbc' with a URL jdbc:{}: and the jar of its driver (pipeline.jars)"
_PYTHON = "a source or sink in Python (millrace.common.source.Source, millrace.common.sink.Sink), or a bridge to Kafka"

NEAREST = {
    **{name: _LAKE.format(name) for name in ("iceberg", "delta", "hudi", "paimon")},
    "table-store": _LAKE.format("paimon"),
    "fluss": _PYTHON,
    "hive": _FILES,
    "doris": _LOADED,
    "starrocks": _LOADED,
    "snowflake": _DRIVER.format("snowflake"),
    "bigquery": _LOADED,
    "redshift": _DRIVER.format("redshift"),
    "kudu": _LOADED,
    "polardbx-cdc": _DEBEZIUM.format("its server"),
    "gaussdb-cdc": _DEBEZIUM.format("its server"),
    **dict.fromkeys(
        ("pulsar", "pravega", "rocketmq", "pubsub", "gcp-pubsub", "sqs", "dynamodb", "dynamodb-streams", "eventhubs"),
        _PYTHON,
    ),
    "prometheus": "a sink in Python (millrace.common.sink.Sink)",
    "neo4j": "a sink in Python (millrace.common.sink.Sink)",
    "faker": "'connector' = 'datagen'",
    "upsert-rabbitmq": "'connector' = 'rabbitmq'",
    "websocket": "'connector' = 'socket', or a source in Python (millrace.common.source.Source)",
    "sls": _PYTHON,
    "odps": _FILES,
    "maxcompute": _FILES,
    "hologres": "'connector' = 'jdbc' with a URL of PostgreSQL, whose protocol it speaks; it was not tried",
    "tidb": "'connector' = 'jdbc' with a URL of MySQL, whose protocol it speaks; it was not tried",
    "oceanbase": _DRIVER.format("oceanbase"),
}
"""name of a connector -> the nearest way"""


def nearest(name: str) -> str:
    """Text about a connector of another project, to append to an error: "; nearest: ..."; empty if the name is
    unknown."""
    found = NEAREST.get(name.strip().lower())
    return "" if found is None else f"; nearest: {found}"


# Options from before Flink 1.11

_TYPE = "connector.type"
_INDEXED = re.compile(r"connector\.(properties|specific-offsets)\.(\d+)\.(key|value|partition|offset)")
_PROPERTIES = "connector.properties."
_COMMON = {"connector.property-version", "format.property-version", "format.derive-schema"}
"""old options without a meaning today, since the columns of the table are the schema"""
_KAFKA = {
    "connector.topic": "topic",
    "connector.startup-mode": "scan.startup.mode",
    "connector.specific-offsets": "scan.startup.specific-offsets",
    "connector.startup-timestamp-millis": "scan.startup.timestamp-millis",
    "connector.sink-partitioner-class": "sink.partitioner",
    "connector.sink-partitioner": "sink.partitioner",
}
_JDBC = {
    "connector.url": "url",
    "connector.table": "table-name",
    "connector.driver": "driver",
    "connector.username": "username",
    "connector.password": "password",
    "connector.read.partition.column": "scan.partition.column",
    "connector.read.partition.num": "scan.partition.num",
    "connector.read.partition.lower-bound": "scan.partition.lower-bound",
    "connector.read.partition.upper-bound": "scan.partition.upper-bound",
    "connector.read.fetch-size": "scan.fetch-size",
    "connector.lookup.cache.max-rows": "lookup.cache.max-rows",
    "connector.lookup.cache.ttl": "lookup.cache.ttl",
    "connector.lookup.max-retries": "lookup.max-retries",
    "connector.write.flush.max-rows": "sink.buffer-flush.max-rows",
    "connector.write.flush.interval": "sink.buffer-flush.interval",
    "connector.write.max-retries": "sink.max-retries",
}
_SEARCH = {
    "connector.hosts": "hosts",
    "connector.index": "index",
    "connector.document-type": "document-type",
    "connector.key-delimiter": "document-id.key-delimiter",
    "connector.failure-handler": "failure-handler",
    "connector.flush-on-checkpoint": "sink.flush-on-checkpoint",
    "connector.bulk-flush.max-actions": "sink.bulk-flush.max-actions",
    "connector.bulk-flush.max-size": "sink.bulk-flush.max-size",
    "connector.bulk-flush.interval": "sink.bulk-flush.interval",
    "connector.bulk-flush.backoff.type": "sink.bulk-flush.backoff.strategy",
    "connector.bulk-flush.backoff.max-retries": "sink.bulk-flush.backoff.max-retries",
    "connector.bulk-flush.backoff.delay": "sink.bulk-flush.backoff.delay",
    "connector.connection-max-retry-timeout": "connection.max-retry-timeout",
    "connector.connection-path-prefix": "connection.path-prefix",
}
_NAMES = {
    "kafka": _KAFKA,
    "filesystem": {"connector.path": "path"},
    "jdbc": _JDBC,
    "elasticsearch": _SEARCH,
}
_VERSIONS = {"kafka": ("universal", "0.10", "0.11"), "elasticsearch": ("6", "7")}
_HOST = re.compile(r"connector\.hosts\.(\d+)\.(hostname|port|protocol)")
_UPDATES = {"jdbc": ("append", "upsert"), "elasticsearch": ("append", "upsert")}
"""ways of writing, where there is more than one: today the key of the table decides"""
_FORMATS = ("json", "csv", "avro")
_SCHEMAS = ("format.schema", "format.json-schema", "format.avro-schema", "format.record-class")


def todays(options: Mapping[str, str], table: str) -> Mapping[str, str]:
    """Translate options from before Flink 1.11 into today's. Today's options are returned unchanged.

    :raises TableException: an old option has no counterpart today; the text names it.
    """
    if _TYPE not in options or "connector" in options:
        return options
    kind = options[_TYPE]
    names = _NAMES.get(kind)
    if names is None:
        raise problem(
            f"table {table}: '{_TYPE}' = '{kind}' is of an older Flink; there are {', '.join(_NAMES)}, and today's "
            "'connector' = '...'"
        )
    found = {"connector": kind}
    indexed: dict[tuple[str, str], dict[str, str]] = {}
    hosts: dict[str, dict[str, str]] = {}
    for name, value in options.items():
        part = _INDEXED.fullmatch(name)
        if name in (_TYPE, "format.type") or name in _COMMON:
            continue
        if part is not None:
            indexed.setdefault((part[1], part[2]), {})[part[3]] = value
        elif (host := _HOST.fullmatch(name)) is not None:
            hosts.setdefault(host[1], {})[host[2]] = value
        elif name in names:
            if value != "custom":  # the class says it
                found[names[name]] = value
        elif name.startswith(_PROPERTIES):
            found[f"properties.{name.removeprefix(_PROPERTIES)}"] = value
        elif name == "connector.version":
            _one_of(table, name, value, _VERSIONS.get(kind, (value,)))
        elif name == "format.line-delimiter":
            _one_of(table, name, value, ("\n", "\\n"))
        elif name == "format.fields" or name.startswith("format.fields."):
            continue  # the columns are the schema
        elif name == "update-mode":
            _one_of(table, name, value, _UPDATES.get(kind, ("append",)))
        elif name in _SCHEMAS:
            raise problem(f"table {table}: '{name}' is of an older Flink: leave it out, the columns are the schema")
        elif name.startswith("format."):
            found[f"{options.get('format.type', '')}.{name.removeprefix('format.')}"] = value
        elif name.startswith("connector."):
            raise problem(f"table {table}: '{name}' is of an older Flink and has no word today")
        else:
            found[name] = value
    if "format.type" in options:
        _one_of(table, "format.type", options["format.type"], _FORMATS)
        found["format"] = options["format.type"]
    if kind == "filesystem" and found.get("format") == "csv":
        found["connector"] = "older-filesystem"  # fields too many, empty texts, one file: another CSV than today's
    if kind == "elasticsearch":
        _search(found, options.get("connector.version", "7"), hosts)
    return found | _numbered(indexed)


def _search(found: dict[str, str], version: str, hosts: Mapping[str, Mapping[str, str]]) -> None:
    """The version is part of the connector's name today, and documents have no types since version 7."""
    found["connector"] = f"elasticsearch-{version}"
    if version != "6":
        found.pop("document-type", None)
    if hosts:
        parts = (f"{each['protocol']}://{each['hostname']}:{each['port']}" for _, each in sorted(hosts.items()))
        found["hosts"] = ";".join(parts)


def _numbered(indexed: Mapping[tuple[str, str], Mapping[str, str]]) -> dict[str, str]:
    """Lists whose entries have numbers: of properties, and of offsets."""
    found = {each["key"]: each["value"] for (kind, _), each in indexed.items() if kind == "properties"}
    offsets = [each for (kind, _), each in sorted(indexed.items()) if kind == "specific-offsets"]
    made = {f"properties.{name}": value for name, value in found.items()}
    if offsets:
        text = ";".join(f"partition:{each['partition']},offset:{each['offset']}" for each in offsets)
        made["scan.startup.specific-offsets"] = text
    return made


def _one_of(table: str, name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise problem(f"table {table}: '{name}' is one of {', '.join(known)}, not '{value}'")


# Connectors

ENTRY_POINTS = "millrace.connectors"
_FOLDER = "millrace.connectors"
_BUILT_IN = {
    "aws-kinesis-firehose": "millrace.connectors.kinesis.kinesis_table:FirehoseFactory",
    "blackhole": "millrace.connectors.tables.print_table:BlackholeFactory",
    "datagen": "millrace.connectors.tables.datagen_table:DatagenFactory",
    "elasticsearch": "millrace.connectors.search.search_table:ElasticsearchFactory",
    "elasticsearch-6": "millrace.connectors.search.search_table:Elasticsearch6Factory",
    "elasticsearch-7": "millrace.connectors.search.search_table:Elasticsearch7Factory",
    "elasticsearch-8": "millrace.connectors.search.search_table:Elasticsearch8Factory",
    "filesystem": "millrace.connectors.file_system.table.filesystem_table:FileSystemFactory",
    "hbase-1.4": "millrace.connectors.hbase.hbase_table:HBaseFactory",
    "hbase-2.2": "millrace.connectors.hbase.hbase_table:HBaseFactory",
    "hbase-2.6": "millrace.connectors.hbase.hbase_table:HBaseFactory",
    "http": "millrace.connectors.http.http_table:HttpFactory",
    "http-sink": "millrace.connectors.http.http_table:HttpSinkFactory",
    "kafka": "millrace.connectors.kafka.kafka_table:KafkaFactory",
    "kinesis": "millrace.connectors.kinesis.kinesis_table:KinesisFactory",
    "kinesis-legacy": "millrace.connectors.kinesis.kinesis_table:KinesisLegacyFactory",
    "kafka-0.10": "millrace.connectors.kafka.kafka_table:KafkaFactory",
    "kafka-0.11": "millrace.connectors.kafka.kafka_table:KafkaFactory",
    "older-filesystem": "millrace.connectors.file_system.table.older_filesystem:OlderFileSystemFactory",
    "opensearch": "millrace.connectors.search.search_table:OpenSearchFactory",
    "opensearch-2": "millrace.connectors.search.search_table:OpenSearch2Factory",
    "mysql-cdc": "millrace.connectors.cdc.mysql.mysql_source:MySqlCdcFactory",
    "postgres-cdc": "millrace.connectors.cdc.postgres.postgres_source:PostgresCdcFactory",
    "print": "millrace.connectors.tables.print_table:PrintFactory",
    "redis": "millrace.connectors.redis.redis_table:RedisFactory",
    "redis-pubsub": "millrace.connectors.redis.redis_table:RedisPubSubFactory",
    "redis-stream": "millrace.connectors.redis.redis_table:RedisStreamFactory",
    "rest-lookup": "millrace.connectors.http.http_table:RestLookupFactory",
    "socket": "millrace.connectors.tables.socket_table:SocketFactory",
    "spark": "millrace.spark.tables.spark_connector:SparkFactory",
    "upsert-kafka": "millrace.connectors.kafka.kafka_table:UpsertKafkaFactory",
    "values": "millrace.connectors.tables.values_table:ValuesFactory",
}
"""name of a connector -> its factory. A folder that is named here has all of its connectors here; any other folder
``<name>`` of ``millrace.connectors`` with a module ``<name>_table`` is found by its name."""
# Known by name only, to say what there is instead.
_REFUSED = {
    "db2-cdc": "millrace.connectors.cdc.cdc_table:Db2CdcFactory",
    "mongodb-cdc": "millrace.connectors.cdc.cdc_table:MongoDbCdcFactory",
    "oceanbase-cdc": "millrace.connectors.cdc.cdc_table:OceanBaseCdcFactory",
    "oracle-cdc": "millrace.connectors.cdc.cdc_table:OracleCdcFactory",
    "sqlserver-cdc": "millrace.connectors.cdc.cdc_table:SqlServerCdcFactory",
    "tidb-cdc": "millrace.connectors.cdc.cdc_table:TiDbCdcFactory",
    "vitess-cdc": "millrace.connectors.cdc.cdc_table:VitessCdcFactory",
}
# Tables do not name these: they stand in for others.
_BEHIND = {
    "jdbc-by-spark": "millrace.spark.tables.java_databases:OtherDatabaseFactory",
}
_NOT_TABLES = frozenset({"connector", "property-version", "comment", NULL_TIMES, MAX_JUMP})


class Connectors:
    """The connectors that tables can name: those of Millrace, of installed packages, and a program's own."""

    def __init__(self, above: Connectors | None = None) -> None:
        self._above = above
        self._own: dict[str, type[TableFactory]] = {}

    def register(self, factory: type[TableFactory]) -> None:
        """Make a connector known by its ``identifier``."""
        self._own[factory.identifier] = factory

    def names(self) -> list[str]:
        return sorted({*self._own, *(self._above.names() if self._above else (*built_in(), *_installed()))})

    def factory_of(self, options: Mapping[str, str], table: str) -> TableFactory:
        """The factory that a table's options name, with the options checked.

        :raises TableException: no connector, an unknown one, options that it does not have or that are missing.
        """
        known = self.names()
        name = options.get("connector")
        if name is None:
            hint = _misspelt(("connector",), options)
            raise problem(f"table {table} has no connector{hint}: WITH ('connector' = '...'), e.g. {', '.join(known)}")
        factory = self._factory(name)
        if factory is None:
            meant = nearest(name) or did_you_mean(name, known)
            raise problem(f"table {table}: there is no connector '{name}'{meant}; there are {', '.join(known)}")
        if (other := factory.stands_in(options)) is not None:
            factory = made_at(_BEHIND[other], TableFactory, other)
        _check(factory, options, table)
        missing = missing_extra_of_table(factory.identifier, type(factory).__module__, options)
        if missing is not None:
            raise problem(f"table {table}: connector '{name}' {missing}")
        return factory

    def _factory(self, name: str) -> TableFactory | None:
        if name in self._own:
            return self._own[name]()
        if self._above is not None:
            return self._above._factory(name)
        place = built_in().get(name) or _installed().get(name) or _REFUSED.get(name)
        return None if place is None else made_at(place, TableFactory, name)


@cache
def built_in() -> dict[str, str]:
    """Millrace's own connectors: name -> ``module:Class``, or the module alone, which has one class of that name."""
    listed = {
        place.removeprefix(f"{_FOLDER}.").partition(".")[0] for place in (*_BUILT_IN.values(), *_REFUSED.values())
    }
    folder = resources.files(_FOLDER)
    found = {
        each.name: f"{_FOLDER}.{each.name}.{each.name}_table"
        for each in folder.iterdir()
        if each.name not in listed and each.joinpath(f"{each.name}_table.py").is_file()
    }
    return {**_BUILT_IN, **found}


EVERYWHERE = Connectors()
"""what ``register_factory`` makes known, to all environments of the process"""


def register_factory(factory: type[TableFactory]) -> None:
    """Make a connector known to every table environment of this process; ``TableEnvironment.register_connector`` makes
    it known to one."""
    EVERYWHERE.register(factory)


def factory_names() -> list[str]:
    return EVERYWHERE.names()


def factory_of(options: Mapping[str, str], table: str) -> TableFactory:
    """Find the factory for a table's options among the connectors that every environment has, see
    ``Connectors.factory_of``."""
    return EVERYWHERE.factory_of(options, table)


@cache
def _installed() -> dict[str, str]:
    return {point.name: point.value for point in points(ENTRY_POINTS).values()}


def _misspelt(missing: Sequence[str], given: Iterable[str]) -> str:
    """A "did you mean" with one of the given names that resembles a missing one; empty if none does."""
    meant = next(((name, close) for name in given if (close := close_to(name, missing)) is not None), None)
    return "" if meant is None else f" (did you mean '{meant[1]}' where it says '{meant[0]}'?)"


def _check(factory: TableFactory, options: Mapping[str, str], table: str) -> None:
    missing = [name for name in factory.required if name not in options]
    known = (*factory.required, *factory.optional)
    if missing:
        unknown = [] if factory.hands_on else [name for name in options if name not in (*known, *_NOT_TABLES)]
        raise problem(
            f"table {table}: connector '{factory.identifier}' needs {', '.join(missing)}{_misspelt(missing, unknown)}"
        )
    if factory.hands_on:
        return
    for name in options:
        if name in _NOT_TABLES or name in known or any(each.endswith(".") and name.startswith(each) for each in known):
            continue
        shown = ", ".join(sorted(known)) or "none"
        raise problem(
            f"table {table}: connector '{factory.identifier}' has no option '{name}'{did_you_mean(name, known)}; it "
            f"has {shown}"
        )
