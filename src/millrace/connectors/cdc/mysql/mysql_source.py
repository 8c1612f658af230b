"""``MySqlSource``, Flink CDC's builder for MySQL and MariaDB, and the table connector ``'mysql-cdc'``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.connectors.cdc.cdc_source import CdcSource, CdcSourceBuilder
from millrace.connectors.cdc.cdc_table import COMMON, SKIPPED, STARTUP, CdcOptions
from millrace.connectors.cdc.database import StartupMode, StartupOptions
from millrace.connectors.cdc.mysql.binlog_position import MariaDbGtids, MySqlGtids, file_number
from millrace.connectors.cdc.mysql.mysql_database import MySqlDatabase, MySqlSettings, parse_server_ids
from millrace.connectors.jdbc.dialect import Target
from millrace.connectors.jdbc.mysql import MySqlDialect
from millrace.relational.sources import TableContext, TableFactory, TableSource


class MySqlSource:
    """Where Flink CDC has ``builder()``.

    >>> builder = MySqlSource.builder().hostname("localhost").port(3306).username("cdc").password("secret")
    >>> builder = builder.database_list("shop").table_list("shop.orders").startup_options(StartupOptions.initial())
    >>> source = builder.deserializer(JsonDebeziumDeserializationSchema()).build()
    """

    @staticmethod
    def builder() -> MySqlSourceBuilder:
        """Begins a source; ``build()`` ends it."""
        return MySqlSourceBuilder()


class MySqlSourceBuilder(CdcSourceBuilder):
    """Names and defaults are Flink CDC's."""

    title = "MySqlSource"
    properties = ("skipped.operations",)

    def __init__(self) -> None:
        super().__init__(3306)
        self._databases: tuple[str, ...] = ()
        self._server_ids: tuple[int, int] | None = None
        self._zone = "UTC"
        self._new_tables = False

    def database_list(self, *databases: str) -> MySqlSourceBuilder:
        """Regular expressions of databases; all of them if this is not called."""
        self._databases = databases
        return self

    def server_id(self, server_id: str) -> MySqlSourceBuilder:
        """A number or a range, like 5400-5404, of numbers that no other reader of the log has."""
        self._server_ids = parse_server_ids(server_id)
        return self

    def server_time_zone(self, time_zone: str) -> MySqlSourceBuilder:
        self._zone = time_zone
        return self

    def scan_binlog_newly_added_table_enabled(self, enabled: bool) -> MySqlSourceBuilder:
        """Whether tables are captured that are made while the job runs."""
        self._new_tables = enabled
        return self

    def include_schema_changes(self, include: bool) -> MySqlSourceBuilder:
        """Without effect: deserializers are given changes of schemas, and decide."""
        return self

    def build(self) -> CdcSource[Any]:
        """:raises ValueError: something is missing, or cannot be."""
        self._check()
        if self._newly_added and self._new_tables:
            raise ValueError("of the two ways to capture tables that come later, take one")
        target = Target(((self._hostname, self._port),), "", self._username, self._password, self._jdbc, self._timeout)
        MySqlDialect().arguments(target)
        settings = MySqlSettings(
            target,
            self._databases or (".*",),
            self._tables,
            self._server_ids,
            self._zone,
            self._heartbeat or 30.0,
            self._retries,
            self._new_tables,
        )
        return self._source(MySqlDatabase(settings))


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
    extra = "mysql-cdc"
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
