"""Metrics to report, and servers that keep what they get."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from millrace.metrics.report import (
    CounterSnapshot,
    DistributionSnapshot,
    GaugeSnapshot,
    HistogramSnapshot,
    MeterSnapshot,
    MetricEntry,
    MetricSnapshot,
)
from millrace.metrics.reporters.reporter import MetricReporter
from millrace.metrics.reporters.scheduling import ReporterSetup, setups

JOB = {"<host>": "h", "<job_id>": "j1", "<job_name>": "my job"}
OPERATOR = JOB | {
    "<tm_id>": "spark",
    "<task_name>": "Map -> Sink: out",
    "<operator_id>": "m",
    "<operator_name>": "Map",
    "<subtask_index>": "0",
}


def of_job(name: str, value: MetricSnapshot) -> MetricEntry:
    return MetricEntry((name,), value, dict(JOB))


def of_operator(path: tuple[str, ...], value: MetricSnapshot, subtask: int = 0, **variables: str) -> MetricEntry:
    named = {f"<{key}>": text for key, text in variables.items()}
    return MetricEntry(path, value, OPERATOR | {"<subtask_index>": str(subtask)} | named, "Map", "m", subtask)


COUNTER = of_operator(("numRecordsIn",), CounterSnapshot(7))
SECOND = of_operator(("numRecordsIn",), CounterSnapshot(5), subtask=1)
METER = of_operator(("perSecond",), MeterSnapshot(120, 2.5))
WATERMARK = of_operator(("currentInputWatermark",), GaugeSnapshot(-9223372036854775808))
TEXT = of_operator(("last",), GaugeSnapshot("a b\n"))
BROKEN = of_operator(("ratio",), GaugeSnapshot(float("nan")))
GROUPED = of_operator(("table", "orders", "late"), CounterSnapshot(1), table="orders")
LENGTHS = of_operator(("lengths",), DistributionSnapshot(3, 6, 1, 3))
LATENCY = of_operator(("latency",), HistogramSnapshot(200, tuple(map(float, range(1, 101)))))
EPOCHS = of_job("numEpochs", CounterSnapshot(4))
ALL = [COUNTER, SECOND, METER, WATERMARK, TEXT, BROKEN, GROUPED, LENGTHS, LATENCY, EPOCHS]


def setup(kind: str, name: str = "r", **options: object) -> ReporterSetup:
    """A reporter, not opened yet; ``__`` in the name of an option is a dot."""
    configuration = {f"metrics.reporter.{name}.{key.replace('__', '.')}": str(value) for key, value in options.items()}
    configuration[f"metrics.reporter.{name}.factory.class"] = kind
    (only,) = setups(configuration, "my job")
    return only


def opened(kind: str, **options: object) -> tuple[ReporterSetup, MetricReporter]:
    """The same, open; its class is one of Flink's without what all begin with."""
    one = setup(f"org.apache.flink.metrics.{kind}", **options)
    one.reporter.open(one.config)
    return one, one.reporter


@dataclass
class Request:
    """What an HTTP server got."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Web:
    """An HTTP server that keeps requests."""

    status: int = 200
    requests: list[Request] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def web() -> Iterator[Web]:
    kept = Web()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            kept.requests.append(Request(self.command, self.path, dict(self.headers), body))
            self.send_response(kept.status)
            self.send_header("Content-Length", "6")
            self.end_headers()
            self.wfile.write(b"answer")

        do_GET = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def udp() -> Iterator[socket.socket]:
    """A socket that datagrams can be read from."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(30)
        yield receiver


def datagrams(receiver: socket.socket) -> list[bytes]:
    """All that has arrived: on one machine what was sent is there."""
    found = [receiver.recv(65536)]
    receiver.setblocking(False)
    try:
        while True:
            found.append(receiver.recv(65536))
    except BlockingIOError:
        receiver.settimeout(30)
        return found


@contextmanager
def silent() -> Iterator[int]:
    """The port of a server that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        yield listener.getsockname()[1]
