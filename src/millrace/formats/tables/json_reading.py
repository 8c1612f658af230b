"""Reads JSON messages into columns: all at once where pyarrow reads exactly as Flink does, else one by one, which reads
everything that Flink's JSON format reads.

Read one by one are arrays of rows, numbers that are in quotes in some messages, malformed messages, and the like.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from millrace.formats import text_columns
from millrace.formats.json_values import compact, scalar_text, whole_number
from millrace.formats.tables.format_options import LENIENCE, malformed
from millrace.formats.tables.message_reading import Numbers, Piece, in_pieces, join_pieces
from millrace.formats.text_columns import (
    Doubtful,
    NoForm,
    TimeForm,
    base64_value,
    is_few,
    number_parser,
    relisted,
    values_of_texts,
    whole_numbers,
)
from millrace.formats.text_values import parse_boolean
from millrace.relational import types as t
from millrace.relational.functions.json_text import storable
from millrace.relational.type_table import ByFamily, Family, arrow_type, family_of, parts_of
from millrace.relational.types import DataType

Parse = Callable[[Any], Any]
"""Converts a value of the json module to Arrow's; raises ValueError for a value that does not fit."""
_JSON_NAMES: dict[type, str] = {dict: "object", list: "array"}


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_decode = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse, strict=False).decode


def decoded(message: bytes) -> Any:
    """What a message says; numbers with a fraction are ``Decimal``.

    :raises ValueError: it is not JSON.
    """
    try:
        return _decode(message.removeprefix(codecs.BOM_UTF8).decode("utf-8"))
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error


class BadField(ValueError):
    """A row of which a field does not fit."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(reason)
        self.row = row


class JsonValues:
    """Reads what ``decoded`` gives as rows.

    :param strict: a missing field is an error.
    :param lenient: what does not fit is NULL.
    :raises NoForm: for a type of a column.
    """

    def __init__(self, columns: Sequence[tuple[str, DataType]], form: TimeForm, strict: bool, lenient: bool) -> None:
        self._form = form
        self._strict = strict
        self._lenient = lenient
        self._columns = list(columns)
        self._fields = [(name, self._nullable(kind)) for name, kind in columns]

    def columns(self, rows: list[dict[str, Any]]) -> list[pa.Array]:
        """The columns of objects.

        :raises BadField: for the first field that does not fit, column by column.
        """
        return [
            self._column([row.get(name) for row in rows], rows, name, kind, parse)
            for (name, kind), (_, parse) in zip(self._columns, self._fields)
        ]

    def _column(
        self, values: list[Any], rows: list[dict[str, Any]], name: str, kind: DataType, parse: Parse
    ) -> pa.Array:
        if self._strict and None in values:
            missing = [at for at, row in enumerate(rows) if name not in row]
            if missing:
                raise BadField(missing[0], f"there is no field '{name}'")
        try:
            return _at_once(values, kind, self._form)
        except (pa.ArrowException, ValueError, OverflowError):
            parsed = []
            for at, value in enumerate(values):
                try:
                    parsed.append(parse(value))
                except ValueError as error:
                    raise BadField(at, f"field '{name}': {error}") from error
            return pa.array(parsed, arrow_type(kind))

    def row(self, value: Any) -> list[Any]:
        """The fields of an object, in the order of the columns."""
        members = _checked(value, dict)
        row = []
        for name, parse in self._fields:
            part = members.get(name)
            if part is None and self._strict and name not in members:
                raise ValueError(f"there is no field '{name}'")
            try:
                row.append(parse(part))
            except ValueError as error:
                raise ValueError(f"field '{name}': {error}") from error
        return row

    def _nullable(self, kind: DataType) -> Parse:
        parse = self._parser(kind)
        if not self._lenient:
            return lambda value: None if value is None else parse(value)

        def parse_leniently(value: Any) -> Any:
            try:
                return None if value is None else parse(value)
            except (ValueError, OverflowError):
                return None

        return parse_leniently

    def _parser(self, kind: DataType) -> Parse:
        make = _PARSERS.get(family_of(kind))
        if make is None:
            raise NoForm(f"values of {kind} have no form in JSON")
        found: Parse = make(self, kind)
        return found

    def _array_parser(self, kind: DataType) -> Parse:
        element = self._nullable(*parts_of(kind))
        return lambda value: [element(part) for part in _checked(value, list)]

    def _row_parser(self, kind: t.RowType) -> Parse:
        inner = JsonValues(list(zip(kind.names, kind.field_types())), self._form, self._strict, self._lenient)
        names = kind.names
        return lambda value: dict(zip(names, inner.row(value)))

    def _map_parser(self, kind: DataType) -> Parse:
        key, item_type = parts_of(kind)
        if family_of(key) is not Family.TEXT:
            raise NoForm(f"keys in JSON are text, so that {kind} has no form in it")
        item = self._nullable(item_type)
        return lambda value: [(storable(name), item(part)) for name, part in _checked(value, dict).items()]

    def _timestamp_parser(self, kind: t.TimestampType) -> Parse:
        return lambda value: text_columns.parse_timestamp(_text(value), self._form, kind.precision)

    def _instant_parser(self, kind: t.LocalZonedTimestampType) -> Parse:
        return lambda value: text_columns.parse_instant(_text(value), self._form, kind.precision)


def _number_parser(json: JsonValues, kind: DataType) -> Parse:
    read = number_parser(kind)
    return lambda value: read(scalar_text(value))


_PARSERS: ByFamily = {
    Family.TEXT: lambda json, kind: _text,
    Family.BOOLEAN: lambda json, kind: lambda value: value if isinstance(value, bool) else parse_boolean(_text(value)),
    Family.INTEGER: lambda json, kind: lambda value: whole_number(value, kind.bits),
    Family.MONTHS: lambda json, kind: lambda value: whole_number(value, 32),
    Family.SPAN: lambda json, kind: lambda value: whole_number(value, 64) * 1000,
    **dict.fromkeys((Family.APPROXIMATE, Family.DECIMAL), _number_parser),
    Family.ARRAY: JsonValues._array_parser,
    Family.MAP: JsonValues._map_parser,
    Family.ROW: JsonValues._row_parser,
    Family.DATE: lambda json, kind: lambda value: text_columns.parse_date(_text(value)),
    Family.TIME: lambda json, kind: lambda value: text_columns.parse_clock(_text(value), kind.precision),
    Family.TIMESTAMP: JsonValues._timestamp_parser,
    Family.INSTANT: JsonValues._instant_parser,
    Family.BYTES: lambda json, kind: lambda value: base64_value(_quoted(value)),
    Family.NULL: lambda json, kind: lambda value: None,
}
_NOT_AS_TEXT = {Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL}


def _at_once(values: list[Any], kind: DataType, form: TimeForm) -> pa.Array:
    """Values of the kind of JSON that is usual for the type; raises for others."""
    found = set(map(type, values)) - {type(None)}
    family = family_of(kind)
    if family is Family.APPROXIMATE and found <= {int, Decimal}:
        return pa.array([None if value is None else float(value) for value in values], arrow_type(kind))
    if (family is Family.INTEGER and found <= {int}) or (family is Family.BOOLEAN and found <= {bool}):
        return pa.array(values, arrow_type(kind))
    if found <= {str} and family not in _NOT_AS_TEXT:
        return values_of_texts(pa.array(values, pa.string()), kind, form)
    raise Doubtful


def _checked(value: Any, wanted: type) -> Any:
    if not isinstance(value, wanted):
        raise ValueError(f"a JSON {_JSON_NAMES[wanted]} is needed, not {compact(value)[:100]}")
    return value


def _quoted(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a JSON string is needed, not {compact(value)[:100]}")
    return value


def _text(value: Any) -> str:
    """A string unchanged, other JSON values as JSON text."""
    return storable(value) if isinstance(value, str) else compact(value)


_NUMBER = "#millrace.number"
"""name of a member that is put in front of each message: the number of the message"""
_SAMPLES = 5
"""messages that tell which numbers are in quotes"""
_AS_TEXT = {Family.TEXT, Family.BYTES, Family.DATE, Family.TIME, Family.TIMESTAMP, Family.INSTANT}
_MAYBE_QUOTED = {Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.MONTHS, Family.SPAN}

Path = tuple[str, ...]
"""The names of the members from the message to a value; an element of an array has the name ``""``."""


class JsonColumns:
    """Reads messages that are one JSON object each.

    :param strict: a missing field is an error, so that a NULL is a reason to look closer.
    """

    def __init__(self, columns: Sequence[tuple[str, DataType]], form: TimeForm, strict: bool) -> None:
        self._columns = list(columns)
        self._form = form
        self._strict = strict
        self._quoted: frozenset[Path] = frozenset()
        self._row = t.RowType([t.RowField(name, kind) for name, kind in columns])
        self._readable = _read_type(self._row, (), self._quoted) is not None

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonColumns, (self._columns, self._form, self._strict)

    def read(self, messages: pa.Array) -> list[pa.Array] | None:
        """The columns, a row for each message; None: some message needs a closer look."""
        if not len(messages):
            return [pa.array([], arrow_type(kind)) for _, kind in self._columns]
        if not self._readable:
            return None
        found = self._with_quotes(messages, self._quoted)
        if found is None:
            # A source that writes numbers in quotes mostly does so in all messages.
            quoted = self._in_quotes(messages)
            if quoted != self._quoted:
                found = self._with_quotes(messages, quoted)
                self._quoted = self._quoted if found is None else quoted
        return found

    def _with_quotes(self, messages: pa.Array, quoted: frozenset[Path]) -> list[pa.Array] | None:
        try:
            return self._read(messages, quoted)
        except (pa.ArrowException, ValueError):  # Arrow's "not implemented" is an ArrowException only
            return None

    def _in_quotes(self, messages: pa.Array) -> frozenset[Path]:
        try:
            samples = [decoded(message) for message in messages.slice(0, _SAMPLES).to_pylist()]
        except ValueError:
            return self._quoted
        return frozenset(path for sample in samples for path in _quoted_paths(sample, self._row, ()))

    def _read(self, messages: pa.Array, quoted: frozenset[Path]) -> list[pa.Array]:
        texts = messages.cast(pa.string())  # which checks that it is UTF-8
        if not pc.all(pc.starts_with(texts, "{")).as_py():
            raise Doubtful
        # Every object begins with its number. If the numbers come out as they went in, each message was one object,
        # and no text of one has got into another.
        numbered = pc.binary_join_element_wise(_numbers(len(texts)), pc.utf8_slice_codeunits(texts, 1), "\n", "")
        joined = numbered.buffers()[2]
        fields: Any = _read_type(self._row, (), quoted)
        schema = pa.schema([(_NUMBER, pa.int64()), *fields])
        found = arrow_json.read_json(
            pa.BufferReader(joined),
            read_options=arrow_json.ReadOptions(use_threads=False, block_size=joined.size + 1),
            parse_options=arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        ).combine_chunks()
        if len(found) != len(texts) or not _array(found[_NUMBER]).equals(pa.array(np.arange(len(texts)))):
            raise Doubtful
        return [self._finished(_array(found[name]), kind) for name, kind in self._columns]

    def _finished(self, column: pa.Array, kind: DataType) -> pa.Array:
        """What pyarrow read, in the form of the type."""
        if self._strict and column.null_count:
            raise Doubtful
        family = family_of(kind)
        if family is Family.ARRAY:
            return relisted(column, self._finished(column.flatten(), *parts_of(kind)))
        if family is Family.ROW:
            parts = [self._finished(part, each) for part, each in zip(column.flatten(), parts_of(kind))]
            mask = column.is_null() if column.null_count else None
            return pa.StructArray.from_arrays(parts, fields=list(arrow_type(kind)), mask=mask)
        if pa.types.is_string(column.type):
            texts = column if family in _AS_TEXT else pc.utf8_trim_whitespace(column)
            return values_of_texts(texts, kind, self._form)
        if family is Family.APPROXIMATE and pc.all(pc.is_finite(column)).as_py() is False:
            raise Doubtful  # NaN without quotes is no JSON
        return whole_numbers(column, kind) if family is Family.SPAN else column.cast(arrow_type(kind))


def _read_type(kind: DataType, path: Path, quoted: frozenset[Path]) -> pa.DataType | None:
    """What pyarrow is to read; None if it cannot."""
    family = family_of(kind)
    if family in _AS_TEXT or path in quoted:
        return pa.string()
    if family is Family.SPAN:
        return pa.int64()
    if isinstance(kind, t.DecimalType):
        # Pyarrow reads it in quotes, too. With 38 digits it would make some other number of one that is too large.
        return pa.decimal256(76, kind.scale)
    if family in _MAYBE_QUOTED:
        return arrow_type(kind)
    if family is Family.ARRAY:
        element = _read_type(parts_of(kind)[0], (*path, ""), quoted)
        return None if element is None else pa.list_(element)
    if isinstance(kind, t.RowType) and len(set(kind.names)) == len(kind) > 0:
        parts = [(field.name, _read_type(field.data_type, (*path, field.name), quoted)) for field in kind]
        return None if any(part is None for _, part in parts) else pa.struct(parts)
    return None


def _quoted_paths(value: Any, kind: DataType, path: Path) -> Iterator[Path]:
    """Paths of values that are text in a message although the table's column is not."""
    if isinstance(value, str) and family_of(kind) in _MAYBE_QUOTED:
        yield path
    elif isinstance(value, dict) and isinstance(kind, t.RowType):
        for field in kind:
            yield from _quoted_paths(value.get(field.name), field.data_type, (*path, field.name))
    elif isinstance(value, list) and family_of(kind) is Family.ARRAY:
        for each in value[:_SAMPLES]:
            yield from _quoted_paths(each, parts_of(kind)[0], (*path, ""))


def _numbers(count: int) -> pa.Array:
    return _many_numbers(1 << max(count - 1, 255).bit_length()).slice(0, count)


@lru_cache(maxsize=4)
def _many_numbers(count: int) -> pa.Array:
    return pa.array([f'{{"{_NUMBER}":{number},' for number in range(count)], pa.string())


def _array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


class Completion(Protocol):
    """What a format adds where a field that is missing means something else than NULL. Columns show both as NULL."""

    def unsure(self, columns: list[pa.Array], messages: pa.Array) -> pa.Array:
        """For each message whether there may be a difference that its columns do not show."""

    def columns(self, columns: list[pa.Array]) -> list[pa.Array]:
        """Columns with what is missing (NULL) filled in."""

    def message(self, message: Any) -> Any:
        """A decoded message with what is missing filled in."""


class JsonReader:
    """Reads objects, and arrays of objects, which are several rows.

    :param table: its name, for errors.
    :param strict: a missing field is an error.
    :param lenient: what is malformed is skipped: a field becomes NULL, a message is left out and counted.
    """

    def __init__(
        self,
        table: str,
        columns: Sequence[tuple[str, DataType]],
        form: TimeForm,
        strict: bool = False,
        lenient: bool = False,
        completion: Completion | None = None,
    ) -> None:
        self._made_of = (table, columns, form, strict, lenient, completion)
        self._table = table
        self._lenient = lenient
        self._completion = completion
        self._fast = JsonColumns(columns, form, strict)
        self._slow = JsonValues(columns, form, strict, lenient)

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonReader, self._made_of

    def read(self, messages: pa.Array) -> Piece:
        """The rows of messages (binary; NULL and empty ones have none).

        :raises ValueError: for a malformed message.
        """
        if is_few(len(messages)) and None not in (few := messages.to_pylist()) and b"" not in few:
            return self._one_by_one(few, np.arange(len(few)))
        present = pc.greater(pc.binary_length(messages), 0).fill_null(False)
        numbers, given = np.flatnonzero(np.asarray(present)), messages
        if len(numbers) < len(messages):
            messages = messages.filter(present)
        pieces = in_pieces(messages, numbers, self._fast.read, self._one_by_one)
        if self._completion is not None:
            pieces = [each for piece in pieces for each in self._completed(piece, given, self._completion)]
        return join_pieces(pieces)

    def _completed(self, piece: Piece, messages: pa.Array, completion: Completion) -> list[Piece]:
        if not piece.at_once:
            return [piece]  # message by message
        messages = messages.take(pa.array(piece.numbers))
        unsure = completion.unsure(piece.columns, messages)
        if not pc.any(unsure).as_py():
            return [Piece(completion.columns(piece.columns), piece.numbers)]
        sure = pc.invert(unsure)
        columns = completion.columns([column.filter(sure) for column in piece.columns])
        closer = self._one_by_one(messages.filter(unsure).to_pylist(), piece.numbers[np.asarray(unsure)])
        return [Piece(columns, piece.numbers[np.asarray(sure)]), closer]

    def _one_by_one(self, given: list[bytes], numbers: Numbers) -> Piece:
        rows: list[dict[str, Any]] = []
        origins: list[int] = []
        skipped = 0
        for at, message in enumerate(given):
            try:
                found = self._rows(message)
            except ValueError as error:
                if not self._lenient:
                    raise malformed(self._table, int(numbers[at]), message, error, LENIENCE) from error
                skipped += 1
                continue
            objects = [each for each in found if isinstance(each, dict)]
            if len(objects) < len(found) and not self._lenient:
                raise malformed(
                    self._table,
                    int(numbers[at]),
                    message,
                    "it is neither an object nor an array of objects",
                    LENIENCE,
                )
            rows += objects
            origins += [at] * len(objects)
            skipped += len(found) - len(objects)
        try:
            columns = self._slow.columns(rows)
        except BadField as error:
            at = origins[error.row]
            raise malformed(self._table, int(numbers[at]), given[at], error, LENIENCE) from error
        return Piece(columns, numbers[np.array(origins, np.int64)], skipped)

    def _rows(self, message: bytes) -> list[Any]:
        value = decoded(message)
        if self._completion is not None:
            value = self._completion.message(value)
        return value if isinstance(value, list) else [value]
