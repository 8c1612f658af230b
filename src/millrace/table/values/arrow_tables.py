"""Converts between tables and columns in memory (Arrow, pandas): columns become a table, a result becomes columns,
and data types are paired with Arrow's as PyFlink does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from millrace.common.types import Row, RowKind
from millrace.relational import types as t
from millrace.relational.nodes import Field, Scan, Schema
from millrace.relational.precision import canonical
from millrace.relational.rows import Rows, python_rows
from millrace.relational.time_zones import standard_name
from millrace.relational.type_table import ByFamily, Family, arrow_type, family_of
from millrace.relational.type_table import from_arrow_type as from_arrow_type
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow
from millrace.table.values.program_errors import problem
from millrace.util.tracebacks import user_origin

if TYPE_CHECKING:
    import pandas as pd

    from millrace.table.sessions.session import Session


# Data types

_TIME_UNITS = ((0, "s"), (3, "ms"), (6, "us"), (9, "ns"))
_ALIKE = (Family.NULL, Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DATE)


def to_arrow_type(data_type: DataType) -> pa.DataType:
    """The Arrow type that pandas functions and ``from_pandas`` see.

        >>> str(to_arrow_type(DataTypes.TIMESTAMP(3)))
        'timestamp[ms]'

    :raises ValueError: there is none.
    """
    make = _TO.get(family_of(data_type))
    if make is None or isinstance(data_type, (t.MultisetType, t.ListViewType, t.MapViewType)):
        raise ValueError(f"{data_type} has no Arrow type")
    return make(data_type)


def _time(data_type: t.TimeType) -> pa.DataType:
    unit = _arrow_unit(data_type.precision)
    return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)


def _row(data_type: t.RowType) -> pa.DataType:
    return pa.struct(list(create_arrow_schema(data_type.field_names(), data_type.field_types())))


def create_arrow_schema(field_names: Sequence[str], field_types: Sequence[DataType]) -> pa.Schema:
    """The Arrow schema of columns.

    >>> create_arrow_schema(["n"], [DataTypes.INT()]).names
    ['n']
    """
    return pa.schema(
        [
            pa.field(name, to_arrow_type(data_type), data_type.is_nullable)
            for name, data_type in zip(field_names, field_types)
        ]
    )


def _arrow_unit(precision: int) -> str:
    return next(unit for digits, unit in _TIME_UNITS if precision <= digits)


_TO: ByFamily = {
    **dict.fromkeys((*_ALIKE, Family.DECIMAL, Family.TEXT), arrow_type),
    Family.BYTES: lambda kind: pa.binary(kind.length) if isinstance(kind, t.BinaryType) else pa.binary(),
    Family.TIME: _time,
    **dict.fromkeys((Family.TIMESTAMP, Family.INSTANT), lambda kind: pa.timestamp(_arrow_unit(kind.precision))),
    Family.ARRAY: lambda kind: pa.list_(to_arrow_type(kind.element_type)),
    Family.MAP: lambda kind: pa.map_(to_arrow_type(kind.key_type), to_arrow_type(kind.value_type)),
    Family.ROW: _row,
}


# Arrow

_WIDER = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20)}
"""SQL has no numbers without a sign"""


def scan_of_arrow(data: Any, schema: Any, parts: int, session: Session) -> Scan:
    """The rows of whatever gives an Arrow stream as a source.

    :raises TypeError: it gives none.
    """
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if not isinstance(data, pa.Table):
        if not hasattr(data, "__arrow_c_stream__"):
            raise TypeError(
                f"from_arrow takes a pyarrow.Table, a RecordBatch, or anything with __arrow_c_stream__ (a frame of "
                f"polars, a relation of DuckDB), not {type(data).__name__}"
            )
        data = pa.RecordBatchReader.from_stream(data).read_all()
    return scan_of_table(_known(data), schema, parts, session, "*anonymous_arrow*")


def _known(found: pa.Table) -> pa.Table:
    """Cast columns of Arrow's newer layouts to the Arrow types that tables have."""
    columns = [_values(column) for column in found.columns]
    wanted = [_known_type(column.type) for column in columns]
    return pa.Table.from_arrays([column.cast(kind) for column, kind in zip(columns, wanted)], names=found.column_names)


def _values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decode a dictionary column; Arrow cannot look up texts of the newer layout itself."""
    if not pa.types.is_dictionary(column.type):
        return column
    kind = _known_type(column.type.value_type)
    return pa.chunked_array([chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks], kind)


def _known_type(kind: pa.DataType) -> pa.DataType:
    if kind in _WIDER:
        return _WIDER[kind]
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_known_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_known_type(field.type)) for field in kind])
    return kind


def scan_of_table(found: pa.Table, schema: Any, parts: int, session: Session, name: str) -> Scan:
    """Columns in memory as a source.

    :param schema: a ROW type, names of columns, types of columns, or None.
    :param parts: how many are read side by side.
    """
    from millrace.connectors.tables.values_table import ValuesSource

    found = found.combine_chunks()
    columns = _columns(found, schema)
    zone = session.config.get_local_timezone()
    arrays = [_as(column, field, zone) for column, field in zip(found.columns, columns)]
    size = max(1, -(-found.num_rows // max(1, parts)))
    batches = pa.Table.from_arrays(arrays, names=[f"c{index}" for index in range(len(arrays))]).to_batches(size)
    return Scan(("default_catalog", "default_database", name), columns, ValuesSource(tuple(batches)))


def _columns(found: pa.Table, schema: Any) -> Schema:
    names = [str(name) for name in found.column_names]
    kinds = [from_arrow_type(column.type) for column in found.columns]
    if isinstance(schema, t.RowType):
        names, kinds = schema.names, schema.field_types()
    elif isinstance(schema, t.DataType):
        names, kinds = names, [schema]
    elif schema and all(isinstance(each, str) for each in schema):
        names = list(schema)
    elif schema:
        kinds = list(schema)
    given = len(names) if len(names) != found.num_columns else len(kinds)
    if not len(names) == len(kinds) == found.num_columns:
        raise problem(f"the frame has {found.num_columns} columns, and the schema {given}")
    return tuple(Field(name, kind) for name, kind in zip(names, kinds))


def _as(column: pa.ChunkedArray, field: Field, zone: str) -> pa.Array:
    """A column in the form that plans have for its type; times without zone mean the session's where the type wants
    one."""
    wanted = arrow_type(field.type)
    if pa.types.is_string(wanted) and _is_number(column.type):
        raise RuntimeError(
            f"{user_origin()}: cannot convert the Series of column '{field.name}' ({column.type}) to {field.type}: "
            f"Expected a string or bytes dtype, got {column.type}"
        )
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if array.type == wanted:
        return canonical(array, field.type)
    try:
        if pa.types.is_timestamp(array.type) and pa.types.is_timestamp(wanted):
            return canonical(_timestamps(array, wanted, zone), field.type)
        return canonical(array.cast(wanted), field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return to_arrow(array.to_pylist(), field.type)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _timestamps(array: pa.Array, wanted: pa.DataType, zone: str) -> pa.Array:
    import pyarrow.compute as pc

    micros = array.cast(pa.timestamp("us", array.type.tz), safe=False)
    if wanted.tz is not None and array.type.tz is None:
        return pc.assume_timezone(micros, standard_name(zone)).cast(wanted)
    if wanted.tz is None and array.type.tz is not None:
        return pc.local_timestamp(micros)
    return micros.cast(wanted)


def columns_of(schema: Schema, batches: Iterable[Rows]) -> tuple[list[pa.Array | pa.ChunkedArray], int]:
    """The rows that a table has after all changes: its columns, and the number of rows."""
    found = list(batches)
    if all(batch.adds().all() for batch in found):
        parts = [batch.columns for batch in found]
        return [
            pa.chunked_array([part[index] for part in parts], arrow_type(field.type))
            for index, field in enumerate(schema)
        ], sum(map(len, found))
    left = remaining(row for batch in found for row in python_rows(batch, schema))
    return [to_arrow([row[index] for row in left], field.type) for index, field in enumerate(schema)], len(left)


def arrow_of(schema: Schema, batches: Iterable[Rows], zone: str) -> pa.Table:
    """The rows that a table has after all changes, as an Arrow table; TIMESTAMP_LTZ becomes a time with the zone."""
    columns, _ = columns_of(schema, batches)
    shown = [
        column.cast(pa.timestamp(column.type.unit, standard_name(zone)))
        if isinstance(field.type, t.LocalZonedTimestampType)
        else column
        for column, field in zip(columns, schema)
    ]
    return pa.Table.from_arrays(shown, names=[field.name for field in schema])


def remaining(rows: Iterable[Row]) -> Sequence[Row]:
    """The rows that a changelog leaves."""
    kept: dict[int, Row] = {}
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        # By their text, since values may be lists and dicts.
        same = places.setdefault(repr(list(row)), [])
        if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            kept[place] = row
            same.append(place)
        else:
            del kept[same.pop()]
    return list(kept.values())


# pandas


def scan_of_pandas(pdf: pd.DataFrame, schema: Any, parts: int, session: Session) -> Scan:
    """The rows of a frame as a source.

    :param schema: a ROW type, names of columns, types of columns, or None.
    """
    import pandas as pd

    if not isinstance(pdf, pd.DataFrame):
        raise TypeError(f"from_pandas takes a pandas.DataFrame, not {type(pdf).__name__}")
    found = pa.Table.from_pandas(pdf, preserve_index=False)
    return scan_of_table(found, schema, parts, session, "*anonymous_pandas*")


def frame_of(schema: Schema, batches: Iterable[Rows], zone: str) -> pd.DataFrame:
    """What is left of a table after all changes, as a frame; TIMESTAMP_LTZ as times with the zone."""
    import pandas as pd

    columns, length = columns_of(schema, batches)
    series = [_series(column, field, zone) for column, field in zip(columns, schema)]
    frame = pd.concat(series, axis=1) if series else pd.DataFrame(index=range(length))
    frame.columns = pd.Index([field.name for field in schema])
    return frame


def _series(column: pa.Array | pa.ChunkedArray, field: Field, zone: str) -> pd.Series[Any]:
    found = column.to_pandas()
    if isinstance(field.type, t.LocalZonedTimestampType):
        found = found.dt.tz_convert(standard_name(zone)).dt.as_unit(_pandas_unit(field.type.precision))
    elif isinstance(field.type, t.TimestampType):
        found = found.dt.as_unit(_pandas_unit(field.type.precision))
    return found  # type: ignore[no-any-return]


def _pandas_unit(precision: int) -> Literal["s", "ms", "us", "ns"]:
    """What pandas calls the digits of a time."""
    return "s" if precision == 0 else "ms" if precision <= 3 else "us" if precision <= 6 else "ns"
