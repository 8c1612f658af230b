"""What all captured databases have in common: options, startup, chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millrace.cdc.definition.end_options import EndOptions
from millrace.cdc.rules.names import COMMITTED
from millrace.cdc.sources.base import PipelineSource
from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.cdc.chunks import Chunking
from millrace.connectors.cdc.source import CdcSource
from millrace.connectors.cdc.startup import StartupMode, StartupOptions
from millrace.util.similar import did_you_mean

if TYPE_CHECKING:
    from millrace.datastream import DataStream, StreamExecutionEnvironment

_EVEN = "chunk-key.even-distribution.factor"
CAPTURING = (
    *("hostname", "port", "username", "password", "tables", "tables.exclude", "connect.timeout", "heartbeat.interval"),
    *("scan.startup.mode", "metadata.list"),
    *("scan.incremental.snapshot.chunk.size", "scan.incremental.snapshot.chunk.key-column"),
    *(f"{_EVEN}.lower-bound", f"{_EVEN}.upper-bound"),
)
IGNORED = (
    *("connection.pool.size", "chunk-meta.group.size", "scan.incremental.snapshot.enabled"),
    *("scan.incremental.close-idle-reader.enabled", "scan.incremental.snapshot.unbounded-chunk-first.enabled"),
    *("include-comments.enabled", "jdbc.driver", "scan.snapshot.fetch.size"),
)
"""of Flink's way to work: taken without effect"""


def startup_of(options: EndOptions, modes: Iterable[StartupMode], offset_of: Callable[[], Any]) -> StartupOptions:
    """:param offset_of: asked for the place of ``specific-offset``.

    :raises PipelineError: a mode that the database does not have, or that lacks what it needs.
    """
    known = {each.value: each for each in modes}
    mode = known[options.one_of("scan.startup.mode", StartupMode.INITIAL.value, known)]
    offset: Any = None
    timestamp = None
    if mode is StartupMode.SPECIFIC_OFFSETS:
        offset = offset_of()
    if mode is StartupMode.TIMESTAMP:
        options.needed("scan.startup.timestamp-millis")
        timestamp = options.number("scan.startup.timestamp-millis", 0)
    return StartupOptions(mode, offset, timestamp)


def chunking_of(options: EndOptions) -> tuple[Chunking, Mapping[str, str]]:
    """How large chunks are, and by which columns tables are cut: one for all, or ``schema.table:column;...``."""
    default = Chunking()
    name = "scan.incremental.snapshot.chunk.key-column"
    columns: dict[str, str] = {}
    for each in filter(str.strip, (options.text(name) or "").split(";")):
        table, _, column = each.rpartition(":")
        columns[table.strip()] = column.strip()
    rows = options.number("scan.incremental.snapshot.chunk.size", default.rows)
    if rows < 1:
        options.fail("scan.incremental.snapshot.chunk.size", "'scan.incremental.snapshot.chunk.size' is at least 1")
    bounds = []
    for side, factor in (("lower", default.lower_factor), ("upper", default.upper_factor)):
        text = options.text(f"{_EVEN}.{side}-bound")
        try:
            bounds.append(factor if text is None else float(text))
        except ValueError:
            options.fail(f"{_EVEN}.{side}-bound", f"'{_EVEN}.{side}-bound' is a number, not {text}")
    return Chunking(rows, *bounds), columns


def check_metadata(options: EndOptions) -> None:
    """:raises PipelineError: metadata that there is not. What there is, expressions know without being told."""
    for name in filter(None, map(str.strip, (options.text("metadata.list") or "").split(","))):
        if name != COMMITTED:
            options.fail("metadata.list", f"'metadata.list': there is {COMMITTED}, and no {name}")


def refuse_debezium(options: EndOptions, known: Iterable[str]) -> Mapping[str, str]:
    """Settings of Debezium, which is not here, but some of its settings mean something here, too.

    :raises PipelineError: one that means nothing.
    """
    found, names = options.below("debezium."), tuple(known)
    for name in found:
        if name not in names:
            options.fail(
                f"debezium.{name}",
                f"'debezium.{name}': Millrace captures without Debezium{did_you_mean(name, names)}; of its settings it "
                f"takes {', '.join(names)}",
            )
    return found


class CapturingSource(PipelineSource):
    """Tables of a database that are captured."""

    def __init__(self, source: CdcSource[Any]) -> None:
        self._source = source

    def attach(self, environment: StreamExecutionEnvironment, keyed: bool) -> DataStream:
        source = replace(self._source, repeats_deletions=keyed)
        return environment.from_source(source, WatermarkStrategy.no_watermarks(), "Capture", Types.PICKLED_BYTE_ARRAY())

    @property
    def is_unbounded(self) -> bool:
        return self._source.startup.has_log
