"""What an operator of groups keeps: their accumulators, and what they were before the slice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.rows import Rows

Evaluating = Callable[[Sequence[pa.Array], int], Evaluator]
"""(the columns of a batch, how many rows it has) -> what computes expressions on it"""


class Grouping(NamedTuple):
    """What is done to rows, and what becomes of them."""

    keys: Sequence[int]
    """the columns of the key"""
    partial: bool
    """whether rows are partial accumulators, behind the keys"""
    before: bool
    """whether an update has the old row (-U), too"""
    evaluator: Evaluating


class Groups(ABC):
    """A group has a row of the result while it has rows. What has changed is told once for each key."""

    @abstractmethod
    def update(self, rows: Rows) -> None:
        """Add a batch, or take away from groups what it takes back."""

    @abstractmethod
    def changes(self) -> Iterator[Rows]:
        """What has changed since the last call, by the first row of each key."""

    def end_input(self) -> None:
        """No rows will come any more."""
