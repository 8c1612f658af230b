"""``CdcSource``: tables of a database as a stream, first the rows that are there, then their changes.

Its enumerator (driver) cuts tables in chunks when readers ask, collects what the chunks have seen, and hands out the
log when all chunks are read. ``CdcSourceBuilder`` has what Flink CDC's builders of all databases have.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from millrace.common.source import (
    Boundedness,
    Source,
    SourceEvent,
    SourceReaderContext,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from millrace.common.typeinfo import TypeInformation
from millrace.connectors.cdc.cdc_reader import CdcReader
from millrace.connectors.cdc.changes import (
    Chunk,
    Chunking,
    ChunkSplit,
    ChunksReported,
    ChunksTaken,
    Cut,
    FinishedChunk,
    LogGoesOn,
    LogSplit,
    LogWaits,
    Relation,
    Seen,
    TableChunks,
)
from millrace.connectors.cdc.database import CdcDatabase, StartupOptions
from millrace.connectors.cdc.deserializers import ChangeDecoder, DebeziumDeserializationSchema, SchemaDecoder
from millrace.connectors.cdc.events import TableId, TableSchema

# The enumerator, on the driver

logger = logging.getLogger(__name__)

Split = ChunkSplit | FinishedChunk | LogSplit


@dataclass(frozen=True)
class Captured:
    """The state of an enumerator. A chunk is in ``given`` from its assignment until its reader reports it."""

    owner: str
    position: Any
    """where the log is read from when all chunks are read"""
    schemas: Mapping[TableId, TableSchema]
    tables: tuple[TableId, ...] = ()
    """tables that have not been cut into chunks yet"""
    cut: Cut | None = None
    given: frozenset[str] = frozenset()
    back: tuple[ChunkSplit, ...] = ()
    """chunks that were given back by readers that have ended"""
    finished: tuple[tuple[Chunk, Seen], ...] = ()
    log: LogSplit | None = None
    """the log split, given back by a reader that has ended"""
    log_given: bool = False


@dataclass
class _Progress:
    """What ``Captured`` has, while it changes."""

    tables: list[TableId]
    cut: Cut | None
    given: set[str]
    back: list[ChunkSplit]
    finished: dict[str, tuple[Chunk, Seen]] = field(default_factory=dict)


class CdcEnumerator(SplitEnumerator[Split]):
    """Chunks are cut when readers ask for them: a request costs one query at most."""

    def __init__(
        self, source: CdcSource[Any], context: SplitEnumeratorContext[Split], earlier: Captured | None = None
    ) -> None:
        self._source = source
        self._context = context
        self._earlier = earlier
        self._owner = uuid.uuid4().hex[:12] if earlier is None else earlier.owner
        self._position: Any = None if earlier is None else earlier.position
        self._schemas = dict(earlier.schemas) if earlier is not None else {}
        self._log = earlier.log if earlier is not None else None
        self._log_given = earlier is not None and earlier.log_given
        self._at = _Progress([], None, set(), [])
        self._asking: int | None = None
        """the reader that has the log, and waits"""
        if earlier is not None:
            finished = {chunk.split_id: (chunk, seen) for chunk, seen in earlier.finished}
            self._at = _Progress(list(earlier.tables), earlier.cut, set(earlier.given), list(earlier.back), finished)

    def start(self) -> None:
        """:raises RuntimeError: the server is not set up, a table is missing, or the position is lost."""
        source = self._source
        source.database.check()
        if self._earlier is not None:
            if source.startup.has_log and not self._log_given:  # else its reader knows the position, and looks
                source.database.resume(self._position, list(self._schemas), self._owner)
            if source.newly_added:
                self._add_new()
            return
        self._schemas = dict(source.database.tables())
        for table, schema in self._schemas.items():
            source.chunk_column(table, schema)
        self._position = source.database.prepare(source.startup, list(self._schemas), self._owner)
        if source.startup.has_snapshot:
            self._at.tables = list(self._schemas)
        logger.info("%s: capturing %s", source.database.title, ", ".join(map(str, self._schemas)))

    def _add_new(self) -> None:
        """Tables that match by now: their chunks are read as those of the others were."""
        source = self._source
        found = {table: schema for table, schema in source.database.tables().items() if table not in self._schemas}
        if not found:
            return
        for table, schema in found.items():
            source.chunk_column(table, schema)
        source.database.add(list(found), self._owner)
        self._schemas |= found
        if source.startup.has_snapshot:
            self._at.tables += found
        logger.info("%s: capturing %s, too", source.database.title, ", ".join(map(str, found)))

    # -- chunks -------------------------------------------------------------------------------------------------

    def handle_split_request(self, subtask_id: int) -> None:
        split = self._next_chunk()
        if split is not None:
            self._at.given.add(split.split_id)
            self._context.assign_split(split, subtask_id)
        elif not self._source.startup.has_log:
            self._context.signal_no_more_splits(subtask_id)
        elif not self._at.given and not self._log_given:  # the log comes behind the last chunk
            self._context.assign_split(self._log or self._whole_log(), subtask_id)
            self._log, self._log_given = None, True
            self._at.finished.clear()
        elif not self._at.given and self._asking is not None:
            # What was read stays known: a reader that takes over asks again.
            log = self._whole_log()
            self._context.send_event_to_source_reader(self._asking, LogGoesOn(log.relations, log.chunks))
            self._asking = None

    def _next_chunk(self) -> ChunkSplit | None:
        at, source = self._at, self._source
        if at.back:
            return at.back.pop()
        if at.cut is None:
            if not at.tables:
                return None
            table = at.tables.pop(0)
            schema = self._schemas[table]
            column = source.chunk_column(table, schema)
            bounds = None if column is None else source.database.bounds(table, schema, column)
            at.cut = Cut.begin(table, column, bounds, source.chunking)
        cut = at.cut
        schema = self._schemas[cut.table]

        def bound(start: Any, greatest: Any) -> Any | None:
            assert cut.column is not None
            rows = source.chunking.rows
            return source.database.next_bound(cut.table, schema, cut.column, start, greatest, rows)

        chunk, at.cut = cut.next(bound)
        return ChunkSplit(chunk, schema)

    def handle_source_event(self, subtask_id: int, event: SourceEvent) -> None:
        if isinstance(event, LogWaits):
            self._asking = subtask_id
        if not isinstance(event, ChunksReported):
            return
        for each in event.finished:
            # Of what a reader tells again that took over, nothing is new.
            if each.split_id in self._at.given:
                self._at.given.discard(each.split_id)
                self._at.finished[each.split_id] = (each.chunk, each.seen)
        taken = frozenset(each.split_id for each in event.finished)
        self._context.send_event_to_source_reader(subtask_id, ChunksTaken(taken))

    # -- the log ------------------------------------------------------------------------------------------------

    def _whole_log(self) -> LogSplit:
        by_table: dict[TableId, list[tuple[Chunk, Seen]]] = {}
        for chunk, seen in self._at.finished.values():
            by_table.setdefault(chunk.table, []).append((chunk, seen))
        chunks = []
        for table, found in by_table.items():
            found.sort(key=lambda each: each[0].number)
            bounds = tuple(chunk.start for chunk, _ in found[1:])
            chunks.append(TableChunks(table, found[0][0].column, bounds, tuple(seen for _, seen in found)))
        relations = tuple(Relation(table, schema) for table, schema in self._schemas.items())
        return LogSplit(self._position, relations, tuple(chunks), self._owner)

    def add_splits_back(self, splits: Sequence[Split], subtask_id: int) -> None:
        for split in splits:
            if isinstance(split, ChunkSplit):
                self._at.given.discard(split.split_id)
                self._at.back.append(split)
            elif isinstance(split, FinishedChunk):
                self._at.given.discard(split.split_id)
                self._at.finished[split.split_id] = (split.chunk, split.seen)
            else:
                self._log, self._log_given = split, False

    def snapshot_state(self, checkpoint_id: int) -> Captured:
        at = self._at
        return Captured(
            self._owner, self._position, self._schemas, tuple(at.tables), at.cut, frozenset(at.given), tuple(at.back),
            tuple(at.finished.values()), self._log, self._log_given,
        )  # fmt: skip

    def job_ended(self, splits: Sequence[Split]) -> None:
        self._source.database.ended(self._owner)


# The source

T = TypeVar("T")

INITIAL = StartupOptions()
USUAL = Chunking()


@dataclass(frozen=True)
class CdcSource(Source[T, Split], Generic[T]):
    """Captures tables. Several readers share the chunks of the snapshot; one of them reads the log.

    :ivar chunk_columns: by the name of a table (``schema.table`` or only ``table``), or "" for all, the column whose
        ranges are its chunks; else it is the first column of the primary key.
    :ivar newly_added: whether a job that goes on from a checkpoint looks for tables that match the patterns by now. The
        log waits while these are read.
    :ivar repeats_deletions: for whoever keeps rows by their keys and may have some of an attempt that failed: rows that
        were deleted before their chunk was read are deleted once more, behind the snapshot.
    """

    database: CdcDatabase
    decoder: ChangeDecoder[T]
    startup: StartupOptions = INITIAL
    chunking: Chunking = USUAL
    chunk_columns: Mapping[str, str] = field(default_factory=dict)
    newly_added: bool = False
    repeats_deletions: bool = False

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED if self.startup.has_log else Boundedness.BOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[Split], checkpoint: Captured | None = None
    ) -> CdcEnumerator:
        return CdcEnumerator(self, context, checkpoint)

    def create_reader(self, context: SourceReaderContext) -> CdcReader[T]:
        return CdcReader(self.database, self.decoder, context, self.newly_added, self.repeats_deletions)

    def get_produced_type(self) -> TypeInformation | None:
        return self.decoder.produced_type()

    def chunk_column(self, table: TableId, schema: TableSchema) -> str | None:
        """The column whose ranges are the chunks of a table, None: the table is one chunk.

        :raises ValueError: the column that was asked for cannot be it.
        """
        names = (str(table), table.short, table.table, "")
        asked = next((self.chunk_columns[name] for name in names if name in self.chunk_columns), None)
        if asked is None:
            return schema.primary_key[0] if schema.primary_key else None
        if asked not in schema.names:
            raise ValueError(f"table {table} has no column '{asked}' to be cut by; it has {', '.join(schema.names)}")
        if schema.primary_key and asked not in schema.primary_key:
            raise ValueError(
                f"table {table}: '{asked}' is no column of the primary key ({', '.join(schema.primary_key)}): a row "
                f"could move from chunk to chunk, and be read twice under one key"
            )
        return asked


# What builders of all databases have

B = TypeVar("B", bound="CdcSourceBuilder")


class CdcSourceBuilder:
    """The builder of a ``CdcSource``, with the names and defaults of Flink CDC."""

    title: ClassVar[str]
    properties: ClassVar[tuple[str, ...]]
    """names of Debezium's properties that have an effect here"""

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
        """The database user; it needs the right to replicate."""
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
        """Whether to repeat deletions of rows that a failed attempt may have read (our addition): for a sink that
        identifies rows by key and writes at least once."""
        self._repeats = repeats
        return self

    def scan_newly_added_table_enabled(self: B, enabled: bool) -> B:
        """Whether a job that goes on from a checkpoint also captures tables that match by now."""
        self._newly_added = enabled
        return self

    def debezium_properties(self: B, properties: Mapping[str, Any]) -> B:
        """Set properties of Debezium: ``skipped.operations``; for PostgreSQL also ``publication.name``,
        ``publication.autocreate.mode`` and ``slot.drop.on.stop``. Other properties are refused."""
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
