"""``CdcSourceBuilder``: what Flink CDC's builders of all databases have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from millrace.connectors.cdc.chunks import Chunking
from millrace.connectors.cdc.database import CdcDatabase
from millrace.connectors.cdc.deserializers import DebeziumDeserializationSchema, SchemaDecoder
from millrace.connectors.cdc.source import CdcSource
from millrace.connectors.cdc.startup import StartupOptions

B = TypeVar("B", bound="CdcSourceBuilder")


class CdcSourceBuilder:
    """Names and defaults are Flink CDC's."""

    title: ClassVar[str]
    properties: ClassVar[tuple[str, ...]]
    """those of Debezium that mean something"""

    def __init__(self, port: int) -> None:
        self._hostname, self._port = "", port
        self._username, self._password = "", ""
        self._tables: tuple[str, ...] = ()
        self._startup = StartupOptions.initial()
        self._deserializer: DebeziumDeserializationSchema[Any] | None = None
        self._chunking: dict[str, Any] = {}
        self._columns: dict[str, str] = {}
        self._debezium: dict[str, str] = {}
        self._jdbc: dict[str, str] = {}
        self._newly_added = self._repeats = False
        self._timeout, self._retries, self._heartbeat = 30.0, 3, 30.0

    def hostname(self: B, hostname: str) -> B:
        """The host of the server."""
        self._hostname = hostname
        return self

    def port(self: B, port: int) -> B:
        """The port of the server."""
        self._port = port
        return self

    def table_list(self: B, *tables: str) -> B:
        r"""Regular expressions of tables: ``schema.table`` of PostgreSQL, ``database\.table`` of MySQL."""
        self._tables = tables
        return self

    def username(self: B, username: str) -> B:
        """Who logs in; the user needs the right to replicate."""
        self._username = username
        return self

    def password(self: B, password: str) -> B:
        """The password of the user."""
        self._password = password
        return self

    def deserializer(self: B, deserializer: DebeziumDeserializationSchema[Any]) -> B:
        """What makes elements of events."""
        if not isinstance(deserializer, DebeziumDeserializationSchema):
            raise TypeError(f"deserializer takes a DebeziumDeserializationSchema, not {deserializer!r}")
        self._deserializer = deserializer
        return self

    def startup_options(self: B, startup_options: StartupOptions) -> B:
        """Where reading begins; by default with a snapshot."""
        self._startup = startup_options
        return self

    def split_size(self: B, split_size: int) -> B:
        """About how many rows a chunk has."""
        self._chunking["rows"] = split_size
        return self

    def distribution_factor_upper(self: B, factor: float) -> B:
        """Up to which ratio of range to rows keys count as evenly spread."""
        self._chunking["upper_factor"] = factor
        return self

    def distribution_factor_lower(self: B, factor: float) -> B:
        """From which ratio of range to rows on keys count as evenly spread."""
        self._chunking["lower_factor"] = factor
        return self

    def chunk_key_column(self: B, column: str, table: str = "") -> B:
        """The column whose ranges are chunks.

        :param table: as in ``table_list``, of one table; else of all tables.
        """
        self._columns[table] = column
        return self

    def repeats_deletions(self: B, repeats: bool) -> B:
        """Whether deletions of rows that a failed attempt may have read come once more (our addition): for a sink that
        keeps rows by their keys and is at least once."""
        self._repeats = repeats
        return self

    def scan_newly_added_table_enabled(self: B, enabled: bool) -> B:
        """Whether a job that goes on from a checkpoint also captures tables that match by now."""
        self._newly_added = enabled
        return self

    def debezium_properties(self: B, properties: Mapping[str, Any]) -> B:
        """Those that mean something here (``skipped.operations``; of PostgreSQL also ``publication.name``,
        ``publication.autocreate.mode`` and ``slot.drop.on.stop``). Others are refused."""
        for name, value in properties.items():
            if name not in self.properties:
                raise ValueError(
                    f"'{name}' means nothing here, where no Debezium runs; there are {', '.join(self.properties)}"
                )
            self._debezium[name] = str(value)
        return self

    def jdbc_properties(self: B, properties: Mapping[str, Any]) -> B:
        """Of the connections: ``sslmode``, ``sslrootcert``, ... of PostgreSQL, ``sslMode``, ``sslCa``, ... of MySQL."""
        self._jdbc.update({name: str(value) for name, value in properties.items()})
        return self

    def connect_timeout(self: B, seconds: float) -> B:
        """How many seconds a connection may take."""
        self._timeout = seconds
        return self

    def connect_max_retries(self: B, retries: int) -> B:
        """How often a connection is tried again."""
        self._retries = retries
        return self

    def heartbeat_interval(self: B, seconds: float) -> B:
        """Seconds without changes after which the position moves on all the same; 0: never, in PostgreSQL."""
        self._heartbeat = seconds
        return self

    def _check(self, **more: Any) -> None:
        """:raises ValueError: something is missing."""
        given = {
            "hostname": self._hostname, **more, "username": self._username, "table_list": self._tables,
            "deserializer": self._deserializer,
        }  # fmt: skip
        missing = [name for name, value in given.items() if not value]
        if missing:
            raise ValueError(f"{self.title} needs {', '.join(missing)}")

    def _source(self, database: CdcDatabase) -> CdcSource[Any]:
        skipped = frozenset(re.findall(r"[cudt]\b", self._debezium.get("skipped.operations", "")))
        assert self._deserializer is not None
        return CdcSource(
            database,
            SchemaDecoder(self._deserializer.bound(database.connector), skipped),
            self._startup,
            Chunking(**self._chunking),
            dict(self._columns),
            self._newly_added,
            self._repeats,
        )
