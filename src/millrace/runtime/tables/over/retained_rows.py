"""Which stored rows calls of an OVER window still need, by partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, Key, group_ids, key_tuples
from millrace.runtime.tables.over.over_frames import Line


@dataclass(frozen=True)
class Partitions:
    """The distinct partitions of a batch."""

    ids: Ids
    """number of the partition of each row of the batch"""
    columns: list[pa.Array]
    count: int

    @classmethod
    def of(cls, columns: Sequence[pa.Array], length: int) -> Partitions:
        ids, first = group_ids(columns, length)
        where = pa.array(first)
        return cls(ids, [column.take(where) for column in columns], len(first))

    @cached_property
    def hashes(self) -> Hashes:
        """The hash of each partition's key."""
        return key_hashes(self.columns, self.count)

    @cached_property
    def keys(self) -> list[Key]:
        return key_tuples(self.columns, self.count)


@dataclass(frozen=True)
class Need:
    """Which rows later rows may need."""

    rows: int
    """the number of last rows of each partition that are needed"""
    span: int
    """how long before the next time rows are needed (ms); -1: times don't matter"""
    everything: bool

    def of(self, line: Line, following: int | None) -> Any:
        """Which rows of a line are needed, as numpy Booleans.

        :param following: a lower limit of the time of later rows (ms); None: each comes after the last row of its
            partition.
        """
        if self.everything:
            return np.ones(len(line.partitions), bool)
        last = np.searchsorted(line.partitions, line.partitions, "right")
        next_time = line.times[last - 1] + 1 if following is None else following
        return (last - np.arange(len(last)) <= self.rows) | (line.times >= next_time - self.span)

    @property
    def idle(self) -> int:
        """How long after its last row a partition is deleted (ms), if only time decides which rows are needed. As in
        Flink, half as long again as rows are seen, since a late row may follow shortly after the last one."""
        return self.span + self.span // 2

    @property
    def only_times(self) -> bool:
        """Whether only time decides which rows are needed."""
        return self.span >= 0 and not self.everything and not self.rows


@dataclass(frozen=True)
class History:
    """Stored rows, by partition and in their order."""

    owners: Ids
    """number of the partition of each row"""
    columns: list[pa.Array]
    """the time (ms), then the values that calls need"""
    numbers: Ids
    """the number of each row in its table"""
    places: Ids
    """the number of each row in its partition"""
