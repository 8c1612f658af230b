"""The stored rows of partitions that calls of an OVER window still need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, Key, group_ids, key_tuples
from millrace.runtime.tables.columns.row_codec import RowCodec
from millrace.runtime.tables.over.over_frames import Line
from millrace.runtime.tables.state import KeyedMap

KEPT = "kept"
"""name of the state: key -> number of a row in its partition -> (time in ms, values that calls need)"""


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
    places: Any
    """identifies the rows in the state, in the form of the subclass"""


class KeptRows(ABC):
    """The base of the state with stored rows."""

    def __init__(self, need: Need) -> None:
        self.need = need

    @abstractmethod
    def restored(self) -> None:
        """The state was restored, from an earlier copy or from other subtasks."""

    @abstractmethod
    def find(self, keys: Partitions) -> History: ...

    @abstractmethod
    def change(self, keys: Partitions, history: History, gone: Any, owners: Ids, columns: list[pa.Array]) -> None:
        """Remove rows, then add others.

        :param gone: which rows of the history are removed.
        :param owners: the partitions of new rows; ``columns`` as those of a history.
        """

    @abstractmethod
    def plan_to_forget(self, keys: Partitions, new: Line) -> None:
        """Plan the deletion of these partitions for the time when they have had no new rows for so long that none is
        needed."""

    @abstractmethod
    def forget_idle(self, following: int) -> None:
        """Delete the partitions that have had no new rows for so long that none is needed."""


class ObjectRows(KeptRows):
    """Stores a tuple for each row, with time to live; a timer for each partition."""

    def __init__(self, need: Need, rows: KeyedMap, backend: Any, timers: Any, types: Sequence[pa.DataType]) -> None:
        super().__init__(need)
        self._rows = rows
        self._backend = backend
        self._timers = timers
        self._codec = RowCodec([pa.int64(), *types])

    def restored(self) -> None:
        table = self._backend.table(KEPT)
        if not self.need.only_times or table is None or self._timers.next_time() is not None:
            return
        # Rows in columns have no timers, and are saved without them.
        for key in table.addresses():
            if rows := self._rows.items(key):
                self._timers.register(rows[-1][1][0] + self.need.idle + 1, key)

    def find(self, keys: Partitions) -> History:
        history = [self._rows.items(key) for key in keys.keys]
        columns = self._codec.columns([row for each in history for _, row in each])
        places = [(key, number) for key, each in zip(keys.keys, history) for number, _ in each]
        owners = np.repeat(np.arange(len(history)), [len(each) for each in history])
        return History(owners, columns, places)

    def change(self, keys: Partitions, history: History, gone: Any, owners: Ids, columns: list[pa.Array]) -> None:
        following = [0] * keys.count
        for owner, (_, number) in zip(history.owners.tolist(), history.places):
            following[owner] = number + 1
        for (key, number), goes in zip(history.places, gone.tolist()):
            if goes:
                self._rows.remove(key, number)
        for owner, row in zip(owners.tolist(), self._codec.rows(columns, len(owners))):
            self._rows.put(keys.keys[owner], following[owner], row)
            following[owner] += 1

    def plan_to_forget(self, keys: Partitions, new: Line) -> None:
        if not self.need.only_times:
            return
        latest = np.zeros(keys.count, np.int64)
        latest[new.partitions] = new.times
        for key, time in zip(keys.keys, latest.tolist()):
            self._timers.register(time + self.need.idle + 1, key)

    def forget_idle(self, following: int) -> None:
        while (due := self._timers.pop_due(following)) is not None:
            key = due[1]
            if all(row[0] < following - self.need.idle for _, row in self._rows.items(key)):
                self._rows.clear(key)
