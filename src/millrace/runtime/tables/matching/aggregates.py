"""Aggregates over the rows of a match, row by row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.functions.aggregates.registry import Folding, accumulation
from millrace.relational.rex import TRUE, AggCall, Frame, Rex
from millrace.relational.type_table import arrow_type
from millrace.runtime.functions.runner import FunctionRunner
from millrace.runtime.tables.columns.row_codec import RowCodec
from millrace.runtime.tables.over.over_calls import keeping_call
from millrace.runtime.tables.over.over_frames import Line

_ALL = Frame(True, None, 0)

Memory = tuple[Any, ...]


class Running(ABC):
    """An aggregate over the rows of a match. A row contributes a cell, made for whole batches; the result for the rows
    so far is a memory."""

    nothing: Memory

    def __init__(self, call: AggCall) -> None:
        self.call = call
        self.inputs: list[Rex] = [*call.args, *([] if call.filter is None else [call.filter])]

    @abstractmethod
    def cells(self, columns: Sequence[pa.Array], length: int) -> list[Any]:
        """The cells of a batch, made from the values of ``inputs``."""

    @abstractmethod
    def add(self, memory: Memory, cell: Any) -> Memory:
        """The memory with one more row."""

    @abstractmethod
    def values(self, memories: Sequence[Memory]) -> pa.Array:
        """The value of each memory."""


class Folded(Running):
    """An aggregate whose memory is a few numbers, updated by each row."""

    def __init__(self, call: AggCall, folding: Folding) -> None:
        super().__init__(call)
        self._folding = folding
        self._slots = folding.slots
        self.nothing = tuple(slot.zero for slot in folding.slots)

    def cells(self, columns: Sequence[pa.Array], length: int) -> list[Any]:
        args, signs = list(columns), np.ones(length, np.int64)
        if self.call.filter is not None:
            signs = args.pop().fill_null(False).to_numpy(zero_copy_only=False).astype(np.int64)
        contributions = self._folding.contributions(args, pa.array(signs))
        return list(zip(*(column.to_pylist() for column in contributions)))

    def add(self, memory: Memory, cell: Any) -> Memory:
        merged = zip(self._slots, memory, cell)
        return tuple([old if new is None else slot.merge(old, new) for slot, old, new in merged])

    def values(self, memories: Sequence[Memory]) -> pa.Array:
        return self._folding.result(list(map(list, zip(*memories))), arrow_type(self.call.type))


class Gathered(Running):
    """An aggregate that needs all its rows at once: DISTINCT, lists, the user's functions."""

    nothing = ()

    def __init__(self, call: AggCall, functions: FunctionRunner) -> None:
        # The value of a group is that of its last row. An uncounted row is appended to each match, because a match may
        # have no rows.
        counted = replace(call, filter=call.filter or TRUE)
        super().__init__(counted)
        self._call = keeping_call(counted, _ALL, functions)
        self._codec = RowCodec([arrow_type(each.type) for each in counted.args])

    def cells(self, columns: Sequence[pa.Array], length: int) -> list[Any]:
        counts = columns[-1].fill_null(False).to_pylist()
        return [row if counted else None for row, counted in zip(self._codec.rows(columns[:-1], length), counts)]

    def add(self, memory: Memory, cell: Any) -> Memory:
        return memory if cell is None else (*memory, cell)

    def values(self, memories: Sequence[Memory]) -> pa.Array:
        counts = np.array([len(memory) + 1 for memory in memories], np.int64)
        ends = np.cumsum(counts) - 1
        rows = list(chain.from_iterable(memories))
        places = np.full(int(counts.sum()), -1, np.int64)
        real = np.ones(len(places), bool)
        real[ends] = False
        places[real] = np.arange(len(rows))
        where = pa.array(places, mask=~real)
        args = [column.take(where) for column in self._codec.columns(rows)]
        partitions = np.repeat(np.arange(len(memories)), counts)
        line = Line(partitions, np.zeros(len(places), np.int64), ends, False)
        return self._call.compute(line, [*args, pa.array(real)])


def running(call: AggCall, functions: FunctionRunner) -> Running:
    """The computation of a call.

    :raises NotImplementedError: it cannot be used here.
    """
    if call.udf is None and not call.distinct and not call.order:
        how = accumulation(call, False)
        if isinstance(how, Folding):
            return Folded(call, how)
    return Gathered(call, functions)
