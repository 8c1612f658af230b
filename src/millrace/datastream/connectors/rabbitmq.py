# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""RabbitMQ under PyFlink's names."""

from __future__ import annotations

from millrace.connectors.rabbitmq.rabbitmq_streams import RMQConnectionConfig, RMQSink, RMQSource

__all__ = [
    "RMQConnectionConfig",
    "RMQSink",
    "RMQSource",
]
