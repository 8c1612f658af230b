"""Tables in columns whose rows may have a time to live.

A row has the time of its last write (ms) as a last stored column. Rows that have expired are not found; they are
removed when their key is written again, now and then by ``settle``, and when runs on disk are merged. In a savepoint
the time of the last write (ms) stands before what it belongs to. A delta names the time to live, so that copies to
which deltas alone are applied remove the same rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.rows.expiry import Expiry
from millrace.runtime.rows.hashes import Flags
from millrace.runtime.state.column_deltas import Changes
from millrace.runtime.state.ttl_tables import TTL
from millrace.runtime.tables.columns.keys import Ids, key_tuples
from millrace.runtime.tables.indexed_rows import AddedRows


class ExpiringRows(AddedRows):
    """Rows of which each expires by itself.

    :param expiry: when rows expire; None: never.
    """

    def __init__(self, types: Sequence[pa.DataType], found_by: Sequence[int], expiry: Expiry | None) -> None:
        super().__init__(types, found_by)
        self._expiry = expiry
        self._lifetime = () if expiry is None else (expiry.ttl,)
        """the end of the arguments of ``told``"""
        if expiry is not None:
            self.kind = TTL + self.kind

    @property
    def expires(self) -> bool:
        """Whether rows have a time to live."""
        return self._expiry is not None

    # -- accesses -------------------------------------------------------------------------------------------------

    def _keep(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        super()._keep(batch, hashes)
        if self._expiry is not None:
            self._expiry.wrote(np.arange(self.length - batch.num_rows, self.length))

    def renew(self, numbers: Ids) -> None:
        """These rows, whose columns stay the same, are written now."""
        if self._expiry is not None:
            self._expiry.wrote(numbers)
            if self._disk is not None:
                self._disk.changed(numbers)

    def find(self, hashes: Hashes, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        return self._live(*self._find_expired_too(hashes, wanted))

    def _find_expired_too(self, hashes: Hashes, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        return super().find(hashes, wanted)

    def find_to_write(self, hashes: Hashes, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        """As ``find``, for keys that the operator may write next: their expired rows are removed."""
        return self._to_write(*self._find_expired_too(hashes, wanted))

    def _to_write(self, owners: Ids, numbers: Ids) -> tuple[Ids, Ids]:
        """The found rows that have not expired; the others are removed."""
        if self._expiry is None:
            return owners, numbers
        self._expiry.begin()
        live = self._expiry.live(numbers)
        if live.all():
            return owners, numbers
        self._drop(numbers[~live])
        return owners[live], numbers[live]

    def _live(self, owners: Ids, numbers: Ids) -> tuple[Ids, Ids]:
        """The found rows that have not expired."""
        if self._expiry is None:
            return owners, numbers
        live = self._expiry.live(numbers)
        return (owners, numbers) if live.all() else (owners[live], numbers[live])

    @abstractmethod
    def _drop(self, numbers: Ids) -> None:
        """Remove these rows, which no delta has to say."""

    def _end_slice(self) -> None:
        """Remove expired rows, if it is time. The caller must not hold row numbers of expired rows."""
        if self._expiry is not None:
            if self._expiry.cleanup_is_due():
                numbers = self.numbers()
                self._drop(numbers[~self._expiry.live(numbers)])
            self._expiry.end()

    def shown_numbers(self) -> Ids:
        numbers = self.numbers()
        return numbers if self._expiry is None else numbers[self._expiry.live(numbers)]

    # -- rows on disk ---------------------------------------------------------------------------------------------

    @property
    def own_types(self) -> Sequence[pa.DataType]:
        """The types of a row's columns without the time."""
        return self.types

    def own_columns(self, numbers: Ids) -> list[pa.Array]:
        """The columns of these rows without the time."""
        return self.take(numbers)

    def append_own(self, columns: Sequence[pa.Array], hashes: Hashes) -> None:
        """Add stored rows, which are no change, without their times."""
        super().append_stored(columns, hashes)

    @property
    def stored_types(self) -> Sequence[pa.DataType]:
        return self.own_types if self._expiry is None else [*self.own_types, pa.int64()]

    def stored_columns(self, numbers: Ids) -> list[pa.Array]:
        own = self.own_columns(numbers)
        return own if self._expiry is None else [*own, self._expiry.times(numbers)]

    def append_stored(self, columns: Sequence[pa.Array], hashes: Hashes) -> None:
        first, (own, times) = self.length, self._without_times(columns)
        self.append_own(own, hashes)
        self._restore(np.arange(first, self.length), times)

    def _without_times(self, columns: Sequence[pa.Array]) -> tuple[Sequence[pa.Array], pa.Array]:
        """(the columns of stored rows without the times; these, or None)."""
        return (columns, None) if self._expiry is None else (columns[:-1], columns[-1])

    def _restore(self, numbers: Ids, times: pa.Array) -> None:
        """Set the times of rows that were written earlier."""
        if self._expiry is not None:
            self._expiry.restore(numbers, times)

    def retain(self, wanted: Flags) -> None:
        super().retain(wanted)
        if self._expiry is not None:
            self._expiry.retained(np.flatnonzero(wanted))

    def still_wanted(self, columns: Sequence[pa.Array]) -> Flags:
        return super().still_wanted(columns) if self._expiry is None else self._expiry.live_at(columns[-1])

    # -- as a table -----------------------------------------------------------------------------------------------

    def stamped(self, values: list[Any], batch: pa.RecordBatch) -> list[Any]:
        """The values of these stored rows as a savepoint has them, with the time of the last write if they expire."""
        return list(zip(batch.column(batch.num_columns - 1).to_pylist(), values)) if self.expires else values

    def unstamped(self, entry: Any) -> tuple[Any, tuple[int, ...]]:
        """(value, the time of its last write or nothing), the inverse of ``stamped``."""
        return (entry[1], (entry[0],)) if self.expires else (entry, ())

    def row(self, at: Any) -> Any:
        return self._entry(at)

    def content(self, at: Any) -> Any:
        row = self.row(at)
        return row if row is None or not self.expires else {name: entry for name, (_, entry) in row.items()}


class ExpiringKeys(ExpiringRows):
    """Rows whose keys are written as a whole, so that all rows of a key expire together: an entry of a savepoint is
    (time of the last write in ms, the entry without time to live).

    Subclasses say what a row and an entry are without the time: the methods whose names begin with ``own``.
    """

    @abstractmethod
    def own_entries(self, batch: pa.RecordBatch) -> Changes:
        """The entries of a savepoint without times, for rows without times: all rows of their keys."""

    @abstractmethod
    def own_batch(self, entries: Changes) -> pa.RecordBatch | None:
        """The rows of such entries as a batch, entry by entry; None: there are none."""

    def rows_in(self, entry: Any) -> int:
        """The number of rows of an entry without its time."""
        return 1

    def entries_of(self, batch: pa.RecordBatch) -> Changes:
        own, times = self._without_times(batch.columns)
        entries = self.own_entries(record_batch(own, batch.num_rows))
        if times is None:
            return entries
        keys = key_tuples([batch.column(place) for place in self._found_by], batch.num_rows)
        # All rows of a key were written at the same time.
        written = dict(zip(keys, times.to_pylist()))
        return {at: (written[at], entry) for at, entry in entries.items()}

    def batch_of(self, entries: Changes) -> pa.RecordBatch | None:
        if self._expiry is None:
            return self.own_batch(entries)
        found = self.own_batch({at: entry for at, (_, entry) in entries.items()})
        if found is None:
            return None
        times = np.repeat(
            np.array([written for written, _ in entries.values()], np.int64),
            [self.rows_in(entry) for _, entry in entries.values()],
        )
        return record_batch([*found.columns, pa.array(times)], found.num_rows)

    def content(self, at: Any) -> Any:
        row = self.row(at)
        return row if row is None or self._expiry is None else row[1]
