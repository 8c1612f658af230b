"""What flows between operators, and in which pieces an operator gets it.

Elements travel in chunks; watermarks, stream status and latency marks travel between them. A piece is what an operator
gets at once: as many elements as take it some ms. Nothing can stop an operator within a piece, so its size decides how
soon a task hears anything, and how long an epoch may last beyond its time.
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
    """What a channel says about itself, besides watermarks.

    >>> Status.IDLE.name
    'IDLE'
    """

    IDLE = "IDLE"
    """takes no part in the minimum over channels until it is active again"""
    ACTIVE = "ACTIVE"
    FINISHED = "FINISHED"
    """bounded input has ended: nothing follows, ever"""


class LatencyMark(NamedTuple):
    """Goes with the elements from a source to the sinks, so that each operator sees how long that has taken."""

    source: int
    """id of the operator that sent it"""
    subtask: int
    at: int
    """when (ms)"""


class Chunk:
    """Many elements of one channel, in order.

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
"""How long a piece shall take."""
MOST = 16_384
"""Elements of a piece at most."""
MOST_CALLED = 1_024
"""The same where something is called for each of them: what took a microsecond may take 100 ms for the next piece."""
MOST_ROWS, FIRST_ROWS, ROWS_NANOSECONDS = 131_072, 1_024, 100_000_000
"""The same for operators that compute columns and call nothing for a single row: a row takes them a microsecond, but a
batch of few rows as long as one of some hundred."""

MUCH_MORE = 1.5
"""What twice as many elements take, if less than so many times as much, is mostly not for the elements."""
AGAIN = 64
"""After so many pieces it is tried again whether more elements are better."""
LONG_NANOSECONDS = 500_000_000
"""With single elements that take longer nothing is tried."""

INTERVAL_MS = 200
"""Flink's ``pipeline.auto-watermark-interval``."""


class Midst:
    """Whether what a task is at is a part of something that came at once, of which more follows. What is done once for
    all of it, such as to make a watermark, is done behind its last piece."""

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
    """Between two watermarks of a stream: they come once for what has come at once, however small its pieces are, but
    every 200 ms if that takes longer."""

    def __init__(self) -> None:
        self._since: int | None = None

    def is_over(self, now: int, midst: Midst) -> bool:
        """Whether it is time for a watermark, behind the elements of this moment (ms)."""
        if self._since is None:
            self._since = now
        if midst and now - self._since < INTERVAL_MS:
            return False
        self.ends(now)
        return True

    def ends(self, now: int) -> None:
        """A watermark comes at this moment (ms)."""
        self._since = now


class _Costs:
    """What pieces of different sizes have taken. Each size stands for those up to twice as large."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, tuple[float, float]] = {}
        """the number of bits of a size -> (elements, ns), as they were on average, the last ones above all"""

    def took(self, elements: int, nanoseconds: int) -> None:
        level = elements.bit_length()
        size, time = self._known.get(level, (elements, nanoseconds))
        self._known[level] = size + (elements - size) / 4, time + (nanoseconds - time) / 4

    @property
    def fixed(self) -> float:
        """What a piece takes whatever it has (ns); 0 if that is not seen."""
        known = sorted(self._known.values())
        found = 0.0
        for at, (size, time) in enumerate(known):
            larger = next((took for more, took in known[at + 1 :] if more >= 2 * size), None)
            if larger is not None and larger <= MUCH_MORE * time:
                found = max(found, time)
        return found

    def is_open(self, elements: int) -> bool:
        """Whether it is worth to try twice as many: nothing is known of fewer or of more."""
        level = elements.bit_length()
        return level + 1 not in self._known and (level - 1 not in self._known or self.fixed > 0)

    def forget(self, elements: int) -> None:
        """What is known of more than these."""
        level = elements.bit_length()
        self._known = {each: found for each, found in self._known.items() if each <= level}


class PieceSize:
    """How many elements the next piece may have: twice as many as the last one at most, as many as take 10 ms by the
    last one, at once fewer when that took too long.

    But where most of what a piece takes is not for its elements (a request to a server, a busy machine), fewer of them
    save nothing, and a task that gives in to that does nothing else in the end: there a piece may take half as long
    again as one of few elements.

    :param most: elements at any time.
    :param first: elements of the first piece.
    :param nanoseconds: how long one shall take.
    :param steady: whether all elements take about the same: what single ones are called for may be slow at any time.
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
        """whether a piece has taken too long, and no full one has been fast since"""
        self._costs = _Costs()
        self._pieces = 0
        """slow ones of a single element, since more was tried"""
        self._largest = 0
        """elements of the largest one since the size has fallen"""
        self.steady = steady
        self._pace = 0
        """elements that a piece of the right length would have, by the last one"""
        self.each_nanoseconds = 0
        """what an element of the last piece has taken"""

    @property
    def wanted(self) -> int:
        """How many elements there should be room for: what was tried and as many again, or what the pace allows."""
        return min(self.size, max(2 * self._largest, self._pace))

    def took(self, elements: int, nanoseconds: int) -> None:
        """A piece of so many elements has taken so long. A small one that was fast enough says nothing of large ones:
        much of what it took is the same for both."""
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
        """Single elements that are slow: whether two are slower is tried now and then."""
        self._pieces = self._pieces + 1 if self.size == 1 else 0
        if self._pieces % AGAIN == 1 and self.most > 1:
            self._costs.forget(1)
            self.size = 2


def piece_size(calls_for_each: bool, most: int | None = None, first: int = 1) -> PieceSize:
    """What suits an operator.

    :param calls_for_each: whether it calls something for each element.
    :param first: elements of its first piece, if it calls something for each.
    :param most: elements that it takes at once, from the first piece on; None for as many as take it some ms.
    """
    if most is not None:
        return PieceSize(most, most)
    if calls_for_each:
        return PieceSize(MOST_CALLED, first)
    return PieceSize(MOST_ROWS, FIRST_ROWS, ROWS_NANOSECONDS, steady=True)


class Cutter:
    """Takes a chunk apart, one piece after the other. What a piece costs does not depend on how much is left."""

    __slots__ = ("_chunk", "_start", "elements")

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._start = 0
        """what has been taken, of single elements; of batches of rows the chunk has none that was taken"""
        self.elements = count(chunk.values)
        """how many are left"""

    def take(self, most: int) -> Chunk:
        """The next ``most`` elements, fewer if no more are left. The old and the new row of an update stay together, so
        it may be more."""
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
        """All that was not taken."""
        return slice_chunk(self._chunk, self._start, None) if self._start else self._chunk


def slice_chunk(chunk: Chunk, start: int, end: int | None) -> Chunk:
    """Some of its elements, with their times and keys."""
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
    """The first place at or behind ``most`` where no old row waits for its new one; the end of the batch if there is
    none before it."""
    if most >= len(rows) or rows.kinds is None:
        return min(most, len(rows))
    kinds = rows.kinds
    waiting = np.cumsum((kinds == UPDATE_BEFORE).astype(np.int64) - (kinds == UPDATE_AFTER))
    # Updates may come without their old rows: then nothing is waited for, and the sum falls.
    lowest = np.minimum(np.minimum.accumulate(waiting), 0)
    settled = np.flatnonzero((waiting == lowest)[most - 1 :])
    return most + int(settled[0]) if len(settled) else len(rows)


def _ends_with_old_row(batches: Sequence[Rows]) -> bool:
    last = next((rows for rows in reversed(batches) if len(rows)), None)
    return last is not None and last.kinds is not None and last.kinds[-1] == UPDATE_BEFORE
