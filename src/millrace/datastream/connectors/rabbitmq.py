"""RabbitMQ under PyFlink's names."""

from __future__ import annotations

from millrace.connectors.rabbitmq.connection import RMQConnectionConfig
from millrace.connectors.rabbitmq.sink import RMQSink
from millrace.connectors.rabbitmq.source import RMQSource

__all__ = ["RMQConnectionConfig", "RMQSink", "RMQSource"]
