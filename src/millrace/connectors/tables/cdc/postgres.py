"""``'connector' = 'postgres-cdc'``."""

from __future__ import annotations

from millrace.connectors.cdc.postgres.database import PostgresDatabase
from millrace.connectors.cdc.postgres.settings import PostgresSettings
from millrace.connectors.cdc.postgres.slots import PLUGIN
from millrace.connectors.cdc.startup import StartupMode
from millrace.connectors.jdbc.dialects.libpq import arguments
from millrace.connectors.jdbc.dialects.postgresql import PostgreSqlDialect
from millrace.connectors.jdbc.dialects.target import Target
from millrace.connectors.tables.cdc.options import COMMON, SKIPPED, CdcOptions
from millrace.relational.sources import TableContext, TableFactory, TableSource

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
        arguments(target)
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
