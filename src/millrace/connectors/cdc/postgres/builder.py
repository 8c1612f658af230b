"""``PostgresSourceBuilder``: Flink CDC's builder of a source of PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from millrace.connectors.cdc.chunks import Chunking
from millrace.connectors.cdc.deserializers import DebeziumDeserializationSchema, SchemaDecoder
from millrace.connectors.cdc.postgres.database import PostgresDatabase
from millrace.connectors.cdc.postgres.settings import PostgresSettings
from millrace.connectors.cdc.postgres.slots import PLUGIN
from millrace.connectors.cdc.source import CdcSource
from millrace.connectors.cdc.startup import StartupOptions
from millrace.connectors.jdbc.dialects.target import Target

__all__ = ["PostgresSourceBuilder"]

_PROPERTIES = (
    "publication.name",
    "publication.autocreate.mode",
    "slot.drop.on.stop",
    "skipped.operations",
    "plugin.name",
)


class PostgresSourceBuilder:
    """Names and defaults are Flink CDC's, but for ``decoding_plugin_name``: pgoutput."""

    def __init__(self) -> None:
        self._hostname, self._port = "", 5432
        self._database, self._username, self._password = "", "", ""
        self._schemas: tuple[str, ...] = ()
        self._tables: tuple[str, ...] = ()
        self._slot = "flink"
        self._startup = StartupOptions.initial()
        self._deserializer: DebeziumDeserializationSchema[Any] | None = None
        self._chunking: dict[str, Any] = {}
        self._columns: dict[str, str] = {}
        self._debezium: dict[str, str] = {}
        self._jdbc: dict[str, str] = {}
        self._newly_added = False
        self._repeats = False
        self._timeout, self._retries, self._heartbeat, self._delay, self._wait = 30.0, 3, 30.0, 3, 60.0

    class PostgresIncrementalSource:
        """Where Flink CDC has ``builder()``."""

        @staticmethod
        def builder() -> PostgresSourceBuilder:
            return PostgresSourceBuilder()

    @staticmethod
    def builder() -> PostgresSourceBuilder:
        return PostgresSourceBuilder()

    def hostname(self, hostname: str) -> PostgresSourceBuilder:
        self._hostname = hostname
        return self

    def port(self, port: int) -> PostgresSourceBuilder:
        self._port = port
        return self

    def database(self, database: str) -> PostgresSourceBuilder:
        self._database = database
        return self

    def schema_list(self, *schemas: str) -> PostgresSourceBuilder:
        """Regular expressions of schemas; all schemas if this is not called."""
        self._schemas = schemas
        return self

    def table_list(self, *tables: str) -> PostgresSourceBuilder:
        """Regular expressions of ``schema.table``."""
        self._tables = tables
        return self

    def username(self, username: str) -> PostgresSourceBuilder:
        self._username = username
        return self

    def password(self, password: str) -> PostgresSourceBuilder:
        self._password = password
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

    def deserializer(self, deserializer: DebeziumDeserializationSchema[Any]) -> PostgresSourceBuilder:
        """What makes elements of events."""
        if not isinstance(deserializer, DebeziumDeserializationSchema):
            raise TypeError(f"deserializer takes a DebeziumDeserializationSchema, not {deserializer!r}")
        self._deserializer = deserializer
        return self

    def startup_options(self, startup_options: StartupOptions) -> PostgresSourceBuilder:
        self._startup = startup_options
        return self

    def split_size(self, split_size: int) -> PostgresSourceBuilder:
        """About how many rows a chunk has."""
        self._chunking["rows"] = split_size
        return self

    def distribution_factor_upper(self, factor: float) -> PostgresSourceBuilder:
        self._chunking["upper_factor"] = factor
        return self

    def distribution_factor_lower(self, factor: float) -> PostgresSourceBuilder:
        self._chunking["lower_factor"] = factor
        return self

    def chunk_key_column(self, column: str, table: str = "") -> PostgresSourceBuilder:
        """The column whose ranges are chunks. :param table: ``schema.table`` (our addition); else of all tables."""
        self._columns[table] = column
        return self

    def debezium_properties(self, properties: Mapping[str, Any]) -> PostgresSourceBuilder:
        """Those that mean something here: ``publication.name``, ``publication.autocreate.mode``,
        ``slot.drop.on.stop``, ``skipped.operations``. Others are refused."""
        for name, value in properties.items():
            if name not in _PROPERTIES:
                raise ValueError(
                    f"'{name}' means nothing here, where no Debezium runs; there are {', '.join(_PROPERTIES)}"
                )
            self._debezium[name] = str(value)
        return self

    def jdbc_properties(self, properties: Mapping[str, Any]) -> PostgresSourceBuilder:
        """Of the connections: ``sslmode``, ``sslrootcert``, ... (our addition)."""
        self._jdbc.update({name: str(value) for name, value in properties.items()})
        return self

    def repeats_deletions(self, repeats: bool) -> PostgresSourceBuilder:
        """Whether deletions of rows that a failed attempt may have read come once more (our addition): for a sink that
        keeps rows by their keys and is at least once."""
        self._repeats = repeats
        return self

    def scan_newly_added_table_enabled(self, enabled: bool) -> PostgresSourceBuilder:
        """Whether a job that goes on from a checkpoint also captures tables that match by now."""
        self._newly_added = enabled
        return self

    def connect_timeout(self, seconds: float) -> PostgresSourceBuilder:
        self._timeout = seconds
        return self

    def connect_max_retries(self, retries: int) -> PostgresSourceBuilder:
        self._retries = retries
        return self

    def heartbeat_interval(self, seconds: float) -> PostgresSourceBuilder:
        """Seconds without changes after which the server is asked how far it is; 0: never."""
        self._heartbeat = seconds
        return self

    def lsn_commit_checkpoints_delay(self, checkpoints: int) -> PostgresSourceBuilder:
        """How many checkpoints later the server is told that it may forget."""
        self._delay = checkpoints
        return self

    def slot_wait_timeout(self, seconds: float) -> PostgresSourceBuilder:
        """How long open transactions, other readers of the slot and a server that is away are waited for (our
        addition)."""
        self._wait = seconds
        return self

    def build(self) -> CdcSource[Any]:
        """:raises ValueError: something is missing, or cannot be."""
        given = {
            "hostname": self._hostname, "database": self._database, "username": self._username,
            "table_list": self._tables, "deserializer": self._deserializer,
        }  # fmt: skip
        missing = [name for name, value in given.items() if not value]
        if missing:
            raise ValueError(f"PostgresSourceBuilder needs {', '.join(missing)}")
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
        skipped = frozenset(re.findall(r"[cudt]\b", self._debezium.get("skipped.operations", "")))
        database = PostgresDatabase(settings)
        assert self._deserializer is not None
        decoder = SchemaDecoder(self._deserializer.bound(database.connector), skipped)
        return CdcSource(
            database, decoder, self._startup, Chunking(**self._chunking), dict(self._columns),
            self._newly_added,
            self._repeats,
        )
