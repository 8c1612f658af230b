"""``PostgresSourceBuilder``: Flink CDC's builder of a source of PostgreSQL."""

from __future__ import annotations

from typing import Any

from millrace.connectors.cdc.builder import CdcSourceBuilder
from millrace.connectors.cdc.postgres.database import PostgresDatabase
from millrace.connectors.cdc.postgres.settings import PostgresSettings
from millrace.connectors.cdc.postgres.slots import PLUGIN
from millrace.connectors.cdc.source import CdcSource
from millrace.connectors.jdbc.dialects.target import Target

__all__ = ["PostgresSourceBuilder"]


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
