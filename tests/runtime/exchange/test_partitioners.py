"""Every element reaches exactly the subtasks that it may, in order."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.keys import key_group, subtask_of_group
from millrace.runtime.exchange.partitioners import (
    AT_ONCE,
    Broadcast,
    Custom,
    Forward,
    Global,
    Hash,
    Partitioner,
    PartitioningError,
    Rebalance,
    Rescale,
    Shuffle,
)


def half(value: int) -> int:
    return value // 2


def modulo(key: int, receivers: int) -> int:
    return key % receivers


ALL: list[Partitioner] = [
    Forward(), Rebalance(), Rescale(), Shuffle(), Global(), Broadcast(), Custom(modulo, half), Hash(half),
]  # fmt: skip
CHUNKS = st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=12), max_size=6)
WIDTHS = st.integers(1, 5)


def name(partitioner: Partitioner) -> str:
    return type(partitioner).__name__


def chunks_of(values: list[list[int]]) -> list[Chunk]:
    """Values with a running number as timestamp, so that each element is one of its kind."""
    chunks, number = [], 0
    for part in values:
        chunks.append(Chunk(list(part), list(range(number, number + len(part)))))
        number += len(part)
    return chunks


def routed(partitioner: Partitioner, chunks: list[Chunk], subtask: int, senders: int, receivers: int) -> Any:
    """target -> [(value, timestamp, key)] of all chunks."""
    route, found = partitioner.router(subtask, senders, receivers), defaultdict(list)
    for chunk in chunks:
        for target, part in route(chunk):
            assert len(part) > 0
            keys = part.keys if part.keys is not None else [None] * len(part)
            found[target].extend(zip(part.values, part.timestamps or [], keys))
    return found


@pytest.mark.parametrize("partitioner", ALL, ids=name)
@given(values=CHUNKS, senders=WIDTHS, receivers=WIDTHS, data=st.data())
def test_each_element_to_one_allowed_target_in_order(
    partitioner: Partitioner, values: list[list[int]], senders: int, receivers: int, data: st.DataObject
) -> None:
    if isinstance(partitioner, Forward):
        receivers = senders
    subtask = data.draw(st.integers(0, senders - 1))
    found = routed(partitioner, chunks_of(values), subtask, senders, receivers)
    assert set(found) <= set(partitioner.targets(subtask, senders, receivers)) <= set(range(receivers))
    copies = receivers if isinstance(partitioner, Broadcast) else 1
    everything = [(value, number) for number, value in enumerate(value for part in values for value in part)]
    assert Counter((v, ts) for part in found.values() for v, ts, _ in part) == Counter(everything * copies)
    for part in found.values():
        stamps = [timestamp for _, timestamp, _ in part]
        assert stamps == sorted(stamps)


@pytest.mark.parametrize("partitioner", ALL, ids=name)
@given(senders=WIDTHS, receivers=WIDTHS)
def test_targets_and_sources_agree(partitioner: Partitioner, senders: int, receivers: int) -> None:
    if isinstance(partitioner, Forward):
        receivers = senders
    pairs = {(s, r) for s in range(senders) for r in partitioner.targets(s, senders, receivers)}
    assert pairs == {(s, r) for r in range(receivers) for s in partitioner.sources(r, senders, receivers)}
    assert {sender for sender, _ in pairs} == set(range(senders))
    assert {receiver for _, receiver in pairs} == set(range(receivers)), "nobody waits for ever for a watermark"
    if not partitioner.pointwise:
        assert len(pairs) == senders * receivers


@pytest.mark.parametrize("partitioner", [Rebalance(), Rescale()], ids=name)
@given(values=CHUNKS, senders=WIDTHS, receivers=WIDTHS)
def test_round_robin_is_balanced(
    partitioner: Partitioner, values: list[list[int]], senders: int, receivers: int
) -> None:
    for subtask in range(senders):
        found = routed(partitioner, chunks_of(values), subtask, senders, receivers)
        sizes = [len(found[target]) for target in partitioner.targets(subtask, senders, receivers)]
        assert max(sizes) - min(sizes) <= 1


@given(CHUNKS, WIDTHS)
def test_keys_go_to_their_group_and_travel_along(values: list[list[int]], receivers: int) -> None:
    for target, part in routed(Hash(half, max_parallelism=16), chunks_of(values), 0, 1, receivers).items():
        for value, _, key in part:
            assert key == half(value)
            assert subtask_of_group(key_group(key, 16), 16, receivers) == target


def test_without_timestamps() -> None:
    for partitioner in ALL:
        for _, part in partitioner.router(0, 1, 1)(Chunk([1, 2, 3])):
            assert part.timestamps is None
            assert part.values == [1, 2, 3]


def test_shuffle_reaches_everybody() -> None:
    found = routed(Shuffle(), [Chunk(list(range(1_000)), list(range(1_000)))], 0, 1, 4)
    assert all(200 < len(part) < 300 for part in found.values())


class Number:
    """An int in all but type, as numpy's are."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value

    def __ge__(self, other: int) -> bool:
        return self.value >= other

    def __lt__(self, other: int) -> bool:
        return self.value < other


def test_custom_takes_anything_that_is_an_index() -> None:
    partitioner = Custom(lambda key, receivers: Number(key % receivers), half)  # type: ignore[arg-type, return-value]
    found = routed(partitioner, [Chunk([0, 1, 2, 3], [0, 1, 2, 3])], 0, 1, 2)
    assert {target: [v for v, _, _ in part] for target, part in found.items()} == {0: [0, 1], 1: [2, 3]}


@pytest.mark.parametrize("answer", [-1, 3, 1.0, None, "1"])
def test_custom_refuses_other_answers(answer: Any) -> None:
    route = Custom(lambda key, receivers: answer if key == 5 else 0, lambda value: value).router(0, 1, 3)
    with pytest.raises(PartitioningError) as caught:
        list(route(Chunk([1, 5, 2])))
    assert caught.value.element == 5
    assert repr(answer) in str(caught.value.__cause__) or isinstance(caught.value.__cause__, TypeError)


def failing(value: Any) -> Any:
    if value == 5:
        raise LookupError("no such thing")
    return value


def stopping(value: Any) -> Any:
    return next(iter(())) if value == 5 else value


@pytest.mark.parametrize("function", [failing, stopping])
@pytest.mark.parametrize("receivers", [1, 3])
def test_a_failing_function_names_the_element(function: Any, receivers: int) -> None:
    for partitioner in (Hash(function), Custom(modulo, function), Custom(lambda k, n: function(k) % n, lambda v: v)):
        with pytest.raises(PartitioningError) as caught:
            list(partitioner.router(0, 1, receivers)(Chunk([1, 5, 2])))
        assert caught.value.element == 5


@pytest.mark.parametrize("receivers", [1, 3])
def test_a_key_without_stable_hash_names_the_element(receivers: int) -> None:
    route = Hash(lambda value: object()).router(0, 1, receivers)
    with pytest.raises(PartitioningError) as caught:
        list(route(Chunk(["first", "second"])))
    assert caught.value.element == "first"


@pytest.mark.parametrize("place", [0, AT_ONCE - 1, AT_ONCE, 2 * AT_ONCE + 5])
def test_many_keys_are_looked_up_part_by_part(place: int) -> None:
    values: list[Any] = [value % 1_000 for value in range(3 * AT_ONCE)]
    assigner = Hash(lambda value: value, 128).assigner(0, 1, 3)
    assigner.assign(Chunk(values[:10]))
    gathered = assigner.assign(Chunk(values))
    scatter = assigner.scatter(gathered)
    expected = Counter(subtask_of_group(key_group(value, 128), 128, 3) for value in values)
    assert dict(zip(scatter.targets, scatter.counts)) == expected
    values[place] = bad = object()
    with pytest.raises(PartitioningError) as caught:
        assigner.scatter(assigner.assign(Chunk(values)))
    assert caught.value.element is bad
