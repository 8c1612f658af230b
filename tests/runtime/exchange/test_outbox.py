"""What a sender gathers reaches each target as if it had been written there one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.relational.rows import Rows, record_batch
from millrace.runtime.elements import Chunk, Status
from millrace.runtime.exchange import codec, exchange
from millrace.runtime.exchange.codec import Mark, decode
from millrace.runtime.exchange.exchange import Part, encoded, outbox_for
from millrace.runtime.exchange.partitioners import (
    Broadcast,
    Custom,
    ElementWise,
    Forward,
    Global,
    Hash,
    Partitioner,
    Rebalance,
    Rescale,
    Shuffle,
    TaggedHash,
)
from millrace.runtime.tables.exchange import ByColumns, Single

MARKS = st.integers(0, 99) | st.sampled_from(list(Status))
CHUNKS = st.lists(st.integers(0, 50), min_size=1, max_size=8)
EVENTS = st.lists(CHUNKS | MARKS | st.none(), max_size=25)
"""chunks of values, marks; None: the epoch ends"""


def value_of(value: int) -> int:
    return value


def modulo(key: int, receivers: int) -> int:
    return key % receivers


ALL: list[Partitioner] = [
    Forward(), Rebalance(), Rescale(), Shuffle(), Global(), Broadcast(), Custom(modulo, value_of), Hash(value_of),
    TaggedHash(value_of, tag=3),
]  # fmt: skip


def name(partitioner: Partitioner) -> str:
    return type(partitioner).__name__


Heard = dict[int, list[Any]]
"""target -> elements (value, timestamp, key) and marks"""


def one_by_one(partitioner: Partitioner, events: Any, receivers: int) -> Heard:
    """What each target has to hear, by a router that gets each element alone."""
    route, heard, number = partitioner.router(0, 1, receivers), defaultdict(list), 0
    if isinstance(partitioner, Shuffle):
        route = drawn_together(partitioner, events, receivers)
    for event in events:
        if isinstance(event, list):
            for value in event:
                for target, part in route(Chunk([value], [number])):
                    heard[target].append((part.values[0], number, part.keys and part.keys[0]))
                number += 1
        elif event is not None:
            for target in partitioner.targets(0, 1, receivers):
                heard[target].append(event)
    return heard


def drawn_together(partitioner: Shuffle, events: Any, receivers: int) -> Callable[[Chunk], Iterator[tuple[int, Chunk]]]:
    """A generator of random numbers gives the same whether it is asked for one or for many only if asked alike."""
    route, targets, number = partitioner.router(0, 1, receivers), {}, 0
    for event in events:
        if isinstance(event, list):
            for target, part in route(Chunk(event, list(range(number, number + len(event))))):
                targets.update(dict.fromkeys(part.timestamps or (), target))
            number += len(event)
    return lambda chunk: iter([(targets[(chunk.timestamps or [0])[0]], chunk)])


Payload = tuple[int, bytes]
"""(target, a packet for it)"""


def flat(payloads: Iterable[Payload]) -> Heard:
    heard: Heard = defaultdict(list)
    for target, payload in payloads:
        for item in decode(payload):
            if isinstance(item, Chunk):
                keys = item.keys if item.keys is not None else [None] * len(item)
                heard[target] += zip(item.values, item.timestamps or (), keys)
            else:
                heard[target].append(item)
    return heard


def without_overtaken(events: list[Any]) -> list[Any]:
    """A watermark that another one follows at once says nothing."""
    return [e for e, after in zip(events, [*events[1:], None]) if not (isinstance(e, int) and isinstance(after, int))]


def packets(parts: Iterable[Part]) -> Iterator[Payload]:
    for targets, chunk, marks in parts:
        for payload in encoded(chunk, marks):
            for target in targets:
                yield target, payload


def sent(partitioner: Partitioner, events: Any, receivers: int) -> Iterator[Payload]:
    return packets(parts(partitioner, events, receivers))


def parts(partitioner: Partitioner, events: Any, receivers: int) -> Iterator[Part]:
    box, number = outbox_for(partitioner, 0, 1, receivers), 0
    for event in [*events, None]:
        if event is None:
            yield from box.rest()
        elif isinstance(event, list):
            yield from box.add(Chunk(list(event), list(range(number, number + len(event)))))
            number += len(event)
        else:
            box.mark(event)


@pytest.mark.parametrize("partitioner", ALL, ids=name)
@given(
    events=EVENTS,
    receivers=st.sampled_from([1, 2, 3, 7, 40]),
    flush_at=st.integers(1, 9),
    held=st.integers(1, 40),
    held_bytes=st.sampled_from([1, 40, 10**6]),
)
def test_each_target_hears_what_it_should(
    partitioner: Partitioner, events: Any, receivers: int, flush_at: int, held: int, held_bytes: int
) -> None:
    receivers = 1 if isinstance(partitioner, Forward) else receivers
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "FLUSH_AT", flush_at)
        patch.setattr(exchange, "HELD", held)
        patch.setattr(exchange, "HELD_BYTES", held_bytes)
        patch.setattr(codec, "FIRST_LOOK", 1)
        payloads = list(sent(partitioner, events, receivers))
    heard, expected = flat(payloads), one_by_one(partitioner, events, receivers)
    for target in range(receivers):
        assert without_overtaken(heard[target]) == without_overtaken(expected[target])
    sizes = [sum(len(item) for item in decode(payload) if isinstance(item, Chunk)) for _, payload in payloads]
    if isinstance(partitioner, ElementWise):
        assert max(sizes, default=0) <= max(1.5 * flush_at, flush_at + 1), "also if one target gets everything"


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.integers(1, 30))
def test_all_targets_together_hold_no_more_than_the_limit(values: list[int], held: int) -> None:
    for partitioner in ALL:
        receivers = 1 if isinstance(partitioner, Forward) else 5
        waiting = 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exchange, "HELD", held)
            patch.setattr(exchange, "FLUSH_AT", held)
            box = outbox_for(partitioner, 0, 1, receivers)
            for value in values:
                left = flat(packets(box.add(Chunk([value], [0]))))
                waiting += 1 - sum(map(len, left.values())) // (receivers if isinstance(partitioner, Broadcast) else 1)
                assert waiting < held


BYTES = 20_000


@pytest.mark.parametrize("partitioner", [*ALL, ByColumns((0,)), Single()], ids=name)
@given(size=st.integers(1, 5_000), count=st.integers(1, 60))
def test_large_elements_are_sent_before_they_are_many(partitioner: Partitioner, size: int, count: int) -> None:
    """Elements of one size, by which nothing that is estimated is wrong by more than what goes round them."""
    receivers, waiting, most = 1 if isinstance(partitioner, Forward) else 3, 0, 0
    partitioner = replace(partitioner, key_selector=len) if isinstance(partitioner, Hash) else partitioner
    if isinstance(partitioner, Custom):
        partitioner = Custom(modulo, len)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "HELD_BYTES", BYTES)
        patch.setattr(codec, "FIRST_LOOK", 4)
        box = outbox_for(partitioner, 0, 1, receivers)
        for _ in range(count):
            value = b"x" * size
            tables = isinstance(partitioner, (ByColumns, Single))
            element = Rows(record_batch([pa.array([value])], 1)) if tables else value
            waiting += size
            if list(box.add(Chunk([element]))):
                waiting = 0
            most = max(most, waiting)
    assert most <= BYTES + 4 * size
    assert most == count * size or most >= BYTES - 60 * count - 2 * size, "and not sooner than they have to"


@pytest.mark.parametrize("partitioner", ALL, ids=name)
@given(marks=st.lists(MARKS, min_size=1, max_size=8), values=st.lists(st.integers(0, 9), max_size=3))
def test_targets_that_get_only_marks_share_their_bytes(
    partitioner: Partitioner, marks: list[Mark], values: list[int]
) -> None:
    receivers = 1 if isinstance(partitioner, Forward) else 50
    payloads = list(sent(partitioner, [values] * bool(values) + marks, receivers))
    assert sorted({target for target, _ in payloads}) == sorted(partitioner.targets(0, 1, receivers))
    only_marks = [p for _, p in payloads if not any(isinstance(item, Chunk) for item in decode(p))]
    assert len({id(payload) for payload in only_marks}) <= 1


def test_a_copy_for_everybody_is_encoded_once() -> None:
    payloads = list(sent(Broadcast(), [[1, 2], 5, [3]], 50))
    assert [target for target, _ in payloads] == list(range(50))
    assert len({id(payload) for _, payload in payloads}) == 1


def test_one_target_that_is_flushed_alone_hears_later_marks() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "FLUSH_AT", 2)
        payloads = list(sent(Global(), [1, [1, 2], 3, [4], 5, 6], 2))
    assert [(target, list(map(repr, decode(p)))) for target, p in payloads if target] == [(1, ["6"])]
    assert without_overtaken(flat(payloads)[0]) == [1, (1, 0, None), (2, 1, None), 3, (4, 2, None), 6]
