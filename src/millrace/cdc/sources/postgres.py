"""``type: postgres``: tables of a PostgreSQL, with the options of Flink CDC's pipeline connector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.cdc.definition.end_options import EndOptions
from millrace.cdc.definition.model import End
from millrace.cdc.sources.capturing import (
    CAPTURING,
    IGNORED,
    CapturingSource,
    check_metadata,
    chunking_of,
    refuse_debezium,
    startup_of,
)
from millrace.cdc.sources.decoding import BatchDecoder
from millrace.cdc.sources.table_lists import TableList, table_list
from millrace.connectors.cdc.postgres.database import PostgresDatabase
from millrace.connectors.cdc.postgres.settings import PostgresSettings
from millrace.connectors.cdc.source import CdcSource
from millrace.connectors.cdc.startup import StartupMode
from millrace.connectors.jdbc.dialects.target import Target

if TYPE_CHECKING:
    pass

_OFFSET = "scan.startup.specific-offset"
_OPTIONS = ("slot.name", "decoding.plugin.name", "table-id.include-database", _OFFSET)
_WITHOUT_EFFECT = ("connect.max-retries", "server-time-zone")
_DEBEZIUM = ("publication.name", "publication.autocreate.mode", "slot.drop.on.stop")
_MODES = (
    *(StartupMode.INITIAL, StartupMode.LATEST_OFFSET, StartupMode.COMMITTED_OFFSETS, StartupMode.SPECIFIC_OFFSETS),
    StartupMode.SNAPSHOT,
)
_PORT = 5432


class PostgresPipelineSource(CapturingSource):
    """:raises PipelineError: an option is missing or wrong."""

    def __init__(self, end: End) -> None:
        options = EndOptions(
            end, (*_OPTIONS, *CAPTURING, *IGNORED, *_WITHOUT_EFFECT), ("jdbc.properties.", "debezium.")
        )
        check_metadata(options)
        plugin = options.text("decoding.plugin.name", "pgoutput")
        if plugin != "pgoutput":
            options.fail("decoding.plugin.name", f"'decoding.plugin.name' {plugin}: Millrace reads pgoutput only")
        database, listed = self._tables(options)
        target = Target(
            ((options.needed("hostname"), options.number("port", _PORT)),),
            database,
            options.needed("username"),
            options.text("password"),
            options.below("jdbc.properties."),
            options.seconds("connect.timeout", 30.0),
        )
        debezium = refuse_debezium(options, _DEBEZIUM)
        startup = startup_of(options, _MODES, lambda: options.needed(_OFFSET))
        try:
            settings = PostgresSettings(
                target,
                listed.schemas,
                listed.tables,
                options.needed("slot.name"),
                publication=debezium.get("publication.name", ""),
                autocreate=debezium.get("publication.autocreate.mode", "filtered"),
                drop_slot=debezium.get("slot.drop.on.stop", "false").lower() == "true",
                heartbeat=options.seconds("heartbeat.interval", 30.0),
            )
        except ValueError as error:
            options.fail("slot.name", str(error))
        decoder = BatchDecoder(options.flag("table-id.include-database"))
        chunking, columns = chunking_of(options)
        super().__init__(CdcSource(PostgresDatabase(settings), decoder, startup, chunking, columns))

    def _tables(self, options: EndOptions) -> tuple[str, TableList]:
        """The database that all patterns name, and the tables in it."""
        text, left_out = options.needed("tables"), options.text("tables.exclude") or ""
        wanted, unwanted = table_list(options, "tables", text, 3), table_list(options, "tables.exclude", left_out, 3)
        databases = sorted({each[0] for each in (*wanted, *unwanted)})
        if len(databases) != 1 or any(sign in databases[0] for sign in "*+?[](){}|\\^$"):
            options.fail(
                "tables",
                f"'tables' of PostgreSQL names one database, as in app.public.orders, not {' and '.join(databases)}: a "
                "replication slot is one database's",
            )
        return databases[0], TableList.of([each[1:] for each in wanted], [each[1:] for each in unwanted])

