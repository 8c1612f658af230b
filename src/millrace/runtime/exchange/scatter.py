"""Many elements of one sender, and where each of them goes: cut into the parts of the targets in one pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, repeat
from typing import Any

import numpy as np

from millrace.runtime.elements import Chunk

Targets = np.ndarray[Any, np.dtype[np.uint16]]
"""a subtask for each element: there are never more than 32768"""
Numbers = np.ndarray[Any, np.dtype[np.int32]]


class Scatter(ABC):
    """How so many elements are spread over ``targets``."""

    def __init__(self, targets: Sequence[int], counts: list[int]) -> None:
        self.targets = targets
        self.counts = counts
        """elements of each of the targets"""

    @abstractmethod
    def together(self, numbers: Numbers) -> Numbers:
        """A number of each element: first those of the first target's elements, then of the second's, and so on."""

    @abstractmethod
    def split(self, column: list[Any]) -> list[list[Any]]:
        """What each of the targets gets of a column, in order."""


class InOrderOfTargets(Scatter):
    """Each element has a target of its own."""

    def __init__(self, targets: Sequence[int], assigned: Targets) -> None:
        super().__init__(targets, np.bincount(assigned, minlength=len(targets)).tolist())
        # Of short integers this is a radix sort.
        self._order = np.argsort(assigned, kind="stable")

    def together(self, numbers: Numbers) -> Numbers:
        return numbers[self._order]

    def split(self, column: list[Any]) -> list[list[Any]]:
        ordered = np.fromiter(column, object, len(column))[self._order].tolist()
        ends = np.cumsum([0, *self.counts]).tolist()
        return [ordered[start:end] for start, end in pairwise(ends)]


class InTurn(Scatter):
    """One element for each target after the other, beginning with that at position ``first``."""

    def __init__(self, targets: Sequence[int], first: int, length: int) -> None:
        width = len(targets)
        self._starts = [(place - first) % width for place in range(width)]
        super().__init__(targets, [(length - start + width - 1) // width for start in self._starts])

    def together(self, numbers: Numbers) -> Numbers:
        width = len(self.targets)
        return np.concatenate([numbers[start::width] for start in self._starts])

    def split(self, column: list[Any]) -> list[list[Any]]:
        width = len(self.targets)
        return [column[start::width] for start in self._starts]


class Assigner(ABC):
    """Sees one chunk after the other, and then says of all together where their elements go."""

    @abstractmethod
    def assign(self, chunk: Chunk) -> Chunk:
        """Look at a chunk's elements; the chunk, with keys if they belong to it now."""

    @abstractmethod
    def scatter(self, gathered: Chunk) -> Scatter:
        """Where all go that were assigned since the last call.

        :param gathered: these as one chunk.
        """


class AssignEach(Assigner):
    """By a function that chooses for each element of a chunk."""

    def __init__(self, targets: Sequence[int], choose: Callable[[Chunk], tuple[Chunk, Targets]]) -> None:
        self._targets = targets
        self._choose = choose
        self._assigned: list[Targets] = []

    def assign(self, chunk: Chunk) -> Chunk:
        chunk, targets = self._choose(chunk)
        self._assigned.append(targets)
        return chunk

    def scatter(self, gathered: Chunk) -> Scatter:
        assigned, self._assigned = self._assigned, []
        return InOrderOfTargets(self._targets, np.concatenate(assigned) if assigned else np.empty(0, np.uint16))


class AssignInTurn(Assigner):
    """Round robin; with one target all go there."""

    def __init__(self, targets: Sequence[int], first: int = 0) -> None:
        self._targets = targets
        self._first = first
        self._length = 0

    def assign(self, chunk: Chunk) -> Chunk:
        self._length += len(chunk.values)
        return chunk

    def scatter(self, gathered: Chunk) -> Scatter:
        length, self._length = self._length, 0
        first = self._first
        self._first = (first + length) % len(self._targets)
        return InTurn(self._targets, first, length)


def parts(chunk: Chunk, scatter: Scatter) -> Iterator[Chunk]:
    """What each of the targets gets, in their order."""
    timestamps = repeat(None) if chunk.timestamps is None else scatter.split(chunk.timestamps)
    keys = repeat(None) if chunk.keys is None else scatter.split(chunk.keys)
    return map(Chunk, scatter.split(chunk.values), timestamps, keys)
