"""JSON messages as columns, all at once: what pyarrow reads exactly as Flink does.

Whatever is unusual (arrays of rows, numbers that are in quotes in some messages, malformed messages, ...) is left to
``json_values``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from millrace.formats.tables.json.values import decoded
from millrace.formats.tables.lists import relisted
from millrace.formats.tables.text_columns import values_of_texts, whole_numbers
from millrace.formats.tables.times import Doubtful, TimeForm
from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.type_table import Family, family_of, parts_of
from millrace.relational.types import DataType

_NUMBER = "#millrace.number"
"""name of a member that is put in front of each message: the number of the message"""
_SAMPLES = 5
"""messages that tell which numbers are in quotes"""
_AS_TEXT = {Family.TEXT, Family.BYTES, Family.DATE, Family.TIME, Family.TIMESTAMP, Family.INSTANT}
_MAYBE_QUOTED = {Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.MONTHS, Family.SPAN}

Path = tuple[str, ...]
"""from the message to a value; an element of an array is ``""``"""


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
        return whole_numbers(column, kind) if family is Family.SPAN else column


def _read_type(kind: DataType, path: Path, quoted: frozenset[Path]) -> pa.DataType | None:
    """What pyarrow is to read; None if it cannot."""
    family = family_of(kind)
    if family in _AS_TEXT or path in quoted:
        return pa.string()
    if family is Family.SPAN:
        return pa.int64()
    if family in _MAYBE_QUOTED or family is Family.DECIMAL:
        return arrow_type(kind)  # pyarrow reads a DECIMAL in quotes, too
    if family is Family.ARRAY:
        element = _read_type(parts_of(kind)[0], (*path, ""), quoted)
        return None if element is None else pa.list_(element)
    if isinstance(kind, t.RowType) and len(set(kind.names)) == len(kind) > 0:
        parts = [(field.name, _read_type(field.data_type, (*path, field.name), quoted)) for field in kind]
        return None if any(part is None for _, part in parts) else pa.struct(parts)
    return None


def _quoted_paths(value: Any, kind: DataType, path: Path) -> Iterator[Path]:
    """Where a message has text for what is no text in the table."""
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
