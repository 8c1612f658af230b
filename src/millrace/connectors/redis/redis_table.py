"""``'connector' = 'redis'``, ``'redis-stream'`` and ``'redis-pubsub'``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.messages import MessageDecoder, MessageEncoder
from millrace.connectors.redis.redis_client import (
    Login,
    RedisCluster,
    RedisNode,
    RedisPlace,
    RedisSentinels,
    RedisServer,
    addresses,
)
from millrace.connectors.redis.redis_sink import RedisCommands
from millrace.connectors.redis.redis_streams import (
    RedisPubSubSink,
    RedisPubSubSource,
    RedisStreamSink,
    RedisStreamSource,
)
from millrace.connectors.redis.redis_table_commands import Expiry, Kind, RedisLookup, RowCommands, Shape, layout_of
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.connectors.tables.message_table import MessageTableFactory, guarantee
from millrace.connectors.tables.table_declaration import TIME, Format
from millrace.connectors.tables.table_options import TableOptions
from millrace.formats.tables.format_options import format_names
from millrace.relational import types as t
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


class RedisFactory(TableFactory):
    """The connector ``redis``. ``'command'`` says what the columns mean, by their order, and how a row is written;
    ``'url'`` or ``'host'`` is the server."""

    identifier = "redis"
    extra = "redis"
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


WHOLE_ENTRY = "*"


class RedisStreamFactory(MessageTableFactory):
    """``'url'``, ``'stream'`` (several with semicolons); ``'field'``: of an entry, that has the message, ``value``
    unless it is set, ``*`` for all fields as a JSON object."""

    identifier = "redis-stream"
    extra = "redis"
    required = ("url", "stream", "format")
    common = ("field",)
    reading = ("scan.startup.mode", "scan.bounded", "scan.keep-on-trimmed")
    writing = ("sink.maxlen", "sink.delivery-guarantee", "sink.log-directory")
    readable = {"stream": t.string(), "id": t.string(), "timestamp": TIME}
    writable = ("stream",)
    to = "stream"

    def make_source(self, options: TableOptions, decoder: MessageDecoder[Rows]) -> Source[Any, Any]:
        field = options.text("field", "value")
        return RedisStreamSource(
            RedisServer(options.text("url") or ""),
            _names(options.text("stream") or ""),
            decoder,
            start=options.text("scan.startup.mode") or "latest",
            field=None if field == WHOLE_ENTRY else field,
            bounded=options.flag("scan.bounded"),
            keep_on_trimmed=options.flag("scan.keep-on-trimmed"),
        )

    def make_sink(self, options: TableOptions, encoder: MessageEncoder[Rows]) -> Sink[Any]:
        field = options.text("field", "value")
        if field == WHOLE_ENTRY:
            raise options.problem("field", "is one field where entries are written")
        return RedisStreamSink.of(
            options.text("url") or "",
            _names(options.text("stream") or "")[0],
            encoder,
            field=field or "value",
            maxlen=options.number("sink.maxlen"),
            guarantee=guarantee(options),
            log_directory=options.text("sink.log-directory"),
        )


class RedisPubSubFactory(MessageTableFactory):
    """``'url'``, ``'channel'`` (several with semicolons; patterns): what is published while the job runs."""

    identifier = "redis-pubsub"
    extra = "redis"
    required = ("url", "channel", "format")
    readable = {"channel": t.string()}
    writable = ("channel",)
    to = "channel"

    def make_source(self, options: TableOptions, decoder: MessageDecoder[Rows]) -> Source[Any, Any]:
        return RedisPubSubSource(RedisServer(options.text("url") or ""), _names(options.text("channel") or ""), decoder)

    def make_sink(self, options: TableOptions, encoder: MessageEncoder[Rows]) -> Sink[Any]:
        return RedisPubSubSink(options.text("url") or "", _names(options.text("channel") or "")[0], encoder)


def _names(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(";") if each.strip())
