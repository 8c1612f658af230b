"""``PostgresDatabase``: PostgreSQL as a database to capture. Its snapshots say exactly which transactions they see."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millrace.connectors.cdc.changes import Bounds, Change, Chunk, ChunkRows, Relation
from millrace.connectors.cdc.database import CdcDatabase, PositionLost, StartupMode, StartupOptions, retry_query
from millrace.connectors.cdc.events import TableId, TableSchema
from millrace.connectors.cdc.postgres import postgres_catalog, replication_slot, snapshot_chunks
from millrace.connectors.cdc.postgres.log_reader import PostgresLog
from millrace.connectors.cdc.postgres.postgres_catalog import PostgresSettings, connected
from millrace.connectors.cdc.postgres.replication_slot import (
    LogPosition,
    drop_publication,
    ensure_publication,
    lsn_number,
    lsn_text,
)
from millrace.connectors.cdc.postgres.snapshot_chunks import typed_column as column_of
from millrace.connectors.dbapi import Connection
from millrace.connectors.jdbc.postgresql import PostgreSqlDialect
from millrace.relational.types import DataType

__all__ = ["PostgresDatabase"]


logger = logging.getLogger(__name__)

OLDEST = 130_000
"""version 13 has all that is asked here"""
_SERVER = "SELECT current_setting('wal_level'), pg_is_in_recovery()"


@dataclass(frozen=True)
class PostgresDatabase(CdcDatabase):
    """Snapshots say which transactions they see, so chunks need no log of their own to be brought up to date."""

    settings: PostgresSettings
    title = "PostgreSQL"
    connector = "postgresql"

    def _connected(self, owner: str = "") -> Any:
        return connected(self.settings, _name(owner))

    # -- on the driver ------------------------------------------------------------------------------------------

    def check(self) -> None:
        with self._connected() as connection:
            version = connection.info.server_version
            if version < OLDEST:
                raise RuntimeError(
                    f"{self.settings.place} has version {version // 10_000}; 13 is the oldest that works"
                )
            level, recovering = connection.execute(_SERVER).fetchone()
            if recovering:
                raise RuntimeError(f"{self.settings.place} is a standby: capture the primary server")
            if level != "logical":
                raise RuntimeError(
                    f"{self.settings.place} does not write what capturing needs: set wal_level = logical (now "
                    f"{level}) and restart the server"
                )

    def tables(self) -> Mapping[TableId, TableSchema]:
        with self._connected() as connection:
            found = self._found(connection)
            return {each.id: postgres_catalog.schema_of(connection, each.oid) for each in found}

    def _found(self, connection: Connection) -> list[postgres_catalog.FoundTable]:
        found = postgres_catalog.find_tables(connection, self.settings)
        settings = self.settings
        if not found:
            raise RuntimeError(
                f"{settings.place} has no table in a schema like {' or '.join(settings.schemas)} whose name with its "
                f"schema is like {' or '.join(settings.tables)}, or user '{settings.target.user}' must not see it"
            )
        for each in found:
            if not each.logged:
                raise RuntimeError(
                    f"{settings.place}: table {each.id} is unlogged or temporary: the log has nothing of it"
                )
            if each.identity == "n" or (each.identity == "d" and not postgres_catalog.key_of(connection, each.oid)):
                raise RuntimeError(
                    f"{settings.place}: table {each.id} has neither a primary key nor a REPLICA IDENTITY, so the log "
                    f"cannot say which row was changed: ALTER TABLE {each.id.short} REPLICA IDENTITY FULL"
                )
        return found

    def prepare(self, startup: StartupOptions, tables: Sequence[TableId], owner: str) -> LogPosition | None:
        if not startup.has_log:
            return None
        mode, settings = startup.mode, self.settings
        if mode in (StartupMode.EARLIEST_OFFSET, StartupMode.TIMESTAMP):
            raise ValueError(
                f"{settings.place}: '{mode.value}' is not there: a slot has the log from where it was made or "
                f"confirmed: 'committed-offset'"
            )
        with self._connected(owner) as connection:
            ensure_publication(connection, settings, self._found(connection))
            replication_slot.warn_of_growth(connection, settings)
            state = replication_slot.slot_state(connection, settings.slot)
            if state is not None:
                replication_slot.check_usable(state, settings)
            if mode is StartupMode.COMMITTED_OFFSETS and state is None:
                raise PositionLost(
                    f"{settings.place}: there is no replication slot '{settings.slot}' that 'committed-offset' could "
                    f"go on from"
                )
            begin = replication_slot.create_slot(connection, settings) if state is None else state.confirmed
            if state is not None and mode in (StartupMode.INITIAL, StartupMode.LATEST_OFFSET):
                # What the slot has from before is of no use: chunks have it, or it is not wanted.
                return LogPosition(replication_slot.end_of_log(connection, settings, seen=mode is StartupMode.INITIAL))
            if mode is StartupMode.SPECIFIC_OFFSETS:
                wanted = startup.offset if isinstance(startup.offset, int) else lsn_number(str(startup.offset))
                if wanted < begin:
                    raise PositionLost(
                        f"{settings.place}: replication slot '{settings.slot}' begins at {lsn_text(begin)}, behind "
                        f"{lsn_text(wanted)}"
                    )
                return LogPosition(wanted)
            return LogPosition(begin)

    def resume(self, position: LogPosition, tables: Sequence[TableId], owner: str) -> None:
        with self._connected(owner) as connection:
            replication_slot.check_position(
                replication_slot.slot_state(connection, self.settings.slot), position.lsn, self.settings
            )

    def add(self, tables: Sequence[TableId], owner: str) -> None:
        with self._connected(owner) as connection:
            ensure_publication(connection, self.settings, self._found(connection))
            # The log need not have what a transaction did to a table before the publication had it.
            replication_slot.wait_for_commits(connection, self.settings)

    def ended(self, owner: str) -> None:
        if not self.settings.drop_slot:
            return
        with self._connected(owner) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = %s AND active",
                [self.settings.slot],
            )
            replication_slot.drop_slot(connection, self.settings)
            drop_publication(connection, self.settings)

    def bounds(self, table: TableId, schema: TableSchema, column: str) -> Bounds:
        with self._connected() as connection:
            return snapshot_chunks.column_bounds(connection, table, column)

    def next_bound(
        self, table: TableId, schema: TableSchema, column: str, start: Any, greatest: Any, rows: int
    ) -> Any | None:
        with self._connected() as connection:
            return snapshot_chunks.next_bound(connection, table, column, start, greatest, rows)

    # -- in the tasks -------------------------------------------------------------------------------------------

    def read_chunk(self, chunk: Chunk, schema: TableSchema) -> ChunkRows:
        def read() -> ChunkRows:
            with self._connected() as connection:  # which tries again by itself
                return snapshot_chunks.read_chunk(connection, chunk)

        return retry_query(read, PostgreSqlDialect().is_passing, self.settings.retries, self.settings.place)

    def open_log(self, position: LogPosition, relations: Sequence[Relation], owner: str) -> PostgresLog:
        return PostgresLog(self.settings, position, relations, _name(owner))

    def locate(self, relation: Relation, column: str, bounds: Sequence[Any], values: Sequence[Any]) -> list[int]:
        place = relation.schema.names.index(column)
        if isinstance(bounds[0], int):
            return [0 if value is None else bisect_right(bounds, int(value)) for value in values]
        with self._connected() as connection:
            key = postgres_catalog.key_column(connection, relation.table, relation.schema.columns[place].name)
            if key.by_bytes:
                return [0 if value is None else bisect_right(bounds, value) for value in values]
            return snapshot_chunks.locate_values(connection, key, bounds, values)

    def keys(self, relation: Relation, column: str, values: Sequence[Any]) -> list[Any]:
        native = relation.schema.columns[relation.schema.names.index(column)].native
        return [snapshot_chunks.key_value(value, native) for value in values]

    def column(self, values: Sequence[Any] | pa.Array, native: str, kind: DataType, where: str) -> pa.Array:
        return column_of(values, kind, where)

    def source(self, change: Change) -> Mapping[str, Any]:
        mark = change.mark
        return {"position": lsn_text(mark.commit), "txId": mark.xid, "lsn": mark.commit}


def _name(owner: str) -> str:
    """The application name that the server shows for connections of a job."""
    return f"millrace-cdc-{owner}" if owner else "millrace-cdc"
