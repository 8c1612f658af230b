"""``pyflink.serializers``: objects in a stream of bytes, each preceded by its length. Programs rarely need it."""

from __future__ import annotations

import pickle
import struct
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, BinaryIO

from millrace.common.serializer import TypeSerializer

__all__ = ["BatchedSerializer", "PickleSerializer", "read_int", "write_int"]


class SpecialLengths:
    """Lengths with a meaning of their own, in front of objects."""

    END_OF_DATA_SECTION = -1
    NULL = -2


def read_int(stream: BinaryIO) -> int:
    """Read an int of four bytes, big-endian.

    :raises EOFError: there are none.
    """
    found = stream.read(4)
    if not found:
        raise EOFError
    number: int = struct.unpack("!i", found)[0]
    return number


def write_int(value: int, stream: BinaryIO) -> None:
    stream.write(struct.pack("!i", value))


class IterableSerializer(TypeSerializer[Iterable[Any]]):
    """Writes and reads many objects."""

    @abstractmethod
    def serialize(self, element: Iterable[Any], stream: BinaryIO) -> None:
        """Write objects to a stream of bytes."""

    @abstractmethod
    def deserialize(self, stream: BinaryIO) -> Iterator[Any]:
        """Read all objects up to the end of a stream of bytes."""


class VarLengthDataSerializer(IterableSerializer):
    """Writes objects one after the other, each preceded by the length of its bytes."""

    @abstractmethod
    def dumps(self, obj: Any) -> bytes: ...

    @abstractmethod
    def loads(self, obj: bytes) -> Any: ...

    def serialize(self, iterable: Iterable[Any], stream: BinaryIO) -> None:
        for each in iterable:
            data = self.dumps(each)
            write_int(len(data), stream)
            stream.write(data)

    def deserialize(self, stream: BinaryIO) -> Iterator[Any]:
        while True:
            try:
                length = read_int(stream)
            except EOFError:
                return
            if length == SpecialLengths.END_OF_DATA_SECTION:
                return
            if length == SpecialLengths.NULL:
                yield None
                continue
            data = stream.read(length)
            if len(data) < length:
                return
            yield self.loads(data)


class PickleSerializer(VarLengthDataSerializer):
    """Writes objects as pickles; read only data that you have written yourself."""

    def dumps(self, obj: Any) -> bytes:
        return pickle.dumps(obj, 3)

    def loads(self, obj: bytes) -> Any:
        return pickle.loads(obj, encoding="bytes")


class BatchedSerializer(IterableSerializer):
    """Passes lists of objects to another serializer."""

    UNLIMITED_BATCH_SIZE = -1
    UNKNOWN_BATCH_SIZE = 0

    def __init__(self, serializer: IterableSerializer, batch_size: int = UNLIMITED_BATCH_SIZE) -> None:
        self.serializer = serializer
        self.batch_size = batch_size

    def __repr__(self) -> str:
        return f"BatchedSerializer({self.serializer}, {self.batch_size})"

    def serialize(self, iterator: Iterable[Any], stream: BinaryIO) -> None:
        self.serializer.serialize(self._batches(iter(iterator)), stream)

    def _batches(self, items: Iterator[Any]) -> Iterator[list[Any]]:
        if self.batch_size == self.UNLIMITED_BATCH_SIZE:
            yield list(items)
            return
        while batch := list(islice(items, self.batch_size or None)):
            yield batch

    def deserialize(self, stream: BinaryIO) -> Iterator[Any]:
        return chain.from_iterable(self.serializer.deserialize(stream))
