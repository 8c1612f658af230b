"""The accumulators of several aggregate calls, for any number of groups at a time.

An accumulator is a tuple of slots; the first slot counts rows. Calls that fold store their values in slots. Calls that
store single values, and DISTINCT, have further state entries at the same address.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from millrace.relational.functions.aggregates.registry import (
    Accumulation,
    Extremum,
    Folding,
    Slot,
    accumulation,
    counting,
)
from millrace.relational.rex import AggCall, Rex
from millrace.relational.type_table import arrow_type
from millrace.relational.values import to_internal
from millrace.runtime.functions.aggregates import GroupFunction, UserAccumulators, of_entries
from millrace.runtime.functions.runner import FunctionRunner
from millrace.runtime.tables.aggregates.batch import Batch
from millrace.runtime.tables.aggregates.distinct import (
    CountedValues,
    DistinctCounts,
    DistinctInColumns,
    OnceValues,
)
from millrace.runtime.tables.aggregates.extremum import ColumnExtremum
from millrace.runtime.tables.aggregates.ordered import in_order, with_keys, without_order
from millrace.runtime.tables.aggregates.partials import as_type, filled
from millrace.runtime.tables.aggregates.retained_rows import KeptRows
from millrace.runtime.tables.aggregates.retained_values import KeptExtremum, KeptPlaces, KeptValues, kept_values
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.reduction import reduce_columns
from millrace.runtime.tables.state import KeyedMap
from millrace.runtime.tables.stored_calls import StoredCall, filters_of

Accumulator = tuple[Any, ...]
ROW_COUNT = counting()


@dataclass
class _Call:
    """One aggregate call, and the index of its first slot."""

    call: AggCall
    start: int
    how: Folding | KeptValues | UserAccumulators | ColumnExtremum
    distinct: DistinctCounts | None = None
    filter_number: int = 0

    @property
    def slots(self) -> tuple[Slot, ...]:
        return self.how.slots if isinstance(self.how, (Folding, ColumnExtremum)) else ()

    @property
    def zeros(self) -> tuple[Any, ...]:
        return tuple(slot.zero for slot in self.slots) if isinstance(self.how, Folding) else (self.how.zero,)


CallRows = tuple[Ids, list[pa.Array], pa.Array]
"""(accumulator number of each row, arguments, signs) for one call"""


class Accumulators:
    """Makes, changes and reads the accumulators of some calls.

    :param retracts: whether rows may be retracted.
    :param entries: name -> the state of values, for calls that store them.
    :param distinct: makes the state of DISTINCT values, if it is not entries: (name, arguments) -> ....
    :param functions: the user's functions, which the operator opens; None if no call is one.
    :param extremum: makes the values of MIN and MAX, if they are not entries, but columns: (name, call, types of its
        arguments) -> ....
    """

    def __init__(
        self,
        calls: Sequence[AggCall],
        retracts: bool,
        entries: Callable[[str], KeyedMap],
        distinct: Callable[[str, tuple[Rex, ...]], DistinctCounts] | None = None,
        functions: FunctionRunner | None = None,
        extremum: Callable[[str, AggCall, Sequence[pa.DataType]], ColumnExtremum] | None = None,
    ) -> None:
        self._functions = functions
        self._extremum = extremum
        self._retracts = retracts
        self._calls: list[_Call] = []
        self._distinct: dict[tuple[Any, ...], DistinctCounts] = {}
        width = 1
        for number, call in enumerate(calls):
            ordered = in_order(call, retracts) if call.order and call.udf is None else None
            if call.order:
                call = without_order(call) if ordered is None else with_keys(call)
            values = self._distinct_of(call, distinct or partial(_counted, entries))
            how = self._how(call, ordered, retracts, f"values-{number}", entries)
            made = _Call(call, width, how, values)
            if values is not None:
                made.filter_number = values.filter_number(call.filter)
            self._calls.append(made)
            width += len(made.zeros)
        for values in self._distinct.values():
            values.begin()
        self.zero: Accumulator = (0, *(zero for call in self._calls for zero in call.zeros))

    def _how(
        self,
        call: AggCall,
        ordered: Accumulation | None,
        retracts: bool,
        name: str,
        entries: Callable[[str], KeyedMap],
    ) -> Folding | KeptValues | UserAccumulators | ColumnExtremum:
        types = [arrow_type(arg.type) for arg in call.args]
        if call.udf is None:
            found = ordered or accumulation(call, retracts)
            if isinstance(found, Folding):
                return found
            if isinstance(found, Extremum) and self._extremum is not None:
                return self._extremum(name, call, types)
            return kept_values(entries(name), types, found)  # type: ignore[arg-type]
        assert self._functions is not None
        function = GroupFunction(self._functions, call)
        if call.udf.vectorized and not retracts:
            return KeptRows(
                entries(name), types, lambda args, length: to_internal(function.value(args, length), call.type)
            )
        if call.udf.vectorized:
            return KeptPlaces(entries(name), types, False, of_entries(function, call, types), None)
        return UserAccumulators(function)

    def _distinct_of(
        self, call: AggCall, make: Callable[[str, tuple[Rex, ...]], DistinctCounts]
    ) -> DistinctCounts | None:
        if not call.distinct:
            return None
        values = self._distinct.get(call.args)
        if values is None:
            values = self._distinct[call.args] = make(f"distinct-{len(self._distinct)}", call.args)
        return values

    @cached_property
    def mergeable(self) -> bool:
        """Whether an accumulator consists of its slots only: then ``partials`` can be computed anywhere and merged
        later."""
        return all(isinstance(each.how, Folding) and each.distinct is None for each in self._calls)

    @cached_property
    def in_columns(self) -> bool:
        """Whether an accumulator consists of its slots, except that values are in columns of their own."""
        return all(
            isinstance(each.how, (Folding, ColumnExtremum))
            and isinstance(each.distinct, (DistinctInColumns, type(None)))
            for each in self._calls
        )

    @property
    def follows_from_slots(self) -> bool:
        """Whether an old accumulator can still be evaluated after the state has changed."""
        return all(isinstance(each.how, (Folding, KeptExtremum, ColumnExtremum)) for each in self._calls)

    @cached_property
    def slots(self) -> list[Slot]:
        """All slots of calls that fold, the count of rows first."""
        return [ROW_COUNT, *(slot for each in self._calls for slot in each.slots)]

    @cached_property
    def _merges(self) -> list[Callable[[Any, Any], Any]]:
        return [slot.merge for slot in self.slots]

    def stored(self, texts: Sequence[str]) -> tuple[StoredCall, ...]:
        """The layout of the calls' accumulators in state.

        :param texts: a text for each call that says what it computes.
        """
        names = {id(values): f"distinct-{place}" for place, values in enumerate(self._distinct.values())}
        filters = [text.partition(" FILTER (")[2] for text in texts]
        of_group: dict[int, list[str]] = {}
        for each, condition in zip(self._calls, filters):
            of_group.setdefault(id(each.distinct), []).append(condition)
        return tuple(
            StoredCall(
                text,
                (str(each.call.type.nullable()), *(str(arg.type.nullable()) for arg in each.call.args)),
                type(each.how).__name__,
                tuple(str(slot.type) for slot in each.slots),  # none of a function of the user: any object is there
                len(each.zeros),
                f"values-{number}" if isinstance(each.how, KeptValues) else "",
                names[id(each.distinct)] if each.distinct is not None else "",
                () if each.distinct is None else filters_of(of_group[id(each.distinct)]),
                counted=None if each.distinct is None else self._retracts,
            )
            for number, (each, text) in enumerate(zip(self._calls, texts))
        )

    # -- changes --------------------------------------------------------------------------------------------------

    def update(self, batch: Batch, old: Sequence[Accumulator], ats: Sequence[Any]) -> list[Accumulator]:
        """The accumulators after a batch.

        :param old: the accumulators before; ``ats`` are their addresses. ``batch.ids`` are indexes into both.
        """
        columns = list(map(list, zip(*old)))
        count = len(old)
        self._fold(columns, batch.ids, count, [(0, ROW_COUNT, batch.signs)])
        together: list[tuple[int, Slot, pa.Array]] = []
        for each in self._calls:
            if each.distinct is None:
                args = [batch.column(arg) for arg in each.call.args]
                signs = batch.signs_where(each.call.filter)
                if isinstance(each.how, Folding):
                    together += _placed(each, each.how.contributions(args, signs))
                else:
                    self._keep(each, columns, (batch.ids, args, signs), ats)
        self._fold(columns, batch.ids, count, together)
        for values in self._distinct.values():
            changed = values.update(batch, ats)
            for each in self._calls:
                if each.distinct is values:
                    rows = (changed.ids, changed.args, changed.signs[each.filter_number])
                    self._add(each, columns, rows, ats)
        return list(zip(*columns))

    def _add(self, each: _Call, columns: list[list[Any]], rows: CallRows, ats: Sequence[Any]) -> None:
        ids, args, signs = rows
        if not len(ids):
            return
        if isinstance(each.how, Folding):
            self._fold(columns, ids, len(ats), _placed(each, each.how.contributions(args, signs)))
        else:
            self._keep(each, columns, rows, ats)

    def _keep(self, each: _Call, columns: list[list[Any]], rows: CallRows, ats: Sequence[Any]) -> None:
        slots = columns[each.start]
        if isinstance(each.how, (KeptValues, ColumnExtremum)):
            each.how.update(*rows, ats, slots)
        elif isinstance(each.how, UserAccumulators):
            each.how.update(*rows, slots)

    @staticmethod
    def _fold(columns: list[list[Any]], ids: Ids, count: int, parts: Sequence[tuple[int, Slot, pa.Array]]) -> None:
        reduced = reduce_columns(ids, count, [(column, slot.reduce) for _, slot, column in parts])
        for (place, slot, _), found in zip(parts, reduced):
            columns[place] = list(map(slot.merge, columns[place], _filled(found, slot)))

    def partials(self, batch: Batch, count: int, keys: Sequence[pa.Array] = ()) -> list[pa.Array]:
        """The slots of ``count`` accumulators of this batch alone, as columns. Only if ``in_columns``.

        :param keys: key columns of the accumulators, for values.
        """
        parts: list[tuple[int, Slot, pa.Array]] = [(0, ROW_COUNT, batch.signs)]
        found: dict[int, pa.Array] = {}
        for each in self._calls:
            if each.distinct is None:
                args = [batch.column(arg) for arg in each.call.args]
                signs = batch.signs_where(each.call.filter)
                if isinstance(each.how, Folding):
                    parts += _placed(each, each.how.contributions(args, signs))
                else:
                    found.update(self._best(each, (batch.ids, args, signs), count, keys))
        found.update(self._reduced(batch.ids, count, parts))
        for values in self._distinct.values():
            assert isinstance(values, DistinctInColumns)
            changed = values.seen(batch, keys, count)
            parts = []
            for each in self._calls:
                if each.distinct is not values:
                    continue
                args, signs = changed.args, changed.signs[each.filter_number]
                if isinstance(each.how, Folding):
                    parts += _placed(each, each.how.contributions(args, signs))
                else:
                    found.update(self._best(each, (changed.ids, args, signs), count, keys))
            found.update(self._reduced(changed.ids, count, parts))
        return [found[place] for place in range(len(self.slots))]

    def _best(
        self, each: _Call, rows: CallRows, count: int, keys: Sequence[pa.Array]
    ) -> Iterable[tuple[int, pa.Array]]:
        """The slot of MIN or MAX after these rows, for what they add."""
        assert isinstance(each.how, ColumnExtremum)
        changed = each.how.contributed(*rows, keys)
        return self._reduced(changed.ids, count, [(each.start, each.how.slot, changed.args[0])])

    def each(
        self, batch: Batch, keys: Sequence[pa.Array], old: Sequence[Accumulator | None]
    ) -> tuple[list[list[Any]], list[Callable[[Any, Any], Any]]]:
        """(for each slot what each row of a batch contributes, for each slot how a contribution is merged). Only if
        ``in_columns``.

        :param keys: key columns of the accumulators.
        :param old: the accumulators before; None: there is none.
        """
        signs = {
            id(values): values.each(batch, keys, len(old))
            for values in self._distinct.values()
            if isinstance(values, DistinctInColumns)
        }
        found: list[list[Any]] = [batch.signs.to_pylist()]
        merges = list(self._merges)
        for each in self._calls:
            args = [batch.column(arg) for arg in each.call.args]
            if each.distinct is None:
                counts = batch.signs_where(each.call.filter)
            else:
                counts = signs[id(each.distinct)][each.filter_number]
            if isinstance(each.how, Folding):
                contributed = zip(each.how.contributions(args, counts), each.slots)
                found += [_filled(as_type(column, slot.type), slot) for column, slot in contributed]
            else:
                assert isinstance(each.how, ColumnExtremum)
                best = [None if known is None else known[each.start] for known in old]
                found.append(each.how.each(batch.ids, args, counts, keys, best))
                merges[each.start] = _replaced
        return found, merges

    def corrected(
        self, now: Sequence[pa.Array], old: Sequence[pa.Array], known: Ids, keys: Sequence[pa.Array]
    ) -> list[pa.Array]:
        """The slots of some accumulators after ``partials`` were merged into them, without what the batch takes back.

        :param now: the merged slots; ``old``: those before, both of the accumulators ``known`` of the batch.
        :param keys: key columns of all accumulators of the batch.
        """
        found = list(now)
        for each in self._calls:
            if isinstance(each.how, ColumnExtremum):
                found[each.start] = each.how.corrected(now[each.start], old[each.start], known, keys)
        return found

    def clear_groups(self, keys: Sequence[pa.Array], count: int) -> None:
        """Delete the values of accumulators in columns, by their key columns."""
        for values in self._distinct.values():
            assert isinstance(values, DistinctInColumns)
            values.clear_groups(keys, count)
        for each in self._calls:
            if isinstance(each.how, ColumnExtremum):
                each.how.clear_groups(keys, count)

    @staticmethod
    def _reduced(ids: Ids, count: int, parts: Sequence[tuple[int, Slot, pa.Array]]) -> Iterable[tuple[int, pa.Array]]:
        reduced = reduce_columns(ids, count, [(column, slot.reduce) for _, slot, column in parts])
        return [(place, as_type(found, slot.type)) for (place, slot, _), found in zip(parts, reduced)]

    def merge_partials(self, ids: Ids, partials: Sequence[pa.Array], old: Sequence[Accumulator]) -> list[Accumulator]:
        """The accumulators after merging ``partials`` into them, one per row of the partials."""
        columns = list(map(list, zip(*old)))
        slots = self.slots
        self._fold(columns, ids, len(old), list(zip(range(len(slots)), slots, partials)))
        return list(zip(*columns))

    def merge(self, parts: Iterable[Accumulator]) -> Accumulator:
        """Merge several accumulators into one. Only if ``mergeable``."""
        merges = self._merges
        merged, *rest = parts
        for part in rest:
            merged = tuple([merge(old, new) for merge, old, new in zip(merges, merged, part)])
        return merged

    def absorb(self, at: Any, accumulator: Accumulator, other: Any, other_accumulator: Accumulator) -> Accumulator:
        """Merge the accumulator at another address into the one at ``at``; the entries of the other address are
        cleared."""
        columns = [[value] for value in accumulator]
        columns[0][0] += other_accumulator[0]
        for each in self._calls:
            if each.distinct is not None:
                continue
            start, how = each.start, each.how
            if isinstance(how, Folding):
                for place, slot in enumerate(each.slots, start):
                    columns[place][0] = slot.merge(columns[place][0], other_accumulator[place])
            elif isinstance(how, KeptValues):
                columns[start][0] = how.absorb(at, columns[start][0], other, other_accumulator[start])
            else:
                assert isinstance(how, UserAccumulators)
                columns[start][0] = how.absorb(columns[start][0], other_accumulator[start])
        for values in self._distinct.values():
            assert isinstance(values, CountedValues)
            changed = values.absorb(at, other)
            for each in self._calls:
                if each.distinct is values:
                    self._add(each, columns, (changed.ids, changed.args, changed.signs[each.filter_number]), [at])
        self.clear(other)
        return tuple(value for (value,) in columns)

    def settle(self) -> None:
        """The changes of the slice were emitted: values in columns may leave memory."""
        for values in self._distinct.values():
            if isinstance(values, DistinctInColumns):
                values.settle()
        for each in self._calls:
            if isinstance(each.how, ColumnExtremum):
                each.how.settle()

    def clear(self, at: Any) -> None:
        """Delete the entries at an address."""
        for values in self._distinct.values():
            values.clear(at)
        for each in self._calls:
            if isinstance(each.how, (KeptValues, ColumnExtremum)):
                each.how.clear(at)

    # -- values ---------------------------------------------------------------------------------------------------

    def results(self, accumulators: Sequence[Accumulator], ats: Sequence[Any]) -> list[pa.Array]:
        """The value of each call for these accumulators: one column per call."""
        columns = list(zip(*accumulators)) if accumulators else [()] * len(self.zero)
        found = []
        for each in self._calls:
            result = arrow_type(each.call.type)
            if isinstance(each.how, Folding):
                found.append(each.how.result(columns[each.start : each.start + len(each.slots)], result))
            elif isinstance(each.how, (KeptValues, ColumnExtremum)):
                found.append(pa.array(each.how.results(ats, columns[each.start]), result))
            else:
                assert isinstance(each.how, UserAccumulators)
                found.append(each.how.results(columns[each.start]))
        return found

    def column_results(self, slots: Sequence[pa.Array]) -> list[pa.Array]:
        """As ``results``, for accumulators that are given as one column per slot. Only if ``in_columns``."""
        columns = [filled(column, slot) for column, slot in zip(slots, self.slots)]
        found = []
        for each in self._calls:
            assert isinstance(each.how, (Folding, ColumnExtremum))
            own = columns[each.start : each.start + len(each.slots)]
            found.append(each.how.column_result(own, arrow_type(each.call.type)))
        return found


def once(entries: Callable[[str], KeyedMap], name: str, args: tuple[Rex, ...]) -> DistinctCounts:
    """Makes the state of DISTINCT values for rows that are never retracted, where values are never removed one by
    one.
    """
    return OnceValues(args, entries(name), [arrow_type(arg.type) for arg in args])


def _counted(entries: Callable[[str], KeyedMap], name: str, args: tuple[Rex, ...]) -> DistinctCounts:
    return CountedValues(args, entries(name), [arrow_type(arg.type) for arg in args])


def _placed(each: _Call, contributions: Sequence[pa.Array]) -> list[tuple[int, Slot, pa.Array]]:
    return list(zip(range(each.start, each.start + len(contributions)), each.slots, contributions))


def _replaced(old: Any, new: Any) -> Any:
    return new


def _filled(column: pa.Array, slot: Slot) -> list[Any]:
    values: list[Any] = filled(column, slot).to_pylist()
    return values
