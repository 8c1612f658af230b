"""What flows between operators (chunks of elements, watermarks, status, latency marks), and in which pieces.

Elements travel in chunks; watermarks, stream status and latency marks travel between them. A piece is the part of a
chunk that an operator gets at once: as many elements as take it some ms. Nothing can interrupt an operator within a
piece, so the size of pieces limits how soon a task reacts to messages, and how far an epoch exceeds its time.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from millrace.common.types import Row, RowKind
from millrace.relational.rows import UPDATE_AFTER, UPDATE_BEFORE, Rows, count

# Chunks, watermarks and marks

MIN_TIMESTAMP = -(2**63)
"""The watermark before the first one (ms), Flink's Long.MIN_VALUE."""
MAX_WATERMARK = 2**63 - 1
"""The watermark at the end of bounded input (ms), Flink's Long.MAX_VALUE."""


class Status(enum.Enum):
    """The status of a channel, which travels like a watermark.

    >>> Status.IDLE.name
    'IDLE'
    """

    IDLE = "IDLE"
    """the channel is left out of the minimum of watermarks until it is active again"""
    ACTIVE = "ACTIVE"
    FINISHED = "FINISHED"
    """the bounded input has ended: nothing follows"""


class LatencyMark(NamedTuple):
    """Travels with the elements from a source to the sinks, so that each operator can measure the latency."""

    source: int
    """id of the operator that sent the mark"""
    subtask: int
    at: int
    """when it was sent (ms)"""


class Chunk:
    """A batch of elements of one channel, in order.

    ``timestamps`` is None when no element has one, else a list of the same length (ms, None for an element without).
    ``keys`` is None on a stream that isn't keyed. The lists belong to the receiver and are never changed by the sender
    after it handed them over, so one chunk may go to several receivers.
    """

    __slots__ = ("keys", "timestamps", "values")

    def __init__(
        self, values: list[Any], timestamps: list[int | None] | None = None, keys: list[Any] | None = None
    ) -> None:
        self.values = values
        self.timestamps = timestamps
        self.keys = keys

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Chunk(values={self.values!r}, timestamps={self.timestamps!r}, keys={self.keys!r})"


# Pieces

PIECE_NANOSECONDS = 10_000_000
"""The intended duration of a piece."""
MOST = 16_384
"""The most elements in a piece."""
MOST_CALLED = 1_024
"""The most elements in a piece for operators that call a function or service for each element: a call that took a
microsecond may take 100 ms for the next element."""
MOST_ROWS, FIRST_ROWS, ROWS_NANOSECONDS = 131_072, 1_024, 100_000_000
"""The most and the first number of rows, and the intended duration, of a piece for operators that compute columns and
call nothing for a single row: a row takes a microsecond, but a batch of few rows as long as one of some hundred."""

MUCH_MORE = 1.5
"""If a piece with twice as many elements takes less than this many times as long, most of its time is a fixed cost."""
AGAIN = 64
"""After this many pieces of one slow element a larger piece is tried."""
LONG_NANOSECONDS = 500_000_000
"""If a single element takes longer, no larger piece is tried."""
BRIEF_NANOSECONDS = 4_000_000
MOST_BRIEF = 64
"""An inbox has room for up to ``MOST_BRIEF`` elements that take ``BRIEF_NANOSECONDS`` together: to give credit for each
of them costs more than they do."""

INTERVAL_MS = 200
"""Flink's ``pipeline.auto-watermark-interval``."""


class Midst:
    """True while the task works on a piece of a batch of which more pieces follow. What is done once per batch, such as
    sending a watermark, is done after its last piece."""

    __slots__ = ("_depth",)

    def __init__(self) -> None:
        self._depth = 0

    def __bool__(self) -> bool:
        return self._depth > 0

    def enter(self) -> None:
        self._depth += 1

    def leave(self) -> None:
        self._depth -= 1


class Pause:
    """Spaces the watermarks of a stream: one after each batch, however small its pieces are, but one every 200 ms
    within a batch that takes longer."""

    def __init__(self) -> None:
        self._since: int | None = None

    def is_over(self, now: int, midst: Midst) -> bool:
        """Whether it is time for a watermark after the elements processed so far. If so, the next interval starts.

        :param now: the clock (ms).
        """
        if self._since is None:
            self._since = now
        if midst and now - self._since < INTERVAL_MS:
            return False
        self.ends(now)
        return True

    def ends(self, now: int) -> None:
        """A watermark is sent at this time (ms)."""
        self._since = now


class _Costs:
    """The durations of pieces by size. Sizes with the same number of bits count as one."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, tuple[float, float]] = {}
        """bit length of a size -> (elements, ns), as moving averages"""

    def took(self, elements: int, nanoseconds: int) -> None:
        level = elements.bit_length()
        size, time = self._known.get(level, (elements, nanoseconds))
        self._known[level] = size + (elements - size) / 4, time + (nanoseconds - time) / 4

    @property
    def fixed(self) -> float:
        """The fixed cost of a piece, whatever its size (ns); 0: none was observed."""
        known = sorted(self._known.values())
        found = 0.0
        for at, (size, time) in enumerate(known):
            larger = next((took for more, took in known[at + 1 :] if more >= 2 * size), None)
            if larger is not None and larger <= MUCH_MORE * time:
                found = max(found, time)
        return found

    def is_open(self, elements: int) -> bool:
        """Whether pieces with twice as many elements should be tried: larger ones are not known, and smaller ones are
        not known or show a fixed cost."""
        level = elements.bit_length()
        return level + 1 not in self._known and (level - 1 not in self._known or self.fixed > 0)

    def forget(self, elements: int) -> None:
        """Forget the durations of pieces larger than this."""
        level = elements.bit_length()
        self._known = {each: found for each, found in self._known.items() if each <= level}


class PieceSize:
    """Decides the number of elements of the next piece: at most twice that of the last one, as many as take 10 ms at
    the last one's speed, at once fewer when it took too long.

    Where most of a piece's time is a fixed cost (a request to a server, a busy machine), smaller pieces save nothing,
    and shrinking them would leave the task with nothing but fixed costs. There a piece may take half as long again as a
    small one.

    :param most: the most elements of a piece.
    :param first: number of elements of the first piece.
    :param nanoseconds: the intended duration of a piece.
    :param steady: whether all elements take about the same time; the calls that an operator makes for elements may be
        slow at any time.
    """

    __slots__ = (
        "_costs",
        "_largest",
        "_nanoseconds",
        "_pace",
        "_pieces",
        "each_nanoseconds",
        "has_fallen",
        "most",
        "size",
        "steady",
    )

    def __init__(
        self, most: int = MOST, first: int = 1, nanoseconds: int = PIECE_NANOSECONDS, steady: bool = False
    ) -> None:
        self.most = most
        self.size = min(first, most)
        self._nanoseconds = nanoseconds
        self.has_fallen = False
        """whether a piece has taken too long, and no full-sized one has been fast since"""
        self._costs = _Costs()
        self._pieces = 0
        """number of consecutive slow pieces of a single element since a larger one was tried"""
        self._largest = 0
        """number of elements of the largest piece since the size was last reduced"""
        self.steady = steady
        self._pace = 0
        """number of elements that a piece of the intended duration would have, at the last one's speed"""
        self.each_nanoseconds = 0
        """time per element in the last piece (ns)"""

    @property
    def wanted(self) -> int:
        """The number of elements that an inbox should have room for: twice the largest piece so far, or as many as the
        pace allows; in any case the few that take ``BRIEF_NANOSECONDS``."""
        each = self.each_nanoseconds
        brief = min(BRIEF_NANOSECONDS // each, MOST_BRIEF, self.most) if each else 0
        return max(brief, min(self.size, max(2 * self._largest, self._pace)))

    def took(self, elements: int, nanoseconds: int) -> None:
        """Take the duration of a piece into account. A small piece that was fast says nothing about large ones, since
        much of its time may be a fixed cost."""
        self._costs.took(elements, nanoseconds)
        self._largest = max(self._largest, elements)
        self.each_nanoseconds = nanoseconds // max(elements, 1)
        longest = self._nanoseconds
        if self.steady:
            self._pace = elements * longest // max(nanoseconds, 1)
        if nanoseconds > longest // 4:
            longest = max(longest, int(MUCH_MORE * self._costs.fixed))
        if nanoseconds > longest:
            self.size = max(1, min(self.size, elements * longest // nanoseconds))
            self._largest = min(self._largest, self.size)
            self.has_fallen = True
            if self.each_nanoseconds < LONG_NANOSECONDS:
                self._try_two()
        elif elements >= self.size and self.size < self.most:
            fitting = elements * longest // max(nanoseconds, 1)
            if fitting < 2 * self.size and self._costs.is_open(self.size):
                fitting = 2 * self.size
            self.size = min(2 * self.size, max(fitting, self.size), self.most)
            self.has_fallen = self.has_fallen and self.size < self.most

    def _try_two(self) -> None:
        """For slow single elements: now and then try a piece of two, to see whether it is slower."""
        self._pieces = self._pieces + 1 if self.size == 1 else 0
        if self._pieces % AGAIN == 1 and self.most > 1:
            self._costs.forget(1)
            self.size = 2


def piece_size(calls_for_each: bool, most: int | None = None, first: int = 1) -> PieceSize:
    """The piece sizes for an operator.

    :param calls_for_each: whether the operator calls a function or service for each element.
    :param first: number of elements of the first piece, with ``calls_for_each``.
    :param most: the most elements of a piece, from the first one on; None: as many as take it some ms.
    """
    if most is not None:
        return PieceSize(most, most)
    if calls_for_each:
        return PieceSize(MOST_CALLED, first)
    return PieceSize(MOST_ROWS, FIRST_ROWS, ROWS_NANOSECONDS, steady=True)


class Cutter:
    """Cuts a chunk into pieces. The cost of a piece does not depend on how much is left."""

    __slots__ = ("_chunk", "_start", "elements")

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._start = 0
        """number of elements taken, where values are single elements; rows that were taken are removed from the
        chunk"""
        self.elements = count(chunk.values)
        """number of elements left"""

    def take(self, most: int) -> Chunk:
        """The next ``most`` elements, or all that are left. The old and the new row of an update stay together, so
        there may be more."""
        if self.elements <= most:
            piece = self.left
            self.elements = 0
            return piece
        if self._chunk.values[0].__class__ is Rows:
            piece, self._chunk = _cut_rows(self._chunk.values, most)
            self.elements = count(self._chunk.values)
            return piece
        values = self._chunk.values
        start, end = self._start, self._start + most
        while end < len(values) and _is_old_row(values[end - 1]):
            end += 1
        self._start, self.elements = end, len(values) - end
        return slice_chunk(self._chunk, start, end)

    @property
    def left(self) -> Chunk:
        """All elements that were not taken."""
        return slice_chunk(self._chunk, self._start, None) if self._start else self._chunk


def slice_chunk(chunk: Chunk, start: int, end: int | None) -> Chunk:
    """Elements ``start`` to ``end`` of a chunk, with their timestamps and keys."""
    times, keys = chunk.timestamps, chunk.keys
    return Chunk(
        chunk.values[start:end], None if times is None else times[start:end], None if keys is None else keys[start:end]
    )


def _is_old_row(value: object) -> bool:
    return value.__class__ is Row and value.get_row_kind() is RowKind.UPDATE_BEFORE


def _cut_rows(batches: Sequence[Rows], most: int) -> tuple[Chunk, Chunk]:
    first: list[Rows] = []
    left = list(batches)
    room = most
    while left and (room > 0 or _ends_with_old_row(first)):
        rows = left.pop(0)
        end = _end_of_update(rows, max(room, 1))
        if end >= len(rows):
            first.append(rows)
        else:
            first.append(_slice(rows, 0, end))
            left.insert(0, _slice(rows, end, len(rows)))
        room -= end
    return Chunk(first), Chunk(left if any(map(len, left)) else [])


def _slice(rows: Rows, start: int, end: int) -> Rows:
    return Rows(rows.batch.slice(start, end - start), None if rows.kinds is None else rows.kinds[start:end])


def _end_of_update(rows: Rows, most: int) -> int:
    """The first position at or after ``most`` that does not separate an old row from its new one; the end of the batch
    if there is none before it."""
    if most >= len(rows) or rows.kinds is None:
        return min(most, len(rows))
    kinds = rows.kinds
    waiting = np.cumsum((kinds == UPDATE_BEFORE).astype(np.int64) - (kinds == UPDATE_AFTER))
    # Updates may come without their old rows. They need not wait for one, so the sum falls below 0.
    lowest = np.minimum(np.minimum.accumulate(waiting), 0)
    settled = np.flatnonzero((waiting == lowest)[most - 1 :])
    return most + int(settled[0]) if len(settled) else len(rows)


def _ends_with_old_row(batches: Sequence[Rows]) -> bool:
    last = next((rows for rows in reversed(batches) if len(rows)), None)
    return last is not None and last.kinds is not None and last.kinds[-1] == UPDATE_BEFORE
