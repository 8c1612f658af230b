"""The connector ``rabbitmq``: a queue as a table."""

from __future__ import annotations

from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.messages import MessageDecoder, MessageEncoder
from millrace.connectors.rabbitmq.rabbitmq_streams import RMQConnectionConfig, RMQSink, RMQSource
from millrace.connectors.tables.message_table import MessageTableFactory
from millrace.connectors.tables.table_declaration import TIME
from millrace.connectors.tables.table_options import TableOptions
from millrace.relational import types as t
from millrace.relational.rows import Rows


class RabbitMQFactory(MessageTableFactory):
    """``'hostname'``, ``'port'`` (5672), ``'virtual-host'`` (/), ``'username'``, ``'password'``, ``'queue'``;
    ``'scan.correlation-ids'`` = 'true': messages have ids, and each counts once."""

    identifier = "rabbitmq"
    extra = "rabbitmq"
    required = ("hostname", "queue", "format")
    common = ("port", "virtual-host", "username", "password")
    reading = ("scan.correlation-ids", "scan.prefetch-count")
    readable = {"correlation-id": t.string(), "message-id": t.string(), "timestamp": TIME}
    writable = ("correlation-id",)

    def make_source(self, options: TableOptions, decoder: MessageDecoder[Rows]) -> Source[Any, Any]:
        by_id = options.flag("scan.correlation-ids")
        config = _config(options)
        return RMQSource(config, options.text("queue") or "", by_id, decoder)

    def make_sink(self, options: TableOptions, encoder: MessageEncoder[Rows]) -> Sink[Any]:
        return RMQSink(_config(options), options.text("queue") or "", encoder)


def _config(options: TableOptions) -> RMQConnectionConfig:
    builder = RMQConnectionConfig.Builder().set_host(options.text("hostname") or "")
    builder.set_port(options.number("port") or 5672).set_virtual_host(options.text("virtual-host") or "/")
    builder.set_user_name(options.text("username") or "guest").set_password(options.text("password") or "guest")
    prefetch = options.number("scan.prefetch-count")
    if prefetch is not None:
        builder.set_prefetch_count(prefetch)
    return builder.build()
