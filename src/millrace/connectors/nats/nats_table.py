"""The connector ``nats``: subjects of a JetStream stream as a table."""

from __future__ import annotations

from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.messages import MessageDecoder, MessageEncoder
from millrace.connectors.nats.nats_streams import JetStreamSink, JetStreamSource, NatsServers
from millrace.connectors.tables.message_table import MessageTableFactory, guarantee
from millrace.connectors.tables.table_declaration import TIME
from millrace.connectors.tables.table_options import TableOptions
from millrace.relational import types as t
from millrace.relational.rows import Rows


class NatsFactory(MessageTableFactory):
    """``'servers'`` (several with commas), ``'stream'`` to read, ``'subject'``: filters of what is read (several with
    semicolons), or where it is written; ``'credentials-file'``."""

    identifier = "nats"
    extra = "nats"
    required = ("servers", "format")
    common = ("subject", "credentials-file")
    reading = ("stream", "scan.startup.mode", "scan.bounded", "scan.keep-on-trimmed")
    writing = ("sink.delivery-guarantee", "sink.log-directory")
    readable = {
        "subject": t.string(),
        "sequence": t.BigIntType(),
        "timestamp": TIME,
        "headers": t.MapType(t.string(), t.string()),
    }
    writable = ("subject",)
    to = "subject"

    def make_source(self, options: TableOptions, decoder: MessageDecoder[Rows]) -> Source[Any, Any]:
        stream = options.text("stream")
        if stream is None:
            raise ValueError("connector 'nats' needs 'stream' to be read")
        start = options.text("scan.startup.mode") or "latest"
        subjects = tuple(each.strip() for each in (options.text("subject") or ">").split(";"))
        return JetStreamSource(
            _servers(options),
            stream,
            decoder,
            subjects,
            int(start) if start.isdecimal() else start,
            options.flag("scan.bounded"),
            options.flag("scan.keep-on-trimmed"),
        )

    def make_sink(self, options: TableOptions, encoder: MessageEncoder[Rows]) -> Sink[Any]:
        subject = options.text("subject")
        if subject is None:
            raise ValueError("connector 'nats' needs 'subject' to be written")
        reached = _servers(options)
        return JetStreamSink.of(
            reached.urls,
            subject,
            encoder,
            guarantee=guarantee(options),
            log_directory=options.text("sink.log-directory"),
            **dict(reached.options),
        )


def _servers(options: TableOptions) -> NatsServers:
    urls = tuple(each.strip() for each in (options.text("servers") or "").split(","))
    file = options.text("credentials-file")
    return NatsServers(urls, () if file is None else (("user_credentials", file),))
