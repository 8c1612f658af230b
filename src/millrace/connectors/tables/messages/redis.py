"""The connectors ``redis-stream`` and ``redis-pubsub``."""

from __future__ import annotations

from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.base import DeliveryGuarantee
from millrace.connectors.messages.message import MessageDecoder
from millrace.connectors.messages.sending import MessageEncoder
from millrace.connectors.redis.connection import RedisServer
from millrace.connectors.redis.pubsub import RedisPubSubSink, RedisPubSubSource
from millrace.connectors.redis.stream_sink import RedisStreamSink
from millrace.connectors.redis.stream_source import RedisStreamSource
from millrace.connectors.tables.filesystem.layout.options import TableOptions
from millrace.connectors.tables.messages.factory import MessageTableFactory
from millrace.connectors.tables.metadata import TIME
from millrace.relational import types as t
from millrace.relational.rows import Rows

WHOLE_ENTRY = "*"
GUARANTEES = ("at-least-once", "exactly-once")


class RedisStreamFactory(MessageTableFactory):
    """``'url'``, ``'stream'`` (several with semicolons); ``'field'``: of an entry, that has the message, ``value``
    unless it is set, ``*`` for all fields as a JSON object."""

    identifier = "redis-stream"
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
    required = ("url", "channel", "format")
    readable = {"channel": t.string()}
    writable = ("channel",)
    to = "channel"

    def make_source(self, options: TableOptions, decoder: MessageDecoder[Rows]) -> Source[Any, Any]:
        return RedisPubSubSource(
            RedisServer(options.text("url") or ""), _names(options.text("channel") or ""), decoder
        )

    def make_sink(self, options: TableOptions, encoder: MessageEncoder[Rows]) -> Sink[Any]:
        return RedisPubSubSink(options.text("url") or "", _names(options.text("channel") or "")[0], encoder)


def guarantee(options: TableOptions) -> DeliveryGuarantee:
    """What 'sink.delivery-guarantee' says; at least once unless it is set."""
    found = options.one_of("sink.delivery-guarantee", GUARANTEES[0], GUARANTEES)
    return DeliveryGuarantee.EXACTLY_ONCE if found == GUARANTEES[1] else DeliveryGuarantee.AT_LEAST_ONCE


def _names(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(";") if each.strip())
