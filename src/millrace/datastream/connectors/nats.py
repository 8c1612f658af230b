"""NATS JetStream. PyFlink has nothing of the kind."""

from __future__ import annotations

from millrace.connectors.nats.nats_streams import JetStreamSink, JetStreamSource

__all__ = ["JetStreamSink", "JetStreamSource"]
