"""What WITH says about a table of Redis."""

from __future__ import annotations

import datetime as dt
from urllib.parse import unquote, urlsplit

from millrace.connectors.base import DeliveryGuarantee
from millrace.connectors.redis.places import Login, RedisCluster, RedisNode, RedisPlace, RedisSentinels, addresses
from millrace.connectors.tables.filesystem.layout.options import TableOptions
from millrace.connectors.tables.redis.layout import layout_of
from millrace.connectors.tables.redis.writing import Expiry
from millrace.formats.tables.registry import format_names
from millrace.relational.sources import TableContext
from millrace.util.exceptions import TableException

CONNECTION = (
    "url",
    "redis-mode",
    "mode",
    "host",
    "port",
    "username",
    "password",
    "database",
    "ssl",
    "timeout",
    "cluster-nodes",
    "master.name",
    "sentinels.info",
    "sentinels.password",
    "maxTotal",
    "maxIdle",
    "minIdle",
    "io.pool.size",
    "event.pool.size",
)
VALUES = ("value.data.structure", "value.format")
LOOKUP = (
    "lookup.cache",
    "lookup.partial-cache.max-rows",
    "lookup.partial-cache.expire-after-write",
    "lookup.partial-cache.expire-after-access",
    "lookup.partial-cache.cache-missing-key",
    "lookup.partial-cache.caching-missing-key",
    "lookup.cache.max-rows",
    "lookup.cache.ttl",
    "lookup.cache.caching-missing-key",
    "lookup.max-retries",
    "scan.range.start",
    "scan.range.stop",
)
SINK = (
    "ttl",
    "ttl.on.time",
    "ttl.key.not.absent",
    "set.if.absent",
    "sink.max-retries",
    "sink.parallelism",
    "sink.delivery-guarantee",
    "sink.log-directory",
)
MODES = ("single", "cluster", "sentinel")
_GUARANTEES = ("at-least-once", "exactly-once")
_SECONDS_WITHOUT_UNIT = "lookup.cache.ttl"


def all_names() -> tuple[str, ...]:
    formats = (f"value.{name}." for name in format_names())
    return (*CONNECTION, *VALUES, *LOOKUP, *SINK, *formats)


class RedisOptions:
    """:raises TableException: for what cannot be."""

    def __init__(self, table: TableContext) -> None:
        self._table = table
        self._options = options = TableOptions(table)
        try:
            self.layout = layout_of(options.given["command"])
            self.place = self._place()
        except ValueError as error:
            raise error if isinstance(error, TableException) else self._problem(str(error)) from None
        self.whole = options.one_of("value.data.structure", "column", ("column", "row")) == "row"
        self._check_columns()

    def _problem(self, text: str) -> TableException:
        return TableException(f"table {self._table.summary}: {text}")

    def _place(self) -> RedisPlace:
        options, given = self._options, self._options.given
        name = "mode" if "mode" in given else "redis-mode"
        mode = options.one_of(name, "single", MODES)
        timeout = options.millis("timeout", 30_000) / 1000
        login = Login(given.get("username"), given.get("password"), timeout, options.flag("ssl"))
        database = options.number("database") or 0
        if mode == "cluster":
            if database:
                raise ValueError("a cluster of Redis has no other database than 0")
            return RedisCluster(addresses(given.get("cluster-nodes") or given.get("host", ""), self._port), login)
        if mode == "sentinel":
            if "master.name" not in given:
                raise ValueError("sentinels need 'master.name' and 'sentinels.info'")
            sentinels = addresses(given.get("sentinels.info", ""), 26379)
            return RedisSentinels(given["master.name"], sentinels, database, login, given.get("sentinels.password"))
        return self._of_url(login) if "url" in given else self._of_host(database, login)

    @property
    def _port(self) -> int:
        found = self._options.number("port")
        return 6379 if found is None else found

    def _of_host(self, database: int, login: Login) -> RedisNode:
        host = self._options.given.get("host")
        if not host:
            raise ValueError("Redis needs 'url' or 'host', or 'redis-mode' with its addresses")
        return RedisNode(host, self._port, database, login)

    def _of_url(self, login: Login) -> RedisNode:
        parts = urlsplit(self._options.given["url"])
        if parts.scheme not in ("redis", "rediss") or not parts.hostname:
            raise ValueError("'url' is redis://host:port/database, or rediss:// with TLS")
        user = unquote(parts.username) if parts.username else login.user
        password = unquote(parts.password) if parts.password else login.password
        login = Login(user, password, login.timeout, login.tls or parts.scheme == "rediss")
        return RedisNode(parts.hostname, parts.port or 6379, int(parts.path.strip("/") or 0), login)

    def _check_columns(self) -> None:
        wanted, count, layout = len(self.layout.columns), len(self._table.columns), self.layout
        if self.values_are_rows:
            if not layout.has_value:
                raise self._problem(f"{layout.name} has no value that could be a whole row")
            if count < wanted - 1:
                raise self._problem(f"{layout.name} needs {', '.join(layout.columns[:-1])} as its first columns")
        elif wanted and count != wanted:
            raise self._problem(f"{layout.name} has the columns {', '.join(layout.columns)}: {wanted}, not {count}")
        elif not wanted and count < 2:
            raise self._problem(f"{layout.name} has a key and fields: 2 columns at least")
        names = [column.name for column in self._table.columns]
        key = {names[place] for place in layout.key}
        if self._table.primary_key and set(self._table.primary_key) != key:
            what = f"({', '.join(sorted(key))})" if key else "none"
            raise self._problem(f"the PRIMARY KEY of what {layout.name} writes is {what}")

    @property
    def values_are_rows(self) -> bool:
        return self.whole or "value.format" in self._options.given

    @property
    def expiry(self) -> Expiry:
        given = self._options.given
        new_only = self._options.flag("ttl.key.not.absent")
        if "ttl" in given:
            text = given["ttl"]
            seconds = int(text) if text.isdigit() else self._options.millis("ttl", 0) // 1000
            if seconds < 1:
                raise self._options.problem("ttl", "is a second or more")
            return Expiry(seconds, None, new_only)
        if "ttl.on.time" in given:
            try:
                return Expiry(None, dt.time.fromisoformat(given["ttl.on.time"]), new_only)
            except ValueError:
                raise self._options.problem("ttl.on.time", "is a time of day, as in 10:00") from None
        return Expiry()

    @property
    def absent_only(self) -> bool:
        return self._options.flag("set.if.absent")

    @property
    def lookup(self) -> dict[str, str]:
        """The options of the cache; spans without a unit are seconds, as in the connectors that have them."""
        found = dict(self._options.given)
        if found.get("lookup.cache", "").upper() == "FULL":
            raise self._problem("'lookup.cache' = 'FULL' needs a table that can be read as a whole: use PARTIAL")
        if found.get(_SECONDS_WITHOUT_UNIT, "").isdigit():
            found[_SECONDS_WITHOUT_UNIT] += " s"
        return found

    def number(self, name: str, default: int) -> int:
        found = self._options.number(name)
        return default if found is None else found

    @property
    def guarantee(self) -> DeliveryGuarantee:
        found = self._options.one_of("sink.delivery-guarantee", _GUARANTEES[0], _GUARANTEES)
        return DeliveryGuarantee.EXACTLY_ONCE if found == _GUARANTEES[1] else DeliveryGuarantee.AT_LEAST_ONCE

    @property
    def log_directory(self) -> str | None:
        return self._options.text("sink.log-directory")

    @property
    def parallelism(self) -> int | None:
        return self._options.number("sink.parallelism")
