"""What the tests of formats share: a format driven with Python values."""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millrace.common.types import RowKind
from millrace.formats import text_columns
from millrace.formats.tables.format_options import format_factory, format_options
from millrace.relational import types as t
from millrace.relational.nodes import Field, Schema
from millrace.relational.rows import Rows, python_rows, record_batch
from millrace.relational.sources import Decoded, EncodingFormat, FormatContext
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow

UTC = dt.timezone.utc
DAY = t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.DAY_TO_SECOND)
MONTHS = t.YearMonthIntervalType(t.YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH)
KINDS = {str(kind): kind for kind in RowKind}


def schema(**columns: DataType) -> Schema:
    return tuple(Field(name, kind) for name, kind in columns.items())


def context(columns: Schema, options: dict[str, str] | None = None, metadata: Sequence[str] = ()) -> FormatContext:
    return FormatContext("shop", columns, options or {}, tuple(metadata))


def decoded(
    identifier: str,
    columns: Schema,
    messages: Iterable[bytes | str | None],
    options: dict[str, str] | None = None,
    metadata: Sequence[str] = (),
) -> Decoded:
    """What a format makes of messages: the same, be they read one by one, as few are, or all at once."""
    given = list(messages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_columns, "FEW", -1)
        at_once = _tried(identifier, columns, given, options, metadata)
    few = _tried(identifier, columns, given, options, metadata)
    assert _plain(few) == _plain(at_once)
    if isinstance(few, Exception):
        raise few
    return few


def _tried(*args: Any) -> Decoded | Exception:
    try:
        return _decoded(*args)
    except Exception as error:
        return error


def _plain(found: Decoded | Exception) -> str:
    if isinstance(found, Exception):
        return f"{type(found).__name__}: {found}"
    kinds, origins = found.rows.kinds, found.messages
    parts = [found.rows.batch.schema, found.rows.batch.to_pylist(), found.skipped]
    return repr([*parts, *(None if each is None else list(map(int, each)) for each in (kinds, origins))])


def _decoded(
    identifier: str,
    columns: Schema,
    messages: Sequence[bytes | str | None],
    options: dict[str, str] | None,
    metadata: Sequence[str],
) -> Decoded:
    factory = format_factory(identifier, "shop")
    options = format_options(
        factory, identifier, {f"{identifier}.{name}": each for name, each in (options or {}).items()}
    )
    decoding = pickle.loads(pickle.dumps(factory.decoding(context(columns, options, metadata))))
    encoded = [each.encode() if isinstance(each, str) else each for each in messages]
    return decoding.decode(pa.array(encoded, pa.binary()))


def decode(
    identifier: str,
    columns: Schema,
    messages: Iterable[bytes | str | None],
    options: dict[str, str] | None = None,
    metadata: Sequence[str] = (),
) -> list[Any]:
    """The rows of messages as tuples; those of a format with changes as ``("+I", (..))``."""
    factory = format_factory(identifier, "shop")
    found = decoded(identifier, columns, messages, options, metadata)
    all_columns = (*columns, *(Field(key, factory.readable_metadata[key]) for key in metadata))
    found.rows.batch.validate(full=True)
    rows = python_rows(found.rows, all_columns)
    if found.rows.kinds is None:
        return [tuple(row) for row in rows]
    return [(str(row.get_row_kind()), tuple(row)) for row in rows]


def rows_of(columns: Schema, values: Sequence[Sequence[Any]], kinds: Sequence[str] | None = None) -> Rows:
    turned = list(zip(*values)) if values else [()] * len(columns)
    arrays = [to_arrow(list(each), column.type) for each, column in zip(turned, columns)]
    numbers = None if kinds is None else np.array([KINDS[kind].value for kind in kinds], np.uint8)
    return Rows(record_batch(arrays, len(values)), numbers)


def encode(
    identifier: str,
    columns: Schema,
    values: Sequence[Sequence[Any]],
    options: dict[str, str] | None = None,
    kinds: Sequence[str] | None = None,
) -> list[bytes | None]:
    """Messages of rows: the same, be they written one by one, as few are, or all at once."""
    encoding = pickle.loads(pickle.dumps(format_factory(identifier, "shop").encoding(context(columns, options))))
    rows = rows_of(columns, values, kinds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_columns, "FEW", -1)
        at_once = _written(encoding, rows)
    few = _written(encoding, rows)
    assert repr(few) == repr(at_once)
    if isinstance(few, Exception):
        raise few
    return few


def _written(encoding: EncodingFormat, rows: Rows) -> list[bytes | None] | Exception:
    try:
        return encoding.encode(rows).to_pylist()  # type: ignore[no-any-return]
    except Exception as error:
        return error
