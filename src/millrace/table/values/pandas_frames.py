"""Tables and pandas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from millrace.relational import types as t
from millrace.relational.nodes import Field, Scan, Schema
from millrace.relational.rows import Rows
from millrace.relational.zones import standard_name
from millrace.table.values.arrow_tables import columns_of, scan_of_table

if TYPE_CHECKING:
    import pandas as pd

    from millrace.table.sessions.session import Session


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
        found = found.dt.tz_convert(standard_name(zone)).dt.as_unit(_unit(field.type.precision))
    elif isinstance(field.type, t.TimestampType):
        found = found.dt.as_unit(_unit(field.type.precision))
    return found  # type: ignore[no-any-return]


def _unit(precision: int) -> Literal["s", "ms", "us", "ns"]:
    """What pandas calls the digits of a time."""
    return "s" if precision == 0 else "ms" if precision <= 3 else "us" if precision <= 6 else "ns"
