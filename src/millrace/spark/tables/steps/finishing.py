"""Aggregates that Spark does not have: Spark collects the rows of each group into lists, Python computes values from
the lists."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.functions.aggregates.registry import Entry, Folding, Keeping, Texts, accumulation
from millrace.relational.rex import AggCall
from millrace.relational.type_table import arrow_type
from millrace.relational.types import ArrayType, RowType
from millrace.runtime.functions.aggregates import GroupFunction
from millrace.runtime.functions.runner import FunctionRunner, result_column, wrappers_in
from millrace.runtime.tables.columns.reduction import reduce_columns
from millrace.spark.tables.steps.computed import names, struct_of
from millrace.spark.tables.steps.context import Context, PythonTask
from millrace.spark.tables.steps.packing import PackedCall, PackTask, can_pack
from millrace.spark.tables.steps.parts import Part, numbered
from millrace.spark.tables.steps.spark_types import as_internal, numbered_schema
from millrace.spark.tables.steps.sql_text import collected_text

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
