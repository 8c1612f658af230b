"""What tables of all stores share: options that say when to write, how often to try and what look-ups remember, and the
choice of a look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millrace.connectors.stores import Buffering, Partitions
from millrace.connectors.tables import full_lookup
from millrace.connectors.tables.full_lookup import FullLookup, Reload
from millrace.connectors.tables.table_options import TableOptions
from millrace.relational.sources import LookupTableSource, TableContext, TableFactory
from millrace.relational.type_table import Family, family_of
from millrace.util.exceptions import TableException

LOOKUP = (
    *full_lookup.FULL_CACHE_OPTIONS,
    "lookup.partial-cache.max-rows",
    "lookup.partial-cache.expire-after-write",
    "lookup.partial-cache.expire-after-access",
    "lookup.partial-cache.cache-missing-key",
    "lookup.partial-cache.caching-missing-key",
    "lookup.cache.max-rows",
    "lookup.cache.ttl",
    "lookup.cache.caching-missing-key",
    "lookup.max-retries",
)
PARTITION = (
    "scan.partition.column",
    "scan.partition.num",
    "scan.partition.lower-bound",
    "scan.partition.upper-bound",
)
SINK = ("sink.buffer-flush.max-rows", "sink.buffer-flush.interval", "sink.max-retries", "sink.parallelism")


class StoreOptions(TableOptions):
    """What WITH says about a table of a store.

    :raises TableException: from every method, for a value that is none.
    """

    def __init__(self, table: TableContext) -> None:
        super().__init__(table)
        self._described = table

    def not_negative(self, name: str, default: int) -> int:
        found = self.number(name)
        if found is not None and found < 0:
            raise self.problem(name, "is not negative")
        return default if found is None else found

    def seconds(self, name: str, default: float) -> float:
        return float(self.millis(name, int(default * 1000))) / 1000

    @property
    def parallelism(self) -> int | None:
        """Of the sink."""
        return self.number("sink.parallelism")

    def buffering(self, default: Buffering) -> Buffering:
        """When rows are written. :param default: what holds where nothing is said."""
        return Buffering(
            self.not_negative("sink.buffer-flush.max-rows", default.max_rows),
            self.seconds("sink.buffer-flush.interval", default.interval),
            self.not_negative("sink.max-retries", default.retries),
            self.seconds("sink.retry.interval", default.pause),
            self.size("sink.buffer-flush.max-size", default.max_bytes),
        )

    @property
    def partitions(self) -> Partitions | None:
        given = [name for name in PARTITION if name in self.given]
        if not given:
            return None
        if len(given) < len(PARTITION):
            missing = [name for name in PARTITION if name not in given]
            raise TableException(f"table {self._described.summary}: '{given[0]}' needs '{missing[0]}', too")
        name = self.given["scan.partition.column"]
        column = next((each for each in self._described.columns if each.name == name), None)
        if column is None or family_of(column.type) not in (Family.INTEGER, Family.DECIMAL):
            raise self.problem("scan.partition.column", "is a column of numbers")
        count, lower, upper = (self.number(each) or 0 for each in PARTITION[1:])
        if count < 1:
            raise self.problem("scan.partition.num", "is at least 1")
        if lower > upper:
            raise self.problem("scan.partition.lower-bound", f"is at most {upper}")
        return Partitions(name, count, lower, upper)

    @property
    def asking(self) -> Buffering:
        """How often look-ups are tried."""
        default = Buffering()
        return Buffering(
            retries=self.not_negative("lookup.max-retries", default.retries),
            pause=self.seconds("lookup.retry.interval", default.pause),
        )


def no_metadata(table: TableContext) -> None:
    """:raises TableException: the table has metadata columns, which these connectors don't have."""
    if table.metadata:
        connector, key = table.options.get("connector"), table.metadata[0][1]
        raise TableException(f"table {table.summary}: connector '{connector}' has no metadata '{key}'")


def lookup_source(
    factory: TableFactory, table: TableContext, key: Sequence[int], ask: Callable[[], LookupTableSource]
) -> LookupTableSource:
    """A look-up: in all of the table, if its cache is FULL, else by asking for keys.

    :param ask: makes the latter.
    """
    if table.options.get("lookup.cache", "").upper() == "FULL":
        return FullLookup(factory.source(table), table, key, Reload.of(TableOptions(table)))
    return ask()
