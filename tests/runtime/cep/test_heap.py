"""The heap against sorting, and against what Java's ``PriorityQueue`` does with ties."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.cep import nfa


def first(entry: tuple[int, str]) -> int:
    return entry[0]


@given(st.lists(st.integers(0, 9)), st.booleans())
def test_entries_come_out_in_order(numbers: list[int], at_once: bool) -> None:
    entries = [(number, str(place)) for place, number in enumerate(numbers)]
    made: list[tuple[int, str]] = []
    if at_once:
        made = list(entries)
        nfa.heapify(made, first)
    else:
        for entry in entries:
            nfa.push(made, entry, first)
    found = [nfa.pop(made, first) for _ in entries]
    assert [number for number, _ in found] == sorted(numbers)
    assert sorted(found) == sorted(entries)


def test_ties_come_out_as_in_java() -> None:
    # Java: a PriorityQueue comparing the numbers, add 1a 1b 1c 1d, poll four times.
    made: list[tuple[int, str]] = []
    for letter in "abcd":
        nfa.push(made, (1, letter), first)
    assert [nfa.pop(made, first)[1] for _ in range(4)] == ["a", "d", "c", "b"]
