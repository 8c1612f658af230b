"""Captured databases as tables: what ``mysql-cdc`` and ``postgres-cdc`` have in common.

``CdcOptions`` reads the options, ``RowsDecoder`` makes rows in columns of changes, with metadata columns. The
connectors of Flink CDC that Millrace lacks are refused by name, with the way that there is instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa

from millrace.common.source import Source
from millrace.connectors.cdc.cdc_source import CdcSource
from millrace.connectors.cdc.changes import Change, Chunking, ChunkRows, Relation
from millrace.connectors.cdc.database import CdcDatabase, StartupMode, StartupOptions
from millrace.connectors.cdc.deserializers import ChangeDecoder
from millrace.connectors.cdc.events import SchemaChangeEvent, TableId, TruncateTableEvent
from millrace.connectors.tables.table_declaration import TIME, WATERMARK_OPTIONS, MetadataColumn, source_watermarks
from millrace.connectors.tables.table_options import TableOptions
from millrace.relational import types as t
from millrace.relational.rex import Field, Rex
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Rows, record_batch
from millrace.relational.sources import ALL_KINDS, INSERT_ONLY, UPSERT, TableContext, TableFactory, TableSource
from millrace.relational.types import DataType
from millrace.util.exceptions import TableException
from millrace.util.names import did_you_mean

# Metadata columns

_KINDS = ("+I", "-U", "+U", "-D")


class Origin(NamedTuple):
    """Where a row comes from. :ivar time: ms since 1970, 0 for the snapshot. :ivar kind: a ``RowKind``'s value."""

    table: TableId
    time: int
    kind: int


READABLE: Mapping[str, tuple[DataType, Callable[[Origin], Any]]] = {
    "table_name": (t.string(), lambda origin: origin.table.table),
    "schema_name": (t.string(), lambda origin: origin.table.schema),
    "database_name": (t.string(), lambda origin: origin.table.namespace or origin.table.schema),
    "op_ts": (TIME, lambda origin: origin.time),
    "row_kind": (t.string(), lambda origin: _KINDS[origin.kind]),
}


@dataclass(frozen=True)
class CdcMetadata(MetadataColumn):
    @property
    def natural(self) -> DataType:
        return READABLE[self.key][0]

    def values(self, messages: Sequence[Origin]) -> list[Any]:
        tell = READABLE[self.key][1]
        return [tell(message) for message in messages]


def metadata_columns(table: TableContext, keys: Sequence[str]) -> tuple[CdcMetadata, ...]:
    """The metadata columns of a table. :param keys: those that the connector has."""
    found = []
    for _, key, kind in table.metadata:
        if key not in keys:
            raise TableException(
                f"table {table.summary}: connector '{table.options.get('connector')}' has no metadata '{key}'"
                f"{did_you_mean(key, keys)}; there are {', '.join(keys)}"
            )
        column = CdcMetadata(key, kind, table.configuration.get("table.local-time-zone", "UTC"))
        problem = column.problem()
        if problem is not None:
            raise TableException(f"table {table.summary}: {problem}")
        found.append(column)
    return tuple(found)


# From changes to rows

ALL, UPSERT_MODE = "all", "upsert"
TRUNCATE = "t"


class _Side(NamedTuple):
    """A row that comes of a change."""

    kind: int
    image: tuple[Any, ...]
    change: Change


@dataclass(frozen=True)
class RowsDecoder(ChangeDecoder[Rows]):
    """
    :ivar table: its name in Millrace, for errors.
    :ivar wanted: of the result: a column of the captured tables, or metadata.
    :ivar mode: ``all``, or ``upsert``: without the old rows of updates.
    :ivar append_only: whatever happens is a row that is inserted.
    :ivar refuses_schemas: whether a change of a table's columns is an error.
    :ivar skipped: operations that are left out: ``c``, ``u``, ``d``, ``t``.
    """

    table: str
    wanted: tuple[Field | CdcMetadata, ...]
    mode: str = ALL
    append_only: bool = False
    refuses_schemas: bool = False
    skipped: frozenset[str] = field(default_factory=frozenset)

    def rows(self, rows: ChunkRows, database: CdcDatabase) -> list[Rows]:
        relation = rows.relation
        columns = []
        origin = Origin(relation.table, 0, INSERT)
        for each in self.wanted:
            if isinstance(each, CdcMetadata):
                columns.append(each.read([origin] * rows.count))
                continue
            place = self._place(relation, each)
            column = relation.schema.columns[place]
            columns.append(database.column(rows.columns[place], column.native, each.type, _where(relation, each)))
        return [Rows(record_batch(columns, rows.count))]

    def changes(self, events: Sequence[Change | SchemaChangeEvent], database: CdcDatabase) -> list[Rows]:
        sides: list[_Side] = []
        for event in events:
            if isinstance(event, SchemaChangeEvent):
                self._schema(event)
            elif event.op not in self.skipped:
                sides += self._sides(event)
        if not sides:
            return []
        groups: dict[int, tuple[Relation, list[int]]] = {}
        for place, side in enumerate(sides):
            relation = side.change.relation
            groups.setdefault(id(relation), (relation, []))[1].append(place)
        parts = [
            self._columns(relation, [sides[place] for place in places], database)
            for relation, places in groups.values()
        ]
        kinds = np.fromiter((side.kind for side in sides), np.uint8, len(sides))
        columns = parts[0]
        if len(parts) > 1:
            order = np.argsort(np.concatenate([places for _, places in groups.values()]), kind="stable")
            columns = [pa.concat_arrays(same).take(pa.array(order)) for same in zip(*parts)]
        only_inserts = self.append_only or not kinds.any()
        return [Rows(record_batch(columns, len(sides)), None if only_inserts else kinds)]

    def _columns(self, relation: Relation, sides: Sequence[_Side], database: CdcDatabase) -> list[pa.Array]:
        columns = []
        for each in self.wanted:
            if isinstance(each, CdcMetadata):
                columns.append(each.read([Origin(relation.table, side.change.time, side.kind) for side in sides]))
                continue
            place = self._place(relation, each)
            values = [side.image[place] for side in sides]
            native = relation.schema.columns[place].native
            columns.append(database.column(values, native, each.type, _where(relation, each)))
        return columns

    def _sides(self, change: Change) -> list[_Side]:
        op, before, after = change.op, change.before, change.after
        if op == "c":
            assert after is not None
            return [_Side(INSERT, after, change)]
        if op == "d":
            assert before is not None
            if change.before_is_key and self.mode == ALL and not self.append_only:
                raise self._no_old_row(change, "a DELETE")
            return [_Side(DELETE, before, change)]
        assert after is not None
        if self.mode == UPSERT_MODE:
            return [_Side(UPDATE_AFTER, after, change)]
        if before is None and self.append_only:
            return [_Side(UPDATE_AFTER, after, change)]
        if before is None:
            raise self._no_old_row(change, "an UPDATE")
        return [_Side(UPDATE_BEFORE, before, change), _Side(UPDATE_AFTER, after, change)]

    def _no_old_row(self, change: Change, what: str) -> ValueError:
        table = change.relation.table
        return ValueError(
            f"table {self.table}: the log of {table} does not have the old row of {what}, which 'changelog-mode' = "
            f"'all' needs: ALTER TABLE {table.short} REPLICA IDENTITY FULL (from then on), or 'changelog-mode' = "
            f"'upsert', which does without it"
        )

    def _schema(self, event: SchemaChangeEvent) -> None:
        if isinstance(event, TruncateTableEvent):
            if TRUNCATE not in self.skipped:
                raise ValueError(
                    f"table {self.table}: {event.table} was emptied by TRUNCATE, and the log does not say which rows "
                    f"that were. Leave it out ('debezium.skipped.operations' = 't') if rows from before shall stay"
                )
        elif self.refuses_schemas:
            raise ValueError(
                f"table {self.table}: the columns of {event.table} were changed, which 'schema-change.mode' = 'refuse' "
                f"does not allow: {event}"
            )

    def _place(self, relation: Relation, wanted: Field) -> int:
        try:
            return relation.schema.names.index(wanted.name)
        except ValueError:
            raise ValueError(
                f"table {self.table}: {relation.table} has no column '{wanted.name}' (here); it has "
                f"{', '.join(relation.schema.names)}"
            ) from None


def _where(relation: Relation, wanted: Field) -> str:
    return f"{relation.table}.{wanted.name}"


# The source of a table

Make = Callable[[ChangeDecoder[Rows]], Source[Rows, Any]]


@dataclass(frozen=True)
class Emitting:
    """How changes become rows: see ``RowsDecoder``."""

    mode: str
    append_only: bool
    refuses_schemas: bool
    skipped: frozenset[str]


class CdcTableSource(TableSource):
    """
    :param make: the source with a decoder.
    """

    def __init__(
        self, table: TableContext, metadata: tuple[CdcMetadata, ...], emitting: Emitting, bounded: bool, make: Make
    ) -> None:
        if emitting.mode == UPSERT_MODE and not table.primary_key:
            raise TableException(f"table {table.summary}: 'changelog-mode' = 'upsert' needs a PRIMARY KEY")
        self._context, self._metadata, self._emitting, self._make = table, metadata, emitting, make
        self.bounded = bounded
        self.watermarks = source_watermarks(table)
        if emitting.append_only or bounded:
            self.kinds = INSERT_ONLY
        else:
            self.kinds = UPSERT if emitting.mode == UPSERT_MODE else ALL_KINDS
        self.repeats_deletions = self.kinds == UPSERT

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        table = self._context
        width = len(table.columns)
        wanted: tuple[Field | CdcMetadata, ...] = tuple(
            table.columns[place] if place < width else self._metadata[place - width] for place in columns
        )
        how = self._emitting
        return self._make(
            RowsDecoder(table.summary, wanted, how.mode, how.append_only, how.refuses_schemas, how.skipped)
        )


# Options

CHUNK_SIZE = "scan.incremental.snapshot.chunk.size"
CHUNK_KEY = "scan.incremental.snapshot.chunk.key-column"
LOWER, UPPER = (f"chunk-key.even-distribution.factor.{side}-bound" for side in ("lower", "upper"))
_OLD_LOWER, _OLD_UPPER = (f"split-key.even-distribution.factor.{side}-bound" for side in ("lower", "upper"))
STARTUP = "scan.startup.mode"
APPEND_ONLY = "scan.read-changelog-as-append-only.enabled"
SCHEMAS = "schema-change.mode"
DEBEZIUM = "debezium."
SKIPPED = f"{DEBEZIUM}skipped.operations"
WITHOUT_EFFECT = (
    "scan.incremental.snapshot.enabled",
    "scan.incremental.snapshot.backfill.skip",
    "scan.incremental.snapshot.unbounded-chunk-first.enabled",
    "scan.incremental.close-idle-reader.enabled",
    "scan.snapshot.fetch.size",
    "chunk-meta.group.size",
    "connection.pool.size",
    "connect.pool.size",
)
"""Options of Flink CDC without effect: what they turn on is always on here, or there is nothing to tune."""
COMMON = (
    CHUNK_SIZE, CHUNK_KEY, LOWER, UPPER, _OLD_LOWER, _OLD_UPPER, STARTUP, APPEND_ONLY, SCHEMAS, DEBEZIUM,
    "heartbeat.interval", "heartbeat.interval.ms", "connect.timeout", "connect.max-retries", *WITHOUT_EFFECT,
    *WATERMARK_OPTIONS,
)  # fmt: skip
_OPERATIONS = frozenset("cudt")


class CdcOptions:
    """:raises TableException: from every method, for what cannot be."""

    def __init__(self, table: TableContext) -> None:
        self.table = table
        self.read = TableOptions(table)
        self.given: Mapping[str, str] = table.options

    def problem(self, text: str) -> TableException:
        return TableException(f"table {self.table.summary}: {text}")

    def debezium(self, known: Sequence[str]) -> dict[str, str]:
        """The options ``debezium.*``, of which only some mean anything here."""
        found = {name[len(DEBEZIUM) :]: value for name, value in self.given.items() if name.startswith(DEBEZIUM)}
        for name in found:
            if name not in known:
                raise self.problem(
                    f"'{DEBEZIUM}{name}' means nothing here, where no Debezium runs{did_you_mean(name, known)}; "
                    f"there are {', '.join(known)}"
                )
        return found

    def chunking(self) -> Chunking:
        rows = self.positive(CHUNK_SIZE, Chunking.rows)
        lower = self._factor((LOWER, _OLD_LOWER), Chunking.lower_factor)
        upper = self._factor((UPPER, _OLD_UPPER), Chunking.upper_factor)
        if lower > upper:
            raise self.problem(f"'{LOWER}' is at most '{UPPER}'")
        return Chunking(rows, lower, upper)

    def chunk_columns(self) -> dict[str, str]:
        column = self.given.get(CHUNK_KEY)
        return {} if column is None else {"": column}

    def startup(self, known: Sequence[StartupMode]) -> StartupOptions:
        found = self.read.one_of(STARTUP, known[0].value, tuple(mode.value for mode in known))
        return StartupOptions(StartupMode(found))

    def source(self, database: CdcDatabase, startup: StartupOptions, newly_added: bool) -> CdcTableSource:
        """The table, of a database whose own options are read."""
        mode = self.read.one_of("changelog-mode", ALL, (ALL, UPSERT_MODE))
        chunking, columns = self.chunking(), self.chunk_columns()

        def make(decoder: ChangeDecoder[Rows]) -> CdcSource[Rows]:
            return CdcSource(database, decoder, startup, chunking, columns, newly_added, mode == UPSERT_MODE)

        metadata = metadata_columns(self.table, tuple(READABLE))
        return CdcTableSource(self.table, metadata, self.emitting(mode), not startup.has_log, make)

    def emitting(self, mode: str) -> Emitting:
        """:param mode: ``all`` or ``upsert``."""
        assert mode in (ALL, UPSERT_MODE)
        schemas = self.read.one_of(SCHEMAS, "follow", ("follow", "refuse"))
        given = [part.strip() for part in self.given.get(SKIPPED, "none").split(",")]
        skipped = frozenset() if given == ["none"] else frozenset(given)
        if not skipped <= _OPERATIONS:
            raise self.read.problem(SKIPPED, "has the letters c, u, d, t, or is none")
        return Emitting(mode, self.read.flag(APPEND_ONLY), schemas == "refuse", skipped)

    def positive(self, name: str, default: int) -> int:
        found = self.read.number(name)
        if found is not None and found < 1:
            raise self.read.problem(name, "is at least 1")
        return default if found is None else found

    def seconds(self, name: str, default: float) -> float:
        return float(self.read.millis(name, int(default * 1000))) / 1000

    def heartbeat(self, default: float) -> float:
        """Seconds; 0: none."""
        name = "heartbeat.interval" if "heartbeat.interval" in self.given else "heartbeat.interval.ms"
        return self.seconds(name, default)

    def _factor(self, names: Sequence[str], default: float) -> float:
        for name in names:
            text = self.given.get(name)
            if text is None:
                continue
            try:
                found = float(text.rstrip("dD"))
            except ValueError:
                found = -1.0
            if found < 0:
                raise self.read.problem(name, "is a number of at least 0")
            return found
        return default


# Connectors that are refused


class RefusedCdcFactory(TableFactory):
    """Says what to do instead: Debezium writes the changes to Kafka, and a table over the topic reads them."""

    hands_on = True
    database: str

    def source(self, table: TableContext) -> NoReturn:
        raise TableException(
            f"table {table.summary}: connector '{self.identifier}' is not in Millrace. Let Debezium write the "
            f"changes of {self.database} to Kafka, and read its topic: 'connector' = 'kafka', 'format' = "
            f"'debezium-json'"
        )


class MongoDbCdcFactory(RefusedCdcFactory):
    identifier, database = "mongodb-cdc", "MongoDB"


class OracleCdcFactory(RefusedCdcFactory):
    identifier, database = "oracle-cdc", "Oracle"


class SqlServerCdcFactory(RefusedCdcFactory):
    identifier, database = "sqlserver-cdc", "SQL Server"


class Db2CdcFactory(RefusedCdcFactory):
    identifier, database = "db2-cdc", "Db2"


class OceanBaseCdcFactory(RefusedCdcFactory):
    identifier, database = "oceanbase-cdc", "OceanBase"


class TiDbCdcFactory(RefusedCdcFactory):
    identifier, database = "tidb-cdc", "TiDB (or TiCDC)"


class VitessCdcFactory(RefusedCdcFactory):
    identifier, database = "vitess-cdc", "Vitess"
