"""Columns of text as columns of values, all at once: what Arrow's casts read exactly as Flink does.

Whatever is unusual raises ``Doubtful`` or an error of Arrow, and is left to the functions for single values.
"""

from __future__ import annotations

import base64

import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.tables import times
from millrace.formats.tables.times import Doubtful, TimeForm
from millrace.relational.arrow import arrow_type
from millrace.relational.type_table import WHOLE, ByFamily, Family, family_of
from millrace.relational.types import DataType

_WHOLE = r"^[+-]?[0-9]+$"
_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_BOOLEAN = "^(?i:true|false)$"


def values_of_texts(texts: pa.Array, kind: DataType, form: TimeForm) -> pa.Array:
    """The values of texts."""
    read = _READERS.get(family_of(kind))
    if read is None:
        raise Doubtful
    found: pa.Array = read(texts, kind, form)
    return found


def whole_numbers(column: pa.Array, kind: DataType) -> pa.Array:
    """Numbers, or texts of them, as values of a type that is a whole number outside (an INTERVAL is milliseconds)."""
    if family_of(kind) is Family.SPAN:
        return pc.multiply_checked(column.cast(pa.int64()), 1000).cast(pa.duration("us"))
    return column.cast(arrow_type(kind))


def _checked(texts: pa.Array, pattern: str) -> pa.Array:
    if pc.all(pc.match_substring_regex(texts, pattern)).as_py() is False:
        raise Doubtful
    return texts


def _bytes(texts: pa.Array) -> list[bytes | None]:
    return texts.cast(pa.binary()).to_pylist()  # type: ignore[no-any-return]


def _whole_texts(texts: pa.Array, kind: DataType, form: TimeForm) -> pa.Array:
    return whole_numbers(_checked(texts, _WHOLE), kind)


def _number_texts(texts: pa.Array, kind: DataType, form: TimeForm) -> pa.Array:
    return _checked(texts, _NUMBER).cast(arrow_type(kind))


_READERS: ByFamily = {
    **dict.fromkeys(WHOLE, _whole_texts),
    **dict.fromkeys((Family.APPROXIMATE, Family.DECIMAL), _number_texts),
    Family.BOOLEAN: lambda texts, kind, form: _checked(texts, _BOOLEAN).cast(pa.bool_()),
    Family.DATE: lambda texts, kind, form: times.dates(texts),
    Family.TIME: lambda texts, kind, form: times.clocks(texts, kind.precision),
    Family.TIMESTAMP: lambda texts, kind, form: times.timestamps(texts, form, kind.precision),
    Family.INSTANT: lambda texts, kind, form: times.instants(texts, form, kind.precision),
    Family.BYTES: lambda texts, kind, form: pa.array(
        [each and base64.b64decode(each, validate=True) for each in _bytes(texts)], pa.binary()
    ),
    Family.TEXT: lambda texts, kind, form: texts,
}
