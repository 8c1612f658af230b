"""What reporting metrics costs: the throughput of a keyed job with reporters and without, in one run.

The job has no end; each side runs it for a while, in turn, on the same session. With reporters it writes to an HTTP
server of this program as to InfluxDB every 10 seconds, and is asked as by Prometheus as often. Prints events per second
of each turn and the ratio of the medians; the aim is at least 0.97.

    python -m benchmarks.metric_reporters
    python -m benchmarks.metric_reporters --seconds 60 --turns 5 --parallelism 8
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from benchmarks.programs import RunningCountAndSum
from millrace.common.configuration import Configuration
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.datagen import DataGeneratorSource
from millrace.spark.jobs.listeners import EpochDone, PlainListener, set_listener
from millrace.spark.sessions.session import local_session

LEAST_RATIO = 0.97
INTERVAL = 10
WARM_UP_SECONDS = 5.0
EPOCH_RECORDS = 20_000
PORT = 19249


class Counts(PlainListener):
    """When each epoch was complete, and how many events it had."""

    def __init__(self) -> None:
        self.epochs: list[tuple[float, int]] = []

    def epoch(self, epoch: EpochDone) -> None:
        self.epochs.append((time.perf_counter(), epoch.result.records))


class Receiver(BaseHTTPRequestHandler):
    """Takes all that it is sent."""

    taken = 0

    def do_POST(self) -> None:
        Receiver.taken += len(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def receiver() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def reporters(port: int) -> dict[str, str]:
    described = {
        "influx.factory.class": "org.apache.flink.metrics.influxdb.InfluxdbReporterFactory",
        "influx.host": "127.0.0.1",
        "influx.port": str(port),
        "influx.db": "flink",
        "influx.interval": f"{INTERVAL} s",
        "prom.factory.class": "org.apache.flink.metrics.prometheus.PrometheusReporterFactory",
        "prom.port": str(PORT),
    }
    return {f"metrics.reporter.{key}": value for key, value in described.items()}


def rate(session: Any, options: dict[str, str], seconds: float, parallelism: int) -> float:
    """Events per second of the job, after it has warmed up."""
    counts = Counts()
    set_listener(counts)
    configuration = Configuration()
    for key, value in {"millrace.epoch.max-records": str(EPOCH_RECORDS), **options}.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, session).set_parallelism(parallelism)
    source: Any = DataGeneratorSource(lambda index: (index % 1000, index))
    events = env.from_source(source, WatermarkStrategy.no_watermarks(), "events")
    events.key_by(lambda event: event[0]).process(RunningCountAndSum()).filter(lambda total: False).print()
    client = env.execute_async("reported" if options else "not reported")
    ends = time.perf_counter() + WARM_UP_SECONDS + seconds
    asked = time.perf_counter()
    while time.perf_counter() < ends:
        time.sleep(0.1)
        if options and time.perf_counter() > asked + INTERVAL:
            asked = time.perf_counter()
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=30) as answer:
                answer.read()
    client.cancel().result()
    later = [(at, records) for at, records in counts.epochs if at > ends - seconds]
    if len(later) < 2:
        raise RuntimeError("too few epochs: give it more --seconds")
    return sum(records for _, records in later[1:]) / (later[-1][0] - later[0][0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=35.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--parallelism", type=int, default=2)
    arguments = parser.parse_args()
    session = local_session(2)
    found: dict[bool, list[float]] = {False: [], True: []}
    with receiver() as port:
        for turn in range(arguments.turns):
            for reported in (False, True) if turn % 2 == 0 else (True, False):
                options = reporters(port) if reported else {}
                found[reported].append(rate(session, options, arguments.seconds, arguments.parallelism))
                name = "with reporters" if reported else "without"
                print(f"{name:>15}: {found[reported][-1]:12,.0f} events/s", flush=True)
    ratio = statistics.median(found[True]) / statistics.median(found[False])
    print(f"ratio {ratio:.3f} (aim: at least {LEAST_RATIO}); {Receiver.taken:,} bytes reported")


if __name__ == "__main__":
    main()
