"""How much an input may hand on: as much as there is room for in what comes of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.elements import Chunk, PieceSize, piece_size
from millrace.runtime.exchange.exchange import Packet
from millrace.runtime.exchange.flow_writer import FlowWriter
from millrace.runtime.tasks.flow_inbox import BroadcastLead, Inbox
from millrace.runtime.tasks.flow_lanes import LEAST_SHARE, GateLane, Lane
from millrace.runtime.tasks.waiting import Channel, Waiting


class Edge:
    """As much of a writer as an input looks at."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.written = 0


class Input(Lane):
    busy = False

    def ready(self, now: int) -> bool:
        return True

    def turn(self, now: int) -> None:
        raise AssertionError("nothing is handed on here")

    def hand_on(self, elements: int, *made: int) -> None:
        """:param made: what came of them, by edge."""
        before = self._written()
        for edge, more in zip(self._writers, made, strict=True):
            edge.written += more
        self._learn(elements, before)


def of_edges(*edges: Edge) -> Input:
    lane = Input(cast(Any, None))
    lane._writers = cast("tuple[FlowWriter, ...]", edges)
    lane._shares = [1.0] * len(edges)
    return lane


def test_at_first_each_element_may_become_one() -> None:
    lane = of_edges(Edge(100), Edge(3))
    assert (lane.fitting(2), lane.fitting(50)) == (2, 3)


def test_an_edge_that_gets_one_of_ten_does_not_make_pieces_small() -> None:
    lane = of_edges(Edge(1_000), Edge(4))
    for _ in range(30):
        lane.hand_on(10, 10, 1)
    assert lane.fitting(1_000) == pytest.approx(40, abs=1)
    lane.hand_on(10, 10, 10)
    assert lane.fitting(1_000) == 4, "more counts at once"


def test_of_what_makes_nothing_something_may_come() -> None:
    lane = of_edges(Edge(2))
    for _ in range(100):
        lane.hand_on(1_000, 0)
    assert lane.fitting(1_000) == 2 / LEAST_SHARE


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 99)), max_size=20), st.integers(-5, 5))
def test_there_is_room_for_one_where_the_edge_has_some(turns: list[tuple[int, int]], room: int) -> None:
    """An input that is never clear would wait for ever."""
    edge = Edge(room)
    lane = of_edges(edge)
    for elements, made in turns:
        lane.hand_on(elements, made)
    assert (lane.fitting(1) >= 1) == (room >= 1)
    assert lane.fitting(7) >= min(7, room)


# -- how much comes at once -------------------------------------------------------------------------------------------


class Columns:
    """A gate whose operator takes some ms for a batch, however large."""

    open_channels: frozenset[Channel] = frozenset()
    cut = 0

    def __init__(self, fixed_ms: int) -> None:
        self.size: PieceSize = piece_size(calls_for_each=False)
        self.size.size = 16  # as after a bad time
        self.waiting: deque[Waiting] = deque()
        self.records = 0
        self.now = 0
        self.pieces: list[int] = []
        self._fixed = fixed_ms * 1_000_000
        self.operator = self
        self.has_calls_in_flight = False

    @property
    def piece(self) -> int:
        return self.size.size

    @property
    def wanted(self) -> int:
        return self.size.wanted

    def fitting(self, elements: int) -> int:
        return elements

    def decoded(self, channel: Channel, payload: bytes) -> tuple[list[Waiting], int]:
        return [Waiting(0, channel, Chunk([None] * len(payload)))], len(payload)

    def resume(self) -> Iterator[None]:
        while self.waiting:
            content = self.waiting.popleft().content
            assert isinstance(content, Chunk)
            left = len(content)
            while left:
                elements = min(left, self.size.size)
                took = self._fixed + 1_000 * elements
                self.now += took
                self.size.took(elements, took)
                self.pieces.append(elements)
                self.records += elements
                left -= elements
                yield


@pytest.mark.parametrize("fixed_ms", [1, 20, 60])
@pytest.mark.parametrize("active", [[0], [0, 1], [0, 1, 2, 3], [3]])
def test_pieces_grow_whatever_channels_bring_something(active: list[int], fixed_ms: int) -> None:
    """There is more than enough to do, and a piece costs mostly what one of few elements does."""
    gate = Columns(fixed_ms)
    inboxes = [Inbox((0, channel)) for channel in range(4)]
    lane = GateLane(cast(Any, Member(gate)), inboxes, BroadcastLead())
    sent, numbers = [0] * 4, [0] * 4
    for _ in range(400):
        for channel in active:
            inbox = inboxes[channel]
            if fitting := inbox.room.granted - sent[channel]:
                lane.came(inbox, Packet(0, 0, channel, numbers[channel], b"x" * fitting, 1))
                sent[channel] += fitting
                numbers[channel] += 1
        while lane.ready(gate.now):
            lane.turn(gate.now)
    assert max(gate.pieces[-20:]) >= 4_096


class Member:
    def __init__(self, gate: Columns) -> None:
        self.gate = gate
