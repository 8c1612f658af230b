"""What WITH says about a table of a database."""

from __future__ import annotations

from millrace.connectors.jdbc.scan import Partitions
from millrace.connectors.jdbc.sink import Database
from millrace.connectors.jdbc.url import parse
from millrace.connectors.stores.buffered import Buffering
from millrace.connectors.tables.stores.options import PARTITION, StoreOptions
from millrace.connectors.tables.stores.options import SINK as BUFFERED
from millrace.relational.sources import TableContext
from millrace.util.exceptions import TableException

COMMON = ("driver", "username", "password", "connection.max-retry-timeout", "properties.")
SCAN = (
    *PARTITION,
    "scan.fetch-size",
    "scan.auto-commit",
    "scan.parallelism",
    "filter.handling.policy",
    "scan.push-down.enabled",
)
SINK = (*BUFFERED, "sink.exactly-once", "sink.log-directory", "sink.commit-table")
MOST_SECONDS = 60_000
_WAYS = ("off", "marks", "two-phase")
_PREFIX = "properties."


class JdbcOptions:
    """:raises TableException: for what cannot be."""

    def __init__(self, table: TableContext) -> None:
        self._options = options = StoreOptions(table)
        given = options.given
        if ("username" in given) != ("password" in given) and "password" in given:
            raise TableException(f"table {table.summary}: 'password' needs 'username'")
        timeout = options.millis("connection.max-retry-timeout", MOST_SECONDS) / 1000
        properties = {name[len(_PREFIX) :]: value for name, value in given.items() if name.startswith(_PREFIX)}
        try:
            dialect, target = parse(
                given.get("url", ""), given.get("username"), given.get("password"), properties, timeout
            )
        except ValueError as error:
            raise TableException(f"table {table.summary}: {error}") from None
        self.database = Database(dialect, target)
        self.name = given.get("table-name", "")
        problem = dialect.problem(table.columns)
        if problem is not None:
            raise TableException(f"table {table.summary}, {problem}")

    @property
    def fetch(self) -> int:
        return self._options.not_negative("scan.fetch-size", 0)

    @property
    def parallelism(self) -> int | None:
        return self._options.parallelism

    @property
    def asking(self) -> Buffering:
        return self._options.asking

    @property
    def pushes(self) -> bool:
        return self._options.one_of("filter.handling.policy", "always", ("always", "never", "indexed-only")) != "never"

    @property
    def pushes_more(self) -> bool:
        """LIMIT and aggregates."""
        return self._options.text("scan.push-down.enabled", "true") != "false" and self.pushes

    @property
    def partitions(self) -> Partitions | None:
        return self._options.partitions

    @property
    def buffering(self) -> Buffering:
        return self._options.buffering(Buffering())

    @property
    def exactly_once(self) -> str:
        """``off``, ``marks`` or ``two-phase``."""
        given = self._options.given.get("sink.exactly-once", "off").lower()
        if given in ("true", "false"):
            return "marks" if given == "true" else "off"
        return self._options.one_of("sink.exactly-once", "off", _WAYS)

    @property
    def log_directory(self) -> str | None:
        return self._options.text("sink.log-directory")

    @property
    def commit_table(self) -> str:
        return self._options.text("sink.commit-table") or "millrace_commits"
