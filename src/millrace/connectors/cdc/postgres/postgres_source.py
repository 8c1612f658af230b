"""``PostgresSourceBuilder``, Flink CDC's builder for PostgreSQL, and the table connector ``'postgres-cdc'``."""

from __future__ import annotations

from typing import Any

from millrace.connectors.cdc.cdc_source import CdcSource, CdcSourceBuilder
from millrace.connectors.cdc.cdc_table import COMMON, SKIPPED, CdcOptions
from millrace.connectors.cdc.database import StartupMode
from millrace.connectors.cdc.postgres.postgres_catalog import PostgresSettings
from millrace.connectors.cdc.postgres.postgres_database import PostgresDatabase
from millrace.connectors.cdc.postgres.replication_slot import PLUGIN
from millrace.connectors.jdbc.dialect import Target
from millrace.connectors.jdbc.postgresql import PostgreSqlDialect, libpq_arguments
from millrace.relational.sources import TableContext, TableFactory, TableSource


class PostgresSourceBuilder(CdcSourceBuilder):
    """Names and defaults are Flink CDC's, but for ``decoding_plugin_name``: pgoutput.

    >>> builder = PostgresSourceBuilder.PostgresIncrementalSource.builder().hostname("localhost").port(5432)
    >>> builder = builder.database("shop").schema_list("public").table_list("public.orders")
    >>> builder = builder.slot_name("orders_job").username("cdc").password("secret")
    >>> source = builder.deserializer(JsonDebeziumDeserializationSchema()).build()
    """

    title = "PostgresSourceBuilder"
    properties = (
        "publication.name",
        "publication.autocreate.mode",
        "slot.drop.on.stop",
        "skipped.operations",
        "plugin.name",
    )

    def __init__(self) -> None:
        super().__init__(5432)
        self._database = ""
        self._schemas: tuple[str, ...] = ()
        self._slot = "flink"
        self._delay, self._wait = 3, 60.0

    class PostgresIncrementalSource:
        """Where Flink CDC has ``builder()``."""

        @staticmethod
        def builder() -> PostgresSourceBuilder:
            return PostgresSourceBuilder()

    @staticmethod
    def builder() -> PostgresSourceBuilder:
        """Begins a source; ``build()`` ends it."""
        return PostgresSourceBuilder()

    def database(self, database: str) -> PostgresSourceBuilder:
        """The database whose tables are captured."""
        self._database = database
        return self

    def schema_list(self, *schemas: str) -> PostgresSourceBuilder:
        """Regular expressions of schemas; all schemas if this is not called."""
        self._schemas = schemas
        return self

    def slot_name(self, slot_name: str) -> PostgresSourceBuilder:
        """The replication slot, which is made if it is not there. One job has it for itself."""
        self._slot = slot_name
        return self

    def decoding_plugin_name(self, name: str) -> PostgresSourceBuilder:
        """Only ``pgoutput``, which every PostgreSQL has."""
        if name != PLUGIN:
            raise ValueError(f"the plugin '{name}' is not read here: '{PLUGIN}' is")
        return self

    def lsn_commit_checkpoints_delay(self, checkpoints: int) -> PostgresSourceBuilder:
        """How many checkpoints later a position is confirmed to the server, which may then delete the log before it."""
        self._delay = checkpoints
        return self

    def slot_wait_timeout(self, seconds: float) -> PostgresSourceBuilder:
        """How long open transactions, other readers of the slot and a server that is away are waited for (our
        addition)."""
        self._wait = seconds
        return self

    def build(self) -> CdcSource[Any]:
        """:raises ValueError: something is missing, or cannot be."""
        self._check(database=self._database)
        target = Target(
            ((self._hostname, self._port),), self._database, self._username, self._password, self._jdbc, self._timeout
        )
        settings = PostgresSettings(
            target,
            self._schemas or (".*",),
            self._tables,
            self._slot,
            self._debezium.get("publication.name", ""),
            self._debezium.get("publication.autocreate.mode", "filtered"),
            self._debezium.get("slot.drop.on.stop", "false").lower() == "true",
            self._heartbeat,
            self._wait,
            self._retries,
            self._delay,
        )
        return self._source(PostgresDatabase(settings))


_PROPERTIES = "jdbc.properties."
_NEWLY_ADDED = "scan.newly-added-table.enabled"
_WAIT = "slot.wait-timeout"
_DELAY = "scan.lsn-commit.checkpoints-num-delay"
_DEBEZIUM = (
    "plugin.name",
    "publication.name",
    "publication.autocreate.mode",
    SKIPPED.partition(".")[2],
    "slot.drop.on.stop",
)
_AUTOCREATE = ("filtered", "all_tables", "disabled")
_MODES = (
    StartupMode.INITIAL,
    StartupMode.LATEST_OFFSET,
    StartupMode.COMMITTED_OFFSETS,
    StartupMode.SNAPSHOT,
)


class PostgresCdcFactory(TableFactory):
    identifier = "postgres-cdc"
    extra = "postgres-cdc"
    required = ("hostname", "username", "password", "database-name", "schema-name", "table-name", "slot.name")
    optional = (
        "port",
        "decoding.plugin.name",
        "changelog-mode",
        _DELAY,
        _NEWLY_ADDED,
        "scan.include-partitioned-tables.enabled",
        _WAIT,
        _PROPERTIES,
        *COMMON,
    )

    def source(self, table: TableContext) -> TableSource:
        options = CdcOptions(table)
        problem = PostgreSqlDialect().problem(table.columns)
        if problem is not None:
            raise options.problem(problem)
        startup = options.startup(_MODES)
        database = PostgresDatabase(_settings(options))
        return options.source(database, startup, options.read.flag(_NEWLY_ADDED))


def _settings(options: CdcOptions) -> PostgresSettings:
    given, read = options.given, options.read
    debezium = options.debezium(_DEBEZIUM)
    plugin = given.get("decoding.plugin.name", debezium.get("plugin.name", PLUGIN))
    if plugin != PLUGIN:
        raise options.problem(
            f"'decoding.plugin.name' = '{plugin}' is not read here: '{PLUGIN}' is, which every PostgreSQL from "
            f"version 10 on has"
        )
    autocreate = debezium.get("publication.autocreate.mode", _AUTOCREATE[0])
    if autocreate not in _AUTOCREATE:
        raise read.problem("debezium.publication.autocreate.mode", f"is one of {', '.join(_AUTOCREATE)}")
    properties = {name[len(_PROPERTIES) :]: value for name, value in given.items() if name.startswith(_PROPERTIES)}
    port = read.number("port") or 5432
    target = Target(
        ((given["hostname"], port),),
        given["database-name"],
        given["username"],
        given["password"],
        properties,
        options.seconds("connect.timeout", 30.0),
    )
    schema, name = given["schema-name"], given["table-name"]
    try:
        libpq_arguments(target)
        return PostgresSettings(
            target,
            (schema,),
            (f"(?:{schema})\\.(?:{name})",),
            given["slot.name"],
            debezium.get("publication.name", ""),
            autocreate,
            debezium.get("slot.drop.on.stop", "false").lower() == "true",
            options.heartbeat(30.0),
            options.seconds(_WAIT, 60.0),
            options.positive("connect.max-retries", 3),
            options.read.number(_DELAY) or 0 if _DELAY in given else 3,
        )
    except ValueError as error:
        raise options.problem(str(error)) from None
