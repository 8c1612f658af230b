"""What a function of single values is called with: the arguments of all rows of a batch, a list for each argument."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from operator import length_hint
from typing import Any


class Arguments:
    """The arguments of ``length`` rows. Calls need no tuple for each row."""

    def __init__(self, columns: Sequence[list[Any]], length: int) -> None:
        self._columns = columns
        self._length = length
        self._remaining: Iterator[Any] = iter(())

    def __len__(self) -> int:
        return self._length

    def calls(self, function: Callable[..., Any]) -> Iterator[Any]:
        """The result for one row after the other. Ends early where the function raises ``StopIteration``."""
        if not self._columns:
            self._remaining = iter([()] * self._length)
            return starmap(function, self._remaining)
        first, *others = self._columns
        self._remaining = iter(first)
        return map(function, self._remaining, *others)

    def current(self) -> tuple[Any, ...]:
        """The arguments of the latest of these calls."""
        return self.row(self._length - length_hint(self._remaining) - 1)

    def row(self, place: int) -> tuple[Any, ...]:
        """The arguments of a row."""
        return tuple([column[place] for column in self._columns])

    def rows(self) -> list[tuple[Any, ...]]:
        """Those of all rows."""
        return list(zip(*self._columns)) if self._columns else [()] * self._length
