from __future__ import annotations

import io
import pickle
from typing import Any, BinaryIO

import pytest

from millrace.common.serialization import (
    BulkWriter,
    BulkWriterFactory,
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    RowDataBulkWriterFactory,
    RowFieldExtractorSchema,
    SerializationSchema,
    SimpleStringSchema,
)
from millrace.common.serializer import TypeSerializer, VoidNamespaceSerializer
from millrace.common.typeinfo import Types
from millrace.common.types import Row


def test_strings() -> None:
    schema = pickle.loads(pickle.dumps(SimpleStringSchema()))
    assert schema.serialize("é") == b"\xc3\xa9"
    assert schema.deserialize(b"\xc3\xa9") == "é"
    assert schema.deserialize(b"\xff") == "\N{REPLACEMENT CHARACTER}"
    assert schema.get_produced_type() == Types.STRING()
    assert SimpleStringSchema("ISO-8859-1").serialize("é中") == b"\xe9?"
    with pytest.raises(TypeError, match="takes str, got int 5"):
        schema.serialize(5)
    with pytest.raises(LookupError):
        SimpleStringSchema("no such charset")


def test_bytes() -> None:
    schema = ByteArraySchema()
    assert schema.serialize(bytearray(b"a")) == b"a"
    assert schema.deserialize(b"a") == b"a"
    assert schema.get_produced_type() == Types.PRIMITIVE_ARRAY(Types.BYTE())
    with pytest.raises(TypeError, match="takes bytes, got str 'a'"):
        schema.serialize("a")


def test_row_fields() -> None:
    schema = RowFieldExtractorSchema(1)
    assert schema.serialize(Row("a", b"key")) == b"key"
    assert schema.serialize(Row("a", None)) == b""
    with pytest.raises(TypeError, match="field 1 must be bytes, got str 'b'"):
        schema.serialize(Row("a", "b"))
    with pytest.raises(TypeError, match="takes rows, got tuple"):
        schema.serialize(("a", b"key"))
    with pytest.raises(IndexError, match="no field 1 in a row of 1 fields"):
        schema.serialize(Row("a"))
    with pytest.raises(ValueError, match="negative"):
        RowFieldExtractorSchema(-1)


def test_simple_string_encoder() -> None:
    encoder = Encoder.simple_string_encoder()
    assert encoder.encode(True) == b"True\n"
    typed = pickle.loads(pickle.dumps(encoder.for_type(Types.TUPLE([Types.BOOLEAN(), Types.STRING()]))))
    assert typed.encode((True, "é")) == "(true,é)\n".encode()
    assert Encoder.simple_string_encoder("UTF-16-LE").encode("a") == b"a\0\n\0"
    with pytest.raises(LookupError):
        Encoder.simple_string_encoder("no such charset")


def test_own_encoders_and_schemas() -> None:
    class Length(Encoder, SerializationSchema, DeserializationSchema):
        def encode(self, value: Any) -> bytes:
            return bytes([len(value)])

        serialize = encode

        def deserialize(self, message: bytes) -> int:
            return message[0]

        def get_produced_type(self) -> Any:
            return Types.INT()

    length = Length()
    assert length.for_type(Types.STRING()) is length
    assert length.deserialize(length.serialize("abc")) == 3
    for abstract in (Encoder, SerializationSchema, DeserializationSchema, BulkWriter, BulkWriterFactory):
        with pytest.raises(TypeError, match="abstract"):
            abstract()  # type: ignore[abstract]


def test_bulk_writers() -> None:
    class Joined(BulkWriter):
        def __init__(self, stream: BinaryIO) -> None:
            self.stream, self.parts = stream, list[str]()

        def add_element(self, element: Any) -> None:
            self.parts.append(element)

        def flush(self) -> None:
            pass

        def finish(self) -> None:
            self.stream.write("+".join(self.parts).encode())

    class Factory(RowDataBulkWriterFactory):
        def create(self, stream: BinaryIO) -> BulkWriter:
            return Joined(stream)

    stream = io.BytesIO()
    factory = Factory("ROW<a INT>")
    writer = factory.create(stream)
    writer.add_element("a")
    writer.add_element("b")
    writer.finish()
    assert stream.getvalue() == b"a+b"
    assert factory.get_row_type() == "ROW<a INT>"


def test_type_serializers() -> None:
    class Text(TypeSerializer[str]):
        def __init__(self, charset: str) -> None:
            self.charset = charset

        def serialize(self, element: str, stream: io.BytesIO) -> None:
            stream.write(element.encode(self.charset))

        def deserialize(self, stream: io.BytesIO) -> str:
            return stream.read().decode(self.charset)

    stream = io.BytesIO()
    Text("utf-8").serialize("é", stream)
    stream.seek(0)
    assert Text("utf-8").deserialize(stream) == "é"
    assert Text("utf-8") == Text("utf-8") != Text("ascii")
    assert hash(Text("utf-8")) == hash(Text("utf-8"))
    assert repr(Text("utf-8")) == "Text()"
    void = VoidNamespaceSerializer()
    void.serialize(b"", stream)
    assert void.deserialize(stream) == b""
