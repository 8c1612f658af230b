"""Complete partitions of an OVER window, and the frames of all their rows, including frames that reach ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.rex import Distance, Frame, SortKey
from millrace.runtime.tables.columns.keys import Ids, group_ids
from millrace.runtime.tables.columns.ranges import begins
from millrace.runtime.tables.columns.ranking import sort_rows
from millrace.runtime.tables.over.over_frames import Bounds, Line

_DAY = 86_400_000
_SAFE = 2**62
"""integers up to this size can be added in 64 bits"""


@dataclass(frozen=True)
class WholeLine(Line):
    """All rows of each partition, in the order of any columns; all rows count as new. ``times`` are numbers of peer
    groups."""

    values: Any = None
    """values that RANGE measures in, ascending within a partition; NULL and NaN are masked. None: there is no such
    column"""
    unit: int = 1
    """how many ms, or how much of a number, one unit of ``values`` is; negative for fractions: -1000 for
    microseconds"""

    @cached_property
    def sizes(self) -> Ids:
        """The number of rows in each row's partition."""
        found: Ids = self.lasts - self.firsts + 1
        return found

    def bounds(self, frame: Frame) -> Bounds:
        firsts, lasts = self.firsts, self.lasts
        low, high = firsts, lasts
        if frame.rows:
            if frame.preceding is not None:
                low = np.clip(self.new - int(frame.preceding), firsts, lasts + 1)
            if frame.following is not None:
                high = np.clip(self.new + int(frame.following), firsts - 1, lasts)
            return low, high
        if frame.preceding is not None:
            low = self._reached(-frame.preceding, "left") if frame.preceding else self.first_peers
        if frame.following is not None:
            high = self._reached(frame.following, "right") - 1 if frame.following else self.last_peers
        return low, high

    def _reached(self, distance: Distance, side: Any) -> Ids:
        """The position before which values are smaller (``right``: not larger) than the row's value plus
        ``distance``.
        """
        if self.values is None:
            raise NotImplementedError("a RANGE with a distance is in the order of one column, a number or a time")
        distance = distance * -self.unit if self.unit < 0 else distance // self.unit if self.unit > 1 else distance
        # A row with NULL or NaN sees its peers.
        found = self.first_peers.copy() if side == "left" else self.last_peers + 1
        known = ~np.ma.getmaskarray(self.values)
        values = np.ma.getdata(self.values)
        for first in np.unique(self.firsts).tolist():
            places = first + np.flatnonzero(known[first : self.lasts[first] + 1])
            if len(places):
                stretch = values[places]
                found[places] = places[0] + np.searchsorted(stretch, stretch + distance, side)
        return found


def whole_line(owners: Ids, order: Sequence[SortKey], evaluator: Evaluator) -> tuple[Ids, WholeLine]:
    """(old index of each row of the line, the line). Rows that are equal in the order keep their order.

    :param owners: the partition of each row.
    """
    columns = [evaluator.column(key.expression) for key in order]
    rows = sort_rows(owners, columns, order)
    count = len(rows)
    peers = group_ids([pa.array(owners), *columns], count)[0][rows]
    values, unit = (None, 1) if len(columns) != 1 else _measured(columns[0].take(pa.array(rows)), order[0].descending)
    return rows, WholeLine(owners[rows], np.cumsum(begins(peers)), np.arange(count), True, values, unit)


def _measured(column: pa.Array, descending: bool) -> tuple[Any, int]:
    """The values of a column of numbers or times as ascending numbers, and their unit."""
    kind, unit = column.type, 1
    missing = column.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_timestamp(kind):
        column, unit = column.view(pa.int64()), -1000
    elif pa.types.is_date32(kind):
        column, unit = column.view(pa.int32()).cast(pa.int64()), _DAY
    elif pa.types.is_integer(kind):
        column = column.cast(pa.int64())
    elif not (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None, 1
    if pa.types.is_decimal(kind):
        values = np.array([each or 0 for each in column.to_pylist()], object)
    else:
        values = column.fill_null(0).to_numpy()
    if pa.types.is_floating(kind):
        values = values.astype(np.float64)
        missing = missing | np.isnan(values)
    elif len(values) and np.abs(values).max() >= _SAFE:
        values = values.astype(object)
    return np.ma.array(-values if descending else values, mask=missing), unit


def touched(line: WholeLine, fresh: Any, gone: Any, back: int, ahead: int) -> tuple[Ids, Ids]:
    """The rows whose results may be affected by changes.

    :param fresh: whether each row of the line is new (numpy Booleans); ``gone``: whether it was removed.
    :param back: the number of rows before a row on which its result depends; ``ahead``: the number after it.
    :return: (positions of the needed rows, positions of the rows whose results may have changed)
    """
    there = np.flatnonzero(~gone)
    number = np.cumsum(~gone) - 1
    partitions = line.partitions[there]
    firsts = np.searchsorted(partitions, line.partitions, "left")
    lasts = np.searchsorted(partitions, line.partitions, "right") - 1
    # A removed row stood before the row that follows it.
    begins = np.where(gone, number + 1, number)
    changed = fresh | gone
    lows = np.maximum(begins - ahead, firsts)[changed]
    highs = np.minimum(number + back, lasts)[changed]
    affected = _covered(lows, highs, len(there))
    near = np.flatnonzero(affected)
    own_first, own_last = firsts[there[near]], lasts[there[near]]
    needed = _covered(np.maximum(near - back, own_first), np.minimum(near + ahead, own_last), len(there))
    return there[needed], there[affected]


def _covered(lows: Ids, highs: Ids, count: int) -> Any:
    """For each of ``count`` positions, whether it is in one of these ranges, as numpy Booleans."""
    some = lows <= highs
    steps = np.zeros(count + 1, np.int64)
    np.add.at(steps, lows[some], 1)
    np.add.at(steps, highs[some] + 1, -1)
    return np.cumsum(steps[:-1]) > 0
