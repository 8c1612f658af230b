"""What a channel may bring, and that nothing of it is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.exchange.exchange import LostPacketError, Packet
from millrace.runtime.tasks.flow_inbox import MOST_BYTES, MOST_ELEMENTS, Inbox, Room

MS = 1_000_000
SPAN = 100 * MS

# -- how much it may bring --------------------------------------------------------------------------------------------

TAKEN = st.lists(st.tuples(st.integers(0, 80 * MS), st.integers(0, 3_000), st.integers(0, 3_000_000)), max_size=40)
"""(ns since the one before, elements, their bytes)"""


def test_one_element_is_always_welcome() -> None:
    room = Room()
    assert (room.granted, room.room, room.total) == (1, 1, 0)
    assert not room.news(), "the sender knows"


def test_it_is_what_was_taken_in_the_last_100_ms() -> None:
    room = Room()
    room.took(0, 5, 50)
    assert (room.room, room.granted) == (5, 10)
    room.took(60 * MS, 7, 70)
    assert (room.room, room.granted) == (12, 24)
    room.took(SPAN, 1, 10)
    assert (room.room, room.granted) == (13, 26), "100 ms ago is not too long ago"
    room.took(SPAN + 1, 1, 10)
    assert (room.room, room.granted) == (9, 26), "there is less now, but what is granted stays"
    room.took(10**12, 1, 10)
    assert (room.room, room.granted) == (1, 26)


def test_elements_and_bytes_are_bounded() -> None:
    room = Room()
    room.took(0, 10 * MOST_ELEMENTS, 100)
    assert room.room == MOST_ELEMENTS
    small = Room(most=3)
    small.took(0, 10, 100)
    assert small.room == 3
    heavy = Room()
    heavy.took(0, 8, 4 * MOST_BYTES)
    assert heavy.room == 2, "two of them are 1 MB"
    heavy.took(1, 1, 100 * MOST_BYTES)
    assert heavy.room == 1, "one that is larger than that comes alone"


def test_there_is_room_for_a_piece_however_long_it_takes() -> None:
    room = Room()
    for turn in range(5):
        room.took(turn * 10 * SPAN, 8, 80, least=32)
        assert room.room == 32
    room.took(60 * SPAN, 50, 500, least=32)
    assert room.room == 50, "what it takes in 100 ms, if that is more"
    small = Room(most=3)
    small.took(0, 1, 10, least=32)
    assert small.room == 3
    heavy = Room()
    heavy.took(0, 1, MOST_BYTES // 2, least=32)
    assert heavy.room == 2


def test_what_has_no_elements_makes_no_room() -> None:
    """A packet of marks."""
    room = Room()
    for now in range(50):
        room.took(now, 0, 30)
    assert (room.room, room.granted, room.total) == (1, 1, 0)
    assert not room.news()


def test_little_more_room_is_not_worth_a_message() -> None:
    room = Room()
    room.took(0, 100, 100)
    assert room.news()
    assert not room.news(), "it was told"
    told, silent = room.granted, 0
    while not room.news():
        room.took(0, 1, 1)
        silent += 1
    assert (silent, room.room, room.granted - told) == (14, 114, 28), "a quarter of the room"


@given(TAKEN, st.sampled_from([1, 3, 1_000, MOST_ELEMENTS]))
def test_any_elements(taken: list[tuple[int, int, int]], most: int) -> None:
    room, now = Room(most), 0
    seen: list[tuple[int, int]] = []
    granted = 1
    for pause, elements, size in taken:
        now += pause
        room.took(now, elements, size)
        if elements:
            seen.append((now, elements))
            recent = sum(each for at, each in seen if at >= now - SPAN)
            fitting = MOST_BYTES * elements // size if size else most
            assert room.room == max(1, min(recent, fitting, most))
        total = sum(each for _, each in seen)
        assert room.total == total
        if elements:
            granted = max(granted, total + room.room)
        assert room.granted == granted, "what was granted is never taken back"


STEPS = st.lists(st.tuples(st.integers(0, 80 * MS), st.integers(0, 9_999)), max_size=60)
"""(ns since the one before, which says how much is sent)"""


@given(STEPS, st.sampled_from([1, 3, 9, 500]))
def test_a_sender_can_always_go_on(steps: list[tuple[int, int]], most: int) -> None:
    """Who has sent all that he may, and all of it was taken, has heard of more."""
    room, now = Room(most), 0
    told = 1
    sent = 0
    for pause, part in steps:
        now += pause
        assert sent < told, "else he would wait for ever"
        elements = 1 + part % (told - sent)
        sent += elements
        room.took(now, elements, 10 * elements)
        if room.news():
            assert room.granted > told
            told = room.granted
            assert told <= room.total + most


# -- what it brings ---------------------------------------------------------------------------------------------------

CHANNEL = (3, 2)


def packet(number: int, run: int = 5) -> Packet:
    return Packet(0, *CHANNEL, number, b"%d" % number, run)


def with_packets(count: int) -> Inbox:
    inbox = Inbox(CHANNEL)
    for number in range(count):
        inbox.put(packet(number))
    return inbox


def test_packets_are_taken_in_the_order_in_which_they_came() -> None:
    inbox = with_packets(3)
    assert inbox
    assert inbox.bytes == 3
    assert [inbox.take() for _ in range(3)] == [packet(0), packet(1), packet(2)]
    assert not inbox
    assert inbox.bytes == 0


def ended(count: int) -> Inbox:
    inbox = with_packets(count)
    inbox.end(5, count)
    return inbox


NAME = "edge 3, channel 2"
WRONG: dict[str, tuple[Callable[[], None], str]] = {
    "a gap": (
        lambda: with_packets(2).put(packet(3)),
        f"packet 3 of run 5 has come over {NAME}, where number 2 of run 5 was next",
    ),
    "a gap at the beginning": (
        lambda: with_packets(0).put(packet(1)),
        f"packet 1 of run 5 has come over {NAME}, where number 0 of any run was next",
    ),
    "a packet twice": (
        lambda: with_packets(2).put(packet(1)),
        f"packet 1 of run 5 has come over {NAME}, where number 2 of run 5 was next",
    ),
    "a packet of another run": (
        lambda: with_packets(2).put(packet(2, run=6)),
        f"packet 2 of run 6 has come over {NAME}, where number 2 of run 5 was next",
    ),
    "a mark too early": (
        lambda: with_packets(2).end(5, 3),
        f"the mark of {NAME} is behind 3 packets of run 5, 2 have come",
    ),
    "a mark too late": (
        lambda: with_packets(2).end(5, 1),
        f"the mark of {NAME} is behind 1 packets of run 5, 2 have come",
    ),
    "a mark of another run": (
        lambda: with_packets(2).end(4, 2),
        f"the mark of {NAME} is behind 2 packets of run 4, 2 have come",
    ),
    "a second mark": (lambda: ended(2).end(5, 2), f"a second mark has come over {NAME}"),
    "a packet behind the mark": (
        lambda: ended(2).put(packet(2)),
        f"a packet of {NAME} has come behind the mark of its epoch",
    ),
}


@pytest.mark.parametrize(("wrong", "text"), WRONG.values(), ids=WRONG)
def test_what_is_lost_is_noticed(wrong: Callable[[], None], text: str) -> None:
    with pytest.raises(LostPacketError) as caught:
        wrong()
    assert str(caught.value) == text


def test_what_was_taken_counts_for_the_mark() -> None:
    inbox = with_packets(2)
    inbox.take()
    inbox.end(5, 2)
    assert inbox.ended
    assert inbox.take() == packet(1)


def test_an_epoch_without_packets_has_a_mark() -> None:
    inbox = Inbox(CHANNEL)
    inbox.end(5, 0)
    assert inbox.ended
    assert not inbox


def test_the_next_epoch_has_numbers_and_a_run_of_its_own() -> None:
    inbox = ended(1)
    inbox.take()
    inbox.room.took(0, 8, 8)
    granted = inbox.room.granted
    inbox.next_epoch()
    assert not inbox.ended
    inbox.put(packet(0, run=6))
    inbox.end(6, 1)
    assert inbox.take() == packet(0, run=6)
    assert inbox.room.granted == granted, "credit is counted from the beginning of the connection"


def test_an_epoch_does_not_end_with_packets() -> None:
    with pytest.raises(AssertionError, match="an epoch ends with empty inboxes"):
        ended(1).next_epoch()
