"""Regular joins against nested loops over the rows that are left at the end."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.tables.tabular import Change, both, check, equal, harness, less, schema, table_of

from millrace.relational.rex import TRUE, Call, Ref, Rex
from millrace.relational.types import BigIntType, BooleanType, string
from millrace.runtime.tables.joins.regular_join import RegularJoin
from millrace.testing import Element, EndInput, ProcessingTime

SIDE = schema(BigIntType(), BigIntType(), string())
"""key, number, text"""
KEY = equal(Ref(BigIntType(), 0), Ref(BigIntType(), 3))
SMALLER = less(Ref(BigIntType(), 1), Ref(BigIntType(), 4))
NULL_SAFE = Call(BooleanType(), "IS NOT DISTINCT FROM", (Ref(BigIntType(), 0), Ref(BigIntType(), 3)))
KINDS = ("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")

numbers = st.none() | st.integers(0, 2)
sides = st.tuples(numbers, numbers, st.sampled_from(["a", "b"]))


@st.composite
def scripts(draw: Any, unique: bool = False) -> list[Element]:
    """Insertions, and deletions of what is there, on both sides."""
    present: list[Counter[tuple[Any, ...]]] = [Counter(), Counter()]
    script = []
    for _ in range(draw(st.integers(1, 14))):
        side = draw(st.integers(0, 1))
        rows = sorted(present[side].elements(), key=repr)
        if rows and draw(st.integers(0, 2)) == 0:
            row = draw(st.sampled_from(rows))
            present[side][row] -= 1
            script.append(Element((draw(st.sampled_from(["-D", "-U"])), *row), None, side))
        else:
            row = draw(sides)
            if unique and any(old[:2] == row[:2] for old in rows):
                continue
            present[side][row] += 1
            script.append(Element((draw(st.sampled_from(["+I", "+U"])), *row), None, side))
    return script


def expected(script: list[Element], kind: str, matches: Any) -> Counter[tuple[Any, ...]]:
    left, right = (list(table_of(step.value for step in script if step.input == side).elements()) for side in (0, 1))
    nothing = (None,) * 3
    pairs = [(one, other) for one, other in product(left, right) if matches(one, other)]
    lonely_left = [one for one in left if not any(matches(one, other) for other in right)]
    lonely_right = [other for other in right if not any(matches(one, other) for one in left)]
    if kind == "ANTI":
        return Counter(lonely_left)
    if kind == "SEMI":
        return Counter(one for one in left if any(matches(one, other) for other in right))
    rows = [one + other for one, other in pairs]
    if kind in ("LEFT", "FULL"):
        rows += [one + nothing for one in lonely_left]
    if kind in ("RIGHT", "FULL"):
        rows += [nothing + other for other in lonely_right]
    return Counter(rows)


def same_key(one: Any, other: Any) -> bool:
    return one[0] is not None and one[0] == other[0]


def smaller(one: Any, other: Any) -> bool:
    return one[1] is not None and other[1] is not None and one[1] < other[1]


CONDITIONS: dict[str, tuple[Rex, Any]] = {
    "key": (KEY, same_key),
    "null-safe key": (NULL_SAFE, lambda one, other: one[0] == other[0]),
    "key and more": (both(KEY, SMALLER), lambda one, other: same_key(one, other) and smaller(one, other)),
    "no key": (SMALLER, smaller),
    "all pairs": (TRUE, lambda one, other: True),
}


@settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
@given(kind=st.sampled_from(KINDS), condition=st.sampled_from(list(CONDITIONS)), script=scripts())
def test_joins_as_nested_loops_do(kind: str, condition: str, script: list[Element]) -> None:
    rex, matches = CONDITIONS[condition]
    config = RegularJoin(kind=kind, left=SIDE, right=SIDE, condition=rex)
    assert table_of(check(config, (SIDE, SIDE), script, random_runs=1)) == expected(script, kind, matches)


@settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(KINDS),
    condition=st.sampled_from(list(CONDITIONS)),
    script=st.lists(st.builds(lambda row, side: Element(("+I", *row), None, side), sides, st.integers(0, 1))),
)
def test_sides_with_insertions_only(kind: str, condition: str, script: list[Element]) -> None:
    rex, matches = CONDITIONS[condition]
    config = RegularJoin(kind=kind, left=SIDE, right=SIDE, condition=rex, left_append_only=True, right_append_only=True)
    # Of equal rows a snapshot says how many there are, not between which others they came.
    found = check(config, (SIDE, SIDE), script, random_runs=1, ordered=False)
    assert table_of(found) == expected(script, kind, matches)


def test_a_side_that_was_planned_to_have_insertions_only() -> None:
    config = RegularJoin(kind="INNER", left=SIDE, right=SIDE, condition=KEY, left_append_only=True)
    with harness(config, SIDE, SIDE) as run, pytest.raises(Exception, match="was planned to have insertions only"):
        run.process_element(("-D", 1, 2, "a"), input=0)


@settings(max_examples=examples(15), suppress_health_check=list(HealthCheck))
@given(kind=st.sampled_from(KINDS), script=scripts(unique=True))
def test_unique_sides(kind: str, script: list[Element]) -> None:
    config = RegularJoin(
        kind=kind, left=SIDE, right=SIDE, condition=KEY, left_unique=(0, 1), right_unique=(1, 0), state_ttl=1000
    )
    assert table_of(check(config, (SIDE, SIDE), script, random_runs=1)) == expected(script, kind, same_key)


@settings(max_examples=examples(15), suppress_health_check=list(HealthCheck))
@given(script=scripts())
def test_not_in(script: list[Element]) -> None:
    config = RegularJoin(kind="ANTI", left=SIDE, right=SIDE, condition=KEY, null_aware=True)

    def not_false(one: Any, other: Any) -> bool:
        return one[0] is None or other[0] is None or one[0] == other[0]

    # A row with NULL meets all keys, and these are in no order.
    found = check(config, (SIDE, SIDE), script, random_runs=1, ordered=False)
    assert table_of(found) == expected(script, "ANTI", not_false)


L, L2, R = (1, 5, "l"), (1, 6, "m"), (1, 7, "r")
N = (None, None, None)
STORY = [("+I", L, 0), ("+I", R, 1), ("+I", L2, 0), ("-U", R, 1), ("+U", R, 1), ("-D", L, 0), ("-D", R, 1)]

OUTPUTS: dict[str, list[list[Change]]] = {
    "INNER": [
        [],
        [("+I", *L, *R)],
        [("+I", *L2, *R)],
        [("-U", *L, *R), ("-U", *L2, *R)],
        [("+U", *L, *R), ("+U", *L2, *R)],
        [("-D", *L, *R)],
        [("-D", *L2, *R)],
    ],
    "LEFT": [
        [("+I", *L, *N)],
        [("-D", *L, *N), ("+I", *L, *R)],
        [("+I", *L2, *R)],
        [("-U", *L, *R), ("-U", *L2, *R), ("+I", *L, *N), ("+I", *L2, *N)],
        [("-D", *L, *N), ("-D", *L2, *N), ("+I", *L, *R), ("+I", *L2, *R)],
        [("-D", *L, *R)],
        [("-D", *L2, *R), ("+I", *L2, *N)],
    ],
    "RIGHT": [
        [],
        [("+I", *L, *R)],
        [("+I", *L2, *R)],
        [("-D", *L, *R), ("-D", *L2, *R)],
        [("+I", *L, *R), ("+I", *L2, *R)],
        [("-D", *L, *R)],
        [("-D", *L2, *R)],
    ],
    "SEMI": [[], [("+I", *L)], [("+I", *L2)], [("-U", *L), ("-U", *L2)], [("+U", *L), ("+U", *L2)], [("-D", *L)],
             [("-D", *L2)]],
    "ANTI": [[("+I", *L)], [("-D", *L)], [], [("+I", *L), ("+I", *L2)], [("-D", *L), ("-D", *L2)], [], [("+I", *L2)]],
}  # fmt: skip


@pytest.mark.parametrize("kind", OUTPUTS)
def test_row_kinds(kind: str) -> None:
    """What Flink's StreamingJoinOperator and StreamingSemiAntiJoinOperator emit for each change."""
    with harness(RegularJoin(kind=kind, left=SIDE, right=SIDE, condition=KEY), SIDE, SIDE) as run:
        for (change, row, side), wanted in zip(STORY, OUTPUTS[kind]):
            run.process_element((change, *row), input=side)
            assert [item.value for item in run.take_output()] == wanted


def test_many_pairs_are_made_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace.runtime.tables.joins.regular_join.MOST_PAIRS", 5)
    script = [Element(("+I", 1, n, "a"), None, 0) for n in range(4)]
    script += [Element((kind, 1, n, "b"), None, 1) for n in range(4) for kind in ("+I", "-D", "+I")]
    config = RegularJoin(kind="FULL", left=SIDE, right=SIDE, condition=both(KEY, SMALLER))
    found = table_of(check(config, (SIDE, SIDE), script))
    assert found == expected(script, "FULL", lambda one, other: smaller(one, other))


def test_state_expires_side_by_side() -> None:
    script = [
        Element(("+I", *L), None, 0),
        Element(("+I", *R), None, 1),
        ProcessingTime(500),
        Element(("+I", 1, 8, "x"), None, 1),
        Element(("+I", *L2), None, 0),
        EndInput(),
    ]
    config = RegularJoin(
        kind="INNER", left=SIDE, right=SIDE, condition=KEY, state_ttl=10_000, left_ttl=500, right_ttl=1000
    )
    found = table_of(check(config, (SIDE, SIDE), script))
    assert found == Counter([L + R, L2 + R, (*L2, 1, 8, "x")])
