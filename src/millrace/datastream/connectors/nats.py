# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Sources and sinks for NATS JetStream. Not in PyFlink."""

from __future__ import annotations

from millrace.connectors.nats.nats_streams import JetStreamSink, JetStreamSource

__all__ = [
    "JetStreamSink",
    "JetStreamSource",
]
