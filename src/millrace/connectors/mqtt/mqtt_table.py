"""The connector ``mqtt``: topics of a broker as a table."""

from __future__ import annotations

from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.messages import MessageDecoder, MessageEncoder
from millrace.connectors.mqtt.mqtt_streams import MqttBroker, MqttSink, MqttSource
from millrace.connectors.tables.message_table import MessageTableFactory
from millrace.connectors.tables.table_options import TableOptions
from millrace.relational import types as t
from millrace.relational.rows import Rows


class MqttFactory(MessageTableFactory):
    """``'url'``, ``'topic'`` (several with semicolons where it is read), ``'client-id'`` to read: the session's name;
    ``'qos'``: 1 unless it is set."""

    identifier = "mqtt"
    extra = "mqtt"
    required = ("url", "topic", "format")
    common = ("qos",)
    reading = ("client-id",)
    writing = ("sink.retain",)
    readable = {"topic": t.string(), "retain": t.BooleanType()}
    writable = ("topic",)
    to = "topic"

    def make_source(self, options: TableOptions, decoder: MessageDecoder[Rows]) -> Source[Any, Any]:
        topics = tuple(each.strip() for each in (options.text("topic") or "").split(";") if each.strip())
        broker = MqttBroker(options.text("url") or "")
        return MqttSource(broker, topics, options.text("client-id") or "", decoder, _qos(options))

    def make_sink(self, options: TableOptions, encoder: MessageEncoder[Rows]) -> Sink[Any]:
        url, topic = options.text("url") or "", options.text("topic") or ""
        return MqttSink(url, topic, encoder, qos=_qos(options), retain=options.flag("sink.retain"))


def _qos(options: TableOptions) -> int:
    found = options.number("qos")
    return 1 if found is None else found
