"""``protobuf``: a row is a message of a class that protoc has generated, with fields that fit the columns. Needs
protobuf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.formats.tables.format_options import IGNORE, Options, malformed
from millrace.formats.text_columns import NoForm
from millrace.relational import types as t
from millrace.relational.nodes import Schema
from millrace.relational.precision import canonical
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.type_table import Family, arrow_type, family_of, parts_of
from millrace.relational.types import DataType
from millrace.relational.values import plain_values
from millrace.util.names import load_class

_KINDS = {
    "BOOL": (Family.BOOLEAN,),
    "STRING": (Family.TEXT,),
    "BYTES": (Family.BYTES,),
    "INT32": ("INT",),
    "SINT32": ("INT",),
    "SFIXED32": ("INT",),
    "UINT32": ("INT", "BIGINT"),
    "FIXED32": ("INT", "BIGINT"),
    "INT64": ("BIGINT",),
    "SINT64": ("BIGINT",),
    "SFIXED64": ("BIGINT",),
    "UINT64": ("BIGINT",),
    "FIXED64": ("BIGINT",),
    "FLOAT": ("FLOAT",),
    "DOUBLE": ("DOUBLE",),
    "ENUM": (Family.TEXT, "INT"),
}
_SIGNED = {"UINT32": 32, "FIXED32": 32, "UINT64": 64, "FIXED64": 64}
"""kinds without a sign: Java, and so a table, takes their bits for a number with one"""

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class Field:
    """
    :ivar read: gives the column's value of a message.
    :ivar write: sets a value that is not NULL.
    """

    name: str
    type: DataType
    read: Convert
    write: Callable[[Any, Any], None]


def fields_of(descriptor: Any, columns: Sequence[tuple[str, DataType]], defaults: bool, null_text: str) -> list[Field]:
    """Fields for columns of the same names.

    :raises NoForm: a column without field, or of a type that the field does not have.
    """
    found = []
    for name, kind in columns:
        field = descriptor.fields_by_name.get(name)
        if field is None:
            known = ", ".join(descriptor.fields_by_name) or "none"
            raise NoForm(f"message {descriptor.full_name} has no field '{name}'; it has {known}")
        try:
            found.append(_field(field, name, kind, defaults, null_text))
        except NoForm as error:
            raise NoForm(f"column '{name}': {error}") from error
    return found


def _kind(field: Any) -> str:
    names = {getattr(field, each): each[5:] for each in dir(type(field)) if each.startswith("TYPE_")}
    return str(names[field.type])


def _repeated(field: Any) -> bool:
    told = getattr(field, "is_repeated", None)
    return bool(told) if told is not None else bool(field.label == field.LABEL_REPEATED)


def _field(field: Any, name: str, kind: DataType, defaults: bool, null_text: str) -> Field:
    if _repeated(field):
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            return _map(field, name, kind, defaults, null_text)
        return _list(field, name, kind, defaults, null_text)
    one = _One(field, kind, defaults, null_text)

    def read(message: Any) -> Any:
        # Where a message does not tell whether a field is set, it has its default.
        if field.has_presence and not message.HasField(name) and (one.is_message or not defaults):
            return None
        return one.read(getattr(message, name))

    def write(message: Any, value: Any) -> None:
        if one.is_message:
            getattr(message, name).SetInParent()
            one.fill(getattr(message, name), value)
        else:
            setattr(message, name, one.write(value))

    return Field(name, kind, read, write)


def _list(field: Any, name: str, kind: DataType, defaults: bool, null_text: str) -> Field:
    if not isinstance(kind, t.ArrayType):
        raise NoForm(f"the field is repeated, so its type is ARRAY, not {kind}")
    one = _One(field, parts_of(kind)[0], defaults, null_text)

    def write(message: Any, value: Any) -> None:
        into = getattr(message, name)
        for each in value:
            if one.is_message:
                one.fill(into.add(), each or {})
            else:
                into.append(one.write(each))

    return Field(name, kind, lambda message: [one.read(each) for each in getattr(message, name)], write)


def _map(field: Any, name: str, kind: DataType, defaults: bool, null_text: str) -> Field:
    if not isinstance(kind, t.MapType):
        raise NoForm(f"the field is a map, so its type is MAP, not {kind}")
    entry = field.message_type.fields_by_name
    of_key, of_value = parts_of(kind)
    key = _One(entry["key"], of_key, defaults, null_text)
    value = _One(entry["value"], of_value, defaults, null_text)

    def read(message: Any) -> Any:
        return [(key.read(each), value.read(part)) for each, part in getattr(message, name).items()]

    def write(message: Any, pairs: Any) -> None:
        into = getattr(message, name)
        for each, part in pairs:
            if value.is_message:
                value.fill(into[key.write(each)], part or {})
            else:
                into[key.write(each)] = value.write(part)

    return Field(name, kind, read, write)


class _One:
    """A value that is not repeated."""

    def __init__(self, field: Any, kind: DataType, defaults: bool, null_text: str) -> None:
        self.is_message = field.message_type is not None
        self._kind = _kind(field)
        self._null_text = null_text
        self._type = kind
        self._enum = field.enum_type
        self._fields: list[Field] = []
        if self.is_message:
            if not isinstance(kind, t.RowType):
                raise NoForm(f"the field is a message, {field.message_type.full_name}, so its type is ROW, not {kind}")
            columns = list(zip(kind.names, kind.field_types()))
            self._fields = fields_of(field.message_type, columns, defaults, null_text)
            return
        wanted = _KINDS.get(self._kind, ())
        name = str(kind).split("(")[0].split()[0]
        if family_of(kind) not in wanted and name not in wanted:
            raise NoForm(f"a field of kind {self._kind.lower()} cannot be {kind}")
        self._default = "" if family_of(kind) is Family.TEXT else field.default_value

    def read(self, value: Any) -> Any:
        if self.is_message:
            return {each.name: each.read(value) for each in self._fields}
        if self._enum is not None and family_of(self._type) is Family.TEXT:
            known = self._enum.values_by_number.get(value)
            return str(value) if known is None else known.name
        bits = _SIGNED.get(self._kind)
        if bits is not None:
            if bits == 32 and str(self._type).startswith("BIGINT"):
                return value
            return value - (1 << bits) if value >= 1 << (bits - 1) else value
        return value

    def write(self, value: Any) -> Any:
        """Messages have no NULL in lists and maps."""
        if value is None:
            value = self._null_text if family_of(self._type) is Family.TEXT else self._default
        if self._enum is not None and isinstance(value, str):
            known = self._enum.values_by_name.get(value)
            if known is None:
                raise ValueError(f"{self._enum.full_name} has no value {value!r}")
            return known.number
        bits = _SIGNED.get(self._kind)
        return value % (1 << bits) if bits is not None and value < 0 else value

    def fill(self, message: Any, values: Any) -> None:
        for each in self._fields:
            if values.get(each.name) is not None:
                each.write(message, values[each.name])


CLASS, DEFAULTS, NULL_TEXT = "message-class-name", "read-default-values", "write-null-string-literal"


class ProtobufFormatFactory(FormatFactory):
    """``message-class-name``: the class in Python, ``orders_pb2:Order``; the rest are Flink's."""

    identifier = "protobuf"
    required = (CLASS,)
    optional = (IGNORE, DEFAULTS, NULL_TEXT)

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        message = Message(table.options[CLASS], table.columns, options.flag(DEFAULTS), "")
        _check(options, message)
        return ProtobufDecoding(table.table, message, options.flag(IGNORE))

    def encoding(self, table: FormatContext) -> EncodingFormat:
        options = Options(self.identifier, table)
        message = Message(table.options[CLASS], table.columns, True, table.options.get(NULL_TEXT, ""))
        _check(options, message)
        return ProtobufEncoding(table.table, message)


def _check(options: Options, message: Message) -> None:
    try:
        message.fields()
    except ImportError:
        raise options.problem("format 'protobuf' needs protobuf: pip install 'millrace-streaming[protobuf]'") from None
    except NoForm as error:
        raise options.problem(f"format 'protobuf', {error}") from error
    except (ValueError, TypeError) as error:
        raise options.problem(str(error)) from error


class Message:
    """A class of messages, by its name: it is looked up again where messages are read or written.

    :param defaults: whether a field that a message does not set has its default, and not NULL.
    :param null_text: written for NULL in lists and maps of texts.
    """

    def __init__(self, name: str, columns: Schema, defaults: bool, null_text: str) -> None:
        self.name, self.columns, self.defaults, self.null_text = name, columns, defaults, null_text
        self._found: tuple[Any, list[Field]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_found": None}

    def fields(self) -> tuple[Any, list[Field]]:
        """The class, and how each column is read and written.

        :raises NoForm: a column that the message does not have, or has with another type.
        """
        if self._found is None:
            from google.protobuf.message import Message as Base

            cls: Any = load_class(self.name, Base, f"'protobuf.{CLASS}'")
            columns = [(column.name, column.type) for column in self.columns]
            self._found = cls, fields_of(cls.DESCRIPTOR, columns, self.defaults, self.null_text)
        return self._found


class ProtobufDecoding(DecodingFormat):
    """:param lenient: messages that are malformed are left out and counted."""

    def __init__(self, table: str, message: Message, lenient: bool) -> None:
        self._table, self._message, self._lenient = table, message, lenient

    def decode(self, messages: pa.Array) -> Decoded:
        from google.protobuf.message import DecodeError

        cls, fields = self._message.fields()
        values: list[list[Any]] = [[] for _ in fields]
        numbers, skipped = [], 0
        for number, content in enumerate(messages.to_pylist()):
            if content is None:
                continue
            try:
                parsed = cls.FromString(content)
            except DecodeError as error:
                if not self._lenient:
                    raise malformed(self._table, number, content, error) from error
                skipped += 1
                continue
            for field, column in zip(fields, values):
                column.append(field.read(parsed))
            numbers.append(number)
        columns = [canonical(pa.array(each, arrow_type(field.type)), field.type) for each, field in zip(values, fields)]
        return Decoded(Rows(record_batch(columns, len(numbers))), np.array(numbers, np.int64), skipped)


class ProtobufEncoding(EncodingFormat):
    def __init__(self, table: str, message: Message) -> None:
        self._table, self._message = table, message

    def encode(self, rows: Rows) -> pa.Array:
        cls, fields = self._message.fields()
        made = [cls() for _ in range(len(rows))]
        for field, array in zip(fields, rows.columns):
            for message, value in zip(made, plain_values(array)):
                if value is not None:
                    try:
                        field.write(message, value)
                    except (ValueError, TypeError) as error:
                        raise ValueError(
                            f"table {self._table}: column '{field.name}': {value!r} has no form in the message: {error}"
                        ) from error
        return pa.array([each.SerializeToString() for each in made], pa.binary())
