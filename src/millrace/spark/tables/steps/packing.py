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

from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.frames import names
from millrace.spark.tables.steps.parts import Part, numbered

MOST_ROWS = 262_144
MOST_BYTES = 32 << 20
"""of rows that are put together at once; the batch that goes beyond is among them"""
_KEYS = frozenset(
    {
        Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL, Family.TEXT, Family.BYTES, Family.DATE,
        Family.TIME, Family.TIMESTAMP, Family.INSTANT,
    }
)  # fmt: skip


def can_pack(keys: Sequence[DataType]) -> bool:
    """Whether Arrow finds equal keys of these types, of which there is one at least."""
    return bool(keys) and all(family_of(key) in _KEYS for key in keys)


def packed(part: Part, keys: Sequence[str], calls: Sequence[Sequence[str]], context: Context) -> Part:
    """The keys c0, c1, ..., and behind them a list of rows for each call.

    :param calls: what the rows of each list have, one column at least.
    """
    rows = part.select(numbered([*keys, *(text for texts in calls for text in texts)])).frame
    task = PackTask(len(keys), tuple(map(len, calls)))
    fields = iter(rows.schema.fields)
    shown = [s.StructField(f"c{at}", next(fields).dataType) for at in range(len(keys))]
    for at, texts in enumerate(calls, len(keys)):
        row = s.StructType([s.StructField(f"a{place}", next(fields).dataType) for place in range(len(texts))])
        shown.append(s.StructField(f"c{at}", s.ArrayType(row)))
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
