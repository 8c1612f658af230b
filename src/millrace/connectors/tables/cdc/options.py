"""What tables of all captured databases have in WITH."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millrace.connectors.cdc.chunks import Chunking
from millrace.connectors.cdc.database import CdcDatabase
from millrace.connectors.cdc.decoding import ChangeDecoder
from millrace.connectors.cdc.source import CdcSource
from millrace.connectors.cdc.startup import StartupMode, StartupOptions
from millrace.connectors.tables.cdc.metadata import READABLE, metadata_columns
from millrace.connectors.tables.cdc.rows import ALL, UPSERT_MODE
from millrace.connectors.tables.cdc.source import CdcTableSource, Emitting
from millrace.connectors.tables.filesystem.layout.options import TableOptions
from millrace.connectors.tables.watermark_options import WATERMARK_OPTIONS
from millrace.relational.rows import Rows
from millrace.relational.sources import TableContext
from millrace.util.exceptions import TableException
from millrace.util.similar import did_you_mean

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
"""of Flink CDC: what they turn on is so anyway, or there is nothing here to be tuned by them"""
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
