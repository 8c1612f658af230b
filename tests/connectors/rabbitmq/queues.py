"""Queues of a test: filled and read by a client that is not the connector's, on a connection of its own."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import pika

from millrace.connectors.rabbitmq.rabbitmq_streams import RMQConnectionConfig


class Queues:
    def __init__(self, url: str) -> None:
        self.url = url
        self.config = RMQConnectionConfig.Builder().set_uri(url).build()

    def _connection(self) -> Any:
        return pika.BlockingConnection(pika.URLParameters(self.url))

    def create(self) -> str:
        name = f"q-{uuid.uuid4().hex[:8]}"
        with self._connection() as connection:
            connection.channel().queue_declare(name, durable=True)
        return name

    def delete(self, name: str) -> None:
        with self._connection() as connection:
            connection.channel().queue_delete(name)

    def write(self, name: str, values: Sequence[str], ids: bool = True, **properties: Any) -> None:
        """:raises pika.exceptions.UnroutableError: there is no such queue: without ``mandatory`` a server says that it
        has the message, and drops it."""
        with self._connection() as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            for value in values:
                known = pika.BasicProperties(correlation_id=f"id of {value}" if ids else None, **properties)
                channel.basic_publish("", name, value.encode(), known, mandatory=True)

    def read(self, name: str) -> list[str]:
        """All that is there; it stays there."""
        found = []
        with self._connection() as connection:
            channel = connection.channel()
            while True:
                method, _, body = channel.basic_get(name)
                if method is None:
                    return found
                found.append(body.decode())
