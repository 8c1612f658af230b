"""Columns of text as columns of values, all at once: what Arrow's casts read exactly as Flink does.

Whatever is unusual raises ``Doubtful`` or an error of Arrow, and is left to the functions for single values.
"""

from __future__ import annotations

import base64

import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.tables import times
from millrace.formats.tables.times import Doubtful, TimeForm
from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.types import DataType

WHOLE_TYPES = (t.IntegralType, t.YearMonthIntervalType, t.DayTimeIntervalType)
_WHOLE = r"^[+-]?[0-9]+$"
_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_BOOLEAN = "^(?i:true|false)$"


def values_of_texts(texts: pa.Array, kind: DataType, form: TimeForm) -> pa.Array:
    """The values of texts."""
    if isinstance(kind, WHOLE_TYPES):
        return whole_numbers(_checked(texts, _WHOLE), kind)
    if isinstance(kind, (t.FloatType, t.DoubleType, t.DecimalType)):
        return _checked(texts, _NUMBER).cast(arrow_type(kind))
    if isinstance(kind, t.BooleanType):
        return _checked(texts, _BOOLEAN).cast(pa.bool_())
    if isinstance(kind, t.DateType):
        return times.dates(texts)
    if isinstance(kind, t.TimeType):
        return times.clocks(texts, kind.precision)
    if isinstance(kind, t.TimestampType):
        return times.timestamps(texts, form, kind.precision)
    if isinstance(kind, t.LocalZonedTimestampType):
        return times.instants(texts, form, kind.precision)
    if isinstance(kind, (t.BinaryType, t.VarBinaryType)):
        return pa.array([each and base64.b64decode(each, validate=True) for each in _bytes(texts)], pa.binary())
    if isinstance(kind, (t.CharType, t.VarCharType)):
        return texts
    raise Doubtful


def whole_numbers(column: pa.Array, kind: DataType) -> pa.Array:
    """Numbers, or texts of them, as values of a type that is a whole number outside (an INTERVAL is milliseconds)."""
    if isinstance(kind, t.DayTimeIntervalType):
        return pc.multiply_checked(column.cast(pa.int64()), 1000).cast(pa.duration("us"))
    return column.cast(arrow_type(kind))


def _checked(texts: pa.Array, pattern: str) -> pa.Array:
    if pc.all(pc.match_substring_regex(texts, pattern)).as_py() is False:
        raise Doubtful
    return texts


def _bytes(texts: pa.Array) -> list[bytes | None]:
    return texts.cast(pa.binary()).to_pylist()  # type: ignore[no-any-return]
