"""Distributes batches of rows over the subtasks of the next operator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from millrace.relational.rows import Rows, concat
from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.partitioners import Partitioner, Router
from millrace.runtime.tables.columns.key_hashes import key_subtasks
from millrace.runtime.tables.columns.keys import Ids

MOST_LEFT = 0.8
"""If more than this part of the rows remain, thinning is not worth its cost."""
PAUSE = 15
"""The number of batches that are sent unthinned after one for which thinning was not worth it."""


@dataclass(frozen=True)
class Thinning(ABC):
    """Drops rows that the next operator does not need. The rows must be insertions; their order stays."""

    @abstractmethod
    def thin(self, rows: Rows) -> Rows:
        """The rows that the next operator may need."""


@dataclass(frozen=True)
class ByColumns(Partitioner):
    """Distributes rows by the key group of the values in some columns, like a stream keyed by the tuple of these
    values. Rows for one target stay in order."""

    columns: tuple[int, ...]
    max_parallelism: int = 128
    thinning: Thinning | None = None
    """drops rows of a batch before it is sent; None: all rows are sent"""
    ship_strategy = "HASH"

    def places(self, chunk: Chunk, receivers: int) -> Iterator[tuple[int, Chunk]]:
        return replace(self, thinning=None).router(0, 1, receivers)(chunk)

    def groups(self, chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
        return self.places(chunk, self.max_parallelism)

    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        if receivers == 1:
            return lambda chunk: iter([(0, chunk)])

        thinner = _thinner(self.thinning)

        def split(chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
            rows = thinner(concat(chunk.values))
            keys = [rows.batch.column(index) for index in self.columns]
            targets = key_subtasks(keys, len(rows), self.max_parallelism, receivers)
            for target, part in _split(rows, targets, receivers):
                yield target, Chunk([part])

        return split


@dataclass(frozen=True)
class Single(Partitioner):
    """Sends everything to subtask 0, for operators that need all rows: an aggregate without keys, a global order."""

    ship_strategy = "GLOBAL"

    def places(self, chunk: Chunk, receivers: int) -> Iterator[tuple[int, Chunk]]:
        return iter([(0, chunk)])

    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        return lambda chunk: iter([(0, chunk)])


def _thinner(thinning: Thinning | None) -> Callable[[Rows], Rows]:
    """A function that thins out batches as long as that is worth it."""
    if thinning is None:
        return lambda rows: rows
    pause = 0

    def thinner(rows: Rows) -> Rows:
        nonlocal pause
        if pause:
            pause -= 1
            return rows
        left = thinning.thin(rows)
        if len(left) > MOST_LEFT * len(rows):
            pause = PAUSE
        return left

    return thinner


def _split(rows: Rows, targets: Ids, receivers: int) -> Iterator[tuple[int, Rows]]:
    if not len(rows):
        return
    counts = np.bincount(targets, minlength=receivers)
    if counts.max() == len(rows):
        yield int(targets[0]), rows
        return
    sorted_rows = rows.take(np.argsort(targets, kind="stable"))
    start = 0
    for target, count in enumerate(counts.tolist()):
        if count:
            kinds = None if sorted_rows.kinds is None else sorted_rows.kinds[start : start + count]
            yield target, Rows(sorted_rows.batch.slice(start, count), kinds)
            start += count
