"""JSON: messages as rows, and files with one JSON value a line."""

from __future__ import annotations

import json
from typing import Any

from millrace.common.serialization import DeserializationSchema, Encoder, SerializationSchema
from millrace.common.typeinfo import TypeInformation, Types
from millrace.connectors.file_system.compression import is_compressed
from millrace.connectors.file_system.format import SplitRecords, StreamFormat
from millrace.connectors.file_system.lines import LargeLine, LineBlocks, RecordError, where
from millrace.connectors.file_system.split import FileSplit
from millrace.formats.json_schema import type_of_json_schema
from millrace.formats.json_values import json_decoder, json_formatter, value_parser
from millrace.formats.types import ANY, arrow_type
from millrace.util.skipped import record_skipped

__all__ = ["JsonLinesEncoder", "JsonLinesFormat", "JsonRowDeserializationSchema", "JsonRowSerializationSchema"]


class JsonRowDeserializationSchema(DeserializationSchema):
    """Reads a message as a JSON object and gives a ``Row`` of its fields; make one with ``builder()``.

        >>> row = Types.ROW_NAMED(["name", "amount"], [Types.STRING(), Types.INT()])
        >>> schema = JsonRowDeserializationSchema.builder().type_info(row).build()
        >>> schema.deserialize(b'{"name": "Ann", "amount": 1}')
        Row(name='Ann', amount=1)
    """

    def __init__(self, type_info: Any, fail_on_missing_field: bool, ignore_parse_errors: bool) -> None:
        self._type_info = type_info
        self._fail_on_missing_field = fail_on_missing_field
        self._ignore_parse_errors = ignore_parse_errors
        self._prepare()

    def _prepare(self) -> None:
        self._decode = json_decoder()
        self._parse = value_parser(arrow_type(self._type_info), self._fail_on_missing_field)

    def deserialize(self, message: bytes) -> Any:
        """The row; None for a malformed message with ``ignore_parse_errors``.

        :raises ValueError: for a malformed message.
        """
        try:
            return self._parse(self._decode(message.decode("utf-8")))
        except (ValueError, RecursionError) as error:
            if self._ignore_parse_errors:
                record_skipped()
                return None
            raise ValueError(f"Failed to deserialize JSON {message!r}: {error}") from error

    def get_produced_type(self) -> Any:
        """The type of the rows."""
        return self._type_info

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._type_info, self._fail_on_missing_field, self._ignore_parse_errors)

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Begins a schema; ``build()`` ends it."""
        return JsonRowDeserializationSchema.Builder()

    class Builder:
        """Builds a ``JsonRowDeserializationSchema``."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None
            self._fail_on_missing_field = False
            self._ignore_parse_errors = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """The row type; its names are the names of the JSON fields."""
            self._type_info = type_info
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """The row type as a JSON schema. :raises ValueError: for one that is not understood."""
            if json_schema is None:
                raise TypeError("The json_schema must not be None.")
            self._type_info = type_of_json_schema(json_schema)
            return self

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """A missing field is an error; by default it is None."""
            self._fail_on_missing_field = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Leave malformed messages out; by default they are errors."""
            self._ignore_parse_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """:raises TypeError: without a type. :raises ValueError: if both options about errors are set."""
            if self._type_info is None:
                raise TypeError("Typeinfo should be set.")
            if self._fail_on_missing_field and self._ignore_parse_errors:
                raise ValueError("JSON format doesn't support failOnMissingField and ignoreParseErrors both enabled.")
            return JsonRowDeserializationSchema(self._type_info, self._fail_on_missing_field, self._ignore_parse_errors)


class JsonRowSerializationSchema(SerializationSchema):
    """Writes a row as a JSON object; make one with ``builder()``.

        >>> row = Types.ROW_NAMED(["name", "amount"], [Types.STRING(), Types.INT()])
        >>> JsonRowSerializationSchema.builder().with_type_info(row).build().serialize(Row("Ann", 1))
        b'{"name":"Ann","amount":1}'
    """

    def __init__(self, type_info: Any) -> None:
        self._type_info = type_info
        self._format = json_formatter(arrow_type(type_info))

    def serialize(self, value: Any) -> bytes:
        """The object of a Row, tuple or dict. :raises ValueError: if its fields are not those of the type."""
        return self._format(value).encode("utf-8")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._type_info,)

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Begins a schema; ``build()`` ends it."""
        return JsonRowSerializationSchema.Builder()

    class Builder:
        """Builds a ``JsonRowSerializationSchema``."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """The row type; its names become the names of the JSON fields."""
            self._type_info = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            """:raises TypeError: without a type."""
            if self._type_info is None:
                raise TypeError("Typeinfo should be set.")
            return JsonRowSerializationSchema(self._type_info)


class JsonLinesEncoder(Encoder):
    """For ``FileSink.for_row_format``: every element as JSON on a line of its own.

        >>> JsonLinesEncoder().encode({"name": "Ann"})
        b'{"name":"Ann"}\\n'

    :param type_info: the elements' type; by default that of the stream. Undeclared values are written as they are: Rows
        as objects, dates as ISO text.
    """

    def __init__(self, type_info: TypeInformation | None = None) -> None:
        self._type_info = type_info
        self._format = json_formatter(ANY if type_info is None else arrow_type(type_info))

    def encode(self, value: Any) -> bytes:
        return f"{self._format(value)}\n".encode()

    def for_type(self, type_info: TypeInformation) -> Encoder:
        return JsonLinesEncoder(type_info) if self._type_info is None else self

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonLinesEncoder, (self._type_info,)


class JsonLinesFormat(StreamFormat[Any]):
    """Reads files with one JSON value a line; blank lines are skipped, large uncompressed files split.

        >>> import pathlib
        >>> _ = pathlib.Path("orders.json").write_text('{"id": 1}\\n{"id": 2}\\n')
        >>> source = FileSource.for_record_stream_format(JsonLinesFormat(), "orders.json").build()
        >>> list(env.from_source(source, WatermarkStrategy.no_watermarks(), "json").execute_and_collect())
        [{'id': 1}, {'id': 2}]

    :param type_info: with a row type elements are Rows of it; without, what the json module gives (mostly dicts).
    :param ignore_parse_errors: count and skip malformed lines, which are otherwise a ``RecordError`` (a ValueError)
        that names file and line.
    """

    def __init__(self, type_info: TypeInformation | None = None, ignore_parse_errors: bool = False) -> None:
        self._type_info = type_info
        self._ignore_parse_errors = ignore_parse_errors

    def is_splittable(self, path: str) -> bool:
        return not is_compressed(path)

    def open(self, split: FileSplit) -> SplitRecords[Any]:
        return _JsonLines(split, self._type_info, self._ignore_parse_errors)

    def get_produced_type(self) -> Any:
        return self._type_info or Types.PICKLED_BYTE_ARRAY()


class _JsonLines(SplitRecords[Any]):
    def __init__(self, split: FileSplit, type_info: TypeInformation | None, ignore_parse_errors: bool) -> None:
        self._split = split
        self._ignore = ignore_parse_errors
        self._parse = None if type_info is None else value_parser(arrow_type(type_info))
        self._decode = json.JSONDecoder().decode if type_info is None else json_decoder()
        self._blocks = LineBlocks(split, left_out=self._leave_out if ignore_parse_errors else None)

    def _leave_out(self, line: LargeLine) -> None:
        self.parse_errors += 1

    def read_batch(self) -> list[Any] | None:
        block = self._blocks.next_block()
        if block is None:
            return None
        start = self._blocks.position - len(block)
        lines = block.split(b"\n")
        decode, parse = self._decode, self._parse
        try:
            values = [decode(line.decode("utf-8")) for line in lines if line and not line.isspace()]
            return values if parse is None else [parse(value) for value in values]
        except (ValueError, RecursionError):
            return self._one_by_one(lines, start)

    def _one_by_one(self, lines: list[bytes], offset: int) -> list[Any]:
        values = []
        for line in lines:
            if line and not line.isspace():
                try:
                    value = self._decode(line.decode("utf-8"))
                    values.append(value if self._parse is None else self._parse(value))
                except (ValueError, RecursionError) as error:
                    if not self._ignore:
                        raise RecordError(f"{where(self._split, offset)}: {error}: {line[:200]!r}") from error
                    self.parse_errors += 1
            offset += len(line) + 1
        return values

    def position(self) -> int:
        return self._blocks.position

    def close(self) -> None:
        self._blocks.close()
