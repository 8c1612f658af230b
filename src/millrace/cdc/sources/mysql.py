"""``type: mysql``: tables of MySQL or MariaDB, with the options of Flink CDC's pipeline connector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from millrace.connectors.cdc.mysql.database import MySqlDatabase
from millrace.connectors.cdc.mysql.log.gtids import MariaDbGtids, MySqlGtids
from millrace.connectors.cdc.mysql.position import file_number
from millrace.connectors.cdc.mysql.settings import MySqlSettings, parse_server_ids
from millrace.connectors.cdc.source import CdcSource
from millrace.connectors.cdc.startup import StartupMode
from millrace.connectors.jdbc.dialects.mysql import MySqlDialect
from millrace.connectors.jdbc.dialects.target import Target

if TYPE_CHECKING:
    pass

_OFFSET = "scan.startup.specific-offset"
_FILE, _POSITION, _GTIDS = (f"{_OFFSET}.{name}" for name in ("file", "pos", "gtid-set"))
_NEW, _NEW_IN_LOG = "scan.newly-added-table.enabled", "scan.binlog.newly-added-table.enabled"
_OPTIONS = ("server-id", "server-time-zone", "connect.max-retries", _FILE, _POSITION, _GTIDS, _NEW, _NEW_IN_LOG)
_WITHOUT_EFFECT = ("scan.parse.online.schema.changes.enabled", "use.legacy.json.format", "schema-change.enabled")
_MODES = (
    *(StartupMode.INITIAL, StartupMode.EARLIEST_OFFSET, StartupMode.LATEST_OFFSET, StartupMode.SPECIFIC_OFFSETS),
    *(StartupMode.TIMESTAMP, StartupMode.SNAPSHOT),
)
_PORT = 3306


class MySqlPipelineSource(CapturingSource):
    """:raises PipelineError: an option is missing or wrong."""

    def __init__(self, end: End) -> None:
        known = (*CAPTURING, "scan.startup.timestamp-millis", *_OPTIONS, *IGNORED, *_WITHOUT_EFFECT)
        options = EndOptions(end, known, ("jdbc.properties.", "debezium."))
        check_metadata(options)
        refuse_debezium(options, ())
        if options.flag(_NEW):
            options.fail(
                _NEW,
                f"'{_NEW}' is not there: rows of a table that the pattern means only later are not read when the "
                f"pipeline goes on. '{_NEW_IN_LOG}' captures tables that are made while it runs",
            )
        if not options.flag("schema-change.enabled", True):
            options.fail("schema-change.enabled", "nearest: 'schema.change.behavior: ignore' under 'pipeline'")
        startup = startup_of(options, _MODES, lambda: _offset(options))
        chunking, columns = chunking_of(options)
        super().__init__(CdcSource(MySqlDatabase(_settings(options)), BatchDecoder(), startup, chunking, columns))



def _settings(options: EndOptions) -> MySqlSettings:
    target = Target(
        ((options.needed("hostname"), options.number("port", _PORT)),),
        "",
        options.needed("username"),
        options.text("password"),
        options.below("jdbc.properties."),
        options.seconds("connect.timeout", 30.0),
    )
    left_out = options.text("tables.exclude") or ""
    listed = TableList.of(
        table_list(options, "tables", options.needed("tables"), 2), table_list(options, "tables.exclude", left_out, 2)
    )
    ids = options.text("server-id")
    try:
        MySqlDialect().arguments(target)
        return MySqlSettings(
            target,
            listed.schemas,
            listed.tables,
            None if ids is None else parse_server_ids(ids),
            options.text("server-time-zone") or "UTC",
            options.seconds("heartbeat.interval", 30.0),
            options.number("connect.max-retries", 3),
            options.flag(_NEW_IN_LOG),
        )
    except ValueError as error:
        options.fail("server-id" if "server-id" in str(error) else "hostname", str(error))


def _offset(options: EndOptions) -> dict[str, Any]:
    """A place in the log, by transactions or by file."""
    gtids = options.text(_GTIDS)
    try:
        if gtids is not None:
            MariaDbGtids.parse(gtids) if ":" not in gtids else MySqlGtids.parse(gtids)
            return {"gtids": gtids}
        file = options.needed(_FILE)
        file_number(file)
        options.needed(_POSITION)
        return {"file": file, "pos": options.number(_POSITION, 0)}
    except ValueError as error:
        options.fail(_OFFSET, f"'{_OFFSET}': {error}")
