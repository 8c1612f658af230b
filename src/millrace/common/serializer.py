"""User-defined binary forms of values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Generic, TypeVar

__all__ = ["TypeSerializer"]

T = TypeVar("T")
"""Type of the values."""

void = b""
"""What stands for a namespace where there is none."""


class TypeSerializer(ABC, Generic[T]):
    """Writes values to a stream and reads them back. Equal when the class and all attributes are equal.

    >>> class Text(TypeSerializer):
    ...     def serialize(self, element, stream):
    ...         stream.write(element.encode())
    ...     def deserialize(self, stream):
    ...         return stream.read().decode()
    """

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Write an element to a stream of bytes."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Read an element from a stream of bytes."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class VoidNamespaceSerializer(TypeSerializer[bytes]):
    """For state without a namespace: writes nothing, reads nothing."""

    def serialize(self, element: bytes, stream: BytesIO) -> None:
        return None

    def deserialize(self, stream: BytesIO) -> bytes:
        return void
