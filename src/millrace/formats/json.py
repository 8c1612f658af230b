"""JSON: messages as rows, and files with one JSON value a line. Values come from what the json module gives, by type; a
JSON schema can be the type.
"""

from __future__ import annotations

import base64
import codecs
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from millrace.common.serialization import DeserializationSchema, Encoder, SerializationSchema
from millrace.common.text import double_text, float_text
from millrace.common.time import Instant
from millrace.common.typeinfo import TypeInformation, Types
from millrace.common.types import Row, row_of
from millrace.connectors.file_system.file_format import LargeLine, LineBlocks, SplitRecords, StreamFormat, where
from millrace.connectors.file_system.file_stream import FileSplit, RecordError, is_compressed
from millrace.formats.arrow_rows import ANY, BIG_INT, arrow_type, values_of_row
from millrace.formats.json_values import scalar_text, whole_number
from millrace.formats.text_columns import (
    BLANKS,
    base64_value,
    exact_decimal,
    number_parser,
    parse_any_whole,
    single,
    unsigned,
)
from millrace.formats.text_values import (
    format_instant,
    format_rfc_time,
    format_rfc_timestamp,
    parse_boolean,
    parse_date,
    parse_instant,
    parse_time,
    parse_timestamp,
)
from millrace.relational.types import DoubleType
from millrace.util.skipped import record_skipped

__all__ = ["JsonLinesEncoder", "JsonLinesFormat", "JsonRowDeserializationSchema", "JsonRowSerializationSchema"]


def type_of_json_schema(text: str) -> TypeInformation:
    """The type that a JSON schema describes, as Flink maps it: integer to BIG_INT, number to BIG_DEC, ...

    :raises ValueError: for text that is not a JSON schema of an object, or uses what has no type (unions, ...).
    """
    try:
        root = json.loads(text)
    except ValueError as error:
        raise ValueError(f"not a JSON schema: {error}") from error
    if not isinstance(root, dict):
        raise ValueError(f"not a JSON schema: {text}")
    return _convert(root, root)


def _convert(node: dict[str, Any], root: dict[str, Any]) -> TypeInformation:
    if "$ref" in node:
        return _convert(_resolve(node["$ref"], root), root)
    kind = node.get("type")
    if isinstance(kind, list):  # ["string", "null"]: fields may be None anyway
        kinds = [name for name in kind if name != "null"]
        if len(kinds) != 1:
            raise ValueError(f"a JSON schema's union of types has no type here: {kind}")
        kind = kinds[0]
    if kind == "object":
        fields = node.get("properties", {})
        return Types.ROW_NAMED(list(fields), [_convert(field, root) for field in fields.values()])
    if kind == "array":
        return _array(node, root)
    if kind == "string":
        return _string(node)
    simple = {"boolean": Types.BOOLEAN, "integer": Types.BIG_INT, "number": Types.BIG_DEC}
    if kind not in simple:
        raise ValueError(f"a JSON schema's type {kind!r} has no type here: {node}")
    return simple[kind]()


def _array(node: dict[str, Any], root: dict[str, Any]) -> TypeInformation:
    items = node.get("items")
    if isinstance(items, dict):
        return Types.OBJECT_ARRAY(_convert(items, root))
    raise ValueError(f"an array in a JSON schema needs one schema for its items: {node}")


def _string(node: dict[str, Any]) -> TypeInformation:
    formats = {"date": Types.SQL_DATE, "time": Types.SQL_TIME, "date-time": Types.SQL_TIMESTAMP}
    if node.get("format") in formats:
        return formats[node["format"]]()
    if node.get("contentEncoding") == "base64":
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    return Types.STRING()


def _resolve(ref: str, root: dict[str, Any]) -> dict[str, Any]:
    node: Any = root
    for step in ref.removeprefix("#").strip("/").split("/"):
        node = node.get(step) if isinstance(node, dict) and step else node
    if not ref.startswith("#") or not isinstance(node, dict):
        raise ValueError(f"a JSON schema's reference leads nowhere: {ref}")
    return node


_Parse = Callable[[Any], Any]


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def json_decoder() -> Callable[[str], Any]:
    """The standard decoder, but numbers with a fraction stay exact (``Decimal``), and NaN is refused."""
    return json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse).decode


@dataclass(frozen=True)
class _Values:
    """Makes functions from decoded JSON values to values of Arrow types, which raise ValueError for what does not fit.

    :ivar strict: a field that is missing is an error.
    :ivar lenient: what does not fit is None.
    """

    strict: bool = False
    lenient: bool = False

    def nullable(self, type_: Any) -> _Parse:
        """As ``of``, and None stays None. :raises TypeError: for a type that JSON has no form for."""
        parse = self.of(type_)
        if not self.lenient:
            return lambda value: None if value is None else parse(value)

        def parse_leniently(value: Any) -> Any:
            try:
                return None if value is None else parse(value)
            except ValueError:
                return None

        return parse_leniently

    def of(self, type_: Any) -> _Parse:
        is_ = pa.types
        if is_.is_list(type_):
            element = self.nullable(type_.value_type)
            return lambda value: [element(part) for part in _checked(value, list)]
        if is_.is_map(type_):
            key, item = self.nullable(type_.key_type), self.nullable(type_.item_type)
            return lambda value: {key(k): item(v) for k, v in _checked(value, dict).items()}
        if is_.is_struct(type_):
            return self._row_parser(type_)
        return _simple_parser(type_)

    def _row_parser(self, type_: Any) -> Callable[[Any], Row]:
        names = [field.name for field in type_]
        fields = [(field.name, self.nullable(field.type)) for field in type_]

        def parse_row(value: Any) -> Row:
            row = []
            for name, parse in fields:
                part = _checked(value, dict).get(name)
                if part is not None:
                    try:
                        part = parse(part)
                    except ValueError as error:
                        raise ValueError(f"field {name!r}: {error}") from error
                elif self.strict and name not in value:
                    raise ValueError(f"Could not find field with name '{name}'.")
                row.append(part)
            return row_of(row, names)

        return parse_row


def _simple_parser(type_: Any) -> _Parse:
    is_ = pa.types
    if type_ == ANY:
        return _plain
    if is_.is_string(type_):
        return lambda value: value if isinstance(value, str) else _to_json(_plain(value))
    if is_.is_boolean(type_):
        return _parse_boolean
    if type_ == BIG_INT:
        return lambda value: parse_any_whole(scalar_text(value))
    if is_.is_unsigned_integer(type_):
        return lambda value: unsigned(scalar_text(value), type_.bit_width)
    if is_.is_integer(type_):
        return lambda value: whole_number(value, type_.bit_width)
    if is_.is_float64(type_):
        return _parse_float
    if is_.is_floating(type_):
        return lambda value: single(_parse_float(value))
    if is_.is_decimal(type_):
        return lambda value: exact_decimal(scalar_text(value).strip(BLANKS))
    parse_text = _text_parser(type_)
    return lambda value: parse_text(_checked(value, str))


def _text_parser(type_: Any) -> Callable[[str], Any]:
    is_ = pa.types
    if is_.is_date(type_):
        return parse_date
    if is_.is_time(type_):
        return parse_time
    if is_.is_timestamp(type_):
        return parse_timestamp if type_.tz is None else parse_instant
    if is_.is_binary(type_):
        return base64_value
    raise TypeError(f"JSON has no form for values of {type_}")


def _checked(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"a JSON {_JSON_NAMES[kind]} is needed, got {value!r}")
    return value


_JSON_NAMES: dict[Any, str] = {dict: "object", list: "array", str: "string"}


def _plain(value: Any) -> Any:
    """The decoded value with floats instead of decimals."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return value


def _parse_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return parse_boolean(value)
    raise ValueError(f"not a boolean: {value!r}")


_read_double = number_parser(DoubleType())


def _parse_float(value: Any) -> float:
    if isinstance(value, (Decimal, int)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.copysign(math.inf, value)
    found: float = _read_double(scalar_text(value))
    return found


def json_formatter(type_: Any) -> Callable[[Any], str]:
    """From a value of an Arrow type to JSON text, without spaces and without escapes for non-ASCII characters."""
    format_ = _formatter(type_)
    return lambda value: "null" if value is None else format_(value)


def _formatter(type_: Any) -> Callable[[Any], str]:
    is_ = pa.types
    if is_.is_string(type_) or type_ == ANY:
        return _to_json
    if is_.is_floating(type_):
        text = double_text if is_.is_float64(type_) else float_text
        return lambda value: _float_json(float(value), text)
    if is_.is_boolean(type_):
        return lambda value: "true" if value else "false"
    if is_.is_integer(type_) or is_.is_decimal(type_):
        return str
    if is_.is_date(type_):
        return lambda value: f'"{value.isoformat()}"'
    if is_.is_time(type_):
        return lambda value: f'"{format_rfc_time(value)}"'
    if is_.is_timestamp(type_):
        format_ = format_rfc_timestamp if type_.tz is None else format_instant
        return lambda value: f'"{format_(value)}"'
    if is_.is_binary(type_):
        return lambda value: f'"{base64.b64encode(value).decode("ascii")}"'
    if is_.is_list(type_):
        element = json_formatter(type_.value_type)
        return lambda value: f"[{','.join([element(part) for part in value])}]"
    if is_.is_map(type_):
        item = json_formatter(type_.item_type)
        return lambda value: f"{{{','.join([f'{_to_json(str(k))}:{item(v)}' for k, v in value.items()])}}}"
    if is_.is_struct(type_):
        names = [field.name for field in type_]
        fields = [(_to_json(field.name), json_formatter(field.type)) for field in type_]
        return lambda value: (
            "{"
            + ",".join(
                [f"{name}:{f(part)}" for (name, f), part in zip(fields, values_of_row(value, names), strict=True)]
            )
            + "}"
        )
    raise TypeError(f"JSON has no form for values of {type_}")


def _float_json(value: float, text: Callable[[float], str]) -> str:
    """As Java's library writes it: JSON has no numbers for NaN and the infinite."""
    return text(value) if math.isfinite(value) else f'"{text(value)}"'


def _undeclared(value: Any) -> Any:
    """What the json module does not know."""
    if isinstance(value, Row):
        try:
            return value.as_dict()
        except TypeError:
            return list(value)
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Instant):
        return format_instant(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError(f"JSON has no form for {type(value).__name__} {value!r}")


_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_undeclared).encode


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
        values = _Values(self._fail_on_missing_field, self._ignore_parse_errors)
        self._parse = values.of(arrow_type(self._type_info))

    def deserialize(self, message: bytes) -> Any:
        """The row; with ``ignore_parse_errors`` None for a malformed message, and for a field that does not fit.

        :raises ValueError: for a malformed message.
        """
        try:
            value = self._decode(message.removeprefix(codecs.BOM_UTF8).decode("utf-8"))
            return None if value is None else self._parse(value)
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
            """Leave malformed messages out, and make fields that do not fit None; by default they are errors."""
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
        self._parse = None if type_info is None else _Values().nullable(arrow_type(type_info))
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
