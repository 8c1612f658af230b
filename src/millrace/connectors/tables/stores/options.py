"""Options that tables of all stores share: when to write, how often to try, what look-ups remember."""

from __future__ import annotations

from millrace.connectors.stores.buffered import Buffering
from millrace.connectors.tables.filesystem.layout.options import TableOptions

LOOKUP = (
    "lookup.cache",
    "lookup.partial-cache.max-rows",
    "lookup.partial-cache.expire-after-write",
    "lookup.partial-cache.expire-after-access",
    "lookup.partial-cache.cache-missing-key",
    "lookup.partial-cache.caching-missing-key",
    "lookup.full-cache.periodic-reload.interval",
    "lookup.cache.max-rows",
    "lookup.cache.ttl",
    "lookup.cache.caching-missing-key",
    "lookup.max-retries",
)
SINK = ("sink.buffer-flush.max-rows", "sink.buffer-flush.interval", "sink.max-retries", "sink.parallelism")


class StoreOptions(TableOptions):
    """What WITH says about a table of a store.

    :raises TableException: from every method, for a value that is none.
    """

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
    def asking(self) -> Buffering:
        """How often look-ups are tried."""
        default = Buffering()
        return Buffering(
            retries=self.not_negative("lookup.max-retries", default.retries),
            pause=self.seconds("lookup.retry.interval", default.pause),
        )
