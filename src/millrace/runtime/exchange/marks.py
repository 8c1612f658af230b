"""The watermarks and status changes of a sender that all its targets get: where they lie among each one's elements."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from millrace.runtime.exchange.codec import Mark
from millrace.runtime.exchange.scatter import Numbers, Scatter

PlacedMark = tuple[int, Mark]
"""(elements before it, mark)"""


def add_mark(marks: list[PlacedMark], position: int, mark: Mark) -> None:
    """A later watermark at the same place says it all."""
    if marks and marks[-1][0] == position and isinstance(mark, int) and isinstance(marks[-1][1], int):
        marks.pop()
    marks.append((position, mark))


def together(marks: list[PlacedMark]) -> list[PlacedMark]:
    """What they say to a target that gets no elements."""
    said: list[PlacedMark] = []
    for _, mark in marks:
        add_mark(said, 0, mark)
    return said


def marks_of_targets(marks: list[PlacedMark], scatter: Scatter) -> list[list[PlacedMark]]:
    """Where the marks lie among the elements of each target; only for those that have some."""
    if not marks:
        return [[] for _ in scatter.targets]
    before = scatter.together(_marks_before(marks, sum(scatter.counts)))
    ends = np.cumsum([0, *scatter.counts])
    earlier = np.empty_like(before)
    earlier[1:] = before[:-1]
    earlier[ends[:-1][np.asarray(scatter.counts) > 0]] = 0
    # A target hears of marks where the next of its elements has more of them before it than the one before had.
    heard = np.flatnonzero(before > earlier)
    steps = list(zip(heard.tolist(), earlier[heard].tolist(), before[heard].tolist()))
    cuts = np.searchsorted(heard, ends).tolist()
    found = []
    for (first, last), (start, end) in zip(pairwise(cuts), pairwise(ends.tolist())):
        placed: list[PlacedMark] = []
        known = 0
        for place, since, known in steps[first:last]:
            _add_all(placed, place - start, marks[since:known])
        _add_all(placed, end - start, marks[known:])
        found.append(placed)
    return found


def _add_all(placed: list[PlacedMark], position: int, marks: list[PlacedMark]) -> None:
    for _, mark in marks:
        add_mark(placed, position, mark)


def _marks_before(marks: list[PlacedMark], length: int) -> Numbers:
    """How many marks come before each element."""
    lengths = np.diff([0, *(position for position, _ in marks), length])
    return np.repeat(np.arange(len(marks) + 1, dtype=np.int32), lengths)
