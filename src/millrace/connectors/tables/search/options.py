"""What WITH says about a table of a search index."""

from __future__ import annotations

from millrace.connectors.lookup import reload
from millrace.connectors.search.backoff import Backoff
from millrace.connectors.search.bulk import BulkSettings
from millrace.connectors.search.dialect import Dialect
from millrace.connectors.search.failures import FailureHandler, handler_of
from millrace.connectors.search.place import ANSWER_SECONDS, CONNECT_SECONDS, Place, hosts_of
from millrace.connectors.tables.filesystem.layout.options import TableOptions
from millrace.connectors.tables.search.rows import Versions
from millrace.relational.sources import TableContext
from millrace.relational.type_table import Family, family_of
from millrace.util.exceptions import TableException

COMMON = (
    "username",
    "password",
    "format",
    "json.",
    "document-id.key-delimiter",
    "connection.path-prefix",
    "connection.request-timeout",
    "connection.timeout",
    "connection.api-key",
    "connection.bearer-token",
    "connection.max-retry-timeout",
    "socket.timeout",
    "allow-insecure",
    "ssl.certificate-fingerprint",
    "ssl.certificate-authorities",
    "document-type",
)
SINK = (
    "sink.flush-on-checkpoint",
    "sink.delivery-guarantee",
    "sink.bulk-flush.max-actions",
    "sink.bulk-flush.max-size",
    "sink.bulk-flush.interval",
    "sink.bulk-flush.max-buffered-actions",
    "sink.bulk-flush.max-in-flight-actions",
    "sink.bulk-flush.backoff.strategy",
    "sink.bulk-flush.backoff.max-retries",
    "sink.bulk-flush.backoff.delay",
    "sink.parallelism",
    "sink.upsert",
    "sink.version",
    "sink.version.column",
    "failure-handler",
)
SCAN = ("scan.slices", "scan.fetch-size", "scan.keep-alive", "filter.handling.policy")
LOOKUP = (
    "lookup.partial-cache.max-rows",
    "lookup.partial-cache.expire-after-write",
    "lookup.partial-cache.expire-after-access",
    "lookup.partial-cache.cache-missing-key",
    "lookup.partial-cache.caching-missing-key",
    *reload.OPTIONS,
    "lookup.max-retries",
)
_NO = ("DISABLED", "CONSTANT", "EXPONENTIAL")
_VERSIONED = (Family.INTEGER, Family.TIMESTAMP, Family.INSTANT)
MOST_PAGE = 10_000
"""what servers give at a time, unless an index says otherwise"""


class SearchOptions:
    """:raises TableException: for what cannot be."""

    def __init__(self, table: TableContext, dialect: Dialect) -> None:
        self._table = table
        self._options = options = TableOptions(table)
        try:
            hosts = hosts_of(options.given.get("hosts", ""))
        except ValueError as error:
            raise TableException(f"table {table.summary}: 'hosts': {error}") from None
        prefix = options.given.get("connection.path-prefix", "").strip("/")
        self.place = Place(
            dialect,
            hosts,
            f"/{prefix}" if prefix else "",
            options.text("username"),
            options.text("password"),
            options.text("connection.api-key"),
            options.text("connection.bearer-token"),
            options.flag("allow-insecure"),
            options.text("ssl.certificate-fingerprint"),
            options.text("ssl.certificate-authorities"),
            self._seconds("connection.timeout", CONNECT_SECONDS),
            self._seconds("socket.timeout", ANSWER_SECONDS),
            self._seconds("connection.request-timeout", CONNECT_SECONDS),
        )
        problem = self.place.problem()
        if problem is not None:
            raise TableException(f"table {table.summary}: {problem}")
        if options.given.get("document-type", "_doc") != "_doc":
            raise options.problem("document-type", "is gone from these servers: leave it out")
        options.one_of("format", "json", ("json",))
        if table.configuration.get("table.local-time-zone", "default") == "default":
            self.zone = "UTC"
        else:
            self.zone = table.configuration["table.local-time-zone"]

    @property
    def index(self) -> str:
        return self._options.given.get("index", "")

    @property
    def delimiter(self) -> str:
        return self._options.given.get("document-id.key-delimiter", "_")

    @property
    def parallelism(self) -> int | None:
        return self._options.number("sink.parallelism")

    @property
    def bulk(self) -> BulkSettings:
        default = BulkSettings()
        options = self._options
        guarantee = options.one_of("sink.delivery-guarantee", "at-least-once", ("at-least-once", "none"))
        flushes = options.flag("sink.flush-on-checkpoint") if "sink.flush-on-checkpoint" in options.given else True
        interval = options.millis("sink.bulk-flush.interval", int(default.interval * 1000)) / 1000
        return BulkSettings(
            self._count("sink.bulk-flush.max-actions", default.max_actions),
            options.size("sink.bulk-flush.max-size", default.max_bytes),
            interval,
            guarantee == "at-least-once" and flushes,
            self._backoff(),
            # Who says that nothing is sent again means it.
            Backoff() if "sink.bulk-flush.backoff.strategy" in options.given else default.reconnect,
            self._handler(),
            self.versions is not None and self.versions.column is not None,
        )

    def _backoff(self) -> Backoff:
        kind = self._options.given.get("sink.bulk-flush.backoff.strategy", "DISABLED").upper()
        if kind not in _NO:
            raise self._options.problem("sink.bulk-flush.backoff.strategy", f"is one of {', '.join(_NO)}")
        default = Backoff()
        retries = self._count("sink.bulk-flush.backoff.max-retries", 8)
        delay = self._seconds("sink.bulk-flush.backoff.delay", default.delay)
        return Backoff(0 if kind == "DISABLED" else retries, delay, kind == "EXPONENTIAL")

    def _handler(self) -> FailureHandler:
        try:
            return handler_of(self._options.given.get("failure-handler", "fail"))
        except ValueError as error:
            raise TableException(f"table {self._table.summary}: {error}") from None

    @property
    def replaces(self) -> bool:
        return self._options.one_of("sink.upsert", "merge", ("merge", "replace")) == "replace"

    @property
    def versions(self) -> Versions | None:
        """Where the versions of documents come from; None: nowhere."""
        name = self._options.text("sink.version.column")
        kind = self._options.one_of("sink.version", "external" if name else "none", ("none", "external"))
        if kind == "none":
            if name:
                raise self._options.problem("sink.version", "is 'external' for 'sink.version.column'")
            return None
        if not self._table.primary_key:
            raise TableException(f"table {self._table.summary}: 'sink.version' is for tables with a PRIMARY KEY")
        if name is None:
            return Versions()
        places = [place for place, column in enumerate(self._table.columns) if column.name == name]
        if not places or family_of(self._table.columns[places[0]].type) not in _VERSIONED:
            raise self._options.problem("sink.version.column", "is a column of whole numbers or times")
        return Versions(places[0])

    @property
    def slices(self) -> int:
        found = self._count("scan.slices", 1)
        if not 1 <= found <= 1024:
            raise self._options.problem("scan.slices", "is from 1 to 1024")
        return found

    @property
    def page(self) -> int:
        found = self._count("scan.fetch-size", 1000)
        if not 1 <= found <= MOST_PAGE:
            raise self._options.problem("scan.fetch-size", f"is from 1 to {MOST_PAGE}")
        return found

    @property
    def keep_alive(self) -> int:
        """Seconds."""
        found: int = self._options.millis("scan.keep-alive", 300_000) // 1000
        return max(1, found)

    @property
    def pushes(self) -> bool:
        return self._options.one_of("filter.handling.policy", "always", ("always", "never")) == "always"

    @property
    def keeps_all(self) -> bool:
        """Whether look-ups read the whole index."""
        return self._options.given.get("lookup.cache", "").upper() == "FULL"

    @property
    def lookup_retries(self) -> int:
        return self._count("lookup.max-retries", 3)

    def _count(self, name: str, default: int) -> int:
        found = self._options.number(name)
        if found is not None and found < 0:
            raise self._options.problem(name, "is not negative")
        return default if found is None else found

    def _seconds(self, name: str, default: float) -> float:
        found: float = self._options.millis(name, int(default * 1000)) / 1000
        if found <= 0:
            raise self._options.problem(name, "is longer than 0")
        return found
