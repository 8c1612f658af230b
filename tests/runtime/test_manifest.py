"""The driver notices when what one task sent is not what another received: lost packets, and packets of another run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.runtime.jobs import Engine, job_of, numbers

from millrace.runtime.coordinator import ProtocolError
from millrace.runtime.epoch import TaskAck
from millrace.runtime.exchange import ACK, Packet
from millrace.runtime.worker import TaskCache, run_task


class Exchange:
    """A job of two stages whose packets the test can change on their way."""

    def __init__(self) -> None:
        self.engine = Engine(job_of(lambda env: numbers(env, range(40)).key_by(lambda v: v % 3).map(abs)))
        self.order = self.engine.coordinator.plan()
        self.runs = 0

    def run(self, stage: int, packets: list[Packet]) -> list[Packet]:
        engine = self.engine
        arguments = (self.order, packets, engine.storage, TaskCache(), lambda: 0)
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
    with pytest.raises(ProtocolError, match=r"what subtask 0 sent on edge 0 to partition 0 is not what arrived"):
        exchange.judge([packet for packet in sent if packet is not data[-1]])


def test_packets_of_another_run_of_their_task() -> None:
    exchange = Exchange()
    first, second = exchange.run(0, []), exchange.run(0, [])
    assert [p.payload for p in first if p.edge != ACK] == [p.payload for p in second if p.edge != ACK]
    acks_of_second = [packet for packet in second if packet.edge == ACK]
    with pytest.raises(ProtocolError, match="is not what arrived"):
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


def test_an_acknowledgement_that_names_another_run() -> None:
    exchange = Exchange()
    out = exchange.run(1, exchange.run(0, []))
    acks = [TaskAck.decode(p.payload) for p in out if p.edge == ACK]
    acks = [replace(ack, run=ack.run + 1) if ack.stage == 0 else ack for ack in acks]
    with pytest.raises(ProtocolError, match="is not what arrived"):
        exchange.engine.coordinator.complete(exchange.order, acks)
