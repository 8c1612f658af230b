"""Serialization schemas and encoders, which turn elements into bytes and back, for connectors."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, BinaryIO

from millrace.common.text import formatter
from millrace.common.typeinfo import TypeInformation, Types
from millrace.common.types import Row

__all__ = [
    "BulkWriter",
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]


class SerializationSchema(ABC):
    """Turns an element into the bytes that go to an external system.

    >>> isinstance(SimpleStringSchema(), SerializationSchema)
    True
    """

    @abstractmethod
    def serialize(self, value: Any) -> bytes:
        """The bytes of an element."""


class DeserializationSchema(ABC):
    """Turns bytes from an external system into an element.

    >>> class Numbers(DeserializationSchema):
    ...     def deserialize(self, message):
    ...         return int(message)
    ...     def get_produced_type(self):
    ...         return Types.INT()
    >>> Numbers().deserialize(b"12")
    12
    """

    @abstractmethod
    def deserialize(self, message: bytes) -> Any:
        """The element; None to leave the message out."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the elements."""


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Strings in a charset; what does not exist in it becomes a replacement character.

    >>> SimpleStringSchema().serialize("é"), SimpleStringSchema("ISO-8859-1").deserialize(b"\\xe9")
    (b'\\xc3\\xa9', 'é')
    """

    def __init__(self, charset: str = "UTF-8") -> None:
        """Raises ``LookupError`` for an unknown charset."""
        self._charset = codecs.lookup(charset).name

    def serialize(self, value: Any) -> bytes:
        """Raises ``TypeError`` for anything but a str."""
        if not isinstance(value, str):
            raise TypeError(f"SimpleStringSchema takes str, got {type(value).__name__} {value!r}")
        return value.encode(self._charset, "replace")

    def deserialize(self, message: bytes) -> str:
        return bytes(message).decode(self._charset, "replace")

    def get_produced_type(self) -> TypeInformation:
        return Types.STRING()


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Bytes as they are.

    >>> ByteArraySchema().deserialize(b"ab")
    b'ab'
    """

    def serialize(self, value: Any) -> bytes:
        """Raises ``TypeError`` for what is not bytes."""
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise TypeError(f"ByteArraySchema takes bytes, got {type(value).__name__} {value!r}")
        return bytes(value)

    def deserialize(self, message: bytes) -> bytes:
        return bytes(message)

    def get_produced_type(self) -> TypeInformation:
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class RowFieldExtractorSchema(SerializationSchema):
    """Takes one field of a row, which has to be bytes: a key or a value for Kafka, say."""

    def __init__(self, field_index: int) -> None:
        """Raises ``ValueError`` for a negative index."""
        if field_index < 0:
            raise ValueError(f"Field index must be non-negative, got: {field_index}")
        self._field_index = field_index

    def serialize(self, value: Any) -> bytes:
        """The field, empty for None. Raises ``TypeError`` for what is not a row, or a field that is not bytes."""
        if not isinstance(value, Row):
            raise TypeError(f"RowFieldExtractorSchema takes rows, got {type(value).__name__} {value!r}")
        if self._field_index >= len(value):
            raise IndexError(f"no field {self._field_index} in a row of {len(value)} fields: {value!r}")
        field = value[self._field_index]
        if field is None:
            return b""
        if not isinstance(field, (bytes, bytearray)):
            raise TypeError(f"field {self._field_index} must be bytes, got {type(field).__name__} {field!r}")
        return bytes(field)


class Encoder(ABC):
    """Writes elements one after the other into a file.

    >>> class Lines(Encoder):
    ...     def encode(self, element, stream):
    ...         stream.write(f"{element}\\n".encode())
    """

    @abstractmethod
    def encode(self, value: Any) -> bytes:
        """The bytes to append for one element."""

    def for_type(self, type_info: TypeInformation) -> Encoder:
        """This encoder for elements of a type; the sink calls it once."""
        return self

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """The text of every element, one per line. Raises ``LookupError`` for an unknown charset."""
        return _SimpleStringEncoder(charset_name, Types.PICKLED_BYTE_ARRAY())


_WITHOUT_MARKS = frozenset({"utf-8", "ascii", "iso8859-1"})
"""charsets in which a text is the bytes of its characters one after the other"""


class _SimpleStringEncoder(Encoder):
    def __init__(self, charset: str, type_info: TypeInformation) -> None:
        self._charset = codecs.lookup(charset).name
        self._type_info = type_info
        self._text = formatter(type_info)

    def encode(self, value: Any) -> bytes:
        return f"{self._text(value)}\n".encode(self._charset, "replace")

    def encode_together(self, values: Iterable[Any]) -> bytes | None:
        """All of these at once; None, with nothing taken, for a charset that begins each text with marks of its own."""
        if self._charset not in _WITHOUT_MARKS:
            return None
        lines = [*map(self._text, values), ""]
        return "\n".join(lines).encode(self._charset, "replace")

    def for_type(self, type_info: TypeInformation) -> Encoder:
        return _SimpleStringEncoder(self._charset, type_info)

    def __reduce__(self) -> tuple[Any, ...]:
        # The formatter is made of closures, which plain pickle refuses.
        return _SimpleStringEncoder, (self._charset, self._type_info)


class BulkWriter(ABC):
    """Writes elements into a file of a format with its own structure, such as Parquet."""

    @abstractmethod
    def add_element(self, element: Any) -> None: ...

    @abstractmethod
    def flush(self) -> None: ...

    @abstractmethod
    def finish(self) -> None:
        """Write what closes the format; the stream itself stays open."""


class BulkWriterFactory(ABC):
    """Makes a writer for every file; pickled into the tasks."""

    @abstractmethod
    def create(self, stream: BinaryIO) -> BulkWriter: ...


class RowDataBulkWriterFactory(BulkWriterFactory):
    """A factory whose writers take rows of one type."""

    def __init__(self, row_type: Any) -> None:
        self._row_type = row_type

    def get_row_type(self) -> Any:
        return self._row_type
