"""The calls of an OVER window, each in the form in which it is computed.

Calls without a lower bound fold: the rows of a partition are reduced to a few values. The other calls see the stored
rows of the partition.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.functions.aggregates.registry import Folding, Keeping, Slot, accumulation, counting
from millrace.relational.rex import AggCall, Frame, Literal, Rex
from millrace.relational.type_table import arrow_type
from millrace.relational.values import to_arrow_scalar
from millrace.runtime.functions.aggregates import GroupFunction
from millrace.runtime.functions.runner import FunctionRunner
from millrace.runtime.tables.columns.keys import Ids, key_tuples
from millrace.runtime.tables.columns.matching import take_or_null
from millrace.runtime.tables.columns.sliding import sliding
from millrace.runtime.tables.over.over_frames import Line
from millrace.runtime.tables.stored_calls import StoredCall

Accumulator = tuple[Any, ...]
Computing = Callable[[list[pa.Array], int], Any]
"""(the arguments of some rows, number of rows) -> the value"""
NUMBERING = ("ROW_NUMBER", "RANK", "DENSE_RANK")
_EXACT = 2**62
"""integer sums below this can be computed as differences of running sums"""
ONLY_WHOLE = ("LEAD", "NTILE", "PERCENT_RANK", "CUME_DIST")
"""functions that need all rows of a partition"""


def seen_by(place: int) -> str:
    """The name of the state with the arguments that a DISTINCT call has seen."""
    return f"distinct-{place}"


class OverCall(ABC):
    """One call with its frame."""

    def __init__(self, call: AggCall, frame: Frame) -> None:
        self.call = call
        self.frame = frame
        self.result_type = arrow_type(call.type)

    @property
    def inputs(self) -> list[Rex]:
        """The expressions that are computed for each row: the arguments, and the filter last."""
        return [*self.call.args, *([] if self.call.filter is None else [self.call.filter])]

    @abstractmethod
    def stored(self, text: str, place: int) -> StoredCall:
        """The layout of the call in the state of an OVER window.

        :param text: says what it computes; ``place`` is its index among the calls.
        """

    @property
    def types(self) -> tuple[str, ...]:
        """The types of its result and its arguments, for ``stored``."""
        return str(self.call.type.nullable()), *(str(arg.type.nullable()) for arg in self.call.args)

    def split(self, columns: Sequence[pa.Array], length: int) -> tuple[list[pa.Array], Any]:
        """(arguments, which rows count), from the values of ``inputs``."""
        if self.call.filter is None:
            return list(columns), np.ones(length, bool)
        return list(columns[:-1]), columns[-1].fill_null(False).to_numpy(zero_copy_only=False)


class FoldingCall(OverCall):
    """A call whose state is one accumulator per partition; its ``line`` has new rows only."""

    zero: Accumulator
    slots: tuple[Slot, ...] = (counting(),)

    def stored(self, text: str, place: int) -> StoredCall:
        slots = tuple(str(slot.type) for slot in self.slots)
        distinct = seen_by(place) if self.call.distinct else ""
        return StoredCall(text, self.types, type(self).__name__, slots, 1, distinct=distinct)

    @abstractmethod
    def fold(
        self, line: Line, columns: Sequence[pa.Array], counts: Any, old: Sequence[Accumulator]
    ) -> tuple[list[Accumulator], pa.Array]:
        """(the new accumulator of each partition in the line, the results).

        :param counts: whether each row counts; ``old`` are the partitions' accumulators before.
        """


class KeepingCall(OverCall):
    """A call that sees stored rows; its ``line`` contains stored and new rows."""

    def stored(self, text: str, place: int) -> StoredCall:
        need = (self.rows_kept, self.span_kept, self.keeps_all)
        return StoredCall(text, self.types, type(self).__name__, (), 0, need=need)

    @property
    def rows_kept(self) -> int:
        """How many of the last rows of a partition the next row needs."""
        return int(self.frame.preceding or 0) if self.frame.rows else 0

    @property
    def span_kept(self) -> int:
        """How far back (ms) the next row needs rows; -1: their times don't matter."""
        return -1 if self.frame.rows else int(self.frame.preceding or 0)

    @property
    def keeps_all(self) -> bool:
        return self.frame.preceding is None

    @property
    def reach(self) -> tuple[int, int] | None:
        """(number of rows before, number of rows after) a row on which its result depends; None: on any number."""
        frame = self.frame
        if not frame.rows or frame.preceding is None or frame.following is None:
            return None
        return max(int(frame.preceding), 0), max(int(frame.following), 0)

    @abstractmethod
    def compute(self, line: Line, columns: Sequence[pa.Array]) -> pa.Array:
        """The results of the new rows."""


class BuiltInFold(FoldingCall):
    """A built-in aggregate that folds from the beginning of the partition."""

    def __init__(self, call: AggCall, frame: Frame, folding: Folding) -> None:
        super().__init__(call, frame)
        self._folding = folding
        self.slots = tuple(folding.slots)
        self.zero = tuple(slot.zero for slot in folding.slots)

    def fold(
        self, line: Line, columns: Sequence[pa.Array], counts: Any, old: Sequence[Accumulator]
    ) -> tuple[list[Accumulator], pa.Array]:
        args = list(columns[: len(self.call.args)])
        contributions = self._folding.contributions(args, pa.array(counts.astype(np.int64)))
        highs = line.bounds(self.frame)[1]
        accumulators, running = _running(line, highs, self._folding.slots, contributions, old)
        return accumulators, self._folding.result(running, self.result_type)


class Numbering(FoldingCall):
    """ROW_NUMBER, RANK and DENSE_RANK."""

    zero = (0,)

    def fold(
        self, line: Line, columns: Sequence[pa.Array], counts: Any, old: Sequence[Accumulator]
    ) -> tuple[list[Accumulator], pa.Array]:
        ones = np.ones(len(line.partitions), np.int64)
        if self.call.function == "DENSE_RANK":
            ones = (line.first_peers == line.new).astype(np.int64)
        highs = line.first_peers - 1 if self.call.function == "RANK" else line.new
        accumulators, (numbers,) = _running(line, highs, [counting()], [pa.array(ones)], old)
        if self.call.function == "RANK":
            numbers = [number + 1 for number in numbers]
        return accumulators, pa.array(numbers, self.result_type)


def _running(
    line: Line, highs: Ids, slots: Sequence[Slot], contributions: Sequence[pa.Array], old: Sequence[Accumulator]
) -> tuple[list[Accumulator], list[list[Any]]]:
    """(the partitions' new accumulators, values of each slot at ``highs``). The old accumulator is treated as one more
    row before each partition."""
    starts = np.unique(line.partitions, return_index=True)[1]
    ordinal = np.searchsorted(starts, np.arange(len(line.partitions)), "right") - 1
    ends = np.append(starts[1:], len(line.partitions)) - 1
    lows = np.concatenate([line.firsts + ordinal, starts + np.arange(len(starts))])
    tops = np.concatenate([highs + ordinal + 1, ends + np.arange(len(starts)) + 1])
    order = np.lexsort((tops, lows))
    finals, values = [], []
    for number, (slot, column) in enumerate(zip(slots, contributions)):
        column_values = column.to_pylist()
        cells: list[Any] = []
        for accumulator, first, last in zip(old, starts.tolist(), ends.tolist()):
            cells.append(accumulator[number])
            cells += [slot.zero if value is None else value for value in column_values[first : last + 1]]
        folded = np.empty(len(order), object)
        folded[order] = np.fromiter(
            sliding(cells, lows[order].tolist(), tops[order].tolist(), slot.merge, slot.zero), object, len(order)
        )
        values.append(folded[: len(highs)].tolist())
        finals.append(folded[len(highs) :].tolist())
    return list(zip(*finals)), values


class BoundedFold(KeepingCall):
    """A built-in aggregate that folds over a moving frame."""

    def __init__(self, call: AggCall, frame: Frame, folding: Folding) -> None:
        super().__init__(call, frame)
        self._folding = folding

    def compute(self, line: Line, columns: Sequence[pa.Array]) -> pa.Array:
        args, counts = self.split(columns, len(line.partitions))
        lows, highs = line.bounds(self.frame)
        contributions = self._folding.contributions(args, pa.array(counts.astype(np.int64)))
        slots = [_folded(slot, column, lows, highs) for slot, column in zip(self._folding.slots, contributions)]
        columns = [each for each in slots if isinstance(each, pa.Array)]
        if len(columns) == len(slots):
            return self._folding.column_result(columns, self.result_type)
        values = [each.to_pylist() if isinstance(each, pa.Array) else each for each in slots]
        return self._folding.result(values, self.result_type)


def _folded(slot: Slot, column: pa.Array, lows: Ids, highs: Ids) -> Any:
    """The fold of each range of a column, as a column or a list; both bounds never go back."""
    if slot.reduce == "sum" and pa.types.is_integer(column.type):
        values = column.fill_null(0).to_numpy().astype(np.int64)
        if not len(values) or max(int(values.max()), -int(values.min())) < _EXACT // len(values):
            sums = np.concatenate([[0], np.cumsum(values)])
            return pa.array(sums[np.maximum(highs + 1, lows)] - sums[lows])
    cells = [slot.zero if value is None else value for value in column.to_pylist()]
    return sliding(cells, lows.tolist(), highs.tolist(), slot.merge, slot.zero)


class Recomputed(KeepingCall):
    """A call that is computed again from all rows that a row sees, because it neither folds nor can be reversed."""

    def __init__(self, call: AggCall, frame: Frame, compute: Computing, result: Callable[[list[Any]], Any]) -> None:
        super().__init__(call, frame)
        self._compute = compute
        self._result = result

    def compute(self, line: Line, columns: Sequence[pa.Array]) -> pa.Array:
        args, counts = self.split(columns, len(line.partitions))
        places = np.flatnonzero(counts)
        args = [arg.take(pa.array(places)) for arg in args]
        lows, highs = line.bounds(self.frame)
        begins = np.searchsorted(places, lows, "left")
        ends = np.maximum(begins, np.searchsorted(places, highs, "right"))
        found: list[Any] = []
        known: tuple[int, int] | None = None
        for begin, end in zip(begins.tolist(), ends.tolist()):
            if (begin, end) == known:
                found.append(found[-1])
                continue
            known = begin, end
            seen = [arg.slice(begin, end - begin) for arg in args]
            found.append(self._compute(*(_distinct(seen, end - begin) if self.call.distinct else (seen, end - begin))))
        return self._result(found)


def _distinct(args: list[pa.Array], length: int) -> tuple[list[pa.Array], int]:
    firsts = {key: place for place, key in reversed(list(enumerate(key_tuples(args, length))))}
    chosen = pa.array(sorted(firsts.values()), pa.int64())
    return [arg.take(chosen) for arg in args], len(chosen)


class Lag(KeepingCall):
    """LAG and LEAD: the value a number of rows before or after, or a default."""

    def __init__(self, call: AggCall, frame: Frame) -> None:
        super().__init__(call, frame)
        offset = int(_constant(call, 1, 1))
        self._offset = offset if call.function == "LAG" else -offset
        self._default = _constant(call, 2, None)

    @property
    def inputs(self) -> list[Rex]:
        return [self.call.args[0]]

    @property
    def rows_kept(self) -> int:
        return self._offset

    @property
    def keeps_all(self) -> bool:
        return False

    @property
    def reach(self) -> tuple[int, int]:
        return max(self._offset, 0), max(-self._offset, 0)

    def compute(self, line: Line, columns: Sequence[pa.Array]) -> pa.Array:
        wanted = line.new - self._offset
        exists = (wanted >= line.firsts) & (wanted <= line.lasts)
        found = take_or_null(columns[0], np.where(exists, wanted, -1)).cast(self.result_type)
        if self._default is None:
            return found
        default = to_arrow_scalar(self._default, self.call.type)
        return pc.if_else(pa.array(exists), found, default)


def _constant(call: AggCall, place: int, default: Any) -> Any:
    if len(call.args) <= place:
        return default
    arg = call.args[place]
    if not isinstance(arg, Literal):
        raise NotImplementedError(f"the offset and the default of {call.function} must be constants")
    return arg.value


def kept_inputs(calls: Sequence[KeepingCall]) -> list[Rex]:
    """The expressions whose values are stored for each row for these calls, besides its time."""
    return list(dict.fromkeys(each for call in calls for each in call.inputs))


def over_call(call: AggCall, frame: Frame, functions: FunctionRunner) -> OverCall:
    """The computation of a call on rows that come in order.

    :param functions: the user's functions, which the operator opens.
    :raises NotImplementedError: it needs later rows, or cannot be used in an OVER window.
    """
    if looks_ahead(call, frame):
        what = f"{call.function} OVER" if call.function in ONLY_WHOLE else "an OVER window with rows that FOLLOW"
        raise NotImplementedError(f"{what} needs rows that are still to come: run it in batch mode")
    if call.function in NUMBERING:
        return Numbering(call, frame)
    if call.function != "LAG" and call.udf is None and frame.preceding is None:
        how = accumulation(call, False)
        if isinstance(how, Folding):
            return BuiltInFold(call, frame, how)
    return keeping_call(call, frame, functions)


def looks_ahead(call: AggCall, frame: Frame) -> bool:
    """Whether the result of a row may depend on rows after it and its peers."""
    return frame.following != 0 or call.function in ONLY_WHOLE


def keeping_call(call: AggCall, frame: Frame, functions: FunctionRunner) -> KeepingCall:
    """The computation of a call on the rows of its frame; parameters and errors as those of ``over_call``."""
    if call.function in ("LAG", "LEAD"):
        return Lag(call, frame)
    if call.udf is not None:
        return _user_call(call, frame, functions)
    how = accumulation(call, False)
    if isinstance(how, Folding):
        return Recomputed(call, frame, *_one_fold(call, how)) if call.distinct else BoundedFold(call, frame, how)
    if isinstance(how, Keeping):
        return Recomputed(call, frame, *_one_keeping(call, how))
    raise NotImplementedError(f"aggregate {call.function} cannot be used in an OVER window")


def _one_fold(call: AggCall, folding: Folding) -> tuple[Computing, Callable[[list[Any]], Any]]:
    def compute(args: list[pa.Array], length: int) -> Accumulator:
        signs = pa.array(np.ones(length, np.int64))
        values = [slot.zero for slot in folding.slots]
        for place, (slot, column) in enumerate(zip(folding.slots, folding.contributions(args, signs))):
            for value in column.to_pylist():
                values[place] = slot.merge(values[place], slot.zero if value is None else value)
        return tuple(values)

    return compute, lambda found: folding.result(list(zip(*found)), arrow_type(call.type))


def _one_keeping(call: AggCall, keeping: Keeping) -> tuple[Computing, Callable[[list[Any]], Any]]:
    def compute(args: list[pa.Array], length: int) -> Any:
        entries: dict[Any, Any] = {}
        for place, values in enumerate(key_tuples(args, length)):
            if keeping.skips_nulls and values[0] is None:
                continue
            if keeping.in_order:
                entries.setdefault(values, []).append(place)
            else:
                entries[values] = entries.get(values, 0) + 1
        return keeping.result(list(entries.items())) if entries else keeping.empty()

    return compute, lambda found: pa.array(found, arrow_type(call.type))


def _user_call(call: AggCall, frame: Frame, functions: FunctionRunner) -> KeepingCall:
    function = GroupFunction(functions, call)
    return Recomputed(call, frame, function.value, function.column)
