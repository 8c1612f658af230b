"""``TaggedHash``: like ``Hash``, but every element arrives with its side's tag."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.partitioners import Hash, PartitioningError, TaggedHash


def half(value: int) -> int:
    return value // 2


def routed(partitioner: Hash, values: list[int], receivers: int) -> list[tuple[int, Any, Any, Any]]:
    """(target, value, timestamp, key) of each element, as they leave."""
    timestamps: list[int | None] = [None if value % 3 == 0 else value for value in values]
    route = partitioner.router(0, 1, receivers)
    return [
        (target, value, timestamp, key)
        for target, part in route(Chunk(values, timestamps))
        for value, timestamp, key in zip(part.values, part.timestamps or [], part.keys or [])
    ]


@given(st.lists(st.integers(0, 50), min_size=1), st.integers(1, 4), st.integers(1, 2))
def test_elements_go_where_their_key_belongs(values: list[int], receivers: int, tag: int) -> None:
    plain = routed(Hash(half, max_parallelism=16), values, receivers)
    tagged = routed(TaggedHash(half, max_parallelism=16, tag=tag), values, receivers)
    assert tagged == [(target, (tag, value), timestamp, key) for target, value, timestamp, key in plain]


def test_a_chunk_without_timestamps() -> None:
    ((target, part),) = TaggedHash(half, tag=2).router(0, 1, 1)(Chunk([5]))
    assert (target, part.values, part.timestamps, part.keys) == (0, [(2, 5)], None, [2])


def test_an_error_shows_the_element_as_it_came() -> None:
    with pytest.raises(PartitioningError) as caught:
        list(TaggedHash(lambda value: 1 // value, tag=1).router(0, 1, 1)(Chunk([1, 0])))
    assert caught.value.element == 0


@pytest.mark.parametrize("receivers", [1, 2])
def test_a_key_that_cannot_be_hashed_shows_the_element_as_it_came(receivers: int) -> None:
    with pytest.raises(PartitioningError) as caught:
        list(TaggedHash(lambda value: object(), tag=1).router(0, 1, receivers)(Chunk([7])))
    assert (caught.value.element, str(caught.value)) == (7, "to hash the key")
