"""Connectors by name: those of Millrace, and those of installed packages (entry points ``millrace.connectors``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from millrace.connectors.extras import missing_extra_of_table
from millrace.relational.sources import MAX_JUMP, NULL_TIMES, TableFactory
from millrace.table.sessions.other_connectors import nearest
from millrace.table.values.problems import did_you_mean, problem
from millrace.util.similar import close_to

ENTRY_POINTS = "millrace.connectors"
_BUILT_IN = {
    "aws-kinesis-firehose": "millrace.connectors.tables.messages.kinesis:FirehoseFactory",
    "blackhole": "millrace.connectors.tables.blackhole:BlackholeFactory",
    "cassandra": "millrace.connectors.tables.stores.cassandra:CassandraFactory",
    "clickhouse": "millrace.connectors.tables.stores.clickhouse:ClickHouseFactory",
    "datagen": "millrace.connectors.tables.datagen:DatagenFactory",
    "elasticsearch": "millrace.connectors.tables.search.factory:ElasticsearchFactory",
    "elasticsearch-6": "millrace.connectors.tables.search.factory:Elasticsearch6Factory",
    "elasticsearch-7": "millrace.connectors.tables.search.factory:Elasticsearch7Factory",
    "elasticsearch-8": "millrace.connectors.tables.search.factory:Elasticsearch8Factory",
    "filesystem": "millrace.connectors.tables.filesystem.factory:FileSystemFactory",
    "hbase-1.4": "millrace.connectors.tables.stores.hbase:HBaseFactory",
    "hbase-2.2": "millrace.connectors.tables.stores.hbase:HBaseFactory",
    "hbase-2.6": "millrace.connectors.tables.stores.hbase:HBaseFactory",
    "http": "millrace.connectors.tables.http.factory:HttpFactory",
    "http-sink": "millrace.connectors.tables.http.factory:HttpSinkFactory",
    "influxdb": "millrace.connectors.tables.stores.influxdb:InfluxFactory",
    "jdbc": "millrace.connectors.tables.jdbc.factory:JdbcFactory",
    "kafka": "millrace.connectors.tables.kafka.factory:KafkaFactory",
    "kinesis": "millrace.connectors.tables.messages.kinesis:KinesisFactory",
    "kinesis-legacy": "millrace.connectors.tables.messages.kinesis:KinesisLegacyFactory",
    "kafka-0.10": "millrace.connectors.tables.kafka.factory:KafkaFactory",
    "kafka-0.11": "millrace.connectors.tables.kafka.factory:KafkaFactory",
    "mongodb": "millrace.connectors.tables.stores.mongodb:MongoFactory",
    "mqtt": "millrace.connectors.tables.messages.mqtt:MqttFactory",
    "nats": "millrace.connectors.tables.messages.nats:NatsFactory",
    "older-filesystem": "millrace.connectors.tables.filesystem.older:OlderFileSystemFactory",
    "opensearch": "millrace.connectors.tables.search.factory:OpenSearchFactory",
    "opensearch-2": "millrace.connectors.tables.search.factory:OpenSearch2Factory",
    "mysql-cdc": "millrace.connectors.tables.cdc.mysql:MySqlCdcFactory",
    "postgres-cdc": "millrace.connectors.tables.cdc.postgres:PostgresCdcFactory",
    "print": "millrace.connectors.tables.printing:PrintFactory",
    "rabbitmq": "millrace.connectors.tables.messages.rabbitmq:RabbitMQFactory",
    "redis": "millrace.connectors.tables.redis.factory:RedisFactory",
    "redis-pubsub": "millrace.connectors.tables.messages.redis:RedisPubSubFactory",
    "redis-stream": "millrace.connectors.tables.messages.redis:RedisStreamFactory",
    "rest-lookup": "millrace.connectors.tables.http.factory:RestLookupFactory",
    "socket": "millrace.connectors.tables.socket:SocketFactory",
    "spark": "millrace.spark.tables.passthrough:SparkFactory",
    "upsert-kafka": "millrace.connectors.tables.kafka.factory:UpsertKafkaFactory",
    "values": "millrace.connectors.tables.values:ValuesFactory",
}
# Known by name only, to say what there is instead.
_REFUSED = {
    "db2-cdc": "millrace.connectors.tables.cdc.refused:Db2CdcFactory",
    "mongodb-cdc": "millrace.connectors.tables.cdc.refused:MongoDbCdcFactory",
    "oceanbase-cdc": "millrace.connectors.tables.cdc.refused:OceanBaseCdcFactory",
    "oracle-cdc": "millrace.connectors.tables.cdc.refused:OracleCdcFactory",
    "sqlserver-cdc": "millrace.connectors.tables.cdc.refused:SqlServerCdcFactory",
    "tidb-cdc": "millrace.connectors.tables.cdc.refused:TiDbCdcFactory",
    "vitess-cdc": "millrace.connectors.tables.cdc.refused:VitessCdcFactory",
}
# Tables do not name these: they stand in for others.
_BEHIND = {
    "jdbc-by-spark": "millrace.spark.tables.databases.factory:OtherDatabaseFactory",
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
        return sorted({*self._own, *(self._above.names() if self._above else (*_BUILT_IN, *_installed()))})

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
            factory = _made(_BEHIND[other])
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
        place = _BUILT_IN.get(name) or _installed().get(name) or _REFUSED.get(name)
        if place is None:
            return None
        return _made(place)


def _made(place: str) -> TableFactory:
    module, _, attribute = place.partition(":")
    made = getattr(import_module(module), attribute)()
    assert isinstance(made, TableFactory)
    return made


EVERYWHERE = Connectors()
"""what ``register_factory`` makes known, to all environments of the process"""


def register_factory(factory: type[TableFactory]) -> None:
    """Make a connector known to every table environment of this process; ``TableEnvironment.register_connector`` makes
    it known to one."""
    EVERYWHERE.register(factory)


def factory_names() -> list[str]:
    return EVERYWHERE.names()


def factory_of(options: Mapping[str, str], table: str) -> TableFactory:
    """As ``Connectors.factory_of``, of those that every environment has."""
    return EVERYWHERE.factory_of(options, table)


@cache
def _installed() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}


def _misspelt(missing: Sequence[str], given: Iterable[str]) -> str:
    """Which of the given names may be meant for one that is missing."""
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
