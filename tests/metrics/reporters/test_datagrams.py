"""What StatsD, Graphite and Ganglia get."""

from __future__ import annotations

import socket
import struct
import time

import pytest
from tests.metrics.reporters.samples import (
    ALL,
    BROKEN,
    COUNTER,
    EPOCHS,
    LENGTHS,
    METER,
    TEXT,
    datagrams,
    of_job,
    of_operator,
    opened,
    udp,
)

from millrace.metrics.report import CounterSnapshot, GaugeSnapshot, MetricEntry
from millrace.metrics.reporters.plain_reporters import MOST_BYTES

AT = "h.taskmanager.spark.my job.Map.0"


def statsd(entries: list[MetricEntry]) -> list[bytes]:
    with udp() as receiver:
        one, reporter = opened("statsd.StatsDReporter", host="127.0.0.1", port=receiver.getsockname()[1])
        reporter.report(one.select(entries))
        reporter.close()
        return datagrams(receiver)


def test_statsd() -> None:
    (sent,) = statsd([COUNTER, METER, TEXT, BROKEN, of_job("below", GaugeSnapshot(-1.5)), LENGTHS])
    assert sent.decode().split("\n") == [
        f"{AT}.numRecordsIn:7|g",
        f"{AT}.perSecond.rate:2.5|g",
        f"{AT}.perSecond.count:120|g",
        "h.jobmanager.my job.below:0|g",
        "h.jobmanager.my job.below:-1.5|g",
        f"{AT}.lengths.count:3|g",
        f"{AT}.lengths.sum:6|g",
        f"{AT}.lengths.min:1|g",
        f"{AT}.lengths.max:3|g",
        f"{AT}.lengths.mean:2.0|g",
    ]


def test_what_means_something_to_statsd_is_replaced() -> None:
    (sent,) = statsd([of_operator(("a:b|c\nd",), CounterSnapshot(1))])
    assert sent.decode() == f"{AT}.a-b-c-d:1|g"


def test_many_metrics_are_several_datagrams() -> None:
    entries = [of_operator((f"counter-{number}",), CounterSnapshot(number)) for number in range(200)]
    sent = statsd(entries)
    assert len(sent) > 1 and all(len(datagram) <= MOST_BYTES for datagram in sent)
    lines = [line for datagram in sent for line in datagram.decode().split("\n")]
    assert lines == [f"{AT}.counter-{number}:{number}|g" for number in range(200)]


def test_graphite_over_tcp() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        one, reporter = opened("graphite.GraphiteReporter", host="127.0.0.1", port=server.getsockname()[1])
        began = int(time.time())
        reporter.report(one.select([COUNTER, METER, TEXT, EPOCHS, of_operator(('a "b"=<c>;',), GaugeSnapshot(1.5))]))
        connection, _ = server.accept()
        with connection, connection.makefile("rb") as file:
            lines = file.read().decode().splitlines()
    start = "h.taskmanager.spark.my_job.Map.0"
    assert [line.rsplit(" ", 1)[0] for line in lines] == [
        f"{start}.numRecordsIn.count 7",
        *(f"{start}.perSecond.{rate} 2.5" for rate in ("m1_rate", "m5_rate", "m15_rate", "mean_rate")),
        f"{start}.perSecond.count 120",
        "h.jobmanager.my_job.numEpochs.count 4",
        f"{start}.a_b-c- 1.5",
    ]
    assert all(began <= int(line.rsplit(" ", 1)[1]) <= time.time() for line in lines)


def test_graphite_over_udp() -> None:
    with udp() as receiver:
        port = receiver.getsockname()[1]
        one, reporter = opened("graphite.GraphiteReporter", host="127.0.0.1", port=port, protocol="udp")
        reporter.report(one.select(ALL))
        reporter.close()
        lines = [line for datagram in datagrams(receiver) for line in datagram.decode().splitlines()]
    assert all(len(line.split(" ")) == 3 for line in lines)
    assert len(lines) == 1 + 1 + 5 + 1 + 1 + 5 + 11 + 1


def test_graphite_without_a_server() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # not listening
        one, reporter = opened("graphite.GraphiteReporter", host="127.0.0.1", port=closed.getsockname()[1])
        with pytest.raises(OSError):
            reporter.report(one.select([COUNTER]))


class Xdr:
    """Reads what is packed as XDR."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self) -> int:
        self.at += 4
        return int(struct.unpack(">I", self.data[self.at - 4 : self.at])[0])

    def text(self) -> str:
        size = self.number()
        found = self.data[self.at : self.at + size]
        self.at += (size + 3) // 4 * 4
        return found.decode()


def test_ganglia() -> None:
    with udp() as receiver:
        port = receiver.getsockname()[1]
        one, reporter = opened(
            "ganglia.GangliaReporter", host="127.0.0.1", port=port, tmax=30, dmax=90, addressingMode="UNICAST"
        )
        reporter.report(one.select([COUNTER, TEXT]))
        reporter.close()
        about, value = map(Xdr, datagrams(receiver))
    name = "h.taskmanager.spark.my_job.Map.0.numRecordsIn.count"
    host = socket.gethostname()
    assert [about.number(), about.text(), about.text(), about.number()] == [128, host, name, 0]
    assert [about.text(), about.text(), about.text()] == ["double", name, ""]
    assert [about.number() for _ in range(4)] == [3, 30, 90, 0]
    assert [value.number(), value.text(), value.text(), value.number()] == [133, host, name, 0]
    assert [value.text(), value.text()] == ["%s", "7"]
    assert about.at == len(about.data) and value.at == len(value.data)
