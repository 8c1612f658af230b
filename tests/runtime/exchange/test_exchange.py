"""Packets: what goes in comes out, in order, and what is lost is noticed."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.elements import Chunk, Status
from millrace.runtime.exchange import exchange
from millrace.runtime.exchange.codec import Mark, decode
from millrace.runtime.exchange.exchange import ACK, ChannelWriter, LostPacketError, Packet, in_order
from millrace.runtime.exchange.partitioners import Broadcast, Forward, Global, Hash, Rebalance

Event = tuple[Any, int | None] | Mark


def flat(packets: list[Packet]) -> list[Event]:
    """Elements and marks of one target in their order."""
    found: list[Event] = []
    for packet in packets:
        for item in decode(packet.payload):
            if isinstance(item, Chunk):
                found += zip(item.values, item.timestamps or [None] * len(item))
            else:
                found.append(item)
    return found


def write(writer: ChannelWriter, events: list[list[tuple[int, int | None]] | Mark]) -> None:
    for event in events:
        if isinstance(event, list):
            stamps = [timestamp for _, timestamp in event]
            writer.write(Chunk([v for v, _ in event], None if set(stamps) == {None} else stamps))
        else:
            writer.mark(event)


STATUSES = st.sampled_from([Status.IDLE, Status.ACTIVE, Status.FINISHED])
ELEMENTS = st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 99)), min_size=1, max_size=5)
EVENTS = st.lists(ELEMENTS | st.integers(0, 99) | STATUSES, max_size=12)


def without_overtaken(events: list[Event]) -> list[Event]:
    """A watermark that another one follows at once says nothing."""
    return [
        event
        for event, after in zip(events, [*events[1:], None])
        if not (isinstance(event, int) and isinstance(after, int))
    ]


@given(EVENTS, st.integers(1, 6))
def test_everything_arrives_at_its_place(events: Any, flush_at: int) -> None:
    packets: list[Packet] = []
    writer = ChannelWriter(3, Global(), 1, 2, 2, 10, packets.append)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "FLUSH_AT", flush_at)
        write(writer, events)
        writer.end_epoch()
    assert all((packet.edge, packet.channel) == (3, 1) for packet in packets)
    expected: list[Event] = [e for event in events for e in (event if isinstance(event, list) else [event])]
    first = [packet for packet in packets if packet.target == 10]
    assert [packet.number for packet in first] == list(range(len(first)))
    # where a packet ends between two watermarks both remain
    assert without_overtaken(flat(first)) == without_overtaken(expected)
    # the other target is reachable, so it gets the marks
    marks = [event for event in expected if not isinstance(event, tuple)]
    assert flat([packet for packet in packets if packet.target == 11]) == without_overtaken(marks)


def test_large_parts_are_split_and_epochs_number_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "FLUSH_AT", 4)
    packets: list[Packet] = []
    writer = ChannelWriter(0, Rebalance(), 0, 1, 2, 0, packets.append)
    for start in range(0, 12, 3):
        writer.write(Chunk(list(range(start, start + 3))))
    writer.end_epoch()
    writer.mark(7)
    writer.end_epoch()
    writer.end_epoch()
    assert [(p.target, p.number) for p in packets] == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 0), (1, 0)]
    assert flat([p for p in packets if p.target == 0]) == [(v, None) for v in range(0, 12, 2)] + [7]


def test_keys_travel() -> None:
    packets: list[Packet] = []
    writer = ChannelWriter(0, Hash(len), 0, 1, 1, 0, packets.append)
    writer.write(Chunk(["a", "bb"]))
    writer.write(Chunk(["ccc"], [5]))
    writer.mark(5)
    writer.write(Chunk(["d"]))
    writer.end_epoch()
    chunks = [item for item in decode(packets[0].payload) if isinstance(item, Chunk)]
    assert [chunk.keys for chunk in chunks] == [[1, 2, 3], [1]]
    assert [chunk.timestamps for chunk in chunks] == [[None, None, 5], [None]]


def test_a_chunk_that_goes_to_many_is_not_changed() -> None:
    packets: list[Packet] = []
    writer = ChannelWriter(0, Broadcast(), 0, 1, 2, 0, packets.append)
    chunk = Chunk([1], [1])
    writer.write(chunk)
    writer.write(Chunk([2], [2]))
    writer.end_epoch()
    assert (chunk.values, chunk.timestamps) == ([1], [1])
    assert [flat([packet]) for packet in packets] == [[(1, 1), (2, 2)]] * 2


def test_a_pointwise_channel_reaches_only_its_targets() -> None:
    packets: list[Packet] = []
    ChannelWriter(0, Forward(), 1, 3, 3, 0, packets.append).mark(5)
    writer = ChannelWriter(0, Forward(), 1, 3, 3, 0, packets.append)
    writer.mark(5)
    writer.end_epoch()
    assert [packet.target for packet in packets] == [1]


# -- the receiving side -----------------------------------------------------------------------------------------------

CHANNELS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1), st.integers(1, 4)),
    unique_by=lambda channel: channel[:3],
    max_size=6,
)


def packets_of(channels: list[tuple[int, int, int, int]]) -> list[Packet]:
    return [
        Packet(target, edge, channel, number, b"x" * 10)
        for edge, channel, target, count in channels
        for number in range(count)
    ]


@given(CHANNELS, st.integers(0, 10_000), st.integers(0, 3), st.sampled_from([1, 25, 10**6]), st.integers(0, 2))
def test_any_permutation_comes_out_by_number(channels: Any, seed: int, acks: int, memory: int, leading: int) -> None:
    packets = packets_of(channels)
    arriving = [*packets, *(Packet(n, ACK, n, 0, b"ack") for n in range(acks))]
    random.Random(seed).shuffle(arriving)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "REORDER_BYTES", memory)
        found = list(in_order(iter(arriving), leading))
    assert sorted(found) == sorted(arriving)
    for edge, channel, target, count in channels:
        numbers = [p.number for p in found if (p.edge, p.channel, p.target) == (edge, channel, target)]
        assert numbers == list(range(count))
    if memory == 10**6:
        mine = [packet for packet in found if packet.edge != ACK]
        first, then = [p for p in mine if p.edge < leading], [p for p in mine if p.edge >= leading]
        assert mine == first + then
        assert first == sorted(first, key=lambda p: (p.edge, p.channel, p.target, p.number)), "one after the other"
        assert then == sorted(then, key=lambda p: (p.number, p.edge, p.channel, p.target)), "in turn"


@given(CHANNELS.filter(bool), st.integers(0, 10_000), st.booleans())
def test_a_gap_is_noticed(channels: Any, seed: int, shuffled: bool) -> None:
    draw = random.Random(seed)
    packets = packets_of([(edge, channel, target, count + 1) for edge, channel, target, count in channels])
    last = {(e, c, t): n for e, c, t, n in channels}
    lost = draw.choice([p for p in packets if p.number < last[p.edge, p.channel, p.target]])
    packets.remove(lost)
    if shuffled:
        draw.shuffle(packets)
    with pytest.raises(LostPacketError, match=f"edge {lost.edge}, channel {lost.channel}"):
        list(in_order(packets))


@given(CHANNELS.filter(bool), st.integers(0, 10_000))
def test_a_doubled_packet_is_noticed(channels: Any, seed: int) -> None:
    packets = packets_of(channels)
    twice = random.Random(seed).choice(packets)
    with pytest.raises(LostPacketError, match="twice"):
        list(in_order([*packets, twice]))


def test_nothing() -> None:
    assert list(in_order(())) == []
