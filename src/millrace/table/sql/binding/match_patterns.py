"""Binds PATTERN of MATCH_RECOGNIZE, and refuses what only the SQL standard allows in it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise

from millrace.relational.matching import (
    Alternation,
    Exclusion,
    Pattern,
    Permutation,
    Repetition,
    Sequence,
    Variable,
    parts_of,
)
from millrace.table.sql import nodes
from millrace.table.sql.binding.scope import fail


def bound_pattern(tree: nodes.Node) -> Pattern:
    """The pattern of a tree."""
    if isinstance(tree, nodes.PatternVariable):
        return Variable(tree.this.name)
    if isinstance(tree, nodes.PatternSequence):
        # Brackets alone mean nothing.
        parts = map(bound_pattern, tree.expressions)
        items = (each.items if isinstance(each, Sequence) else (each,) for each in parts)
        return Sequence(tuple(chain.from_iterable(items)))
    if isinstance(tree, nodes.PatternAlternation):
        return Alternation(tuple(map(bound_pattern, tree.expressions)))
    if isinstance(tree, nodes.PatternPermutation):
        return Permutation(tuple(map(bound_pattern, tree.expressions)))
    if isinstance(tree, nodes.PatternExclusion):
        return Exclusion(bound_pattern(tree.this))
    if not isinstance(tree, nodes.PatternQuantifier):
        fail(tree, f"{type(tree).__name__} is no part of a pattern")
    if tree.high == 0:
        fail(tree, "a part of a pattern that comes 0 times: leave it out")
    return Repetition(bound_pattern(tree.this), tree.low, tree.high, tree.reluctant)


def beyond_flink(tree: nodes.Node, pattern: Pattern) -> Iterator[str]:
    """What of a pattern Flink refuses, for people."""
    if any(part.without_low for part in tree.find_all(nodes.PatternQuantifier)):
        yield "a quantifier without its lower bound"
    items = pattern.items if isinstance(pattern, Sequence) else (pattern,)
    for part in chain.from_iterable(map(parts_of, items)):
        if isinstance(part, Alternation):
            yield "an alternation"
        elif isinstance(part, Permutation):
            yield "PERMUTE"
        elif isinstance(part, Exclusion):
            yield "an exclusion"
        elif isinstance(part, Sequence) or (isinstance(part, Repetition) and not isinstance(part.inner, Variable)):
            yield "a group"
    names = [part.name for part in parts_of(pattern) if isinstance(part, Variable)]
    if len(set(names)) < len(names):
        yield "a variable that comes several times"
    repeated = [part for part in items if isinstance(part, Repetition)]
    if any(part.reluctant and (part.low, part.high) == (0, 1) for part in repeated):
        yield "the quantifier ??"
    if len(repeated) == len(items) and all(part.low == 0 for part in repeated):
        yield "a pattern that may take no row"
    pairs = pairwise(items)
    if any(_is_greedy(one) and isinstance(other, Repetition) and other.low == 0 for one, other in pairs):
        yield "a variable that may be left out right behind a greedy quantifier"
    last = items[-1] if items else None
    if last is not None and _is_greedy(last):
        yield "a greedy quantifier on the last variable"


def _is_greedy(part: Pattern) -> bool:
    """As Flink has it: what can only come once is not."""
    return isinstance(part, Repetition) and not part.reluctant and part.low != part.high and part.high != 1
