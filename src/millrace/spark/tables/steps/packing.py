"""Rows with equal keys put together before Spark sends them, for functions that want all rows of a key.

Spark would put each value into a list of objects, which takes several times as long as all the rest. So Python makes
lists of many rows at a time, and Spark has one row for each key of them. What it collects are lists of lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import types as s

from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.frames import names
from millrace.spark.tables.steps.parts import Part, numbered

MOST_ROWS = 262_144
MOST_BYTES = 32 << 20
"""of rows that are put together at once; the batch that goes beyond is among them"""
_KEYS = (
    s.BooleanType, s.NumericType, s.StringType, s.BinaryType, s.DateType, s.TimestampType, s.TimestampNTZType,
)  # fmt: skip


def can_pack(keys: Sequence[s.DataType]) -> bool:
    """Whether Arrow finds equal keys of these types."""
    return all(isinstance(key, _KEYS) for key in keys)


def packed(part: Part, keys: Sequence[str], calls: Sequence[Sequence[str]], context: Context) -> Part | None:
    """The keys c0, c1, ..., and behind them a list of rows for each call; None: Arrow cannot tell these keys apart.

    :param keys: one at least.
    :param calls: what the rows of each list have; where that is nothing, they have a column that means nothing.
    """
    arguments = [texts or ("1",) for texts in calls]
    rows = part.select(numbered([*keys, *(text for texts in arguments for text in texts)])).frame
    types = [field.dataType for field in rows.schema.fields]
    if not can_pack(types[: len(keys)]):
        return None
    fields = iter(types)
    shown = [s.StructField(name, next(fields)) for name in names(len(keys))]
    for name, texts in zip(names(len(arguments), len(keys)), arguments):
        row = s.StructType([s.StructField(f"a{place}", next(fields)) for place in range(len(texts))])
        shown.append(s.StructField(name, s.ArrayType(row)))
    task = PackTask(len(keys), tuple(map(len, arguments)))
    return Part.of_frame(rows.mapInArrow(context.ship(task, "rows with equal keys"), s.StructType(shown)))


@dataclass(frozen=True)
class PackTask:
    """Rows of keys and arguments -> rows of keys and lists of arguments. A key comes again with each lot of rows."""

    keys: int
    calls: tuple[int, ...]
    """how many columns each has"""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        rows = size = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            waiting.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows >= MOST_ROWS or size >= MOST_BYTES:
                yield self._together(waiting)
                waiting, rows, size = [], 0, 0
        if waiting:
            yield self._together(waiting)

    def _together(self, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
        table = pa.Table.from_batches(batches).combine_chunks()
        columns = [column.chunk(0) for column in table.columns]
        by = names(self.keys)
        places = pa.array(np.arange(table.num_rows))
        grouped = pa.table([*columns[: self.keys], places], [*by, "at"])
        found = grouped.group_by(by, use_threads=False).aggregate([("at", "list")]).combine_chunks()
        lists = found["at_list"].chunk(0)
        made = [found[name].chunk(0) for name in by]
        arguments = iter(columns[self.keys :])
        for width in self.calls:
            taken = [next(arguments).take(lists.values) for _ in range(width)]
            row = pa.StructArray.from_arrays(taken, names=[f"a{place}" for place in range(width)])
            made.append(pa.ListArray.from_arrays(lists.offsets, row))
        return pa.RecordBatch.from_arrays(made, names(len(made)))


def unpacked(lists: pa.ListArray) -> pa.ListArray:
    """Lists of such lists as lists of rows; lists of rows as they are."""
    if not pa.types.is_list(lists.type.value_type):
        return lists
    inner = lists.values
    return pa.ListArray.from_arrays(inner.offsets.take(lists.offsets), inner.values)
