"""``protobuf``: a row is a message of a class that protoc has generated. Needs protobuf."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from millrace.formats.tables.options import IGNORE, Options
from millrace.formats.tables.problems import NoForm, malformed
from millrace.formats.tables.protobuf.fields import Field, fields_of
from millrace.relational.arrow import arrow_type
from millrace.relational.canonical import canonical
from millrace.relational.formats import Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.nodes import Schema
from millrace.relational.rows import Rows, record_batch
from millrace.relational.values import plain_values
from millrace.util.plugin_class import load_class

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
