"""``MySqlSource``: Flink CDC's builder of a source of MySQL, and of MariaDB."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from millrace.connectors.cdc.chunks import Chunking
from millrace.connectors.cdc.deserializers import DebeziumDeserializationSchema, SchemaDecoder
from millrace.connectors.cdc.mysql.database import MySqlDatabase
from millrace.connectors.cdc.mysql.settings import MySqlSettings, parse_server_ids
from millrace.connectors.cdc.source import CdcSource
from millrace.connectors.cdc.startup import StartupOptions
from millrace.connectors.jdbc.dialects.mysql import MySqlDialect
from millrace.connectors.jdbc.dialects.target import Target

__all__ = ["MySqlSource", "MySqlSourceBuilder"]

_PROPERTIES = ("skipped.operations",)


class MySqlSource:
    """Where Flink CDC has ``builder()``."""

    @staticmethod
    def builder() -> MySqlSourceBuilder:
        return MySqlSourceBuilder()


class MySqlSourceBuilder:
    """Names and defaults are Flink CDC's."""

    def __init__(self) -> None:
        self._hostname, self._port = "", 3306
        self._username, self._password = "", ""
        self._databases: tuple[str, ...] = ()
        self._tables: tuple[str, ...] = ()
        self._server_ids: tuple[int, int] | None = None
        self._zone = "UTC"
        self._startup = StartupOptions.initial()
        self._deserializer: DebeziumDeserializationSchema[Any] | None = None
        self._chunking: dict[str, Any] = {}
        self._columns: dict[str, str] = {}
        self._debezium: dict[str, str] = {}
        self._jdbc: dict[str, str] = {}
        self._timeout, self._retries, self._heartbeat = 30.0, 3, 30.0
        self._newly_added = self._new_tables = self._repeats = False

    def hostname(self, hostname: str) -> MySqlSourceBuilder:
        self._hostname = hostname
        return self

    def port(self, port: int) -> MySqlSourceBuilder:
        self._port = port
        return self

    def database_list(self, *databases: str) -> MySqlSourceBuilder:
        """Regular expressions of databases; all of them if this is not called."""
        self._databases = databases
        return self

    def table_list(self, *tables: str) -> MySqlSourceBuilder:
        r"""Regular expressions of ``database\.table``."""
        self._tables = tables
        return self

    def username(self, username: str) -> MySqlSourceBuilder:
        self._username = username
        return self

    def password(self, password: str) -> MySqlSourceBuilder:
        self._password = password
        return self

    def server_id(self, server_id: str) -> MySqlSourceBuilder:
        """A number or a range, like 5400-5404, of numbers that no other reader of the log has."""
        self._server_ids = parse_server_ids(server_id)
        return self

    def server_time_zone(self, time_zone: str) -> MySqlSourceBuilder:
        self._zone = time_zone
        return self

    def deserializer(self, deserializer: DebeziumDeserializationSchema[Any]) -> MySqlSourceBuilder:
        """What makes elements of events."""
        if not isinstance(deserializer, DebeziumDeserializationSchema):
            raise TypeError(f"deserializer takes a DebeziumDeserializationSchema, not {deserializer!r}")
        self._deserializer = deserializer
        return self

    def startup_options(self, startup_options: StartupOptions) -> MySqlSourceBuilder:
        self._startup = startup_options
        return self

    def split_size(self, split_size: int) -> MySqlSourceBuilder:
        """About how many rows a chunk has."""
        self._chunking["rows"] = split_size
        return self

    def distribution_factor_upper(self, factor: float) -> MySqlSourceBuilder:
        self._chunking["upper_factor"] = factor
        return self

    def distribution_factor_lower(self, factor: float) -> MySqlSourceBuilder:
        self._chunking["lower_factor"] = factor
        return self

    def chunk_key_column(self, column: str, table: str = "") -> MySqlSourceBuilder:
        """The column whose ranges are chunks. :param table: ``database.table``; else of all tables."""
        self._columns[table] = column
        return self

    def repeats_deletions(self, repeats: bool) -> MySqlSourceBuilder:
        """Whether deletions of rows that a failed attempt may have read come once more (our addition): for a sink that
        keeps rows by their keys and is at least once."""
        self._repeats = repeats
        return self

    def scan_newly_added_table_enabled(self, enabled: bool) -> MySqlSourceBuilder:
        """Whether a job that goes on from a checkpoint also captures tables that match by now."""
        self._newly_added = enabled
        return self

    def scan_binlog_newly_added_table_enabled(self, enabled: bool) -> MySqlSourceBuilder:
        """Whether tables are captured that are made while the job runs."""
        self._new_tables = enabled
        return self

    def include_schema_changes(self, include: bool) -> MySqlSourceBuilder:
        """Without effect: deserializers are given changes of schemas, and decide."""
        return self

    def debezium_properties(self, properties: Mapping[str, Any]) -> MySqlSourceBuilder:
        """Those that mean something here: ``skipped.operations``. Others are refused."""
        for name, value in properties.items():
            if name not in _PROPERTIES:
                raise ValueError(
                    f"'{name}' means nothing here, where no Debezium runs; there is {', '.join(_PROPERTIES)}"
                )
            self._debezium[name] = str(value)
        return self

    def jdbc_properties(self, properties: Mapping[str, Any]) -> MySqlSourceBuilder:
        """Of the connections: ``sslMode``, ``sslCa``, ..."""
        self._jdbc.update({name: str(value) for name, value in properties.items()})
        return self

    def connect_timeout(self, seconds: float) -> MySqlSourceBuilder:
        self._timeout = seconds
        return self

    def connect_max_retries(self, retries: int) -> MySqlSourceBuilder:
        self._retries = retries
        return self

    def heartbeat_interval(self, seconds: float) -> MySqlSourceBuilder:
        """After which the server says that there is nothing, and the position moves on all the same."""
        self._heartbeat = seconds
        return self

    def build(self) -> CdcSource[Any]:
        """:raises ValueError: something is missing, or cannot be."""
        given = {
            "hostname": self._hostname, "username": self._username, "table_list": self._tables,
            "deserializer": self._deserializer,
        }  # fmt: skip
        missing = [name for name, value in given.items() if not value]
        if missing:
            raise ValueError(f"MySqlSource needs {', '.join(missing)}")
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
        skipped = frozenset(re.findall(r"[cudt]\b", self._debezium.get("skipped.operations", "")))
        database = MySqlDatabase(settings)
        assert self._deserializer is not None
        decoder = SchemaDecoder(self._deserializer.bound(database.connector), skipped)
        return CdcSource(
            database, decoder, self._startup, Chunking(**self._chunking), dict(self._columns),
            self._newly_added,
            self._repeats,
        )
