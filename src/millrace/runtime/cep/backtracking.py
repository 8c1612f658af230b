"""The matches of a pattern as the SQL standard has them: from each row on the preferred one, if there is any.

Nothing is tried twice: all ways that are still open go on together with each row, the preferred ones first, so a search
goes on where it was when more rows come. A match is found as soon as no way is open that would be preferred to it.
Where no definition looks at the rows before, ways that have come to the same position are one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from millrace.runtime.cep.pattern_program import Followers, Program

Row = tuple[Any, ...]
"""what is kept of a row; the first value is its time in ms"""


class Way(NamedTuple):
    """A way through the pattern that is open."""

    position: int
    """where the last row was taken"""
    labels: bytes
    """the symbol of each row so far"""
    memory: Any
    """what the definitions have noted"""


class Definitions(ABC):
    """What a row must be for a variable."""

    looks_back: bool
    """whether that depends on the rows of the match before"""
    nothing: Any = None
    """the memory of no rows"""

    @abstractmethod
    def take(self, symbol: int, rows: Sequence[Row], at: int, way: Way, number: int) -> tuple[bytes, Any] | None:
        """The labels and the memory of a way with row ``at`` of ``rows`` as this symbol; None: the row does not fit.

        :param number: of the match, in its partition.
        """


class Found(NamedTuple):
    """What a search has found."""

    start: int
    """the place in ``rows`` of its first row"""
    labels: bytes | None
    """the symbol of each row; None: no match begins at this row, and no other one has it"""
    number: int
    rows: list[Row]


@dataclass
class Partition:
    """The rows of one partition that are still of interest, and how far the search has come. ``rows`` is never changed
    but by appending, so those who look at it may keep it."""

    rows: list[Row] = field(default_factory=list)
    base: int = 0
    """the number of the first of them in the partition"""
    start: int = 0
    """where a match is looked for: a number in the partition, as those below"""
    fed: int = 0
    """the next row that the open ways have not seen"""
    ways: list[Way] | None = None
    """None: the search at ``start`` has not begun"""
    best: bytes | None = None
    """the labels of what is the match if no way that is open ends in one"""
    found: int = 0
    """matches"""
    covered: int = 0
    """the rows before it were looked at, or are in a match"""


@dataclass(frozen=True)
class Matcher:
    """Finds the matches of partitions."""

    program: Program
    definitions: Definitions
    skip: str = "PAST LAST ROW"
    target: tuple[int, ...] = ()
    """the symbols that TO FIRST and TO LAST mean"""
    target_name: str = ""
    within: int | None = None
    """ms"""
    only_at_start: bool = False
    """``^``"""
    only_at_end: bool = False
    """``$``"""
    back: int = 0
    """how many rows before a match are looked at"""
    ahead: int = 0
    """how many rows after the last one of a match are looked at"""
    unmatched: bool = False
    """whether rows that are in no match are given, too"""

    def search(self, partition: Partition, horizon: int | None, ended: bool) -> Iterator[Found]:
        """All that is decided now.

        :param horizon: no row comes any more with a time (ms) before it; None: not known.
        :param ended: no row comes any more.
        """
        while partition.start - partition.base < len(partition.rows):
            if not self._advance(partition, horizon, ended):
                break
            yield from self._conclude(partition)
        self._forget(partition)

    # -- one search -------------------------------------------------------------------------------------------------

    def _advance(self, partition: Partition, horizon: int | None, ended: bool) -> bool:
        """Go on with the search at ``start``; False: it needs more rows."""
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
        """Whether no row that comes can be in the match. With ``$`` one that comes still decides."""
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
        """Where a way may go on: what is not preferred to an end that it has reached is closed."""
        followers = self._followers(position)
        if followers.accept is None or self.only_at_end:
            return followers.positions
        return followers.positions[: followers.accept]

    def _settle(self, partition: Partition) -> None:
        """The first way that has reached an end is the best so far, and closes those behind it."""
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
        """There are no more rows."""
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
        """Give out what the search at ``start`` has found, and begin the next one."""
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
        """How many rows after the first row of a match the next one is looked for.

        :raises ValueError: at this very row, which would find the same again; or at a row that the match does not have.
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
        """Let go of the rows that no search needs any more."""
        keep = min(partition.start - self.back, partition.base + len(partition.rows))
        if keep > partition.base:
            partition.rows = partition.rows[keep - partition.base :]
            partition.base = keep
