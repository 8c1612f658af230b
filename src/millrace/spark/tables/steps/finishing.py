"""Aggregates that Spark does not have: Spark collects the rows of each group into lists, Python computes values from
the lists.

Spark would put each row into a list of objects, which takes many times as long as all the rest. So Python first packs
many rows at a time, in the order of their keys, and Spark has one row for each key of them, in which a column is a few
values of bytes. What it collects are lists of those.

A column is a few planes: whether each row has a value, and its values; lengths before those of texts and lists. Of each
plane there is one value of bytes a cut. Put behind each other, the planes of many cuts are those of all their rows, so
nothing here is done row by row or cut by cut.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as s

from millrace.relational.functions.aggregates.registry import Entry, Folding, Keeping, Texts, accumulation
from millrace.relational.rex import AggCall
from millrace.relational.type_table import arrow_type
from millrace.relational.types import ArrayType, BooleanType, DataType, IntType, RowType
from millrace.runtime.functions.aggregates import GroupFunction
from millrace.runtime.functions.runner import FunctionRunner, result_column, wrappers_in
from millrace.runtime.tables.columns.reduction import reduce_columns
from millrace.spark.tables.steps.computed import names, struct_of
from millrace.spark.tables.steps.context import Context, PythonTask
from millrace.spark.tables.steps.parts import Part, gathered, numbered
from millrace.spark.tables.steps.spark_types import as_internal, numbered_schema
from millrace.spark.tables.steps.sql_text import collected_text

# Rows with equal keys packed as bytes

Bounds = np.ndarray[Any, np.dtype[np.int64]]
"""the first row of each cut, and where the last one ends"""
_Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def planes_of(column: pa.Array, bounds: Bounds) -> Iterator[pa.Array]:
    """The planes of a column, each a binary column with a value for each cut.

    :raises OverflowError: a plane is larger than the 2 GB of a binary column.
    """
    kind = column.type
    yield _cut(np.asarray(column.is_valid().cast(pa.uint8())), 1, bounds)
    if pa.types.is_struct(kind):
        for at in range(kind.num_fields):
            yield from planes_of(column.field(at), bounds)
    elif _inner(kind) is not None:
        lists = column.cast(pa.list_(_inner(kind))) if pa.types.is_map(kind) else column
        lengths = np.asarray(pc.list_value_length(lists).fill_null(0))
        yield _cut(lengths, 4, bounds)
        yield from planes_of(lists.flatten(), _inner_bounds(lengths, bounds))
    elif _is_text(kind):
        # What lies below a NULL is left out.
        texts = column.fill_null(b"" if pa.types.is_binary(kind) else "") if column.null_count else column
        lengths = np.asarray(pc.binary_length(texts))
        yield _cut(lengths, 4, bounds)
        inner = _inner_bounds(lengths, bounds)
        first = int(_offsets(texts)[0])
        yield _cut(_buffer(texts, 2)[first : first + int(inner[-1])], 1, inner)
    elif pa.types.is_boolean(kind):
        yield _cut(np.asarray(column.fill_null(False).cast(pa.uint8())), 1, bounds)
    elif not pa.types.is_null(kind):
        width = kind.bit_width // 8
        yield _cut(_buffer(column, 1)[column.offset * width :], width, bounds)


def plane_count(kind: pa.DataType) -> int:
    """How many planes a column of this type has."""
    if pa.types.is_null(kind):
        return 1
    if pa.types.is_struct(kind):
        return 1 + sum(plane_count(field.type) for field in kind)
    inner = _inner(kind)
    if inner is not None:
        return 2 + plane_count(inner)
    return 3 if _is_text(kind) else 2


def column_of(planes: Iterator[pa.Array], kind: pa.DataType) -> pa.Array:
    """The rows of all cuts behind each other. It takes as many planes as the type has."""
    known = _bytes_of(next(planes))
    count, nulls = len(known), int(len(known) - np.count_nonzero(known))
    there = _bits(known) if nulls else None
    if pa.types.is_null(kind):
        return pa.nulls(count)
    if pa.types.is_struct(kind):
        children = [column_of(planes, field.type) for field in kind]
        return pa.Array.from_buffers(kind, count, [there], nulls, children=children)
    inner = _inner(kind)
    if inner is not None:
        offsets = _offsets_from(next(planes))
        return pa.Array.from_buffers(kind, count, [there, offsets], nulls, children=[column_of(planes, inner)])
    if _is_text(kind):
        offsets = _offsets_from(next(planes))
        return pa.Array.from_buffers(kind, count, [there, offsets, pa.py_buffer(_bytes_of(next(planes)))], nulls)
    values = _bytes_of(next(planes))
    data = _bits(values) if pa.types.is_boolean(kind) else pa.py_buffer(values)
    return pa.Array.from_buffers(kind, count, [there, data], nulls)


def cut_sizes(plane: pa.Array) -> np.ndarray[Any, np.dtype[np.int32]]:
    """How many rows each cut has: of the first plane of a column."""
    return np.diff(_offsets(plane))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _inner(kind: pa.DataType) -> pa.DataType | None:
    """The type of the elements, if it has any."""
    if pa.types.is_map(kind):
        return pa.struct([kind.key_field, kind.item_field])
    return kind.value_type if pa.types.is_list(kind) else None


def _inner_bounds(lengths: np.ndarray[Any, np.dtype[np.int32]], bounds: Bounds) -> Bounds:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])[bounds]


def _cut(values: np.ndarray[Any, Any], width: int, bounds: Bounds) -> pa.Array:
    """Join the values of each cut, of ``width`` bytes each, to one binary value a cut."""
    ends = bounds * width
    if len(ends) and ends[-1] > 2**31 - 1:
        raise OverflowError(f"{ends[-1]:,} bytes do not fit into a binary column")
    offsets = pa.py_buffer(ends.astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), len(bounds) - 1, [None, offsets, pa.py_buffer(values)])


def _offsets(column: pa.Array) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Of a column of texts, bytes or lists, also of a part of one."""
    buffer = column.buffers()[1]
    if buffer is None:
        return np.zeros(1, np.int32)
    return np.frombuffer(buffer, np.int32)[column.offset : column.offset + len(column) + 1]


def _offsets_from(lengths: pa.Array) -> pa.Buffer:
    offsets = np.zeros(len(_bytes_of(lengths)) // 4 + 1, np.int32)
    np.cumsum(_bytes_of(lengths).view(np.int32), out=offsets[1:])
    return pa.py_buffer(offsets)


def _bytes_of(plane: pa.Array) -> _Bytes:
    """All its cuts behind each other."""
    offsets = _offsets(plane)
    return _buffer(plane, 2)[offsets[0] : offsets[-1]]


def _buffer(column: pa.Array, number: int) -> _Bytes:
    buffer = column.buffers()[number]
    return np.zeros(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)


def _bits(flags: _Bytes) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


MOST_ROWS = 262_144
MOST_BYTES = 32 << 20
"""The most rows and bytes that are packed at once, not counting the rest of the batch that goes beyond the limit."""
_KEYS = (
    s.BooleanType, s.NumericType, s.StringType, s.BinaryType, s.DateType, s.TimestampType, s.TimestampNTZType,
)  # fmt: skip


def can_pack(keys: Sequence[s.DataType]) -> bool:
    """Whether Arrow finds equal keys if the keys have these types."""
    return all(isinstance(key, _KEYS) for key in keys)


@dataclass(frozen=True)
class PackedCall:
    """How the rows of one aggregate call are packed into binary values, and unpacked again."""

    types: tuple[DataType, ...]
    """types of the call's arguments and order keys; one INT column without meaning if the call has neither"""
    filtered: bool
    """whether a column with the FILTER condition follows: only rows for which it is TRUE belong to the call"""

    @classmethod
    def of(cls, call: AggCall) -> PackedCall:
        types = (*(arg.type for arg in call.args), *(key.expression.type for key in call.order))
        return cls(types or (IntType(),), call.filter is not None)

    def columns(self, texts: Texts) -> list[str]:
        """The texts of the columns that the call needs of each row."""
        found = [*texts.args, *texts.order] or ["1"]
        return found if texts.filter is None else [*found, texts.filter]

    @property
    def width(self) -> int:
        """The number of columns that the call needs of each row."""
        return len(self.types) + self.filtered

    @property
    def spark_type(self) -> s.StructType:
        """Spark's type of a packed value: a struct with a binary field for each plane."""
        count = sum(plane_count(arrow_type(each)) for each in self.types)
        return s.StructType([s.StructField(f"p{at}", s.BinaryType()) for at in range(count)])

    def values(self, columns: Sequence[pa.Array], rows: pa.Array, bounds: Bounds) -> pa.StructArray:
        """Pack the rows of each key into one value.

        :param rows: the positions of the rows in the columns, in the order of their keys.
        :param bounds: the first index into ``rows`` of each key, and the end of the last key.
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
        """Turn lists of packed values into lists of rows, structs with fields a0, a1, ..."""
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
    """A task that packs the rows of equal keys: columns of the keys and of the calls become the different keys and one
    packed value for each call. A key occurs again in each lot of rows."""

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
    """Group the rows by key: the different keys, the positions of the rows ordered by key, and the bounds of each key's
    rows."""
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


# Values from lists

Columns = Sequence[pa.Array]
"""The arguments of an aggregate for all rows of one group, as Arrow columns."""
Unpacked = Callable[[pa.ListArray], pa.ListArray]
Finisher = Callable[[list[list[pa.Array]]], pa.Array]


def as_they_are(lists: pa.ListArray) -> pa.ListArray:
    """Return the lists unchanged: Spark has collected rows, not packs of rows."""
    return lists


@dataclass(frozen=True)
class FinishTask:
    """One column of collected lists -> the column of the call's values, in a task."""

    call: AggCall
    task: PythonTask
    unpacked: Unpacked = field(default=as_they_are, kw_only=True)
    """turns what Spark has collected into lists of rows"""

    def __call__(self, batches: Iterable[list[pa.Array]]) -> Iterator[pa.Array]:
        with self.task.functions(wrappers_in(self.call)) as functions:
            values = self.values(functions)
            for (lists,) in batches:
                yield values(lists)

    def values(self, functions: FunctionRunner) -> Callable[[pa.ListArray], pa.Array]:
        """Make the function from a column of collected lists to the column of the call's values."""
        finish = self.finisher(functions)
        return lambda lists: finish([self._group(rows) for rows in _slices(self.unpacked(lists))])

    def finisher(self, functions: FunctionRunner) -> Finisher:
        """Make the function from the arguments of many groups to the column of the call's values."""
        call = self.call
        if call.udf is not None:
            function = GroupFunction(functions, call)
            return lambda groups: function.column([function.value(*_rows_of(call, group)) for group in groups])
        made = accumulation(call, False)
        wanted = arrow_type(call.type)
        if isinstance(made, Keeping):
            return lambda groups: pa.array([_kept(made, group) for group in groups], wanted)
        assert isinstance(made, Folding), f"{call.function} is either folded or kept"
        return lambda groups: _folded(made, groups, wanted)

    def _group(self, rows: pa.StructArray) -> list[pa.Array]:
        """The arguments of a group's rows, in the order that the call asks for, duplicates left out for DISTINCT."""
        call = self.call
        count = len(call.args)
        args = [as_internal(rows.field(index), arg.type) for index, arg in enumerate(call.args)]
        if not args:
            args = [rows.field(0)]
        if call.order:
            keys = [as_internal(rows.field(count + i), key.expression.type) for i, key in enumerate(call.order)]
            where = pa.array(_sorted(keys, call), pa.int64())
            args = [arg.take(where) for arg in args]
        if call.distinct:
            where = pa.array(_distinct(args), pa.int64())
            args = [arg.take(where) for arg in args]
        return args


@dataclass(frozen=True)
class FinishTasks:
    """A column of collected lists for each call -> the calls' values as fields c0, c1, ... of one column."""

    each: tuple[FinishTask, ...]
    task: PythonTask

    def __call__(self, batches: Iterable[list[pa.Array]]) -> Iterator[pa.Array]:
        with self.task.functions(wrappers_in([task.call for task in self.each])) as functions:
            makers = [task.values(functions) for task in self.each]
            types = [task.call.type for task in self.each]
            for lists in batches:
                yield struct_of([make(column) for make, column in zip(makers, lists)], types)


@dataclass(frozen=True)
class TableAggregateTask(FinishTask):
    """One column of collected lists -> lists of the rows that a table aggregate function makes of each."""

    row: RowType

    def finisher(self, functions: FunctionRunner) -> Finisher:
        call = self.call
        function, width, wanted = GroupFunction(functions, call), len(self.row), ArrayType(self.row)

        def finish(groups: list[list[pa.Array]]) -> pa.Array:
            found = [function.rows(*_rows_of(call, group), width) for group in groups]
            return result_column(functions, found, wanted, call.udf.name)

        return finish


def _rows_of(call: AggCall, group: Columns) -> tuple[Columns, int]:
    """The arguments of a group, and how many rows it has."""
    return group if call.args else [], len(group[0])


def _kept(made: Keeping, group: Columns) -> Any:
    places: dict[Any, list[int]] = {}
    rows: dict[Any, tuple[Any, ...]] = {}
    for place, row in enumerate(zip(*(column.to_pylist() for column in group))):
        if made.skips_nulls and row[0] is None:
            continue
        key = _key(row)
        rows.setdefault(key, row)
        places.setdefault(key, []).append(place)
    if not rows:
        return made.empty()
    entries: list[Entry] = [(row, places[key] if made.in_order else len(places[key])) for key, row in rows.items()]
    return made.result(entries)


def _folded(made: Folding, groups: Sequence[Columns], wanted: pa.DataType) -> pa.Array:
    """The values of all groups at once."""
    if not groups:
        return pa.array([], wanted)
    ids = np.repeat(np.arange(len(groups)), [len(group[0]) for group in groups])
    columns = [pa.concat_arrays(column) for column in zip(*groups)]
    contributions = made.contributions(columns, pa.repeat(pa.scalar(1, pa.int64()), len(ids)))
    parts = [(column, slot.reduce) for column, slot in zip(contributions, made.slots)]
    slots = []
    for slot, reduced in zip(made.slots, reduce_columns(ids, len(groups), parts)):
        slots.append([slot.zero if each is None else each for each in reduced.to_pylist()])
    return made.result(slots, wanted)


def _slices(lists: pa.ListArray) -> Iterator[pa.StructArray]:
    offsets = lists.offsets.to_pylist()
    for start, end in pairwise(offsets):
        yield lists.values.slice(start, end - start)


def _key(row: tuple[Any, ...]) -> Any:
    try:
        hash(row)
    except TypeError:
        return pickle.dumps(row)
    return row


def _distinct(args: Columns) -> list[int]:
    seen: dict[Any, int] = {}
    for place, row in enumerate(zip(*(arg.to_pylist() for arg in args))):
        seen.setdefault(_key(row), place)
    return sorted(seen.values())


def _sorted(keys: Columns, call: AggCall) -> list[int]:
    """Positions of the rows in the order of the keys; rows with equal keys keep their order."""
    where = list(range(len(keys[0])))
    for column, key in reversed(list(zip(keys, call.order))):
        values = column.to_pylist()
        known = sorted((i for i in where if values[i] is not None), key=values.__getitem__, reverse=key.descending)
        nulls = [i for i in where if values[i] is None]
        where = [*nulls, *known] if key.nulls_first else [*known, *nulls]
    return where


@dataclass(frozen=True)
class Collected:
    """Rows that are still to be grouped, and how each call's rows are collected."""

    part: Part
    keys: Sequence[str]
    texts: Sequence[str]
    """for each call, the Spark aggregate (SQL text) that collects the rows of a group into a list"""
    unpacked: Sequence[Unpacked]
    """for each call, the function that turns the collected lists into lists of rows"""


def collected(part: Part, keys: Sequence[str], calls: Sequence[AggCall], texts: Sequence[Texts]) -> Collected:
    """Let Spark collect the arguments of each call row by row.

    :param texts: the arguments, order and filter of each call.
    """
    lists = [collected_text(call, each) for call, each in zip(calls, texts)]
    return Collected(part, keys, lists, [as_they_are] * len(calls))


def collected_in_packs(
    part: Part, keys: Sequence[str], calls: Sequence[AggCall], texts: Sequence[Texts], context: Context
) -> Collected | None:
    """Let Python pack rows with equal keys first, so that Spark collects packs instead of rows.

    :param texts: the arguments, order and filter of each call.
    :returns: None if Arrow cannot compare keys of these types.
    """
    packed = tuple(map(PackedCall.of, calls))
    columns = [column for call, each in zip(packed, texts) for column in call.columns(each)]
    rows = part.select(numbered([*keys, *columns]))
    width = len(keys)
    types = rows.types[:width]
    if not can_pack(types):
        return None
    schema = numbered_schema([*types, *(call.spark_type for call in packed)])
    packs = rows.in_python(PackTask(width, packed), schema, partial(context.ship, what="rows with equal keys"))
    lists = [f"collect_list({name})" for name in names(len(packed), width)]
    return Collected(packs, names(width), lists, [call.unpacked for call in packed])
