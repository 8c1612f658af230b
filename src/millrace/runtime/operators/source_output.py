"""Buffers the output of a reader, in order, until the source emits it.

A poll gives any number of elements, and a reader's positions in its splits are known only after a whole poll. Elements
that the epoch has no time for become part of the source's state, next to the splits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, NamedTuple

from millrace.common.source import PATIENCE_SECONDS, ReaderOutput
from millrace.relational.rows import Rows, count
from millrace.runtime.elements import Chunk, Cutter, Status
from millrace.runtime.operators.timestamps import SplitTimes

CHUNK = 4_096
"""The number of elements from single ``collect`` calls that form a chunk."""


class Kind(Enum):
    """The kinds of reader output."""

    ELEMENTS = "elements"
    MARK = "mark"
    OPEN = "open"
    """reading of a split begins"""
    RELEASE = "release"
    """a split has been read to its end"""
    TOLD = "told"
    """(events for the enumerator, number of splits requested); sent when everything before it was emitted"""
    PART = "part"
    """elements from ``collect`` calls, of which more may follow; together they are one batch with one watermark"""
    END = "end"
    """the end of a batch of ``PART``"""
    LEFT = "left"
    """elements that earlier subtasks had not emitted, after a change of the parallelism"""


_WITH_ELEMENTS = (Kind.ELEMENTS, Kind.PART, Kind.LEFT)


class Given(NamedTuple):
    """One item of a reader's output, before timestamps and watermarks are made."""

    kind: Kind
    split: str | None
    """id of the split; None: the item belongs to no split"""
    content: Any = None
    """(values, timestamps), a watermark (ms), a status, or the content of TOLD"""

    @property
    def elements(self) -> int:
        """The number of elements in this item."""
        return count(self.content[0]) if self.kind in _WITH_ELEMENTS else 0

    @property
    def records(self) -> int:
        """The number of records that count for the epoch's limit: the elements, but at least one for each batch of
        rows."""
        return max(self.elements, len(self.content[0])) if self.kind in _WITH_ELEMENTS else 0


class UnsentOutput:
    """The output of a reader that the source has not emitted."""

    def __init__(self) -> None:
        self._items: deque[Given] = deque()
        self._cutter: Cutter | None = None
        """cuts the first item"""
        self.polled = 0
        """records since ``begin_poll``: elements, where a batch of rows counts as its rows, but at least as one"""

    def __bool__(self) -> bool:
        return bool(self._items)

    @property
    def first(self) -> Given:
        """The next item; some of its elements may have been taken."""
        return self._items[0]

    @property
    def elements(self) -> int:
        """The number of elements that were not taken."""
        cutter = self._cutter
        taken = 0 if cutter is None else self.first.elements - cutter.elements
        return sum(given.elements for given in self._items) - taken

    @property
    def items(self) -> tuple[Given, ...]:
        """All items, in order, without the elements that were taken."""
        if self._cutter is None:
            return tuple(self._items)
        first, *others = self._items
        left = self._cutter.left
        return first._replace(content=(left.values, left.timestamps)), *others

    def add(self, given: Given) -> None:
        self._items.append(given)

    def replace(self, items: Iterable[Given]) -> None:
        """Set the items."""
        self._items, self._cutter = deque(items), None

    def next(self) -> Given:
        """Take the next item, of which no element was taken yet."""
        return self._items.popleft()

    def take_several(self, most: int) -> list[Given]:
        """Take the next batches, if at least two of them have at most ``most`` elements together; else none."""
        found, elements = 0, 0
        for given in self._items if self._cutter is None else ():
            elements += given.elements
            if given.kind is not Kind.ELEMENTS or elements > most:
                break
            found += 1
        return [self.next() for _ in range(found)] if found > 1 else []

    def take(self, most: int) -> tuple[Given, bool]:
        """Take at most this many elements of the next item; also returns whether more of the same batch follow."""
        given, cutter = self.first, self._cutter
        if cutter is None:
            if given.elements <= most:
                return self.next(), given.kind is Kind.PART
            cutter = self._cutter = Cutter(Chunk(*given.content))
        piece = cutter.take(most)
        more = cutter.elements > 0
        if not more:
            self._cutter = None
            self.next()
        return given._replace(content=(piece.values, piece.timestamps)), more or given.kind is Kind.PART


class _Gathering(ReaderOutput[Any]):
    def __init__(self, kept: UnsentOutput, split: str | None) -> None:
        self._kept = kept
        self._split = split
        self._values: list[Any] = []
        self._timestamps: list[int | None] = []
        self._parts = 0
        """number of elements of the current batch that were flushed"""

    def collect(self, record: Any, timestamp: int | None = None) -> None:
        self._values.append(record)
        self._timestamps.append(timestamp)
        self._kept.polled += max(len(record), 1) if record.__class__ is Rows else 1
        if self._parts + len(self._values) >= CHUNK:
            self.end()

    def collect_batch(self, records: list[Any], timestamps: list[int] | None = None) -> None:
        self.end()
        self._kept.polled += max(count(records), len(records))
        if records:
            known = None if timestamps is None else list(timestamps)
            self._kept.add(Given(Kind.ELEMENTS, self._split, (records, known)))

    def emit_watermark(self, timestamp: int) -> None:
        self.end()
        self._kept.add(Given(Kind.MARK, self._split, timestamp))

    def mark_idle(self) -> None:
        self.end()
        self._kept.add(Given(Kind.MARK, self._split, Status.IDLE))

    def flush(self) -> None:
        if not self._values:
            return
        values, timestamps = self._values, self._timestamps
        self._values, self._timestamps = [], []
        self._parts += len(values)
        known = None if timestamps.count(None) == len(timestamps) else timestamps
        self._kept.add(Given(Kind.PART, self._split, (values, known)))

    def end(self) -> None:
        """End the batch of elements from single ``collect`` calls."""
        self.flush()
        if self._parts:
            self._parts = 0
            self._kept.add(Given(Kind.END, self._split))


class SourceOutput(_Gathering):
    """The output for elements of no split; makes the outputs of splits."""

    def __init__(self, kept: UnsentOutput) -> None:
        super().__init__(kept, None)
        self._splits: dict[str, _Gathering] = {}
        self._patience = PATIENCE_SECONDS

    def begin_poll(self, patience: float) -> None:
        """A poll begins.

        :param patience: how long the poll may wait (s).
        """
        self._patience = patience
        self._kept.polled = 0

    def patience(self) -> float:
        return self._patience

    def emit_watermark(self, timestamp: int) -> None:
        self.end_all()
        super().emit_watermark(timestamp)

    def mark_idle(self) -> None:
        self.end_all()
        super().mark_idle()

    def create_output_for_split(self, split_id: str) -> ReaderOutput[Any]:
        if split_id not in self._splits:
            self._splits[split_id] = _Gathering(self._kept, split_id)
            self._kept.add(Given(Kind.OPEN, split_id))
        return self._splits[split_id]

    def release_output_for_split(self, split_id: str) -> None:
        released = self._splits.pop(split_id, None)
        if released is not None:
            released.end()
        self._kept.add(Given(Kind.RELEASE, split_id))

    def flush_all(self) -> None:
        """Let elements from single ``collect`` calls be emitted."""
        for output in (self, *self._splits.values()):
            output.flush()

    def end_all(self) -> None:
        """End the batches of elements from single ``collect`` calls, because the epoch ends."""
        for output in (self, *self._splits.values()):
            output.end()


def hand_on(given: Given, times: SplitTimes, now: int) -> None:
    """Emit an item, with the timestamps and watermarks of its split."""
    if given.kind in (Kind.ELEMENTS, Kind.PART):
        values, timestamps = given.content
        if given.split is None:
            times.elements(values, timestamps, now)
        else:
            times.of_split(given.split).elements(values, timestamps, now)
    elif given.kind is Kind.LEFT:
        values, timestamps = given.content
        times.without_watermarks(values, timestamps, now)
    elif given.kind is Kind.END:
        times.periodic(given.split, now)
    elif given.kind is Kind.OPEN:
        times.of_split(given.split or "")
    elif given.kind is Kind.RELEASE:
        times.release(given.split or "")
    elif given.split is not None:
        times.of_split(given.split).mark(given.content)
    elif given.content is Status.IDLE:
        times.mark_idle()
    else:
        times.mark(given.content)


def by_splits(items: tuple[Given, ...], unfinished: list[str]) -> Iterator[tuple[str | None, Given]]:
    """A reader's remaining output, each item with the id of the split that it goes with, for restoring with another
    parallelism. Items of no split go with the first unfinished one, which a reader of one split after the other is
    reading; None: with no split.

    Only elements and messages to the enumerator are included. Event time starts from what the new subtask reads,
    because its other splits may be less far.

    :param unfinished: ids of the splits that go to a subtask. Items of other splits go with none, or they would go with
        each of them.
    """
    first = unfinished[0] if unfinished else None
    for given in items:
        if given.kind in _WITH_ELEMENTS:
            given = given._replace(kind=Kind.LEFT)
        elif given.kind is not Kind.TOLD:
            continue
        if given.split is None:
            yield first, given
        else:
            yield (given.split if given.split in unfinished else None), given
