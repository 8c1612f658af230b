"""Writing messages, at least once: an epoch ends when the system has confirmed all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from millrace.common.serialization import SerializationSchema
from millrace.common.sink import SinkWriter, SinkWriterContext
from millrace.connectors.patience import Patience

T = TypeVar("T")

MOST_MESSAGES = 1_000
"""that wait in a writer before they are sent"""


@dataclass(frozen=True)
class Outgoing:
    """A message to be written.

    :ivar to: the queue, stream, topic or partition key, as the system understands it; "": the sink's own.
    :ivar timestamp: ms, of the element; None: it has none.
    """

    value: bytes
    to: str = ""
    timestamp: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class MessageEncoder(ABC, Generic[T]):
    """Messages of elements. Pickled into the tasks."""

    @abstractmethod
    def encode(self, element: T, timestamp: int | None) -> Iterable[Outgoing]: ...


class SchemaEncoder(MessageEncoder[T]):
    """One message an element, by a ``SerializationSchema``."""

    def __init__(self, schema: SerializationSchema) -> None:
        self._schema = schema

    def encode(self, element: T, timestamp: int | None) -> Iterable[Outgoing]:
        return (Outgoing(bytes(self._schema.serialize(element)), "", timestamp),)


class Sender(ABC):
    """A connection that writes."""

    @abstractmethod
    def send(self, messages: Sequence[Outgoing]) -> None:
        """Write them; they may be on their way still when this returns."""

    def release(self) -> None:
        """What was sent may be seen, though the epoch goes on. By default that needs nothing."""

    @abstractmethod
    def flush(self) -> None:
        """Wait until all are confirmed.

        :raises ConnectionError: some were not.
        """

    @abstractmethod
    def close(self) -> None: ...


class MessageWriter(SinkWriter[T], Generic[T]):
    """Collects messages and sends them together.

    :param most: messages that wait.
    """

    def __init__(
        self, sender: Sender, encoder: MessageEncoder[T], patience: Patience, most: int = MOST_MESSAGES
    ) -> None:
        self._sender, self._encoder, self._patience, self._most = sender, encoder, patience, most
        self._waiting: list[Outgoing] = []

    def write(self, element: T, context: SinkWriterContext) -> None:
        self._patience.begin()
        self._waiting += self._encoder.encode(element, context.timestamp())
        if len(self._waiting) >= self._most:
            self._send()

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        for begin in range(0, len(waiting), self._most):
            self._sender.send(waiting[begin : begin + self._most])

    def end_slice(self, now: int) -> None:
        if self._patience.is_over(now):
            self._send()
            self._patience.end()
            self._sender.release()

    def flush(self, end_of_input: bool) -> None:
        self._send()
        self._patience.end()
        self._sender.flush()

    def close(self) -> None:
        self._sender.close()
