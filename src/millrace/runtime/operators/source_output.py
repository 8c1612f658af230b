"""Where a reader puts its elements: they are kept, in order, until the source hands them on.

A poll gives as many elements as it likes, and where a reader is in its splits is known behind a whole poll only. What
the epoch has no time for is a part of the source's state, beside the splits.
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
"""Elements that single ``collect`` calls are gathered to."""


class Kind(Enum):
    """What a reader says."""

    ELEMENTS = "elements"
    MARK = "mark"
    OPEN = "open"
    """a split is read from now on"""
    RELEASE = "release"
    """a split has been read to its end"""
    TOLD = "told"
    """(events for the enumerator, number of splits asked for): it hears of them when all before them has gone on"""
    PART = "part"
    """elements that were given one by one, of which more may follow: as one batch they have one watermark"""
    END = "end"
    """the end of such a batch"""
    LEFT = "left"
    """elements that subtasks of another number had left"""


_WITH_ELEMENTS = (Kind.ELEMENTS, Kind.PART, Kind.LEFT)


class Given(NamedTuple):
    """One thing that a reader has said, before event time is made of it."""

    kind: Kind
    split: str | None
    """None: of no split"""
    content: Any = None
    """(values, timestamps), or a watermark (ms) or status"""

    @property
    def elements(self) -> int:
        """How many elements these are."""
        return count(self.content[0]) if self.kind in _WITH_ELEMENTS else 0

    @property
    def records(self) -> int:
        """How many records of an epoch's these are: the elements, but one at least for each batch of rows."""
        return max(self.elements, len(self.content[0])) if self.kind in _WITH_ELEMENTS else 0


class UnsentOutput:
    """What a reader has given and the source has not handed on."""

    def __init__(self) -> None:
        self._items: deque[Given] = deque()
        self._cutter: Cutter | None = None
        """takes the first of them apart"""
        self.polled = 0
        """records since ``begin_poll``; of batches of rows the rows, but one at least"""

    def __bool__(self) -> bool:
        return bool(self._items)

    @property
    def first(self) -> Given:
        """What comes next; some of its elements may have been taken."""
        return self._items[0]

    @property
    def elements(self) -> int:
        """How many there are."""
        cutter = self._cutter
        taken = 0 if cutter is None else self.first.elements - cutter.elements
        return sum(given.elements for given in self._items) - taken

    @property
    def items(self) -> tuple[Given, ...]:
        """All of it, in order."""
        if self._cutter is None:
            return tuple(self._items)
        first, *others = self._items
        left = self._cutter.left
        return first._replace(content=(left.values, left.timestamps)), *others

    def add(self, given: Given) -> None:
        self._items.append(given)

    def replace(self, items: Iterable[Given]) -> None:
        """This is what there is."""
        self._items, self._cutter = deque(items), None

    def next(self) -> Given:
        """All of what comes next, none of which has been taken."""
        return self._items.popleft()

    def take_several(self, most: int) -> list[Given]:
        """Batches that come next and have together so many elements at most; none, unless there are two of them."""
        found, elements = 0, 0
        for given in self._items if self._cutter is None else ():
            elements += given.elements
            if given.kind is not Kind.ELEMENTS or elements > most:
                break
            found += 1
        return [self.next() for _ in range(found)] if found > 1 else []

    def take(self, most: int) -> tuple[Given, bool]:
        """So many of the elements that come next, and whether more of the same batch follows."""
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
        """elements of the batch that have gone"""

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
        """What was given one by one so far is a batch."""
        self.flush()
        if self._parts:
            self._parts = 0
            self._kept.add(Given(Kind.END, self._split))


class SourceOutput(_Gathering):
    """The elements of no split, and the outputs of those that have one."""

    def __init__(self, kept: UnsentOutput) -> None:
        super().__init__(kept, None)
        self._splits: dict[str, _Gathering] = {}
        self._patience = PATIENCE_SECONDS

    def begin_poll(self, patience: float) -> None:
        """A poll follows.

        :param patience: how many seconds it may wait.
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
        """What was given one by one may be handed on."""
        for output in (self, *self._splits.values()):
            output.flush()

    def end_all(self) -> None:
        """The epoch ends: all that was given one by one are batches."""
        for output in (self, *self._splits.values()):
            output.end()


def hand_on(given: Given, times: SplitTimes, now: int) -> None:
    """Make event time of it, and send it on."""
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
    """What a reader had given, with the split that it goes with: what is of no split belongs to the first one that is
    not read to its end, which readers of one split after the other are at. None: with none.

    Only elements, and what the enumerator is to hear: how far the new subtask is in time is said by what it reads from
    now on, since it may have other splits that are not as far as this one.

    :param unfinished: the names of splits that have one. Nothing goes with others, or it would go with each of them.
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
