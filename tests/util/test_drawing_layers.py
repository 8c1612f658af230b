"""Columns of a drawing: arrows lead to the right, and every box stands somewhere once."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.util.graph_drawing import Arrow, Box, Drawing, layers

_PAIRS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14, unique=True)


def drawing(pairs: list[tuple[int, int]], boxes: int = 8) -> Drawing:
    return Drawing(
        tuple(Box(str(each), f"box {each}") for each in range(boxes)),
        tuple(Arrow(str(source), str(target)) for source, target in pairs),
    )


@given(_PAIRS)
def test_every_arrow_goes_through_neighbouring_columns(pairs: list[tuple[int, int]]) -> None:
    found = layers(drawing(pairs))
    place = {item: number for number, column in enumerate(found.columns) for item in column}
    assert sum(map(len, found.columns)) == len(place)
    assert {str(each) for each in range(8)} <= place.keys()
    for index, (source, target) in enumerate(pairs):
        way = found.ways[index]
        assert (way[0], way[-1]) == (str(source), str(target))
        steps = {place[right] - place[left] for left, right in pairwise(way)}
        assert steps <= ({0} if source == target else {1}) or steps == {-1}


@given(_PAIRS)
def test_without_circles_all_arrows_lead_to_the_right(pairs: list[tuple[int, int]]) -> None:
    onward = [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]
    found = layers(drawing(onward))
    place = {item: number for number, column in enumerate(found.columns) for item in column}
    assert all(place[str(source)] < place[str(target)] for source, target in onward)


def test_a_tree_is_drawn_without_crossings() -> None:
    found = layers(drawing([(0, 4), (1, 5), (2, 4), (3, 5), (4, 6), (5, 6)], 7))
    rows = {item: row for column in found.columns for row, item in enumerate(column)}
    assert (rows["0"] - rows["1"]) * (rows["4"] - rows["5"]) > 0
    assert (rows["2"] - rows["3"]) * (rows["4"] - rows["5"]) > 0


def test_an_arrow_to_nowhere_is_refused() -> None:
    with pytest.raises(ValueError, match="an arrow from '0' to '9'"):
        drawing([(0, 9)])
