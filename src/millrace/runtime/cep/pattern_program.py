"""A pattern of MATCH_RECOGNIZE as a program: which rows may follow which, in the order of preference.

The program has a *position* for each place of the pattern that takes a row; bounded repetitions have one for each time.
Each position lists the positions that may take the next row, in the order in which the SQL standard prefers the matches
that they lead to. An optional round of a repetition takes at least one row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

from millrace.relational.rex import (
    Alternation,
    Concatenation,
    Exclusion,
    Pattern,
    Permutation,
    Repetition,
    Variable,
)

_MOST = 20_000
"""instructions of a program"""
_MOST_FOLLOWERS = 1_000_000
_MOST_SYMBOLS = 255
"""labels of rows are bytes"""


@dataclass(frozen=True)
class Followers:
    """The positions that may follow a position, or the beginning."""

    positions: tuple[int, ...]
    """the positions, preferred ones first"""
    accept: int | None
    """the number of positions that are preferred to the end of the match; None: it cannot end here"""


@dataclass(frozen=True)
class Program:
    """The compiled form of a pattern, made by ``compile_pattern``."""

    symbols: tuple[tuple[str, bool], ...]
    """(variable, whether its rows are excluded from the output): labels of rows are numbers of symbols"""
    symbol_of: tuple[int, ...]
    """number of the symbol that each position takes"""
    begin: Followers
    after: tuple[Followers, ...]
    """for each position, the positions that may take the next row"""

    def labels_of(self, *variables: str) -> tuple[int, ...]:
        """The symbols of some variables."""
        return tuple(number for number, (name, _) in enumerate(self.symbols) if name in variables)


def compile_pattern(pattern: Pattern) -> Program:
    """:raises ValueError: the pattern is too large."""
    compiler = _Compiler()
    compiler.add(pattern, False)
    compiler.code.append((_END,))
    return compiler.program()


_TAKE, _SPLIT, _JUMP, _GUARD, _CHECK, _END = range(6)


class _Compiler:
    """Compiles a pattern to instructions of a backtracking machine, and then to the paths through them that take no
    row."""

    def __init__(self) -> None:
        self.code: list[tuple[int, ...]] = []
        self._symbols: dict[tuple[str, bool], int] = {}
        self._guards = 0

    def add(self, pattern: Pattern, excluded: bool) -> None:
        if len(self.code) > _MOST:
            raise ValueError("the pattern is too large: its repetitions and permutations have too many ways")
        if isinstance(pattern, Variable):
            symbol = self._symbols.setdefault((pattern.name, excluded), len(self._symbols))
            self.code.append((_TAKE, symbol))
        elif isinstance(pattern, Concatenation):
            for each in pattern.items:
                self.add(each, excluded)
        elif isinstance(pattern, Alternation):
            self._one_of(pattern.items, excluded)
        elif isinstance(pattern, Permutation):
            self._one_of(map(Concatenation, permutations(pattern.items)), excluded)
        elif isinstance(pattern, Exclusion):
            self.add(pattern.inner, True)
        else:
            assert isinstance(pattern, Repetition)
            self._repeat(pattern, excluded)

    def _one_of(self, branches: Iterator[Pattern] | tuple[Pattern, ...], excluded: bool) -> None:
        ends = []
        last: int | None = None
        for branch in branches:
            if last is not None:
                ends.append(self._reserve())
                self.code[last] = (_SPLIT, last + 1, len(self.code))
            last = self._reserve()
            self.add(branch, excluded)
        assert last is not None
        self.code[last] = (_JUMP, last + 1)
        for end in ends:
            self.code[end] = (_JUMP, len(self.code))

    def _repeat(self, pattern: Repetition, excluded: bool) -> None:
        for _ in range(pattern.low):
            self.add(pattern.inner, excluded)
        splits = []
        if pattern.high is None:
            splits.append(self._round(pattern, excluded))
            self.code.append((_JUMP, splits[0]))
        else:
            splits = [self._round(pattern, excluded) for _ in range(pattern.high - pattern.low)]
        for split in splits:
            ways = (split + 1, len(self.code))
            self.code[split] = (_SPLIT, *(reversed(ways) if pattern.reluctant else ways))

    def _round(self, pattern: Repetition, excluded: bool) -> int:
        """Add an optional round of a repetition."""
        split = self._reserve()
        guard = self._guards
        if is_nullable(pattern.inner):
            self._guards += 1
            self.code.append((_GUARD, guard))
        self.add(pattern.inner, excluded)
        if is_nullable(pattern.inner):
            self.code.append((_CHECK, guard))
        return split

    def _reserve(self) -> int:
        self.code.append((_JUMP, 0))
        return len(self.code) - 1

    # -- from instructions to positions -----------------------------------------------------------------------------

    def program(self) -> Program:
        if len(self._symbols) > _MOST_SYMBOLS:
            raise ValueError(f"the pattern has {len(self._symbols)} variables, and {_MOST_SYMBOLS} are the most")
        takes = [place for place, code in enumerate(self.code) if code[0] == _TAKE]
        self._position = {place: number for number, place in enumerate(takes)}
        self._left = _MOST_FOLLOWERS
        after = tuple(self._followers(place + 1) for place in takes)
        symbol_of = tuple(self.code[place][1] for place in takes)
        return Program(tuple(self._symbols), symbol_of, self._followers(0), after)

    def _followers(self, start: int) -> Followers:
        found: dict[int, None] = {}
        accept: int | None = None
        seen: set[tuple[int, frozenset[int]]] = set()
        stack: list[tuple[int, frozenset[int]]] = [(start, frozenset())]
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            place, guards = at
            code = self.code[place]
            if code[0] == _TAKE:
                found.setdefault(self._position[place])
            elif code[0] == _END:
                accept = len(found) if accept is None else accept
            elif code[0] == _SPLIT:
                stack += [(code[2], guards), (code[1], guards)]
            elif code[0] == _JUMP:
                stack.append((code[1], guards))
            elif code[0] == _GUARD:
                stack.append((place + 1, guards | {code[1]}))
            elif code[1] not in guards:  # else nothing was taken since the round began
                stack.append((place + 1, guards))
        self._left -= len(found)
        if self._left < 0:
            raise ValueError("the pattern is too large: its repetitions can follow each other in too many ways")
        return Followers(tuple(found), accept)


def is_nullable(pattern: Pattern) -> bool:
    """Whether a pattern may take no row."""
    if isinstance(pattern, Variable):
        return False
    if isinstance(pattern, Repetition):
        return pattern.low == 0 or is_nullable(pattern.inner)
    if isinstance(pattern, Alternation):
        return any(map(is_nullable, pattern.items))
    return all(map(is_nullable, pattern.parts))
