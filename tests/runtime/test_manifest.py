"""The driver notices when what one task sent is not what another received: lost packets, and packets of another run."""

from __future__ import annotations

import itertools
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.jobs import Engine, job_of, numbers

from millrace.runtime.bases.epoch_protocol import TaskAck
from millrace.runtime.coordination.coordinator import ProtocolError
from millrace.runtime.exchange.exchange import ACK, LostPacketError, Manifest, Packet, Tally, _digest, total
from millrace.runtime.tasks.worker import TaskCache, run_task


class Exchange:
    """A job of two stages whose packets the test can change on their way."""

    def __init__(self) -> None:
        self.engine = Engine(job_of(lambda env: numbers(env, range(40)).key_by(lambda v: v % 3).map(abs)))
        self.order = self.engine.coordinator.plan()
        self.runs = 0

    def run(self, stage: int, packets: list[Packet]) -> list[Packet]:
        engine = self.engine
        arguments = (self.order.order, self.order.of((stage, 0)), packets, engine.storage, TaskCache(), lambda: 0)
        self.runs += 1
        return list(run_task(engine.job.job_id, engine.local._load, (stage, 0), *arguments, run=self.runs))

    def judge(self, packets: list[Packet]) -> None:
        acks = [TaskAck.decode(p.payload) for p in self.run(1, packets) if p.edge == ACK]
        self.engine.coordinator.complete(self.order, acks)


def test_what_was_sent_arrives() -> None:
    exchange = Exchange()
    exchange.judge(exchange.run(0, []))


def test_a_lost_last_packet() -> None:
    exchange = Exchange()
    sent = exchange.run(0, [])
    data = [packet for packet in sent if packet.edge != ACK]
    with pytest.raises(ProtocolError, match=r"sent on edge 0, from .*Numbers to .*, is not what arrived.* lost"):
        exchange.judge([packet for packet in sent if packet is not data[-1]])


def test_packets_of_another_run_of_their_task() -> None:
    exchange = Exchange()
    first, second = exchange.run(0, []), exchange.run(0, [])
    assert [p.payload for p in first if p.edge != ACK] == [p.payload for p in second if p.edge != ACK]
    acks_of_second = [packet for packet in second if packet.edge == ACK]
    with pytest.raises(ProtocolError, match=r"is not what arrived.*another run"):
        exchange.judge([*(packet for packet in first if packet.edge != ACK), *acks_of_second])


def test_packets_of_two_runs_in_one_channel() -> None:
    exchange = Exchange()
    sent = exchange.run(0, [])
    data = [packet for packet in sent if packet.edge != ACK]
    another = replace_run(data[0])
    acks = [TaskAck.decode(p.payload) for p in exchange.run(1, [*sent, another]) if p.edge == ACK]
    failure = max(acks, key=lambda ack: ack.stage).failure
    assert failure is not None
    assert "come from two runs of their task" in failure.cause


def replace_run(packet: Packet) -> Packet:
    return packet._replace(number=packet.number + 1, run=packet.run + 1)


# -- many tasks, without running them ---------------------------------------------------------------------------------

RUNS = {0: 5, 1: 6, 2: 9}
"""sender -> the run that acknowledged"""


def packets_of(channels: list[tuple[int, int, int]]) -> list[Packet]:
    """The packets of channels (edge, sender, target), several each."""
    return [
        Packet(target, edge, sender, number, b"", RUNS[sender])
        for edge, sender, target in channels
        for number in range(1 + (edge + sender + target) % 3)
    ]


EVERYTHING = packets_of([(edge, sender, target) for edge in (0, 1) for sender in RUNS for target in range(3)])


def sent_by_all() -> dict[int, Tally]:
    manifests = []
    for sender, run in RUNS.items():
        manifest = Manifest(run)
        manifests.append(manifest)
        assert list(manifest.sending(p._replace(run=0) for p in EVERYTHING if p.channel == sender)) == [
            packet for packet in EVERYTHING if packet.channel == sender
        ]
    return total(manifest.sent for manifest in manifests)


def received_by_all(packets: list[Packet]) -> dict[int, Tally]:
    manifests = [Manifest(99) for _ in range(3)]
    for target, manifest in enumerate(manifests):
        list(manifest.receiving([packet for packet in packets if packet.target == target], lambda edge: True))
    return total(manifest.received for manifest in manifests)


@given(st.randoms(use_true_random=False))
def test_the_same_packets_in_any_order(random: Random) -> None:
    shuffled = random.sample(EVERYTHING, len(EVERYTHING))
    assert received_by_all(shuffled) == sent_by_all()


@given(st.sets(st.sampled_from(EVERYTHING)), st.lists(st.sampled_from(EVERYTHING)))
def test_any_lost_and_doubled_packets_show(lost: set[Packet], doubled: list[Packet]) -> None:
    arrived = [packet for packet in EVERYTHING if packet not in lost] + doubled
    alike = Counter(arrived) == Counter(EVERYTHING)
    assert (received_by_all(arrived) == sent_by_all()) == alike


@given(st.sampled_from(EVERYTHING), st.sampled_from(["target", "edge", "number", "run"]), st.integers(1, 5))
def test_a_packet_that_is_another_one_shows(packet: Packet, field: str, by: int) -> None:
    changed = packet._replace(**{field: getattr(packet, field) + by})
    arrived = [changed if other is packet else other for other in EVERYTHING]
    try:
        found = received_by_all(arrived)
    except LostPacketError:
        assert field == "run"
        return
    assert found != sent_by_all()


@given(st.sampled_from(list(RUNS)), st.sampled_from(list(RUNS)))
def test_a_whole_channel_of_another_run_shows(sender: int, other: int) -> None:
    arrived = [p._replace(run=RUNS[other] if p.channel == sender else p.run) for p in EVERYTHING]
    assert (received_by_all(arrived) == sent_by_all()) == (sender == other)


def test_two_senders_that_swap_their_runs_show() -> None:
    for first, second in itertools.combinations(range(2, 60), 2):
        right = _digest(0, 1, 0, 0, first) + _digest(0, 2, 0, 0, second)
        assert right != _digest(0, 2, 0, 0, first) + _digest(0, 1, 0, 0, second)


def test_digests_are_the_same_in_every_process() -> None:
    assert _digest(3, 17, 800, 2, 123_456) == 0xA3FD995551BE4C95
