"""The state of a grouping operator: the accumulators, and what they were before the slice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.rows import Rows

Evaluating = Callable[[Sequence[pa.Array], int], Evaluator]
"""(columns of a batch, number of rows) -> an evaluator of expressions on it"""


class Grouping(NamedTuple):
    """How rows are grouped, and what kind of changes are emitted."""

    keys: Sequence[int]
    """indexes of the key columns"""
    partial: bool
    """whether rows are partial accumulators after the keys"""
    before: bool
    """whether an update includes the old row (-U)"""
    evaluator: Evaluating


class Groups(ABC):
    """A group has a row in the result while it has input rows. Each key emits at most one change per slice."""

    @abstractmethod
    def update(self, rows: Rows) -> None:
        """Process a batch: add rows to groups, or retract them."""

    @abstractmethod
    def changes(self) -> Iterator[Rows]:
        """The changes since the last call, in the order of the keys' first rows."""

    @abstractmethod
    def each(self, rows: Rows) -> Rows:
        """Process a batch: the changes of each row by itself. To be called instead of ``update`` and ``changes``."""

    def end_input(self) -> None:
        """The input has ended."""
