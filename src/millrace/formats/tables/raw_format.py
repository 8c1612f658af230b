"""``raw``: the bytes of one column, without anything around them."""

from __future__ import annotations

import codecs

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.tables.format_options import Options, malformed
from millrace.relational.functions.text_values import decoded_text, encoded_text
from millrace.relational.precision import canonical
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.type_table import Family, arrow_type, family_of
from millrace.relational.types import DataType

CHARSET = "charset"
ENDIANNESS = "endianness"
BIG, LITTLE = "big-endian", "little-endian"

_NUMBERS = (Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE)


class RawFormatFactory(FormatFactory):
    """NULL is a message without value, both ways."""

    identifier = "raw"
    optional = (CHARSET, ENDIANNESS)

    def decoding(self, table: FormatContext) -> DecodingFormat:
        kind, charset, number = _form(Options(self.identifier, table))
        if number is not None:
            return RawNumbers(table.table, kind, number)
        return RawTexts(charset if family_of(kind) is Family.TEXT else None)

    def encoding(self, table: FormatContext) -> EncodingFormat:
        kind, charset, number = _form(Options(self.identifier, table))
        return RawEncoding(charset if family_of(kind) is Family.TEXT else None, number)


def is_utf8(table: FormatContext) -> bool:
    """Whether the values are text in UTF-8."""
    kind, charset, _ = _form(Options(RawFormatFactory.identifier, table))
    return family_of(kind) is Family.TEXT and charset == "utf-8"


def _form(options: Options) -> tuple[DataType, str, str | None]:
    """The type of the column, the charset, the numpy type of numbers (None: text or bytes)."""
    columns = options.table.columns
    if len(columns) != 1:
        raise options.problem(f"format 'raw' has exactly one physical column, but the table has {len(columns)}")
    kind = columns[0].type
    endianness = options.one_of(ENDIANNESS, (BIG, LITTLE), BIG)
    charset = options.text(CHARSET) or "UTF-8"
    try:
        charset = codecs.lookup(charset).name
    except LookupError:
        raise options.wrong(CHARSET, charset, "a charset, e.g. UTF-8, UTF-16 or ISO-8859-1") from None
    family = family_of(kind)
    if family not in (*_NUMBERS, Family.TEXT, Family.BYTES):
        raise options.problem(
            f"format 'raw', column '{columns[0].name}': values of {kind} have no bytes in it; use BYTES"
        )
    if family not in _NUMBERS:
        return kind, charset, None
    number = "u1" if family is Family.BOOLEAN else np.dtype(arrow_type(kind).to_pandas_dtype()).str[1:]
    return kind, charset, ("<" if endianness == LITTLE else ">") + number


class RawTexts(DecodingFormat):
    """Text and bytes. What is no text in the charset becomes U+FFFD, as in Java.

    :param charset: None for bytes.
    """

    def __init__(self, charset: str | None) -> None:
        self._charset = charset

    def decode(self, messages: pa.Array) -> Decoded:
        return Decoded(Rows(record_batch([self._column(messages.cast(pa.binary()))], len(messages))), None)

    def _column(self, messages: pa.Array) -> pa.Array:
        if self._charset is None:
            return messages
        if self._charset == "utf-8":
            try:
                return messages.cast(pa.string())
            except pa.ArrowInvalid:
                pass
        charset = self._charset
        texts = [None if each is None else decoded_text(each, charset) for each in messages.to_pylist()]
        return pa.array(texts, pa.string())


class RawNumbers(DecodingFormat):
    """:param number: a type of numpy, with its byte order."""

    def __init__(self, table: str, kind: DataType, number: str) -> None:
        self._table = table
        self._kind = kind
        self._number = np.dtype(number)

    def decode(self, messages: pa.Array) -> Decoded:
        width = self._number.itemsize
        wrong = pc.not_equal(pc.binary_length(messages), width).fill_null(False)
        if pc.any(wrong).as_py():
            at = wrong.index(True).as_py()
            message = messages[at].as_py()
            reason = f"{self._kind} has {width} bytes, but there are {len(message)}"
            raise malformed(self._table, at, message, reason)
        whole = messages.cast(pa.binary()).fill_null(bytes(width))
        data = b"".join(whole.to_pylist())
        values = np.frombuffer(data, self._number).astype(self._number.newbyteorder("="))
        if family_of(self._kind) is Family.BOOLEAN:
            values = values != 0
        mask = np.asarray(messages.is_null()) if messages.null_count else None
        column = canonical(pa.array(values, mask=mask), self._kind)
        return Decoded(Rows(record_batch([column], len(messages))), None)


class RawEncoding(EncodingFormat):
    """Of a NULL the message is NULL.

    :param charset: of text; None for bytes and numbers.
    :param number: a type of numpy, with its byte order; None for text and bytes.
    """

    def __init__(self, charset: str | None, number: str | None) -> None:
        self._charset = charset
        self._number = number

    def encode(self, rows: Rows) -> pa.Array:
        column = rows.columns[0]
        if self._number is not None:
            kind = np.dtype(self._number)
            plain = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
            data = plain.fill_null(0).to_numpy(zero_copy_only=False).astype(kind).tobytes()
            fixed = pa.Array.from_buffers(pa.binary(kind.itemsize), len(column), [None, pa.py_buffer(data)])
            return pc.if_else(column.is_valid(), fixed.cast(pa.binary()), None)
        if self._charset in (None, "utf-8"):
            return column.cast(pa.binary())
        charset = str(self._charset)
        texts = [None if each is None else encoded_text(each, charset) for each in column.to_pylist()]
        return pa.array(texts, pa.binary())
