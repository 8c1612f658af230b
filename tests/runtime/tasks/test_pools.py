"""How full inboxes and outboxes were."""

from __future__ import annotations

import pytest

from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.exchange import Packet
from millrace.runtime.exchange.flow_writer import PARTS, Credit, FlowWriter
from millrace.runtime.exchange.partitioners import Forward
from millrace.runtime.tasks.flow_inbox import LOOK_NANOSECONDS, Inbox, Pools


def filled(packets: int) -> Inbox:
    inbox = Inbox((0, 0))
    for number in range(packets):
        inbox.put(Packet(0, 0, 0, number, b"x", 1))
    return inbox


class Gate:
    """With these inboxes."""

    def __init__(self, *inboxes: Inbox) -> None:
        self.inboxes = inboxes

    @property
    def fill(self) -> float:
        return sum(inbox.fill for inbox in self.inboxes)


def test_the_mean_is_that_of_the_time() -> None:
    inbox, look = filled(0), LOOK_NANOSECONDS
    pools = Pools([Gate(inbox), Gate(filled(PARTS))], 2, [])
    pools.look(0)
    for number in range(PARTS):
        inbox.put(Packet(0, 0, 0, number, b"x", 1))
    pools.look(look - 1)
    pools.look(3 * look)
    pools.look(4 * look)
    came, went = pools.take()
    assert came == pytest.approx((0.5 * 3 + 1.0) / 4)
    assert went == 0.0
    assert pools.take() == (1.0, 0.0), "what was seen last, where no time has passed"


def test_what_there_is_no_credit_for_fills_the_other_side() -> None:
    packets: list[Packet] = []
    writer = FlowWriter(0, Forward(), 0, 1, 1, 0, packets.append)
    pools = Pools([], 0, [writer])
    pools.look(0)
    assert pools.take() == (0.0, 0.0)
    writer.credit(Credit(0, 0, 0, 4, 4))
    writer.write(Chunk([1, 2, 3]))
    assert writer.fill == 3 / 4
    writer.write(Chunk([4, 5, 6]))
    writer.flush()
    assert writer.fill == 1.0
    pools.look(LOOK_NANOSECONDS)
    pools.look(2 * LOOK_NANOSECONDS)
    assert pools.take() == (0.0, 0.5)
