"""A message as it was read, and what makes elements of messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from millrace.common.serialization import DeserializationSchema
from millrace.common.typeinfo import TypeInformation

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
