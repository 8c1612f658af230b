"""``'connector' = 'mysql-cdc'``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.connectors.cdc.mysql.database import MySqlDatabase
from millrace.connectors.cdc.mysql.log.gtids import MariaDbGtids, MySqlGtids
from millrace.connectors.cdc.mysql.position import file_number
from millrace.connectors.cdc.mysql.settings import MySqlSettings, parse_server_ids
from millrace.connectors.cdc.startup import StartupMode, StartupOptions
from millrace.connectors.jdbc.dialects.mysql import MySqlDialect
from millrace.connectors.jdbc.dialects.target import Target
from millrace.connectors.tables.cdc.options import COMMON, SKIPPED, STARTUP, CdcOptions
from millrace.relational.sources import TableContext, TableFactory, TableSource

_PROPERTIES = "jdbc.properties."
_OFFSET = "scan.startup.specific-offset."
_FILE, _POS, _GTIDS = f"{_OFFSET}file", f"{_OFFSET}pos", f"{_OFFSET}gtid-set"
_SKIPS = (f"{_OFFSET}skip-events", f"{_OFFSET}skip-rows")
_TIME = "scan.startup.timestamp-millis"
_NEW, _NEW_IN_LOG = "scan.newly-added-table.enabled", "scan.binlog.newly-added-table.enabled"
_DEBEZIUM = (SKIPPED.partition(".")[2], "min.row.count.to.stream.results")
_WITHOUT_EFFECT = (
    "scan.parse.online.schema.changes.enabled",
    "use.legacy.json.format",
)
"""tools that put another table in the place of one are followed anyway, JSON is as the server has it"""
_MODES = (
    StartupMode.INITIAL,
    StartupMode.EARLIEST_OFFSET,
    StartupMode.LATEST_OFFSET,
    StartupMode.SPECIFIC_OFFSETS,
    StartupMode.TIMESTAMP,
    StartupMode.SNAPSHOT,
)


class MySqlCdcFactory(TableFactory):
    identifier = "mysql-cdc"
    required = ("hostname", "username", "password", "database-name", "table-name")
    optional = (
        "port",
        "server-id",
        "server-time-zone",
        "changelog-mode",
        _FILE,
        _POS,
        _GTIDS,
        *_SKIPS,
        _TIME,
        _NEW,
        _NEW_IN_LOG,
        _PROPERTIES,
        *_WITHOUT_EFFECT,
        *COMMON,
    )

    def source(self, table: TableContext) -> TableSource:
        options = CdcOptions(table)
        problem = MySqlDialect().problem(table.columns)
        if problem is not None:
            raise options.problem(problem)
        startup = _startup(options)
        database = MySqlDatabase(_settings(options))
        return options.source(database, startup, options.read.flag(_NEW))


def _startup(options: CdcOptions) -> StartupOptions:
    found = options.startup(_MODES)
    for name in _SKIPS:
        if options.given.get(name, "0") != "0":
            raise options.problem(f"'{name}' is not there: a place of the log is where a transaction begins")
    if found.mode is StartupMode.TIMESTAMP:
        time = options.read.number(_TIME)
        if time is None:
            raise options.problem(f"'{STARTUP}' = 'timestamp' needs '{_TIME}'")
        return replace(found, timestamp=time)
    if found.mode is StartupMode.SPECIFIC_OFFSETS:
        return replace(found, offset=_offset(options))
    return found


def _offset(options: CdcOptions) -> dict[str, Any]:
    given = options.given
    if _GTIDS in given:
        try:
            gtids = given[_GTIDS]
            MariaDbGtids.parse(gtids) if ":" not in gtids else MySqlGtids.parse(gtids)
        except ValueError as error:
            raise options.problem(f"'{_GTIDS}': {error}") from None
        return {"gtids": gtids}
    if _FILE not in given or _POS not in given:
        raise options.problem(f"'{STARTUP}' = 'specific-offset' needs '{_FILE}' and '{_POS}', or '{_GTIDS}'")
    try:
        file_number(given[_FILE])
    except ValueError as error:
        raise options.problem(f"'{_FILE}': {error}") from None
    return {"file": given[_FILE], "pos": options.read.number(_POS)}


def _settings(options: CdcOptions) -> MySqlSettings:
    given, read = options.given, options.read
    options.debezium(_DEBEZIUM)
    if read.flag(_NEW) and read.flag(_NEW_IN_LOG):
        raise options.problem(f"'{_NEW}' would read the rows again that '{_NEW_IN_LOG}' has found in the log: take one")
    properties = {name[len(_PROPERTIES) :]: value for name, value in given.items() if name.startswith(_PROPERTIES)}
    target = Target(
        ((given["hostname"], read.number("port") or 3306),),
        "",
        given["username"],
        given["password"],
        properties,
        options.seconds("connect.timeout", 30.0),
    )
    database, name = given["database-name"], given["table-name"]
    try:
        MySqlDialect().arguments(target)
        return MySqlSettings(
            target,
            (database,),
            (f"(?:{database})\\.(?:{name})",),
            parse_server_ids(given["server-id"]) if "server-id" in given else None,
            given.get("server-time-zone", "UTC"),
            options.heartbeat(30.0) or 30.0,
            options.positive("connect.max-retries", 3),
            read.flag(_NEW_IN_LOG),
        )
    except ValueError as error:
        raise options.problem(str(error)) from None
