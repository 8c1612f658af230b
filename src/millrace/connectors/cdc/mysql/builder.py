"""``MySqlSource``: Flink CDC's builder of a source of MySQL, and of MariaDB."""

from __future__ import annotations

from typing import Any

from millrace.connectors.cdc.builder import CdcSourceBuilder
from millrace.connectors.cdc.mysql.database import MySqlDatabase
from millrace.connectors.cdc.mysql.settings import MySqlSettings, parse_server_ids
from millrace.connectors.cdc.source import CdcSource
from millrace.connectors.jdbc.dialects.mysql import MySqlDialect
from millrace.connectors.jdbc.dialects.target import Target

__all__ = ["MySqlSource", "MySqlSourceBuilder"]


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
