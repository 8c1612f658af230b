"""When messages of ``RMQSink`` can be read, with a channel that only listens."""

from __future__ import annotations

from typing import Any

from millrace.connectors.messages import Outgoing
from millrace.connectors.rabbitmq.rabbitmq_streams import RMQSender


class Listening:
    """A connection and its channel."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def connect(self) -> Listening:
        return self

    def channel(self) -> Listening:
        return self

    def queue_declare(self, queue: str, **how: Any) -> None: ...

    def tx_select(self) -> None: ...

    def basic_publish(self, exchange: str, queue: str, body: bytes, properties: Any) -> None:
        self.said.append(f"publish {body.decode()}")

    def tx_commit(self) -> None:
        self.said.append("commit")

    def process_data_events(self, seconds: float) -> None:
        self.said.append("look")


def test_a_transaction_ends_when_its_messages_have_waited_or_the_epoch_ends() -> None:
    server: Any = Listening()
    sender = RMQSender(server, "q")
    sender.send([Outgoing(b"a"), Outgoing(b"b")])
    sender.release()
    assert server.said == ["publish a", "publish b", "commit"]
    sender.flush()
    assert server.said[3:] == ["look"]
    sender.send([Outgoing(b"c")])
    sender.flush()
    assert server.said[4:] == ["publish c", "commit"]
