"""NATS JetStream. PyFlink has nothing of the kind."""

from __future__ import annotations

from millrace.connectors.nats.sink import JetStreamSink
from millrace.connectors.nats.source import JetStreamSource

__all__ = ["JetStreamSink", "JetStreamSource"]
