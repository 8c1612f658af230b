"""Tables and pandas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from millrace.common.types import Row, RowKind
from millrace.graph.origin import user_origin
from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.nodes import Field, Scan, Schema
from millrace.relational.python_rows import python_rows
from millrace.relational.rows import Rows
from millrace.relational.values import to_arrow
from millrace.relational.zones import standard_name
from millrace.table.values.arrow_types import from_arrow_type
from millrace.table.values.problems import problem

if TYPE_CHECKING:
    import pandas as pd

    from millrace.table.sessions.session import Session


def scan_of_pandas(pdf: pd.DataFrame, schema: Any, parts: int, session: Session) -> Scan:
    """The rows of a frame as a source.

    :param schema: a ROW type, names of columns, types of columns, or None.
    """
    import pandas as pd

    from millrace.connectors.tables.values import ValuesSource

    if not isinstance(pdf, pd.DataFrame):
        raise TypeError(f"from_pandas takes a pandas.DataFrame, not {type(pdf).__name__}")
    found = pa.Table.from_pandas(pdf, preserve_index=False).combine_chunks()
    columns = _columns(found, schema)
    zone = session.config.get_local_timezone()
    arrays = [_as(column, field, zone) for column, field in zip(found.columns, columns)]
    size = max(1, -(-len(pdf) // max(1, parts)))
    batches = pa.Table.from_arrays(arrays, names=[f"c{index}" for index in range(len(arrays))]).to_batches(size)
    return Scan(("default_catalog", "default_database", "*anonymous_pandas*"), columns, ValuesSource(tuple(batches)))


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
        return array
    try:
        if pa.types.is_timestamp(array.type) and pa.types.is_timestamp(wanted):
            return _timestamps(array, wanted, zone)
        return array.cast(wanted)
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


def frame_of(schema: Schema, batches: Iterable[Rows], zone: str) -> pd.DataFrame:
    """What is left of a table after all changes, as a frame; TIMESTAMP_LTZ as times with the zone."""
    import pandas as pd

    found = list(batches)
    length = sum(map(len, found))
    if all(batch.adds().all() for batch in found):
        parts = [batch.columns for batch in found]
        columns = [
            pa.chunked_array([part[index] for part in parts], arrow_type(field.type))
            for index, field in enumerate(schema)
        ]
    else:
        left = remaining(row for batch in found for row in python_rows(batch, schema))
        length = len(left)
        columns = [to_arrow([row[index] for row in left], field.type) for index, field in enumerate(schema)]
    series = [_series(column, field, zone) for column, field in zip(columns, schema)]
    frame = pd.concat(series, axis=1) if series else pd.DataFrame(index=range(length))
    frame.columns = pd.Index([field.name for field in schema])
    return frame


def _series(column: pa.Array | pa.ChunkedArray, field: Field, zone: str) -> pd.Series[Any]:
    found = column.to_pandas()
    if isinstance(field.type, t.LocalZonedTimestampType):
        found = found.dt.tz_convert(standard_name(zone)).dt.as_unit(_unit(field.type.precision))
    elif isinstance(field.type, t.TimestampType):
        found = found.dt.as_unit(_unit(field.type.precision))
    return found  # type: ignore[no-any-return]


def _unit(precision: int) -> Literal["s", "ms", "us", "ns"]:
    """What pandas calls the digits of a time."""
    return "s" if precision == 0 else "ms" if precision <= 3 else "us" if precision <= 6 else "ns"


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
