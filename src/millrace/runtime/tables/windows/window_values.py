"""The values of DISTINCT calls in windows, and of MIN and MAX whose rows may be taken back: rows of key and value,
beside the accumulators of the other calls. A call is evaluated when its window fires.

Windows share the values of their slices as they share accumulators. Where rows are only inserted, a value counts in a
cumulative window if it has come by the window's end. So all windows with the same start have one row for it, with the
end of the first slice that has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.functions.aggregates.registry import Extremum, Folding, Slot, accumulation, choosing, counting
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.rex import AggCall, Rex
from millrace.relational.rows import Rows
from millrace.relational.type_table import arrow_type
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.column_deltas import SINCE, Changes, Form
from millrace.runtime.tables.aggregates.accumulators import Accumulators
from millrace.runtime.tables.aggregates.batch import Batch, signs_of
from millrace.runtime.tables.aggregates.partials import PartialColumns, as_type, filled
from millrace.runtime.tables.columns.keys import Ids, Key, group_ids, rows_at
from millrace.runtime.tables.columns.reduction import reduce_columns
from millrace.runtime.tables.indexed_rows import batches_by_place
from millrace.runtime.tables.windows.contents import ColumnContents, Parts, Results
from millrace.runtime.tables.windows.slice_table import SliceTable
from millrace.runtime.tables.windows.window_config import WindowAggregate
from millrace.runtime.windows.slicing import CumulativeSlices, Slicing

_IN_ANY_ORDER = frozenset({"sum", "min", "max"})


@dataclass(frozen=True)
class ValueCall:
    """A call that is evaluated over the values of its window."""

    call: AggCall
    folding: Folding
    place: int
    """index among all calls of the operator"""
    filter: int
    """index among the filters for which values are counted"""


@dataclass(frozen=True)
class ValueCalls:
    """Calls over the same arguments."""

    args: tuple[Rex, ...]
    filters: tuple[Rex | None, ...]
    calls: tuple[ValueCall, ...]


def value_calls(config: WindowAggregate) -> tuple[ValueCalls, ...]:
    """The calls of windows whose values are rows; empty: there are none, or the accumulators must be objects."""
    if config.partial:
        return ()
    found: dict[tuple[Rex, ...], list[tuple[int, AggCall, Folding]]] = {}
    for place, call in enumerate(config.calls):
        if call.order or call.udf is not None:
            return ()
        how = accumulation(call, config.retracts)
        if isinstance(how, Folding) and not call.distinct:
            continue
        folding = accumulation(call, False) if isinstance(how, (Folding, Extremum)) else None
        if not isinstance(folding, Folding) or not {slot.reduce for slot in folding.slots} <= _IN_ANY_ORDER:
            return ()
        found.setdefault(call.args, []).append((place, call, folding))
    return tuple(_together(args, calls) for args, calls in found.items())


def _together(args: tuple[Rex, ...], found: Sequence[tuple[int, AggCall, Folding]]) -> ValueCalls:
    filters = tuple(dict.fromkeys(call.filter for _, call, _ in found))
    calls = (ValueCall(call, folding, place, filters.index(call.filter)) for place, call, folding in found)
    return ValueCalls(args, filters, tuple(calls))


def plain_calls(config: WindowAggregate, values: Sequence[ValueCalls]) -> list[AggCall]:
    """The other calls."""
    places = {each.place for several in values for each in several.calls}
    return [call for place, call in enumerate(config.calls) if place not in places]


# State


class _Values(PartialColumns):
    """Rows of key and value. In a savepoint a row is at ``Scoped(key, value)``.

    :param own: the number of columns of the key.
    """

    def __init__(self, keys: Sequence[pa.DataType], slots: Sequence[Slot], own: int) -> None:
        super().__init__(keys, slots)
        self.own = own

    def entries(self, batch: pa.RecordBatch) -> list[tuple[Key, tuple[Any, ...]]]:
        return [(Scoped(key[: self.own], key[self.own :]), slots) for key, slots in super().entries(batch)]

    def of_entries(self, entries: Sequence[tuple[Any, tuple[Any, ...]]]) -> pa.RecordBatch:
        return super().of_entries([((*at.key, *at.namespace), slots) for at, slots in entries])


class WindowValues(SliceTable):
    """The values of windows or slices, by end: a row for each key and value, with a number for each filter."""

    partials: _Values

    def __init__(self, partials: _Values) -> None:
        super().__init__(partials)

    def form(self) -> Form:
        return "window values", (*self.partials.made_of(), self.partials.own)

    @classmethod
    def told(cls, *made_of: Any) -> WindowValues:
        *columns, own = made_of
        made = PartialColumns.made_from(*columns)
        return cls(_Values(made.keys, made.slots, own))

    @classmethod
    def divided(cls, changes: Changes, places: Callable[[Any], Ids]) -> dict[int, Changes]:
        form, made_of, (_, batches) = changes[SINCE]
        parts = batches_by_place(batches, range(1, 1 + made_of[-1]), places)
        return {place: {SINCE: (form, made_of, (b"", part))} for place, part in parts.items()}


# Contents


class _OfSlices:
    """How often each value was added, by slice; there may be fewer than none."""

    slot: Slot = counting()

    def scopes(self, ends: Ids) -> Ids:
        """The ends under which the values of rows are stored."""
        return ends

    def numbers(self, signs: Ids, ends: Ids) -> pa.Array:
        """What is stored of rows that count by these signs."""
        return pa.array(signs)

    def stored(self, end: int, slices: Sequence[int]) -> Sequence[int]:
        """The ends under which the values of a window are stored."""
        return slices

    def present(self, numbers: pa.Array, ends: Ids) -> Ids:
        """Whether values with these numbers are in windows with these ends, 1 or 0."""
        found: Ids = (filled(numbers, self.slot).to_numpy() > 0).astype(np.int64)
        return found


class _ByFirstSlice(_OfSlices):
    """The end of the first slice that has the value, for all cumulative windows with the same start."""

    slot = choosing(pa.int64(), "min")

    def __init__(self, windows: Slicing) -> None:
        self._windows = windows

    def scopes(self, ends: Ids) -> Ids:
        distinct, where = np.unique(ends, return_inverse=True)
        return np.array([self._windows.last_window(each) for each in distinct.tolist()], np.int64)[where]

    def numbers(self, signs: Ids, ends: Ids) -> pa.Array:
        return pa.array(ends, mask=signs == 0)

    def stored(self, end: int, slices: Sequence[int]) -> Sequence[int]:
        return (self._windows.last_window(end),)

    def present(self, numbers: pa.Array, ends: Ids) -> Ids:
        return pc.fill_null(pc.less_equal(numbers, pa.array(ends)), False).cast(pa.int64()).to_numpy()  # type: ignore[no-any-return]


class _Kept:
    """The values for some calls."""

    def __init__(self, calls: ValueCalls, table: WindowValues, how: _OfSlices, keys: Sequence[int]) -> None:
        self._calls, self._table, self._how, self._keys = calls, table, how, keys

    def add(self, rows: Rows, ends: Ids, evaluator: Evaluator, insertions: bool) -> None:
        how, partials = self._how, self._table.partials
        batch = Batch(evaluator, ends, signs_of(rows))
        signs = [batch.signs_where(condition).to_numpy() for condition in self._calls.filters]
        if insertions and any(len(each) and each.min() < 0 for each in signs):
            raise ValueError("an aggregate was planned to have insertions only, but its input takes rows back")
        counting = np.flatnonzero(np.any([each != 0 for each in signs], axis=0))
        if not len(counting):
            return
        columns = [*(rows.batch.column(index) for index in self._keys), *map(batch.column, self._calls.args)]
        columns = rows_at(columns, counting)
        ends = ends[counting]
        scopes = how.scopes(ends)
        for scope in np.unique(scopes).tolist():
            mine = np.flatnonzero(scopes == scope)
            numbers = [how.numbers(each[counting][mine], ends[mine]) for each in signs]
            self._table.add(scope, partials.merged([partials.batch(rows_at(columns, mine), numbers, len(mine))]))

    def results(self, found: Results, slices: dict[int, Sequence[int]]) -> Iterable[tuple[int, pa.Array]]:
        """(place, value for each of these results) of each call."""
        how, partials, own = self._how, self._table.partials, len(found.keys)
        parts = []
        for end in np.unique(found.ends).tolist():
            stored = how.stored(end, slices[end])
            self._table.fetch(stored)
            batches = [batch for each in stored if (batch := self._table.batch(each)) is not None]
            if batches:
                batch = batches[0] if len(batches) == 1 else partials.merged(batches)
                parts.append((end, batch))
        ends = np.repeat([end for end, _ in parts], [batch.num_rows for _, batch in parts]).astype(np.int64)
        empty = [pa.array([], kind) for kind in (*partials.keys, *(slot.type for slot in partials.slots))]
        columns = [pa.concat_arrays(each) for each in zip(empty, *(batch.columns for _, batch in parts))]
        owners = _owners(found, columns[:own], ends)
        known = np.flatnonzero(owners >= 0)
        columns, ends, owners = rows_at(columns, known), ends[known], owners[known]
        args, numbers = columns[own : partials.width], columns[partials.width :]
        for each in self._calls.calls:
            signs = pa.array(how.present(numbers[each.filter], ends))
            yield each.place, _folded(each, args, signs, owners, len(found.ends))

    def drop(self, end: int) -> None:
        for scope in self._how.stored(end, (end,)):
            self._table.drop(scope)


def _owners(found: Results, keys: Sequence[pa.Array], ends: Ids) -> Ids:
    """The index of the result that each row belongs to; -1: none."""
    count = len(found.ends)
    both = [pa.concat_arrays([one, as_type(other, one.type)]) for one, other in zip(found.keys, keys)]
    ids, first = group_ids([pa.array(np.concatenate([found.ends, ends])), *both], count + len(ends))
    result_of = np.full(len(first), -1, np.int64)
    result_of[ids[:count]] = np.arange(count)
    owners: Ids = result_of[ids[count:]]
    return owners


def _folded(each: ValueCall, args: Sequence[pa.Array], signs: pa.Array, owners: Ids, count: int) -> pa.Array:
    """The value of a call for each result, folded over its values."""
    slots = each.folding.slots
    contributed = [as_type(column, slot.type) for column, slot in zip(each.folding.contributions(args, signs), slots)]
    reduced = reduce_columns(owners, count, [(column, slot.reduce) for column, slot in zip(contributed, slots)])
    columns = [filled(as_type(column, slot.type), slot) for column, slot in zip(reduced, slots)]
    return each.folding.column_result(columns, arrow_type(each.call.type))


class ValueContents(ColumnContents):
    """``ColumnContents`` of the calls without values, and the values of the others.

    :param width: the number of all calls.
    """

    def __init__(
        self, table: SliceTable, accumulators: Accumulators, keys: Sequence[int], kept: Sequence[_Kept], width: int
    ) -> None:
        super().__init__(table, accumulators, keys, partial=False)
        self._kept = kept
        self._width = width
        self.insertions = False
        """whether rows are never taken back"""

    def add(self, rows: Rows, ends: Ids, evaluator: Evaluator) -> set[int]:
        for each in self._kept:
            each.add(rows, ends, evaluator, self.insertions)
        return super().add(rows, ends, evaluator)

    def results(self, windows: Parts) -> Iterable[Results]:
        slices = dict(windows)
        for found in super().results(windows):
            values: dict[int, pa.Array] = {}
            for each in self._kept:
                values.update(each.results(found, slices))
            others = iter(found.values)
            columns = [values[place] if place in values else next(others) for place in range(self._width)]
            yield found._replace(values=columns)

    def drop(self, end: int) -> None:
        super().drop(end)
        for each in self._kept:
            each.drop(end)


def value_contents(
    backend: Any,
    name: str,
    accumulators: Accumulators,
    config: WindowAggregate,
    calls: Sequence[ValueCalls],
    shares_slices: bool,
) -> ValueContents:
    """The contents of windows with such calls.

    :param backend: the backend with the state.
    :param name: of the state with ``accumulators``, which are those of the other calls.
    """
    keys = (*config.keys, *(config.attached or ()))
    types = [*config.arrow_key_types, *([pa.timestamp("us")] * len(config.attached or ()))]
    first = shares_slices and not config.retracts and isinstance(config.slicing, CumulativeSlices)
    how = _ByFirstSlice(config.slicing) if first else _OfSlices()
    kept = []
    for place, each in enumerate(calls):
        partials = _Values(
            [*types, *(arrow_type(arg.type) for arg in each.args)], [how.slot] * len(each.filters), len(types)
        )
        kept.append(_Kept(each, backend.use(values_name(place), WindowValues(partials)), how, keys))
    table = backend.use(name, ColumnContents.table(accumulators, types))
    contents = ValueContents(table, accumulators, keys, kept, len(config.calls))
    contents.insertions = not config.retracts
    return contents


def values_name(place: int) -> str:
    """The name of the state with the values of the calls with this number."""
    return f"window values {place}"
