"""Calls of an OVER window that need all rows of a partition: ranks and positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rex import AggCall, Frame, Literal, Rex
from millrace.runtime.functions.runner import FunctionRunner
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.over.over_calls import KeepingCall, keeping_call
from millrace.runtime.tables.over.over_frames import Line
from millrace.runtime.tables.over.over_partitions import WholeLine


def _row_number(line: WholeLine) -> Ids:
    return line.new - line.firsts + 1


def _rank(line: WholeLine) -> Ids:
    return line.first_peers - line.firsts + 1


def _dense_rank(line: WholeLine) -> Ids:
    found: Ids = line.times - line.times[line.firsts] + 1
    return found


def _percent_rank(line: WholeLine) -> Any:
    return (line.first_peers - line.firsts) / np.maximum(line.sizes - 1, 1)


def _cume_dist(line: WholeLine) -> Any:
    return (line.last_peers - line.firsts + 1) / line.sizes


_PLACES: dict[str, Callable[[WholeLine], Any]] = {
    "ROW_NUMBER": _row_number,
    "RANK": _rank,
    "DENSE_RANK": _dense_rank,
    "PERCENT_RANK": _percent_rank,
    "CUME_DIST": _cume_dist,
}


class Place(KeepingCall):
    """ROW_NUMBER, RANK, DENSE_RANK, PERCENT_RANK, CUME_DIST and NTILE, of complete partitions."""

    def __init__(self, call: AggCall, frame: Frame) -> None:
        super().__init__(call, frame)
        self._place = _ntile(call) if call.function == "NTILE" else _PLACES[call.function]

    @property
    def inputs(self) -> list[Rex]:
        return []

    @property
    def reach(self) -> None:
        return None

    def compute(self, line: Line, columns: Sequence[pa.Array]) -> pa.Array:
        assert isinstance(line, WholeLine)
        return pa.array(self._place(line)).cast(self.result_type)


def _ntile(call: AggCall) -> Callable[[WholeLine], Any]:
    count = call.args[0].value if isinstance(call.args[0], Literal) else None
    if not isinstance(count, int) or count < 1:
        raise ValueError("NTILE takes a constant number of buckets, 1 or more")

    def ntile(line: WholeLine) -> Ids:
        small, larger = np.divmod(line.sizes, count)
        place = line.new - line.firsts
        # The first ``larger`` buckets have one row more than the others.
        border = larger * (small + 1)
        behind = larger + (place - border) // np.maximum(small, 1)
        found: Ids = np.where(place < border, place // (small + 1), behind) + 1
        return found

    return ntile


def whole_call(call: AggCall, frame: Frame, functions: FunctionRunner) -> KeepingCall:
    """The computation of a call on complete partitions.

    :param functions: the user's functions, which the operator opens.
    :raises NotImplementedError: it cannot be used in an OVER window.
    """
    if call.function in _PLACES or call.function == "NTILE":
        return Place(call, frame)
    return keeping_call(call, frame, functions)
