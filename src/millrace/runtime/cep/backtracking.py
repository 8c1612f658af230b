"""Finds matches as the SQL standard defines them: for each first row the preferred match, if there is any.

All open ways through the pattern advance together with each row, preferred ones first, so nothing is tried twice and a
search continues when more rows come. A match is found as soon as no preferred way is open. Where no definition looks at
earlier rows, ways that reach the same position are merged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from millrace.runtime.cep.pattern_program import Followers, Program

Row = tuple[Any, ...]
"""what the state stores of a row; its first value is the row's time in ms"""


class Way(NamedTuple):
    """A way through the pattern that is open."""

    position: int
    """the position in the pattern that took the last row"""
    labels: bytes
    """the symbol of each row so far"""
    memory: Any
    """what the definitions have recorded of the rows so far"""


class Definitions(ABC):
    """The definitions of all variables: which rows they accept."""

    looks_back: bool
    """whether a definition depends on earlier rows of the match"""
    nothing: Any = None
    """the memory of no rows"""

    @abstractmethod
    def take(self, symbol: int, rows: Sequence[Row], at: int, way: Way, number: int) -> tuple[bytes, Any] | None:
        """The labels and the memory of a way after it takes row ``at`` of ``rows`` as this symbol; None: the row does
        not fit.

        :param number: of the match, in its partition.
        """


class Found(NamedTuple):
    """A match, or a row without match."""

    start: int
    """index in ``rows`` of the first row of the match"""
    labels: bytes | None
    """the symbol of each row; None: the row is in no match"""
    number: int
    rows: list[Row]


@dataclass
class Partition:
    """The rows of one partition that are still needed, and the progress of the search. ``rows`` is only appended to or
    replaced, so callers may keep a reference."""

    rows: list[Row] = field(default_factory=list)
    base: int = 0
    """number in the partition of the first row in ``rows``"""
    start: int = 0
    """number in the partition of the row at which a match is searched; the numbers below likewise"""
    fed: int = 0
    """the next row that the open ways have not seen"""
    ways: list[Way] | None = None
    """None: the search at ``start`` has not begun"""
    best: bytes | None = None
    """labels of the match that is found if no open way reaches an end"""
    found: int = 0
    """number of matches found"""
    covered: int = 0
    """number of the first row that was neither examined nor is in a match"""


@dataclass(frozen=True)
class Matcher:
    """Finds the matches of partitions."""

    program: Program
    definitions: Definitions
    skip: str = "PAST LAST ROW"
    target: tuple[int, ...] = ()
    """the symbols of the variable in TO FIRST or TO LAST"""
    target_name: str = ""
    within: int | None = None
    """the longest time of a match (ms); None: no limit"""
    only_at_start: bool = False
    """whether a match must begin at the partition's first row (``^``)"""
    only_at_end: bool = False
    """whether a match must end at the partition's last row (``$``)"""
    back: int = 0
    """how many rows before a match definitions may look at"""
    ahead: int = 0
    """how many rows after a match's last row definitions may look at"""
    unmatched: bool = False
    """whether rows without match are returned, too"""

    def search(self, partition: Partition, horizon: int | None, ended: bool) -> Iterator[Found]:
        """All matches that are decided now.

        :param horizon: a lower limit of the time of later rows (ms); None: not known.
        :param ended: whether no row follows.
        """
        while partition.start - partition.base < len(partition.rows):
            if not self._advance(partition, horizon, ended):
                break
            yield from self._conclude(partition)
        self._forget(partition)

    # -- one search -------------------------------------------------------------------------------------------------

    def _advance(self, partition: Partition, horizon: int | None, ended: bool) -> bool:
        """Continue the search at ``start``; False: it needs more rows."""
        if partition.ways is None:
            self._begin(partition)
        rows, base = partition.rows, partition.base
        begin = rows[partition.start - base][0]
        limit = None if self.within is None else begin + self.within
        while partition.ways:
            at = partition.fed - base
            if at < len(rows) and limit is not None and rows[at][0] >= limit:
                partition.ways = []
            elif at < len(rows) and (ended or at + self.ahead < len(rows)):
                self._step(partition, rows, at)
            elif ended:
                self._end(partition)
            elif at >= len(rows) and self._is_over(limit, horizon):
                partition.ways = []
            else:
                return False
        return True

    def _is_over(self, limit: int | None, horizon: int | None) -> bool:
        """Whether no later row can be in the match. With ``$`` a later row still decides."""
        return limit is not None and horizon is not None and horizon >= limit and not self.only_at_end

    def _begin(self, partition: Partition) -> None:
        partition.fed, partition.best = partition.start, None
        partition.ways = []
        if not self.only_at_start or partition.start == 0:
            partition.ways = [Way(-1, b"", self.definitions.nothing)]
            self._settle(partition)

    def _step(self, partition: Partition, rows: list[Row], at: int) -> None:
        assert partition.ways is not None
        number = partition.found + 1
        take, symbol_of = self.definitions.take, self.program.symbol_of
        tried: set[int] | None = None if self.definitions.looks_back else set()
        ways = []
        for way in partition.ways:
            for position in self._open(way.position):
                if tried is not None:
                    if position in tried:
                        continue
                    tried.add(position)
                taken = take(symbol_of[position], rows, at, way, number)
                if taken is not None:
                    ways.append(Way(position, *taken))
        partition.ways = ways
        partition.fed += 1
        self._settle(partition)

    def _open(self, position: int) -> tuple[int, ...]:
        """The positions at which a way may continue: those less preferred than an end that it has reached are left
        out.
        """
        followers = self._followers(position)
        if followers.accept is None or self.only_at_end:
            return followers.positions
        return followers.positions[: followers.accept]

    def _settle(self, partition: Partition) -> None:
        """The first way that has reached an end is the best so far; all ways after it are closed."""
        if self.only_at_end:
            return
        assert partition.ways is not None
        for index, way in enumerate(partition.ways):
            accept = self._followers(way.position).accept
            if accept is not None:
                partition.best = way.labels
                partition.ways = partition.ways[: index + (accept > 0)]
                return

    def _end(self, partition: Partition) -> None:
        """Finish the search, because no rows follow."""
        if self.only_at_end:
            for way in partition.ways or ():
                if self._followers(way.position).accept is not None:
                    partition.best = way.labels
                    break
        partition.ways = []

    def _followers(self, position: int) -> Followers:
        return self.program.begin if position < 0 else self.program.after[position]

    # -- its end ----------------------------------------------------------------------------------------------------

    def _conclude(self, partition: Partition) -> Iterator[Found]:
        """Return the result of the search at ``start``, and begin the next one."""
        start, labels = partition.start, partition.best
        place = start - partition.base
        if labels is None:
            if self.unmatched and start >= partition.covered:
                yield Found(place, None, 0, partition.rows)
            following = start + 1
        else:
            partition.found += 1
            following = start + self._skipped(labels)
            yield Found(place, labels, partition.found, partition.rows)
        partition.covered = max(partition.covered, start + len(labels or b"?"))
        partition.start = partition.fed = following
        partition.ways = partition.best = None

    def _skipped(self, labels: bytes) -> int:
        """The number of rows after the first row of a match at which the next search begins.

        :raises ValueError: it would begin at the same row, and find the same match again; or at a row that the match
            does not have.
        """
        if not labels or self.skip == "TO NEXT ROW":
            return 1
        if self.skip == "PAST LAST ROW":
            return len(labels)
        places = [place for place, label in enumerate(labels) if label in self.target]
        if not places:
            raise ValueError(f"AFTER MATCH SKIP {self.skip} {self.target_name}: the match has no such row")
        place = places[0] if self.skip == "TO FIRST" else places[-1]
        if place == 0:
            raise ValueError(
                f"AFTER MATCH SKIP {self.skip} {self.target_name}: this is the first row of the match, so the same "
                "match would be found again"
            )
        return place

    def _forget(self, partition: Partition) -> None:
        """Remove the rows that no search needs any more."""
        keep = min(partition.start - self.back, partition.base + len(partition.rows))
        if keep > partition.base:
            partition.rows = partition.rows[keep - partition.base :]
            partition.base = keep
