"""``MessageWriter``: when messages leave."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.common.serialization import SimpleStringSchema
from millrace.connectors.messages import MessageWriter, Outgoing, SchemaEncoder, Sender
from millrace.connectors.sink_base import Patience
from millrace.testing.connectors.runtime import ElementContext


class Told(Sender):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def send(self, messages: Sequence[Outgoing]) -> None:
        self.said.append(f"send {b''.join(each.value for each in messages).decode()}")

    def release(self) -> None:
        self.said.append("release")

    def flush(self) -> None:
        self.said.append("flush")

    def close(self) -> None: ...


def write(to: MessageWriter[str], texts: str) -> None:
    for text in texts:
        to.write(text, ElementContext())


def test_a_message_alone_leaves_after_a_while_and_nobody_waits_for_it() -> None:
    sender = Told()
    writer = MessageWriter[str](sender, SchemaEncoder(SimpleStringSchema()), Patience(lambda: 5_000), most=3)
    write(writer, "a")
    writer.end_slice(5_099)
    assert sender.said == []
    writer.end_slice(5_100)
    writer.end_slice(6_000)
    assert sender.said == ["send a", "release"]
    writer.flush(False)
    assert sender.said[2:] == ["flush"]


def test_what_was_sent_since_they_are_many_is_released_as_well() -> None:
    sender = Told()
    writer = MessageWriter[str](sender, SchemaEncoder(SimpleStringSchema()), Patience(lambda: 5_000), most=3)
    write(writer, "abc")
    assert sender.said == ["send abc"]
    writer.end_slice(5_099)
    assert sender.said == ["send abc"]
    writer.end_slice(5_100)
    assert sender.said == ["send abc", "release"]
    write(writer, "d")
    writer.flush(False)
    writer.end_slice(6_000)
    assert sender.said[2:] == ["send d", "flush"]
