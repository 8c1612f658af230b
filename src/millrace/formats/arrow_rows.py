"""Converts rows to and from Arrow columns, a column at a time, and writes rows into files by pyarrow. Within the
formats all types are Arrow's; the types that programs declare are converted from and to them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.serialization import BulkWriter, RowDataBulkWriterFactory
from millrace.common.time import Instant
from millrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
    _ArrayTypeInfo,
)
from millrace.common.types import Row, row_of
from millrace.relational import type_table
from millrace.relational.precision import fit
from millrace.relational.type_table import Family, family_of, type_parts
from millrace.relational.types import DataType

ANY = pa.null()
"""Stands for a value of no declared type."""
BIG_INT = pa.decimal256(76, 0)
"""Ints of any size; its values are Python ints, those of other decimals ``Decimal``."""
_TIMESTAMP = pa.timestamp("us")
_INSTANT = pa.timestamp("us", "UTC")

_BASIC = {
    BasicType.STRING: pa.string(),
    BasicType.BYTE: pa.int8(),
    BasicType.BOOLEAN: pa.bool_(),
    BasicType.SHORT: pa.int16(),
    BasicType.INT: pa.int32(),
    BasicType.LONG: pa.int64(),
    BasicType.FLOAT: pa.float32(),
    BasicType.DOUBLE: pa.float64(),
    BasicType.CHAR: pa.string(),
    BasicType.BIG_INT: BIG_INT,
    BasicType.BIG_DEC: pa.decimal128(38, 18),
    BasicType.INSTANT: _INSTANT,
}
_LOCAL_TIME = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: pa.date32(),
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: pa.time64("us"),
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: _TIMESTAMP,
}
_NOT_IN_FILES = {
    *(Family.NULL, Family.MONTHS, Family.SPAN, Family.RAW, Family.VARIANT, Family.BITMAP, Family.USER, Family.NAMED)
}


def arrow_type(declared: Any) -> Any:
    """The Arrow type of a ``TypeInformation``, a table ``DataType`` or an Arrow type.

    :raises TypeError: for anything else.
    """
    if isinstance(declared, pa.DataType):
        return declared
    if isinstance(declared, TypeInformation):
        return _of_type_info(declared)
    if not isinstance(declared, DataType) or any(family_of(part) in _NOT_IN_FILES for part in type_parts(declared)):
        raise TypeError(f"not a type that formats know: {declared!r}")
    return type_table.arrow_type(declared)


def _of_type_info(declared: TypeInformation) -> Any:
    if isinstance(declared, BasicTypeInfo):
        return _BASIC[declared._basic_type]
    if isinstance(declared, RowTypeInfo):
        names, types = declared.get_field_names(), declared.get_field_types()
        return pa.struct([(name, arrow_type(field)) for name, field in zip(names, types, strict=True)])
    if isinstance(declared, TupleTypeInfo):
        return pa.struct([(f"f{n}", arrow_type(field)) for n, field in enumerate(declared.get_field_types())])
    if isinstance(declared, _ArrayTypeInfo):
        element = arrow_type(declared._element_type)
        return pa.binary() if element == pa.int8() else pa.list_(element)
    if isinstance(declared, ListTypeInfo):
        return pa.list_(arrow_type(declared.elem_type))
    if isinstance(declared, MapTypeInfo):
        return pa.map_(arrow_type(declared._key_type_info), arrow_type(declared._value_type_info))
    if isinstance(declared, LocalTimeTypeInfo):
        return _LOCAL_TIME[declared._time_type]
    if isinstance(declared, ExternalTypeInfo):
        return arrow_type(declared._type_info)
    simple = {DateTypeInfo: pa.date32(), TimeTypeInfo: pa.time64("us"), TimestampTypeInfo: _TIMESTAMP}
    simple[PickledBytesTypeInfo] = ANY
    if type(declared) in simple:
        return simple[type(declared)]
    raise TypeError(f"formats can't write values of {declared}")


def arrow_schema(row_type: Any) -> Any:
    """The schema of a row type: ``Types.ROW_NAMED``, ``DataTypes.ROW``, an Arrow schema or struct.

    :raises TypeError: if it isn't one.
    """
    if isinstance(row_type, pa.Schema):
        return row_type
    type_ = arrow_type(row_type)
    if not pa.types.is_struct(type_):
        raise TypeError(f"a row type is needed (Types.ROW_NAMED, DataTypes.ROW or a pyarrow schema), got {row_type!r}")
    return pa.schema(list(type_))


def type_info(type_: Any) -> TypeInformation:
    """The ``TypeInformation`` of the Python values that formats make of an Arrow type."""
    is_ = pa.types
    for test, make in _TYPE_INFOS:
        if test(type_):
            return make()
    if type_ == BIG_INT:
        return Types.BIG_INT()
    if is_.is_decimal(type_):
        return Types.BIG_DEC()
    if is_.is_timestamp(type_):
        return Types.SQL_TIMESTAMP() if type_.tz is None else Types.INSTANT()
    if is_.is_list(type_) or is_.is_large_list(type_) or is_.is_fixed_size_list(type_):
        return Types.LIST(type_info(type_.value_type))
    if is_.is_map(type_):
        return Types.MAP(type_info(type_.key_type), type_info(type_.item_type))
    if is_.is_struct(type_):
        return row_type_info(pa.schema(list(type_)))
    return Types.PICKLED_BYTE_ARRAY()


def row_type_info(schema: Any) -> RowTypeInfo:
    """The row type of an Arrow schema."""
    return Types.ROW_NAMED(schema.names, [type_info(field.type) for field in schema])


_TYPE_INFOS: tuple[tuple[Callable[[Any], bool], Callable[[], TypeInformation]], ...] = (
    (pa.types.is_boolean, Types.BOOLEAN),
    (pa.types.is_int8, Types.BYTE),
    (pa.types.is_int16, Types.SHORT),
    (pa.types.is_uint8, Types.SHORT),
    (pa.types.is_int32, Types.INT),
    (pa.types.is_uint16, Types.INT),
    (pa.types.is_int64, Types.LONG),
    (pa.types.is_uint32, Types.LONG),
    (pa.types.is_uint64, Types.BIG_INT),
    (pa.types.is_float16, Types.FLOAT),
    (pa.types.is_float32, Types.FLOAT),
    (pa.types.is_float64, Types.DOUBLE),
    (pa.types.is_string, Types.STRING),
    (pa.types.is_large_string, Types.STRING),
    (pa.types.is_binary, lambda: Types.PRIMITIVE_ARRAY(Types.BYTE())),
    (pa.types.is_large_binary, lambda: Types.PRIMITIVE_ARRAY(Types.BYTE())),
    (pa.types.is_fixed_size_binary, lambda: Types.PRIMITIVE_ARRAY(Types.BYTE())),
    (pa.types.is_date, Types.SQL_DATE),
    (pa.types.is_time, Types.SQL_TIME),
)


_Convert = Callable[[Any], Any]


def rows_of_batch(batch: Any, names: list[str]) -> list[Row]:
    """The rows of a record batch; ``names`` is shared between them."""
    if not batch.num_columns:
        return [row_of([], names) for _ in range(batch.num_rows)]
    columns = [python_values(column) for column in batch.columns]
    return list(map(row_of, map(list, zip(*columns, strict=True)), repeat(names)))


def python_values(column: Any) -> list[Any]:
    """The values of an Arrow column as programs see them."""
    type_ = column.type
    if pa.types.is_timestamp(type_) and type_.unit == "ns":
        column = column.cast(pa.timestamp("us", type_.tz), safe=False)  # pandas' type for ns is not what users expect
    if pa.types.is_timestamp(type_) and type_.tz is not None:
        micros = column.cast(pa.timestamp("us", type_.tz), safe=False).cast(pa.int64()).to_pylist()
        return [None if value is None else _instant(value) for value in micros]
    if pa.types.is_string(type_) or (_is_plain(column.type) and not column.null_count and _in_python(column)):
        # Many times faster than to_pylist, which makes a scalar object per value.
        with suppress(pa.ArrowException):  # bytes that are no text: to_pylist says which
            quick: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
            return quick
    values: list[Any] = column.to_pylist()
    convert = python_converter(type_)
    return values if convert is None else [None if value is None else convert(value) for value in values]


def _is_plain(type_: Any) -> bool:
    """Whether numpy's values become the Python values that ``to_pylist`` gives."""
    is_ = pa.types
    tests = (is_.is_date32, is_.is_timestamp, is_.is_boolean, is_.is_integer, is_.is_floating)
    return any(test(type_) for test in tests)


def _in_python(column: Any) -> bool:
    """Whether all dates and times are in the years that Python has; other values are."""
    if not pa.types.is_temporal(column.type) or not len(column):
        return True
    least, greatest = pc.min_max(column.cast(pa.timestamp("us"))).values()
    return bool(least.value >= _YEAR_1 and greatest.value < _YEAR_10000)


_YEAR_1, _YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000
"""microseconds"""


def _instant(micros: int) -> Instant:
    seconds, rest = divmod(micros, 1_000_000)
    return Instant(seconds, rest * 1000)


def python_converter(type_: Any) -> _Convert | None:
    """From what ``to_pylist`` gives to what programs see; None when that is the same."""
    is_ = pa.types
    if is_.is_struct(type_):
        names = [field.name for field in type_]
        fields = [(field.name, python_converter(field.type) or _same) for field in type_]
        return lambda value: row_of([_nullable(convert, value[name]) for name, convert in fields], names)
    if is_.is_map(type_):
        key, item = python_converter(type_.key_type) or _same, python_converter(type_.item_type) or _same
        return lambda value: {key(k): _nullable(item, v) for k, v in value}
    if is_.is_list(type_) or is_.is_large_list(type_) or is_.is_fixed_size_list(type_):
        element = python_converter(type_.value_type)
        return None if element is None else lambda value: [_nullable(element, v) for v in value]
    if is_.is_timestamp(type_) and type_.tz is not None:
        return lambda value: Instant(int(value.timestamp() // 1), value.microsecond * 1000)
    return int if type_ == BIG_INT else None


def _same(value: Any) -> Any:
    return value


def _nullable(convert: _Convert, value: Any) -> Any:
    return None if value is None else convert(value)


def _rounded(value: Any, type_: Any) -> Any:
    """A decimal rounded half up to the digits of its type, as Flink does."""
    if not isinstance(value, Decimal):
        return value
    found = fit(value, type_.precision, type_.scale)
    if found is None:
        raise ValueError(f"{value} has too many digits for DECIMAL({type_.precision}, {type_.scale})")
    return found


def values_of_row(element: Any, names: Sequence[str]) -> Sequence[Any]:
    """The fields of a Row, tuple, list or dict in the order of ``names``.

    :raises TypeError: for anything else. :raises ValueError: if the number of fields differs.
    """
    if isinstance(element, Row):
        values: Sequence[Any] = element.get_fields_by_names(names)
    elif isinstance(element, (tuple, list)):
        values = element
    elif isinstance(element, dict):
        values = [element.get(name) for name in names]
    else:
        raise TypeError(f"a Row, tuple or dict is needed, got {type(element).__name__} {element!r}")
    if len(values) != len(names):
        raise ValueError(f"the schema has {len(names)} fields ({', '.join(names)}), got {len(values)}: {element!r}")
    return values


def columns_of_rows(rows: Sequence[Sequence[Any]], schema: Any) -> Any:
    """A record batch of rows given as sequences of values."""
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in schema]
    arrays = []
    for field, column in zip(schema, columns, strict=True):
        convert = _to_arrow(field.type)
        values = column if convert is None else [_nullable(convert, value) for value in column]
        try:
            arrays.append(pa.array(values, field.type))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"field {field.name!r} ({field.type}): {error}") from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _to_arrow(type_: Any) -> _Convert | None:
    is_ = pa.types
    if is_.is_decimal128(type_):
        return lambda value: _rounded(value, type_)
    if is_.is_struct(type_):
        names = [field.name for field in type_]
        converts = [_to_arrow(field.type) or _same for field in type_]
        return lambda value: {
            name: _nullable(convert, field)
            for name, convert, field in zip(names, converts, values_of_row(value, names), strict=True)
        }
    if is_.is_map(type_):
        key, item = _to_arrow(type_.key_type) or _same, _to_arrow(type_.item_type) or _same
        return lambda value: [(key(k), _nullable(item, v)) for k, v in value.items()]
    if is_.is_list(type_):
        element = _to_arrow(type_.value_type)
        return None if element is None else lambda value: [_nullable(element, v) for v in value]
    if is_.is_timestamp(type_) and type_.tz is not None:
        return lambda value: value.seconds * 1_000_000 + value.nanos // 1000 if isinstance(value, Instant) else value
    return None


class ArrowWriterFactory(RowDataBulkWriterFactory):
    """Makes writers that take rows (Row, tuple or dict) and write many at a time."""

    def __init__(self, schema: Any) -> None:
        super().__init__(row_type_info(schema))
        self.schema = schema

    def create(self, stream: Any) -> BulkWriter:
        return _ArrowWriter(self, stream)

    @property
    @abstractmethod
    def rows(self) -> int:
        """Rows that a writer holds back."""

    @abstractmethod
    def open(self, stream: Any) -> Any:
        """pyarrow's writer of a file, which has ``close``."""

    @abstractmethod
    def write(self, file: Any, batch: Any) -> None:
        """Write a record batch into a file that ``open`` opened."""


class _ArrowWriter(BulkWriter):
    def __init__(self, factory: ArrowWriterFactory, stream: Any) -> None:
        self._factory = factory
        self._names = factory.schema.names
        self._file = factory.open(stream)
        self._rows: list[Any] = []

    def add_element(self, element: Any) -> None:
        self._rows.append(values_of_row(element, self._names))
        if len(self._rows) >= self._factory.rows:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self._factory.write(self._file, columns_of_rows(self._rows, self._factory.schema))
            self._rows = []

    def finish(self) -> None:
        self.flush()
        self._file.close()
