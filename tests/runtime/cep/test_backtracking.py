"""The matcher of the SQL standard against an oracle that goes through all ways in the order of preference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.relational.rex import (
    Alternation,
    Concatenation,
    Exclusion,
    Pattern,
    Permutation,
    Repetition,
    Variable,
    variables_of,
)
from millrace.runtime.cep.backtracking import Definitions, Matcher, Partition, Row, Way
from millrace.runtime.cep.pattern_program import compile_pattern, is_nullable

NAMES = "ABC"
Labels = tuple[tuple[str, bool], ...]
"""(variable, whether it is excluded) of each row of a match"""
Rule = Callable[[str, tuple[str, ...]], bool]
"""(variable, those of the rows so far and this one) -> whether the row may have it"""


# -- the oracle: the standard's rules, word for word ------------------------------------------------------------------


class Oracle:
    """Rows are (time, the variables that they fit)."""

    def __init__(self, rows: Sequence[tuple[int, str]], rule: Rule, within: int | None) -> None:
        self.rows, self.rule, self.within = rows, rule, within

    def preferred(self, pattern: Pattern, start: int, at_end: bool) -> Labels | None:
        """The labels of the match that begins at a row."""
        for labels in self.ways(pattern, start, (), False):
            if not at_end or start + len(labels) == len(self.rows):
                return labels
        return None

    def ways(self, pattern: Pattern, start: int, so_far: Labels, excluded: bool) -> Iterator[Labels]:
        """All ways to go on through a pattern, preferred ones first."""
        if isinstance(pattern, Variable):
            if self.fits(pattern.name, start, so_far):
                yield (*so_far, (pattern.name, excluded))
        elif isinstance(pattern, Concatenation):
            yield from self.one_after_the_other(pattern.items, start, so_far, excluded)
        elif isinstance(pattern, Alternation):
            for each in pattern.items:
                yield from self.ways(each, start, so_far, excluded)
        elif isinstance(pattern, Permutation):
            for order in permutations(pattern.items):
                yield from self.one_after_the_other(order, start, so_far, excluded)
        elif isinstance(pattern, Exclusion):
            yield from self.ways(pattern.inner, start, so_far, True)
        else:
            assert isinstance(pattern, Repetition)
            yield from self.again(pattern, 0, start, so_far, excluded)

    def one_after_the_other(
        self, items: Sequence[Pattern], start: int, so_far: Labels, excluded: bool
    ) -> Iterator[Labels]:
        if not items:
            yield so_far
            return
        for labels in self.ways(items[0], start, so_far, excluded):
            yield from self.one_after_the_other(items[1:], start, labels, excluded)

    def again(self, pattern: Repetition, times: int, start: int, so_far: Labels, excluded: bool) -> Iterator[Labels]:
        enough = times >= pattern.low
        if enough and pattern.reluctant:
            yield so_far
        if pattern.high is None or times < pattern.high:
            for labels in self.ways(pattern.inner, start, so_far, excluded):
                if not enough or len(labels) > len(so_far):
                    yield from self.again(pattern, times + 1, start, labels, excluded)
        if enough and not pattern.reluctant:
            yield so_far

    def fits(self, name: str, start: int, so_far: Labels) -> bool:
        at = start + len(so_far)
        if at >= len(self.rows):
            return False
        time, variables = self.rows[at]
        if self.within is not None and time - self.rows[start][0] >= self.within:
            return False
        return name in variables and self.rule(name, (*(label for label, _ in so_far), name))


def matches_of(pattern: Pattern, rows: Sequence[tuple[int, str]], rule: Rule, how: dict[str, Any]) -> list[Any]:
    """(start, labels) of all matches, and None for the labels of a row that is in none."""
    oracle = Oracle(rows, rule, how["within"])
    found: list[tuple[int, Labels | None]] = []
    start, covered = 0, 0
    while start < len(rows):
        labels = oracle.preferred(pattern, start, how["at_end"]) if start == 0 or not how["at_start"] else None
        if labels is None and start >= covered:
            found.append((start, None))
        if labels is not None:
            found.append((start, labels))
        covered = max(covered, start + len(labels or "?"))
        start += len(labels) if labels and how["skip"] == "PAST LAST ROW" else 1
    return found


# -- the matcher ----------------------------------------------------------------------------------------------------


class Rules(Definitions):
    """Rows are (time, the variables that they fit); the memory is the variables so far."""

    nothing = ()

    def __init__(self, names: Sequence[str], rule: Rule, looks_back: bool) -> None:
        self.names, self.rule, self.looks_back = names, rule, looks_back

    def take(self, symbol: int, rows: Sequence[Row], at: int, way: Way, number: int) -> tuple[bytes, Any] | None:
        name = self.names[symbol]
        memory = (*way.memory, name)
        if name not in rows[at][1] or not self.rule(name, memory):
            return None
        return way.labels + bytes((symbol,)), memory


def found_by_matcher(
    pattern: Pattern, rows: Sequence[tuple[int, str]], rule: Rule, how: dict[str, Any], parts: Sequence[int]
) -> list[Any]:
    program = compile_pattern(pattern)
    definitions = Rules([name for name, _ in program.symbols], rule, rule is not anything)
    matcher = Matcher(
        program,
        definitions,
        how["skip"],
        within=how["within"],
        only_at_start=how["at_start"],
        only_at_end=how["at_end"],
        unmatched=True,
    )
    partition, found, taken = Partition(), [], 0
    for end in [*sorted(parts), len(rows)]:
        end = max(min(end, len(rows)), taken)
        partition.rows.extend(rows[taken:end])
        taken = end
        horizon = rows[taken][0] if taken < len(rows) else None
        for ended in [False, True] if taken == len(rows) else [False]:
            for each in matcher.search(partition, horizon, ended):
                labels = None if each.labels is None else tuple(program.symbols[label] for label in each.labels)
                # What is kept begins at the row that the search was at, which the times are enough to know.
                found.append((each.rows[each.start][0], labels))
    return found


def anything(name: str, so_far: tuple[str, ...]) -> bool:
    return True


def few_a(name: str, so_far: tuple[str, ...]) -> bool:
    """At most two As, and no more Bs than As."""
    return so_far.count("A") <= 2 and so_far.count("B") <= so_far.count("A")


def patterns() -> st.SearchStrategy[Pattern]:
    variables = st.sampled_from(NAMES).map(Variable)

    def larger(inner: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        bounds = st.sampled_from([(0, None), (1, None), (0, 1), (2, None), (0, 2), (1, 2), (2, 2)])
        repeated = st.builds(lambda part, at, slow: Repetition(part, *at, slow), inner, bounds, st.booleans())
        return st.one_of(
            several.map(Concatenation),
            several.map(Alternation),
            several.map(Permutation),
            repeated,
            inner.map(Exclusion),
        )

    return st.recursive(variables, larger, max_leaves=4)


ROWS = st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["", "A", "B", "C", "AB", "BC", "ABC"])), max_size=6)


@given(
    patterns(),
    ROWS,
    st.sampled_from([anything, few_a]),
    st.sampled_from(["PAST LAST ROW", "TO NEXT ROW"]),
    st.sampled_from([None, None, 1, 4, 7]),
    st.booleans(),
    st.booleans(),
    st.lists(st.integers(0, 6), max_size=4),
)
def test_matches_are_those_of_the_standard(
    pattern: Pattern,
    gaps: list[tuple[int, str]],
    rule: Rule,
    skip: str,
    within: int | None,
    at_start: bool,
    at_end: bool,
    parts: list[int],
) -> None:
    rows, time = [], 0
    for gap, variables in gaps:
        time += gap
        rows.append((time, variables))
    how = {"skip": skip, "within": within, "at_start": at_start and time % 2, "at_end": at_end and time % 3 == 0}
    wanted = [(rows[start][0], labels) for start, labels in matches_of(pattern, rows, rule, how)]
    assert found_by_matcher(pattern, rows, rule, how, parts) == wanted


def run(pattern: Pattern, rows: Sequence[tuple[int, str]], **how: Any) -> Iterator[tuple[list[str], int]]:
    """After each row (the labels of what is found, how many rows are kept)."""
    program = compile_pattern(pattern)
    matcher = Matcher(program, Rules([name for name, _ in program.symbols], anything, False), **how)
    partition = Partition()
    for time, variables in rows:
        partition.rows.append((time, variables))
        found = list(matcher.search(partition, time, False))
        texts = ["".join(program.symbols[label][0] for label in each.labels or b"") for each in found]
        yield texts, len(partition.rows)


A, B, C = map(Variable, NAMES)
PLUS_B = Concatenation((A, Repetition(B, 1, None)))


def test_a_match_is_told_as_soon_as_no_other_is_preferred() -> None:
    reluctant = Concatenation((A, Repetition(B, 1, None, True)))
    rows = [(1, "A"), (2, "B"), (3, "B"), (4, "C")]
    assert [texts for texts, _ in run(reluctant, rows)] == [[], ["AB"], [], []]
    assert [texts for texts, _ in run(PLUS_B, rows)] == [[], [], [], ["ABB"]]


def test_time_alone_decides() -> None:
    program = compile_pattern(PLUS_B)
    matcher = Matcher(program, Rules(["A", "B"], anything, False), within=10)
    partition = Partition([(0, "A"), (3, "B")])
    assert list(matcher.search(partition, 9, False)) == []
    (found,) = matcher.search(partition, 10, False)
    assert found.labels == b"\0\1"
    assert partition.rows == []


def test_rows_are_kept_no_longer_than_a_match_may_begin_with_them() -> None:
    rows = [(time, "AB") for time in range(1_000)]
    assert max(kept for _, kept in run(PLUS_B, rows, within=20)) <= 21
    assert max(kept for _, kept in run(Concatenation((A, C)), rows)) <= 1


def test_ways_that_meet_are_one() -> None:
    pattern = Concatenation((Repetition(A, 0, None), Repetition(Alternation((A, B)), 0, None), C))
    program = compile_pattern(pattern)
    matcher = Matcher(program, Rules(["A", "B", "C"], anything, False))
    partition = Partition([(time, "AB") for time in range(300)])
    assert list(matcher.search(partition, None, False)) == []
    assert len(partition.ways or ()) <= len(program.after)


@pytest.mark.parametrize(
    ("skip", "target", "message"),
    [
        ("TO FIRST", (0,), "the first row of the match"),
        ("TO LAST", (2,), "the match has no such row"),
    ],
)
def test_a_skip_that_goes_nowhere_is_an_error(skip: str, target: tuple[int, ...], message: str) -> None:
    pattern = Concatenation((A, B, Repetition(C, 0, 1, True)))
    with pytest.raises(ValueError, match=message):
        list(run(pattern, [(1, "A"), (2, "B")], skip=skip, target=target, target_name="X"))


def test_a_pattern_that_is_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        compile_pattern(Permutation(tuple(Variable(f"V{number}") for number in range(9))))
    with pytest.raises(ValueError, match="too large"):
        compile_pattern(Repetition(Repetition(A, 0, 1), 0, 5_000))


@given(patterns())
def test_what_may_take_no_row(pattern: Pattern) -> None:
    assert is_nullable(pattern) == (compile_pattern(pattern).begin.accept is not None)
    assert set(variables_of(pattern)) == {name for name, _ in compile_pattern(pattern).symbols}
