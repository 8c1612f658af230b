"""A sender keeps to what its receivers have room for, and each of them gets what it would get without."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types import Row, RowKind
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Rows, count, record_batch
from millrace.runtime.elements import Chunk, Status
from millrace.runtime.exchange import exchange, flow_writer
from millrace.runtime.exchange.codec import Mark, decode
from millrace.runtime.exchange.exchange import ChannelWriter, Packet
from millrace.runtime.exchange.flow_writer import Credit, EpochMark, FlowWriter
from millrace.runtime.exchange.partitioners import (
    Broadcast,
    Custom,
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

EDGE, OFFSET, RUN = 3, 20, 7
MUCH = 10**9


def value_of(value: int) -> int:
    return value


def modulo(key: int, receivers: int) -> int:
    return key % receivers


ALL: list[Partitioner] = [
    Forward(), Rebalance(), Rescale(), Shuffle(), Global(), Broadcast(), Custom(modulo, value_of), Hash(value_of),
    TaggedHash(value_of, tag=3),
]  # fmt: skip
OF_ROWS: list[Partitioner] = [ByColumns((0,)), Single(), Broadcast(), Forward()]


def name(partitioner: Partitioner) -> str:
    return type(partitioner).__name__


CHUNKS = st.lists(st.integers(0, 50), min_size=1, max_size=12)
MARKS = st.integers(0, 99) | st.sampled_from(list(Status))
CREDITS = st.tuples(st.integers(0, 6), st.integers(0, 40), st.integers(1, 60))
"""(number of a target, elements more than it was granted, room)"""
EVENTS = st.lists(CHUNKS | MARKS | st.sampled_from(["flush", "epoch", "unlimited", "late"]) | CREDITS, max_size=40)
"""What happens to a sender. It hands on what was gathered; an epoch ends, and the next one has limits or not; the first
credit comes again."""


class Receivers:
    """The other side of a ``FlowWriter``: gives credit, and looks at what comes."""

    def __init__(self, partitioner: Partitioner, receivers: int) -> None:
        self.packets: defaultdict[int, list[Packet]] = defaultdict(list)
        self.targets = partitioner.targets(0, 1, receivers)
        self.granted = dict.fromkeys(self.targets, 1)
        self.counted = dict.fromkeys(self.targets, 0)
        """elements that have come, but for those without limit"""
        self.most = dict.fromkeys(self.targets, 1)
        self.of_epoch = dict.fromkeys(self.targets, 0)
        self.over = 0
        """elements that may come beyond the credit: rows that stay together"""
        self.credits: list[Credit] = []
        self.writer = FlowWriter(EDGE, partitioner, 0, 1, receivers, OFFSET, self.take)

    def take(self, packet: Packet) -> None:
        assert (packet.edge, packet.channel) == (EDGE, 0)
        target = packet.target - OFFSET
        assert packet.number == self.of_epoch[target], "numbered from 0 in each epoch"
        self.of_epoch[target] += 1
        self.packets[target].append(packet)
        size = sum(count(item.values) for item in decode(packet.payload) if isinstance(item, Chunk))
        if not self.writer.unlimited:
            assert size <= self.most[target] + self.over, "four packets fill the room"
            self.counted[target] += size
            assert not size or self.counted[target] <= self.granted[target] + self.over

    def grant(self, target: int, granted: int, room: int) -> None:
        self.granted[target] = max(self.granted[target], granted)
        self.most[target] = max(1, room // 4)
        self.credits.append(Credit(EDGE, 0, OFFSET + target, granted, room))
        self.writer.credit(self.credits[-1])

    def grant_again(self) -> None:
        for credit in self.credits[:1]:
            self.grant(credit.target - OFFSET, credit.granted, credit.room)

    def grant_all(self) -> None:
        for target in self.targets:
            self.grant(target, self.granted[target] + MUCH, MUCH)

    def end_epoch(self) -> None:
        self.writer.end_epoch()
        if self.writer.blocked:
            self.grant_all()
        assert not self.writer.blocked
        marks = sorted(self.writer.epoch_marks(RUN))
        assert marks == [EpochMark(OFFSET + t, EDGE, 0, RUN, self.of_epoch[t]) for t in sorted(self.targets)]
        self.of_epoch = dict.fromkeys(self.targets, 0)

    @property
    def elements(self) -> dict[int, int]:
        return {target: count_of(self.packets[target]) for target in self.targets}


def count_of(packets: Iterable[Packet]) -> int:
    chunks = (item for packet in packets for item in decode(packet.payload) if isinstance(item, Chunk))
    return sum(count(chunk.values) for chunk in chunks)


def heard(packets: Iterable[Packet]) -> list[Any]:
    """Elements (value, timestamp, key) and marks. A watermark that another one follows at once says nothing."""
    found: list[Any] = []
    for packet in packets:
        for item in decode(packet.payload):
            if isinstance(item, Chunk):
                found += elements_of(item)
                continue
            if isinstance(item, int) and found and isinstance(found[-1], int):
                found.pop()
            found.append(item)
    return found


def elements_of(chunk: Chunk) -> Iterator[tuple[Any, Any, Any]]:
    values = [row for rows in chunk.values for row in rows_of(rows)] if is_rows(chunk) else chunk.values
    times = chunk.timestamps or [None] * len(values)
    keys = chunk.keys or [None] * len(values)
    return zip(values, times, keys)


def is_rows(chunk: Chunk) -> bool:
    return bool(chunk.values) and isinstance(chunk.values[0], Rows)


def rows_of(rows: Rows) -> list[Any]:
    return list(zip(rows.kind_values().tolist(), *(column.to_pylist() for column in rows.columns)))


class Without:
    """The same packets as if everybody had room for everything."""

    def __init__(self, partitioner: Partitioner, receivers: int) -> None:
        self.packets: defaultdict[int, list[Packet]] = defaultdict(list)
        self.writer = ChannelWriter(EDGE, partitioner, 0, 1, receivers, OFFSET, self.take)

    def take(self, packet: Packet) -> None:
        self.packets[packet.target - OFFSET].append(packet)

    @property
    def elements(self) -> dict[int, int]:
        return {target: count_of(packets) for target, packets in self.packets.items()}


@contextmanager
def flushing_at(elements: int) -> Iterator[None]:
    """Senders gather no more for a target."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "FLUSH_AT", elements)
        patch.setattr(flow_writer, "FLUSH_AT", elements)
        yield


def receivers_of(partitioner: Partitioner, receivers: int) -> int:
    return 1 if isinstance(partitioner, Forward) else receivers


@pytest.mark.parametrize("partitioner", ALL, ids=name)
@given(events=EVENTS, receivers=st.sampled_from([1, 2, 3, 7]), flush_at=st.sampled_from([3, 16_384]))
def test_each_target_gets_all_and_never_more_than_it_has_room_for(
    partitioner: Partitioner, events: list[Any], receivers: int, flush_at: int
) -> None:
    """How much comes at once is looked at wherever a packet is taken."""
    receivers, number = receivers_of(partitioner, receivers), 0
    with flushing_at(flush_at):
        flow, without = Receivers(partitioner, receivers), Without(partitioner, receivers)
        for event in events:
            if isinstance(event, list):
                chunk = Chunk(event, list(range(number, number + len(event))))
                number += len(event)
                flow.writer.write(chunk)
                without.writer.write(chunk)
            elif isinstance(event, tuple):
                target = flow.targets[event[0] % len(flow.targets)]
                flow.grant(target, flow.granted[target] + event[1], event[2])
            elif event == "flush":
                flow.writer.flush()
                without.writer.flush()
                late = {t: without.elements.get(t, 0) - flow.elements[t] for t in flow.targets}
                assert flow.writer.backlog == sum(late.values())
                assert flow.writer.blocked == any(late.values())
                for target in flow.targets:
                    waits = flow.counted[target] >= flow.granted[target]
                    assert waits or not late[target], "what there is room for has come"
            elif event == "late":
                flow.grant_again()
            elif isinstance(event, str):
                flow.end_epoch()
                without.writer.end_epoch()
                flow.writer.unlimited = event == "unlimited"
            else:
                flow.writer.mark(event)
                without.writer.mark(event)
        flow.end_epoch()
        without.writer.end_epoch()
    for target in range(receivers):
        assert heard(flow.packets[target]) == heard(without.packets[target])


CHANGES = st.lists(st.sampled_from([(INSERT,), (DELETE,), (UPDATE_BEFORE, UPDATE_AFTER)]), min_size=1, max_size=8)
Change = tuple[int, int]
"""(its kind, its key: both rows of an update have the same)"""


def batch(changes: list[Change]) -> Rows:
    kinds, keys = zip(*changes)
    return Rows(record_batch([pa.array(keys, pa.int64())], len(keys)), np.array(kinds, np.uint8))


def single_rows(changes: list[Change]) -> list[Row]:
    return [Row.of_kind(RowKind(kind), key) for kind, key in changes]


@pytest.mark.parametrize(
    ("partitioner", "rows"),
    [*((each, True) for each in OF_ROWS), (Broadcast(), False), (Global(), False), (Forward(), False)],
    ids=lambda value: name(value) if isinstance(value, Partitioner) else "batches" if value else "single rows",
)
@given(
    events=st.lists(st.lists(CHANGES, min_size=1, max_size=3) | st.integers(0, 99) | CREDITS, max_size=20),
    receivers=st.sampled_from([1, 3]),
)
def test_the_rows_of_an_update_stay_together(
    partitioner: Partitioner, rows: bool, events: list[Any], receivers: int
) -> None:
    """One more than there is room for comes only if it is the new row of the last one."""
    receivers, numbers = receivers_of(partitioner, receivers), itertools.count()
    flow, without = Receivers(partitioner, receivers), Without(partitioner, receivers)
    flow.over = 1
    for event in events:
        if isinstance(event, list):
            parts = [[(kind, key) for kinds, key in zip(each, numbers) for kind in kinds] for each in event]
            values = [batch(part) for part in parts] if rows else [row for part in parts for row in single_rows(part)]
            flow.writer.write(Chunk(values))
            without.writer.write(Chunk(values))
        elif isinstance(event, tuple):
            target = flow.targets[event[0] % len(flow.targets)]
            flow.grant(target, flow.granted[target] + event[1], event[2])
        else:
            flow.writer.mark(event)
            without.writer.mark(event)
        flow.writer.flush()
    flow.end_epoch()
    without.writer.end_epoch()
    for target in flow.targets:
        assert heard(flow.packets[target]) == heard(without.packets[target])
        for packet in flow.packets[target]:
            last = [element for element in heard([packet]) if isinstance(element, tuple)][-1:]
            assert not any(kind_of(value) == UPDATE_BEFORE for value, _, _ in last)


def kind_of(value: Any) -> int:
    return int(value.get_row_kind().value if isinstance(value, Row) else value[0])


# -- single cases -----------------------------------------------------------------------------------------------------


def one_receiver() -> Receivers:
    return Receivers(Forward(), 1)


def sizes(flow: Receivers) -> list[int]:
    return [count_of([packet]) for packet in flow.packets[0]]


def test_there_is_room_for_one_from_the_beginning() -> None:
    flow = one_receiver()
    flow.writer.write(Chunk([1, 2, 3]))
    flow.writer.flush()
    assert sizes(flow) == [1]
    assert flow.writer.blocked
    assert flow.writer.backlog == 2


def test_a_packet_is_a_quarter_of_the_room_at_most() -> None:
    flow = one_receiver()
    flow.writer.write(Chunk(list(range(23))))
    flow.writer.flush()
    flow.grant(0, 21, 20)
    assert sizes(flow) == [1, 5, 5, 5, 5]
    flow.grant(0, 23, 3)
    assert sizes(flow) == [1, 5, 5, 5, 5, 1, 1]
    assert not flow.writer.blocked


@pytest.mark.parametrize("marks", [[5], [Status.IDLE, 5], [5, Status.FINISHED]])
def test_marks_need_no_credit(marks: list[Mark]) -> None:
    flow = one_receiver()
    flow.writer.write(Chunk([1]))
    for mark in marks:
        flow.writer.mark(mark)
    flow.writer.flush()
    assert heard(flow.packets[0]) == [(1, None, None), *marks]
    for mark in marks:
        flow.writer.mark(mark)
    flow.writer.flush()
    assert heard(flow.packets[0][-1:]) == marks
    assert not flow.writer.blocked


def test_marks_do_not_overtake_elements() -> None:
    flow = one_receiver()
    for value in (1, 2):
        flow.writer.write(Chunk([value]))
        flow.writer.mark(value)
    flow.writer.mark(Status.IDLE)
    flow.writer.flush()
    assert heard(flow.packets[0]) == [(1, None, None), 1]
    flow.grant(0, 2, 2)
    assert heard(flow.packets[0]) == [(1, None, None), 1, (2, None, None), 2, Status.IDLE]


def test_of_watermarks_that_wait_only_the_last_one_goes() -> None:
    flow = one_receiver()
    flow.writer.write(Chunk([1, 2]))
    flow.writer.flush()
    for watermark in range(100):
        flow.writer.mark(watermark)
        flow.writer.flush()
    flow.grant(0, 2, 2)
    marks = [item for packet in flow.packets[0] for item in decode(packet.payload) if not isinstance(item, Chunk)]
    assert marks == [99]


def test_credit_that_comes_twice_or_late_changes_nothing() -> None:
    flow = one_receiver()
    flow.writer.write(Chunk(list(range(20))))
    flow.writer.flush()
    flow.grant(0, 4, 4)
    flow.grant(0, 9, 4)
    before = sizes(flow)
    for credit in [*flow.credits, *flow.credits]:
        flow.writer.credit(credit)
    assert sizes(flow) == before == [1] * 9
    assert flow.writer.backlog == 11
    flow.grant(0, 30, 4)
    flow.writer.credit(flow.credits[0])
    flow.writer.write(Chunk(list(range(10))))
    flow.writer.flush()
    assert not flow.writer.blocked, "what was granted stays"
    assert sizes(flow) == [1] * 30


def test_one_target_without_room_does_not_stop_the_others() -> None:
    flow = Receivers(Custom(modulo, value_of), 2)
    flow.grant(1, 100, 400)
    flow.writer.write(Chunk(list(range(20))))
    flow.writer.flush()
    assert flow.elements == {0: 1, 1: 10}
    assert flow.writer.blocked
    assert flow.writer.backlog == 9


def test_without_limit_everything_goes_and_nothing_is_counted() -> None:
    flow = one_receiver()
    flow.writer.unlimited = True
    flow.writer.write(Chunk(list(range(50))))
    flow.end_epoch()
    assert sizes(flow) == [50]
    flow.writer.unlimited = False
    flow.writer.write(Chunk([1, 2]))
    flow.writer.flush()
    assert sizes(flow) == [50, 1], "there is still room for the first one"
    assert flow.writer.blocked


def test_the_mark_comes_behind_all_elements() -> None:
    flow = one_receiver()
    flow.writer.write(Chunk([1, 2]))
    flow.writer.end_epoch()
    with pytest.raises(AssertionError, match="the mark comes behind all elements"):
        list(flow.writer.epoch_marks(RUN))


def test_a_copy_for_everybody_is_encoded_once() -> None:
    flow = Receivers(Broadcast(), 50)
    flow.writer.write(Chunk([1]))
    flow.writer.flush()
    payloads = [packet.payload for packets in flow.packets.values() for packet in packets]
    assert len(payloads) == 50
    assert len({id(payload) for payload in payloads}) == 1
