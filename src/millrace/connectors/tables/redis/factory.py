"""``'connector' = 'redis'``."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.common.sink import Sink
from millrace.connectors.redis.sink import RedisCommands
from millrace.connectors.tables.formats import Format
from millrace.connectors.tables.redis.asking import Shape
from millrace.connectors.tables.redis.layout import Kind
from millrace.connectors.tables.redis.lookup import RedisLookup
from millrace.connectors.tables.redis.options import RedisOptions, all_names
from millrace.connectors.tables.redis.writing import RowCommands
from millrace.relational.rows import Rows
from millrace.relational.sources import (
    ALL_KINDS,
    INSERT_ONLY,
    UPSERT,
    LookupTableSource,
    TableContext,
    TableFactory,
    TableSink,
)
from millrace.util.exceptions import TableException


class RedisFactory(TableFactory):
    """``'command'`` says what the columns are, by their order, and what becomes of a row; ``'url'`` or ``'host'`` where
    it goes."""

    identifier = "redis"
    required = ("command",)

    @property
    def optional(self) -> tuple[str, ...]:  # type: ignore[override]
        return all_names()

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        _no_metadata(table)
        options = RedisOptions(table)
        layout = options.layout
        if layout.kind in (Kind.OTHER, Kind.STREAM):
            raise TableException(f"table {table.summary}: what {layout.name} writes cannot be looked up")
        if len(layout.columns) == 1 or layout.name in ("HDEL", "SREM", "ZREM"):
            raise TableException(f"table {table.summary}: {layout.name} writes only: a look-up needs GET or another")
        if 0 not in key:
            raise TableException(
                f"table {table.summary}: Redis finds rows by their key: compare '{table.columns[0].name}' in the join"
            )
        format = Format.named("value.format", table)
        decoding = None if format is None else format.decoding(table.columns, (), table)
        if decoding is not None and decoding.kinds != INSERT_ONLY:
            raise TableException(f"table {table.summary}: its format has changes, and a look-up needs rows")
        first, last = options.number("scan.range.start", 0), options.number("scan.range.stop", -1)
        shape = Shape(layout, table.columns, options.whole, decoding, first, last)
        retries = options.number("lookup.max-retries", 3)
        return RedisLookup(options.place, shape, key, retries, options.lookup, f"table {table.summary}: Redis")

    def sink(self, table: TableContext) -> TableSink:
        return RedisTableSink(table)


class RedisTableSink(TableSink):
    def __init__(self, table: TableContext) -> None:
        _no_metadata(table)
        options = RedisOptions(table)
        layout = options.layout
        if layout.adds:
            self.kinds = ALL_KINDS
        elif layout.deletes:
            self.kinds = UPSERT
            self.keys = tuple(table.columns[place].name for place in layout.key)
        else:
            self.kinds = INSERT_ONLY
        self.parallelism = options.parallelism
        format = Format.named("value.format", table)
        encoding = None if format is None else format.encoding(table.columns, table)
        encoder = RowCommands(layout, table.columns, options.whole, encoding, options.expiry, options.absent_only)
        try:
            self._sink = RedisCommands.of(
                options.place,
                encoder,
                guarantee=options.guarantee,
                log_directory=options.log_directory,
                retries=options.number("sink.max-retries", 3),
                what=f"table {table.summary}: Redis",
            )
        except ValueError as error:
            raise TableException(f"table {table.summary}: {error}") from None

    def stream(self) -> Sink[Rows]:
        return self._sink


def _no_metadata(table: TableContext) -> None:
    if table.metadata:
        raise TableException(f"table {table.summary}: connector 'redis' has no metadata '{table.metadata[0][1]}'")
