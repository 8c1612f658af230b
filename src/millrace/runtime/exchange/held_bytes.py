"""About how many bytes elements take that wait to be sent, for the price of looking at a few of them now and then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.relational.rows import Rows
from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import encode

FIRST_LOOK = 64
"""Elements that wait before anybody looks."""
SAMPLE = 8
"""Elements that are looked at."""


def weigh(values: Sequence[Any]) -> float:
    """About how many bytes they take as packets. Of batches of rows it is what their columns take."""
    if not values:
        return 0.0
    sample = list(values[:: -(-len(values) // SAMPLE)])
    if sample[0].__class__ is Rows:
        size: int = sum(rows.batch.nbytes for rows in sample)
    else:
        try:
            size = len(encode(Chunk(sample), []))
        except Exception:
            return 0.0  # one that can't be sent: whoever sends it says so
    return size * len(values) / len(sample)


class Weigher:
    """Weighs one chunk after the other: every batch of rows, of other elements some of each 64."""

    def __init__(self) -> None:
        self._unweighed = 0

    def weigh(self, values: Sequence[Any]) -> float:
        """About what these weigh, and those before them that were taken for nothing."""
        self._unweighed += len(values)
        if not values or (self._unweighed < FIRST_LOOK and values[0].__class__ is not Rows):
            return 0.0
        count, self._unweighed = self._unweighed, 0
        return weigh(values) * count / len(values)


class HeldBytes:
    """Says when something that grows is more than a number of bytes.

    It looks again when there are twice as many elements, or as many as would be too much by the last look. So small
    elements are looked at a few times until they are sent, and what is held is more than the limit only as far as
    elements grow, or come many at a time.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.look_at = FIRST_LOOK
        """the number of elements at which to ask ``is_much``"""

    def is_much(self, values: Sequence[Any], size: int) -> bool:
        """Whether these are too many.

        :param size: the number of elements; of batches of rows that of their rows.
        """
        weight = weigh(values)
        fits = self._limit / weight if weight else 2.0
        self.look_at = max(size + 1, int(size * min(2.0, fits)))
        return fits <= 1.0

    def start(self) -> None:
        """What was held is sent."""
        self.look_at = FIRST_LOOK
