"""The rows that an OVER window sees, as positions in one long line: partition after partition, each in its order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from millrace.relational.rex import Frame
from millrace.runtime.tables.columns.keys import Ids

Bounds = tuple[Ids, Ids]
"""(first, last) position of the rows that each new row sees"""


@dataclass(frozen=True)
class Line:
    """The rows of some partitions in order: for each partition its stored rows, then its new ones."""

    partitions: Ids
    """number of each row's partition, ascending"""
    times: Ids
    """time of each row (ms), ascending within a partition"""
    new: Ids
    """positions of the new rows"""
    peers: bool
    """whether rows with equal times are peers; in processing time they are not"""

    @cached_property
    def firsts(self) -> Ids:
        """For each new row the first position of its partition."""
        return np.searchsorted(self.partitions, self.partitions[self.new], "left")

    @cached_property
    def lasts(self) -> Ids:
        """For each new row the last position of its partition."""
        return np.searchsorted(self.partitions, self.partitions[self.new], "right") - 1

    @cached_property
    def _places(self) -> tuple[Ids, Ids]:
        """(distinct times, for each row a number that ascends in the whole line)."""
        instants, ranks = np.unique(self.times, return_inverse=True)
        return instants, self.partitions * (len(instants) + 1) + ranks

    @cached_property
    def first_peers(self) -> Ids:
        return np.searchsorted(self._places[1], self._places[1][self.new], "left") if self.peers else self.new

    @cached_property
    def last_peers(self) -> Ids:
        return np.searchsorted(self._places[1], self._places[1][self.new], "right") - 1 if self.peers else self.new

    def bounds(self, frame: Frame) -> Bounds:
        """The rows that each new row sees through a frame that ends with the row itself."""
        last = self.new if frame.rows else self.last_peers
        if frame.preceding is None:
            return self.firsts, last
        if frame.rows:
            return np.maximum(self.firsts, self.new - int(frame.preceding)), last
        instants, places = self._places
        earliest = np.searchsorted(instants, self.times[self.new] - int(frame.preceding), "left")
        return np.searchsorted(places, self.partitions[self.new] * (len(instants) + 1) + earliest, "left"), last
