"""What connectors of message systems share: a message as it was read and what makes elements of it, writing at least
once, and reading queues that keep a message until it is acknowledged.

Writing: an epoch ends when the system has confirmed all messages. Reading: a message is acknowledged once the
checkpoint that covers it is recorded. Where messages have ids of their own, those that a checkpoint covers and that are
not known to be acknowledged are in its state: should they come again, they are left out. So every message counts once,
if one consumer reads the queue.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.sink import SinkWriter, SinkWriterContext
from millrace.common.source import SplitEnumeratorContext
from millrace.common.typeinfo import TypeInformation
from millrace.connectors.sink_base import Patience
from millrace.connectors.source_base import StandingSplits
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch, SplitReader

T = TypeVar("T")

EXCERPT = 100
"""characters of a message that an error shows"""
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Message:
    """
    :ivar place: where it lies, for errors: "stream 's', id 7-0".
    :ivar timestamp: ms; None: it has none.
    :ivar metadata: what a table can have as columns.
    """

    value: bytes
    place: str
    timestamp: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)


class MessageError(ValueError):
    """A message cannot be read: says where it lies and what it begins with."""

    def __init__(self, message: Message, cause: Exception) -> None:
        value: Any = message.value
        shown = repr(bytes(value) if isinstance(value, (bytearray, memoryview)) else value)
        shown = shown[:EXCERPT] + "..." * (len(shown) > EXCERPT)
        super().__init__(f"{message.place} cannot be read: {cause}; message: {shown}")

    def __reduce__(self) -> tuple[Any, ...]:
        return ValueError, (str(self),)


class MessageDecoder(ABC, Generic[T]):
    """Elements of messages that lie one behind the other. Pickled into the tasks."""

    @abstractmethod
    def decode(self, messages: Sequence[Message]) -> tuple[list[T], list[int] | None]:
        """The elements, and their times (ms) if all of them have one.

        :raises MessageError: one cannot be read.
        """

    def produced_type(self) -> TypeInformation | None:
        """The type of the elements, if it is known."""
        return None


class SchemaDecoder(MessageDecoder[T]):
    """Elements by a ``DeserializationSchema``."""

    def __init__(self, schema: DeserializationSchema) -> None:
        self._schema = schema

    def decode(self, messages: Sequence[Message]) -> tuple[list[T], list[int] | None]:
        elements: list[T] = []
        times: list[int | None] = []
        for message in messages:
            try:
                element = self._schema.deserialize(message.value)
            except Exception as error:
                raise MessageError(message, error) from error
            if element is not None:
                elements.append(element)
                times.append(message.timestamp)
        known = [time for time in times if time is not None]
        return elements, known if known and len(known) == len(elements) else None

    def produced_type(self) -> TypeInformation | None:
        return self._schema.get_produced_type()


MOST_MESSAGES = 1_000
"""The most messages that wait in a writer before they are sent."""


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


@dataclass(frozen=True)
class ConsumerSplit:
    """One consumer of a queue.

    :ivar used: ids of messages that were emitted and may come again.
    """

    number: int
    used: tuple[str, ...] = ()

    @property
    def split_id(self) -> str:
        return f"consumer {self.number}"


@dataclass(frozen=True)
class Delivery(SplitBatch[T, ConsumerSplit]):
    """
    :ivar tags: what the queue calls its messages, to acknowledge them; also of those that were left out.
    :ivar ids: of the messages, where they have some.
    """

    tags: list[Any] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)


class AcknowledgingSplitReader(SplitReader[T, ConsumerSplit], Generic[T]):
    """Consumes a queue; gives ``Delivery`` batches."""

    @abstractmethod
    def acknowledge(self, tags: Sequence[Any]) -> None:
        """Let the queue forget messages. Returns when it has confirmed that."""


class AcknowledgedReader(SourceReaderBase[T, ConsumerSplit], Generic[T]):
    """Acknowledges what recorded checkpoints cover.

    :param make_split_reader: called in the thread, once.
    """

    def __init__(self, make_split_reader: Callable[[], AcknowledgingSplitReader[T]]) -> None:
        super().__init__(make_split_reader)
        self._tags: list[Any] = []
        self._ids: list[str] = []
        self._waiting: deque[tuple[int, list[Any], list[str]]] = deque()
        """(checkpoint, tags, ids) of what is emitted and not acknowledged"""
        self._used: dict[str, None] = {}
        self._confirmed: deque[list[str]] = deque()
        """ids that cannot come again; the thread adds to it"""

    def add_splits(self, splits: Sequence[ConsumerSplit]) -> None:
        super().add_splits(splits)
        for split in splits:
            self._used |= dict.fromkeys(split.used)

    def emitted(self, batch: SplitBatch[T, ConsumerSplit]) -> None:
        assert isinstance(batch, Delivery)
        self._tags += batch.tags
        self._ids += batch.ids

    def snapshot_state(self, checkpoint_id: int) -> list[ConsumerSplit]:
        while self._confirmed:
            for each in self._confirmed.popleft():
                self._used.pop(each, None)
        self._used |= dict.fromkeys(self._ids)
        self._waiting.append((checkpoint_id, self._tags, self._ids))
        self._tags, self._ids = [], []
        splits = [replace(split, used=()) for split in super().snapshot_state(checkpoint_id)]
        return [replace(splits[0], used=tuple(self._used)), *splits[1:]] if splits else []

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        tags: list[Any] = []
        ids: list[str] = []
        while self._waiting and self._waiting[0][0] <= checkpoint_id:
            _, some, names = self._waiting.popleft()
            tags += some
            ids += names
        if tags:
            self.tell(lambda reader: self._acknowledge(reader, tags, ids))

    def _acknowledge(self, reader: AcknowledgingSplitReader[T], tags: list[Any], ids: list[str]) -> None:
        reader.acknowledge(tags)
        self._confirmed.append(ids)


def consumers(
    context: SplitEnumeratorContext[ConsumerSplit], checkpoint: list[ConsumerSplit] | None, single: bool
) -> StandingSplits[ConsumerSplit]:
    """An enumerator that gives each subtask a consumer, or all in all one."""
    count = 1 if single else context.current_parallelism()
    splits = [ConsumerSplit(number) for number in range(count)] if checkpoint is None else checkpoint
    return StandingSplits(context, splits)
