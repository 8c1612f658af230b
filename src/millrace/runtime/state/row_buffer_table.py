"""Rows and elements that wait for event time, for all keys together: no look-up per key when many keys fire at once.

In a full snapshot they are stored by key, so that after a rescale each subtask gets those of its keys. Jobs without
tables need no Arrow, so it is imported only where it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from millrace.runtime.state.tables import Table

if TYPE_CHECKING:
    import pyarrow as pa

    from millrace.relational.rows import Rows

SINCE = 0
"""The address of a delta of ``RowBufferTable``; it is no key, since those are tuples. The delta is (the time until
which rows were taken or None, batches with their times that were added and not taken, the columns of the key)."""
SINCE_ALL = ("\0since",)
"""The address of a delta of ``EventBufferTable``, whose other addresses are keys of any kind."""
MOST_SEGMENTS = 128
"""The number of old segments that are merged into one, because each watermark has to check all of them."""


class Segment(NamedTuple):
    """Rows in the order of arrival, with the times when they are due."""

    rows: Rows
    times: Any
    """when each row is due (ms), a numpy array of int64"""
    earliest: int


class RowBufferTable(Table):
    """Rows that wait until they are taken out. The full content of a key is (times, rows as tuples with the row kind
    first)."""

    kind = "row buffers"

    def __init__(self) -> None:
        super().__init__()
        self._types: Sequence[pa.DataType] = ()
        self._key: tuple[int, ...] = ()
        self._segments: list[Segment] = []
        self._known = 0
        """number of segments that earlier deltas contained"""
        self._taken: int | None = None
        """the latest time (ms) of a ``take`` since the last delta; None: nothing was taken"""

    def describe(self, types: Sequence[pa.DataType], key: tuple[int, ...]) -> None:
        """Set the types of the columns, and the columns that the stream is keyed by. To be called before any other
        method."""
        self._types, self._key = types, key

    def add(self, rows: Rows, times: Any) -> None:
        """Add rows that are due at these times (ms)."""
        if len(rows):
            self._segments.append(Segment(rows, times, int(times.min())))

    def waiting(self) -> list[tuple[Rows, Any]]:
        """All waiting rows, in the form of ``take``, without removing them."""
        return [(rows, times) for rows, times, _ in self._segments]

    def take(self, until: int) -> list[tuple[Rows, Any]]:
        """Remove and return what is due at ``until`` (ms) or before: batches and their times, in the order of
        arrival.
        """
        if all(segment.earliest > until for segment in self._segments):
            return []
        self._taken = until if self._taken is None else max(until, self._taken)
        due: list[tuple[Rows, Any]] = []
        before = _split(self._segments[: self._known], until, due)
        since = _split(self._segments[self._known :], until, due)
        self._segments, self._known = before + since, len(before)
        return due

    def delta(self) -> dict[Any, Any]:
        added = self._segments[self._known :]
        if not added and self._taken is None:
            return {}
        change = (self._taken, [segment[:2] for segment in added], self._key)
        self._settle()
        return {SINCE: change}

    def _settle(self) -> None:
        if len(self._segments) > MOST_SEGMENTS:
            self._segments = [_merged(self._segments)]
        self._taken, self._known = None, len(self._segments)

    def apply(self, changes: dict[Any, Any]) -> None:
        waiting = dict(changes)
        since = waiting.pop(SINCE, None)
        if since is not None:
            taken, added, *key = since
            if taken is not None:
                self.take(taken)
            for rows, times in added:
                if key and not self._types:  # nobody has said yet what the rows are
                    self.describe(rows.batch.schema.types, key[0])
                self.add(rows, times)
        if waiting:
            self._add_back(waiting)
        self._settle()

    def _add_back(self, entries: dict[Any, Any]) -> None:
        import numpy as np

        from millrace.relational.rows import Rows, record_batch
        from millrace.runtime.tables.columns.row_codec import RowCodec

        times = [time for entry_times, _ in entries.values() for time in entry_times]
        stored = [row for _, rows in entries.values() for row in rows]
        columns = RowCodec(self._types).columns([row[1:] for row in stored])
        kinds = np.array([row[0] for row in stored], np.uint8)
        batch = record_batch(columns, len(stored))
        self.add(Rows(batch, kinds if kinds.any() else None), np.array(times, np.int64))

    def entries(self) -> dict[Any, Any]:
        if not self._segments:
            return {}
        from millrace.runtime.tables.columns.keys import key_tuples
        from millrace.runtime.tables.columns.row_codec import RowCodec

        found: dict[Any, tuple[list[int], list[Any]]] = {}
        codec = RowCodec(self._types)
        for rows, times, _ in self._segments:
            keys = key_tuples([rows.batch.column(index) for index in self._key], len(rows))
            stored = zip(rows.kind_values().tolist(), codec.rows(rows.columns, len(rows)))
            for key, time, (kind, row) in zip(keys, times.tolist(), stored):
                entry = found.setdefault(key, ([], []))
                entry[0].append(time)
                entry[1].append((kind, *row))
        return found

    def told_pieces(self) -> Iterator[dict[Any, Any]]:
        # Batches contain their types; entries do not, and code that only passes state on does not know them.
        if self._segments:
            yield {SINCE: (None, [segment[:2] for segment in self._segments], self._key)}

    def row(self, at: Any) -> Any:
        return self.entries().get(at)

    def addresses(self) -> Iterator[Any]:
        return iter(self.entries())


def _split(segments: list[Segment], until: int, due: list[tuple[Rows, Any]]) -> list[Segment]:
    """The segments with what is due later; what is due at ``until`` (ms) or before is appended to ``due``."""
    left = []
    for segment in segments:
        rows, times, earliest = segment
        if earliest > until:
            left.append(segment)
            continue
        now = times <= until
        if now.all():
            due.append((rows, times))
            continue
        due.append((rows.where(now), times[now]))
        later = times[~now]
        left.append(Segment(rows.where(~now), later, int(later.min())))
    return left


def _merged(segments: list[Segment]) -> Segment:
    import numpy as np

    from millrace.relational.rows import concat

    times = np.concatenate([segment.times for segment in segments])
    return Segment(concat([segment.rows for segment in segments]), times, int(times.min()))


class Elements(NamedTuple):
    """Elements in the order of arrival, for ``EventBufferTable``."""

    keys: list[Any]
    times: list[int]
    values: list[Any]


class EventBufferTable(Table):
    """Elements of any kind that wait until they are taken out, in the order of time. The full content of a key is
    (times, elements)."""

    kind = "event buffers"

    def __init__(self) -> None:
        super().__init__()
        self._segments: list[Elements] = []
        self._known = 0
        """number of segments that earlier deltas contained"""
        self._taken: int | None = None
        """the latest time (ms) of a ``take`` since the last delta; None: nothing was taken"""

    def add(self, keys: list[Any], times: list[int], values: list[Any]) -> None:
        """Add elements; the lists must not change afterwards."""
        if keys:
            self._segments.append(Elements(keys, times, values))

    def take(self, until: int) -> Elements:
        """Remove and return what is due at ``until`` (ms) or before, by time and then by arrival."""
        due = Elements([], [], [])
        before = _split_elements(self._segments[: self._known], until, due)
        since = _split_elements(self._segments[self._known :], until, due)
        if due.keys:
            self._taken = until if self._taken is None else max(until, self._taken)
            self._segments, self._known = before + since, len(before)
        return _ordered(due)

    def delta(self) -> dict[Any, Any]:
        added = self._segments[self._known :]
        if not added and self._taken is None:
            return {}
        change = (self._taken, [tuple(segment) for segment in added])
        self._settle()
        return {SINCE_ALL: change}

    def _settle(self) -> None:
        if len(self._segments) > MOST_SEGMENTS:
            whole = Elements([], [], [])
            for segment in self._segments:
                for all_, part in zip(whole, segment):
                    all_ += part
            self._segments = [whole]
        self._taken, self._known = None, len(self._segments)

    def apply(self, changes: dict[Any, Any]) -> None:
        for at, change in changes.items():
            if at == SINCE_ALL:
                taken, added = change
                if taken is not None:
                    self.take(taken)
                for segment in added:
                    self.add(*segment)
            else:
                times, values = change
                self.add([at] * len(times), times, values)
        self._settle()

    def entries(self) -> dict[Any, Any]:
        found: dict[Any, tuple[list[int], list[Any]]] = {}
        for segment in self._segments:
            for key, time, value in zip(*segment):
                times, values = found.setdefault(key, ([], []))
                times.append(time)
                values.append(value)
        return found

    def wipe(self) -> None:
        self._segments, self._known, self._taken = [], 0, None

    def row(self, at: Any) -> Any:
        return self.entries().get(at)

    def addresses(self) -> Iterator[Any]:
        return iter(self.entries())


def _split_elements(segments: list[Elements], until: int, due: Elements) -> list[Elements]:
    """The segments with what is due later; what is due at ``until`` (ms) or before is added to ``due``."""
    left = []
    for segment in segments:
        times = segment.times
        if min(times) > until:
            left.append(segment)
            continue
        if max(times) <= until:
            for all_, part in zip(due, segment):
                all_ += part
            continue
        later = Elements([], [], [])
        for key, time, value in zip(*segment):
            to = later if time > until else due
            to.keys.append(key)
            to.times.append(time)
            to.values.append(value)
        left.append(later)
    return left


def _ordered(due: Elements) -> Elements:
    times = due.times
    order = sorted(range(len(times)), key=times.__getitem__)
    return Elements(*([part[place] for place in order] for part in due))
