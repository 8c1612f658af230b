"""Rows with equal keys put together before Spark sends them, for functions that want all rows of a key.

Spark would put each row into a list of objects, which takes many times as long as all the rest. So Python puts many
rows at a time in the order of their keys, and Spark has one row for each key of them, in which a column is a few values
of bytes (``planes.py``). What it collects are lists of those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as s

from millrace.relational.arrow import arrow_type
from millrace.relational.functions.aggregates.spark_texts import Texts
from millrace.relational.rex import AggCall
from millrace.relational.types import BooleanType, DataType, IntType
from millrace.spark.tables.steps.batches import gathered
from millrace.spark.tables.steps.frames import names
from millrace.spark.tables.steps.planes import Bounds, column_of, cut_sizes, plane_count, planes_of
from millrace.spark.tables.texts.types import as_internal

MOST_ROWS = 262_144
MOST_BYTES = 32 << 20
"""of rows that are put together at once; the batch that goes beyond is among them"""
_KEYS = (
    s.BooleanType, s.NumericType, s.StringType, s.BinaryType, s.DateType, s.TimestampType, s.TimestampNTZType,
)  # fmt: skip


def can_pack(keys: Sequence[s.DataType]) -> bool:
    """Whether Arrow finds equal keys of these types."""
    return all(isinstance(key, _KEYS) for key in keys)


@dataclass(frozen=True)
class PackedCall:
    """The rows of a call as values of bytes, and how they come back."""

    types: tuple[DataType, ...]
    """of the arguments and of what orders the rows; of one column that means nothing where there are none"""
    filtered: bool
    """whether a column of conditions is behind them: only rows for which it is TRUE belong to the call"""

    @classmethod
    def of(cls, call: AggCall) -> PackedCall:
        types = (*(arg.type for arg in call.args), *(key.expression.type for key in call.order))
        return cls(types or (IntType(),), call.filter is not None)

    def columns(self, texts: Texts) -> list[str]:
        """What it needs of the rows."""
        found = [*texts.args, *texts.order] or ["1"]
        return found if texts.filter is None else [*found, texts.filter]

    @property
    def width(self) -> int:
        """How many columns that are."""
        return len(self.types) + self.filtered

    @property
    def spark_type(self) -> s.StructType:
        """Of a value."""
        count = sum(plane_count(arrow_type(each)) for each in self.types)
        return s.StructType([s.StructField(f"p{at}", s.BinaryType()) for at in range(count)])

    def values(self, columns: Sequence[pa.Array], rows: pa.Array, bounds: Bounds) -> pa.StructArray:
        """One value for each key.

        :param rows: their places in the columns, in the order of their keys.
        :param bounds: where those of each key begin, and the last ones end.
        """
        if self.filtered:
            wanted = as_internal(columns[-1], BooleanType()).fill_null(False).take(rows)
            rows = rows.filter(wanted)
            bounds = np.concatenate([[0], np.cumsum(np.asarray(wanted.cast(pa.uint8())), dtype=np.int64)])[bounds]
        planes = [
            plane
            for column, kind in zip(columns, self.types)
            for plane in planes_of(as_internal(column, kind).take(rows), bounds)
        ]
        return pa.StructArray.from_arrays(planes, names=[f"p{at}" for at in range(len(planes))])

    def unpacked(self, lists: pa.ListArray) -> pa.ListArray:
        """Lists of such values as lists of rows, with fields a0, a1, ..."""
        values = lists.flatten()
        # Spark's session may want 64 bits for the places of bytes.
        planes = [values.field(at).cast(pa.binary()) for at in range(values.type.num_fields)]
        ends = np.concatenate([[0], np.cumsum(cut_sizes(planes[0]), dtype=np.int64)])
        lengths = np.asarray(pc.list_value_length(lists))
        offsets = ends[np.concatenate([[0], np.cumsum(lengths)])]
        rest = iter(planes)
        columns = [column_of(rest, arrow_type(kind)) for kind in self.types]
        rows = pa.StructArray.from_arrays(columns, names=[f"a{at}" for at in range(len(columns))])
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), rows)


@dataclass(frozen=True)
class PackTask:
    """Rows of keys and the columns of calls -> rows of keys and a value for each call. A key comes again with each lot
    of rows."""

    keys: int
    calls: tuple[PackedCall, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for lot in gathered(batches, MOST_ROWS, MOST_BYTES):
            yield self._together(pa.Table.from_batches(lot).combine_chunks())

    def _together(self, table: pa.Table) -> pa.RecordBatch:
        columns = [column.chunk(0) for column in table.columns]
        made, rows, bounds = _by_key(columns[: self.keys], table.num_rows)
        left = iter(columns[self.keys :])
        for call in self.calls:
            made.append(call.values([next(left) for _ in range(call.width)], rows, bounds))
        return pa.RecordBatch.from_arrays(made, names(len(made)))


def _by_key(keys: Sequence[pa.Array], count: int) -> tuple[list[pa.Array], pa.Array, Bounds]:
    """The different keys, the places of the rows in their order, and where those of each begin."""
    places = pa.array(np.arange(count))
    if not keys:
        return [], places, np.array([0, count])
    by = names(len(keys))
    # Spark has one key for both zeros, Arrow would have two, and their rows not in order.
    keys = [pc.add(key, pa.scalar(0.0, key.type)) if pa.types.is_floating(key.type) else key for key in keys]
    grouped = pa.table([*keys, places], [*by, "at"]).group_by(by, use_threads=False)
    found = grouped.aggregate([("at", "list")]).combine_chunks()
    lists = found["at_list"].chunk(0)
    return [found[name].chunk(0) for name in by], lists.values, np.asarray(lists.offsets).astype(np.int64)
