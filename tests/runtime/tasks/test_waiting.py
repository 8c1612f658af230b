"""What waits at gates goes where it belongs, with as many subtasks as before or another number of them."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Chunk, Status
from millrace.runtime.exchange.codec import encode
from millrace.runtime.exchange.keys import key_group, subtask_of_group
from millrace.runtime.exchange.partitioners import Broadcast, Custom, Forward, Global, Hash, Partitioner, Rebalance
from millrace.runtime.state.restoring.saved import EarlierState
from millrace.runtime.tasks.waiting import Channel, Waiting, WithWaiting, joined, parted, share, without_waiting

MAX_PARALLELISM = 8
KEYED, SPREAD, TO_ALL, TO_FIRST, CHOSEN = range(5)
"""inputs"""


def half(value: int) -> int:
    return value // 2


def modulo(key: int, receivers: int) -> int:
    return key % receivers


PARTITIONERS: dict[int, Partitioner] = {
    KEYED: Hash(half, MAX_PARALLELISM),
    SPREAD: Rebalance(),
    TO_ALL: Broadcast(),
    TO_FIRST: Global(),
    CHOSEN: Custom(modulo, half),
}
CHANNELS = {(input, sender) for input in PARTITIONERS for sender in range(2)}
MARKS = st.integers(0, 50) | st.sampled_from([Status.IDLE, Status.ACTIVE, Status.FINISHED, MAX_WATERMARK])


@st.composite
def earlier(draw: st.DrawFn) -> list[tuple[Waiting, ...]]:
    """What waits at each of some subtasks: elements are pairs of their input and a number of their own."""
    number = 0
    found = []
    for _ in range(draw(st.integers(1, 4))):
        mine = []
        for _ in range(draw(st.integers(0, 4))):
            input, sender = draw(st.sampled_from(sorted(PARTITIONERS))), draw(st.integers(0, 1))
            values = list(range(number, number + draw(st.integers(1, 4))))
            number += len(values)
            chunk = Chunk(list(values), list(values), [half(v) for v in values] if input == KEYED else None)
            marks = [(draw(st.integers(0, len(values))), draw(MARKS)) for _ in range(draw(st.integers(0, 2)))]
            marks.sort(key=lambda mark: mark[0])
            kind = draw(st.sampled_from(["packet", "elements", "mark"]))
            if kind == "packet":
                mine.append(Waiting(input, (input, sender), encode(chunk, marks)))
            elif kind == "elements":
                mine.append(Waiting(input, draw(st.sampled_from([None, (input, sender)])), chunk))
            else:
                mine.append(Waiting(input, (input, sender), draw(MARKS)))
        found.append(tuple(mine))
    return found


def shared(waiting: list[tuple[Waiting, ...]], subtask: int, parallelism: int) -> list[tuple[Waiting, Any]]:
    found = list(share(waiting, subtask, parallelism, MAX_PARALLELISM, PARTITIONERS, CHANNELS))
    return [(each, item) for each in found for item in each.items()]


def elements(items: list[tuple[Waiting, Any]]) -> list[tuple[int, int]]:
    """(input, number), in order; timestamps and keys belong to their values."""
    found = []
    for each, item in items:
        if isinstance(item, Chunk):
            assert item.timestamps == item.values
            assert item.keys == (list(map(half, item.values)) if each.input == KEYED else None)
            found += [(each.input, value) for value in item.values]
    return found


def all_of(waiting: tuple[Waiting, ...]) -> list[tuple[int, int]]:
    return elements([(each, item) for each in waiting for item in each.items()])


@given(earlier(), st.integers(1, 5))
def test_each_element_goes_where_it_belongs(waiting: list[tuple[Waiting, ...]], parallelism: int) -> None:
    found = [elements(shared(waiting, subtask, parallelism)) for subtask in range(parallelism)]
    if len(waiting) == parallelism:
        assert found == [all_of(each) for each in waiting]
        return
    for subtask, mine in enumerate(found):
        for input, value in mine:
            if input == KEYED:
                group = key_group(half(value), MAX_PARALLELISM)
                assert subtask_of_group(group, MAX_PARALLELISM, parallelism) == subtask
            elif input == TO_FIRST:
                assert subtask == 0
            elif input == CHOSEN:
                assert subtask == half(value) % parallelism
        # Whose broadcast state it gets, of that subtask it gets what has not reached it yet.
        assert [each for each in mine if each[0] == TO_ALL] == [
            each for each in all_of(waiting[subtask % len(waiting)]) if each[0] == TO_ALL
        ]
    once = Counter(each for mine in found for each in mine if each[0] != TO_ALL)
    assert once == Counter(each for mine in waiting for each in all_of(mine) if each[0] != TO_ALL)


@given(earlier(), st.integers(1, 5))
def test_elements_of_one_subtask_stay_in_order(waiting: list[tuple[Waiting, ...]], parallelism: int) -> None:
    places = {each: number for number, each in enumerate(each for mine in waiting for each in all_of(mine))}
    for subtask in range(parallelism):
        mine = [places[each] for each in elements(shared(waiting, subtask, parallelism)) if each[0] != TO_ALL]
        assert mine == sorted(mine)


@given(earlier(), st.integers(1, 5))
def test_marks_stay_with_as_many_subtasks_as_before(waiting: list[tuple[Waiting, ...]], parallelism: int) -> None:
    """But for the end of the input: the sources of the next job may have more to read, and say again that they end."""
    for subtask in range(parallelism):
        marks = [(e.channel, m) for e, m in shared(waiting, subtask, parallelism) if not isinstance(m, Chunk)]
        if len(waiting) != parallelism:
            assert marks == []
            continue
        before = [(e.channel, m) for e in waiting[subtask] for m in e.items() if not isinstance(m, Chunk)]
        assert marks == [(c, m) for c, m in before if m is not Status.FINISHED and m != MAX_WATERMARK]


@given(earlier())
def test_what_is_shared_can_be_recorded(waiting: list[tuple[Waiting, ...]]) -> None:
    for subtask in range(3):
        for each in share(waiting, subtask, 3, MAX_PARALLELISM, PARTITIONERS, CHANNELS):
            assert isinstance(each.content, bytes)
            assert each.packed() is each
            assert pickle.loads(pickle.dumps(each)) == each


def test_marks_of_channels_that_are_no_more_are_left_out() -> None:
    waiting = (Waiting(0, (7, 0), 5), Waiting(0, (7, 0), Chunk([1])), Waiting(0, (0, 0), 6))
    found = list(share([waiting], 0, 1, MAX_PARALLELISM, {}, {(0, 0)}))
    assert [item if not isinstance(item, Chunk) else item.values for each in found for item in each.items()] == [[1], 6]


def test_elements_with_keys_go_by_them_wherever_they_come_from() -> None:
    """Along an edge within a task, too."""
    waiting = [(Waiting(0, None, Chunk([0, 1, 2, 3], None, [0, 1, 2, 3])),), ()]
    found = [
        [v for each in share(waiting, s, 3, 128, {0: Forward()}, ()) for item in each.items() for v in item.values]  # type: ignore[union-attr]
        for s in range(3)
    ]
    assert found == [[v for v in range(4) if subtask_of_group(key_group(v, 128), 128, 3) == s] for s in range(3)]


def test_what_waits_stands_beside_the_small_state() -> None:
    waiting = (Waiting(0, (0, 0), b"packet"),)
    assert parted("small") == ("small", ())
    assert parted(WithWaiting("small", waiting)) == ("small", waiting)
    assert parted(None) == (None, ())
    state = EarlierState(iter(()), {}, ("one", WithWaiting("two", waiting)), MIN_TIMESTAMP)
    without, found = without_waiting(state)
    assert (without.smalls, found) == (("one", "two"), [(), waiting])


@st.composite
def from_a_channel(draw: st.DrawFn, channel: Channel = (0, 0)) -> list[Waiting]:
    """Elements and marks, as a packet has them."""
    found: list[Waiting] = []
    for _ in range(draw(st.integers(0, 4))):
        values = draw(st.lists(st.integers(), max_size=3))
        times = draw(st.none() | st.lists(st.none() | st.integers(), min_size=len(values), max_size=len(values)))
        keys = draw(st.none() | st.just([half(value) for value in values]))
        content = draw(st.just(Chunk(values, times, keys)) | MARKS)
        found.append(Waiting(0, channel, content))
    return found


def told(items: list[Waiting]) -> list[Any]:
    """Each element with its time and key, and each mark."""
    found: list[Any] = []
    for each in items:
        chunk = each.content
        if not isinstance(chunk, Chunk):
            found.append(chunk)
            continue
        times, keys = chunk.timestamps or [None] * len(chunk), chunk.keys or [None] * len(chunk)
        found += zip(chunk.values, times, keys, strict=True)
    return found


@given(from_a_channel(), from_a_channel() | from_a_channel((0, 1)))
def test_packets_become_one(first: list[Waiting], then: list[Waiting]) -> None:
    before = told(first), told(then)
    both = joined([*first, *then])
    assert told(both) == [*before[0], *before[1]]
    assert (told(first), told(then)) == before, "what was sent may go elsewhere, too"
    assert not any(isinstance(one.content, Chunk) and isinstance(two.content, Chunk) for one, two in pairwise(both))
    marks = [each for each in [*first, *then] if not isinstance(each.content, Chunk)]
    assert [each for each in both if not isinstance(each.content, Chunk)] == marks, "with their channels"


@given(from_a_channel(), from_a_channel())
def test_elements_of_two_inputs_stay_apart(first: list[Waiting], then: list[Waiting]) -> None:
    others = [each._replace(input=1) for each in then]
    both = joined([*first, *others])
    for input, before in enumerate((first, others)):
        assert told([each for each in both if each.input == input]) == told(before)
