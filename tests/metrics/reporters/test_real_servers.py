"""The real Prometheus, InfluxDB and carbon understand what reporters send."""

from __future__ import annotations

import json
import struct
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import pytest
from tests.metrics.reporters.samples import ALL, of_operator, opened
from tests.servers.metric_servers import Carbon, InfluxDb, Prometheus
from tests.services import missing

from millrace.metrics.report import CounterSnapshot
from millrace.metrics.reporters import PullReporter
from millrace.testing.services import ServiceUnavailable
from millrace.testing.services.server import free_ports
from millrace.testing.services.small_servers import SmallServer

pytestmark = [pytest.mark.services, pytest.mark.timeout(180)]

T = TypeVar("T")
S = TypeVar("S", bound=SmallServer)


@contextmanager
def started(server: S) -> Iterator[S]:
    try:
        server.start()
    except ServiceUnavailable as error:
        missing(error)
    with server:
        yield server


def until(what: str, ask: Callable[[], T]) -> T:
    """What ``ask`` gives as soon as that is something."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        found = ask()
        if found:
            return found
        time.sleep(0.2)
    raise TimeoutError(f"{what} did not come within 90 s")


def ask(url: str, body: bytes | None = None, **query: str) -> Any:
    with urllib.request.urlopen(f"{url}?{urlencode(query)}", body, timeout=30) as answer:
        return json.load(answer)


def is_ready(url: str) -> bool:
    """Prometheus listens before it has read what it stores, and answers questions with 503 until then."""
    try:
        with urllib.request.urlopen(f"{url}/-/ready", timeout=30):
            return True
    except urllib.error.HTTPError:
        return False


def test_influxdb() -> None:
    with started(InfluxDb()) as server:
        until("InfluxDB", lambda: ask(f"{server.url}/query", b"", q="CREATE DATABASE flink"))
        one, reporter = opened("influxdb.InfluxdbReporterFactory", host="127.0.0.1", port=server.port, db="flink")
        hard = {tag: tag for tag in ("a,b=c d", 'quote "', "back\\slash", "日本")}
        reporter.report(one.select([*ALL, of_operator(("hard", "o,n=e x"), CounterSnapshot(3), **hard)]))
        reporter.close()

        def select(what: str) -> Any:
            (result,) = ask(f"{server.url}/query", db="flink", q=f"SELECT {what} GROUP BY *")["results"]
            return result["series"]

        start = "taskmanager_job_task_operator"
        records = select(f'"count" FROM {start}_numRecordsIn')
        assert {one["tags"]["subtask_index"]: one["values"][0][1] for one in records} == {"0": 7, "1": 5}
        assert records[0]["tags"]["task_name"] == "Map -> Sink: out"
        assert select(f'"value" FROM {start}_last')[0]["values"][0][1] == "a b\n"
        (odd,) = select(f'"count" FROM "{start}_hard_o,n=e x"')
        assert odd["values"][0][1] == 3 and hard.items() <= odd["tags"].items()
        assert select(f'"95-percentile" FROM {start}_latency')[0]["values"][0][1] == 96


def test_prometheus() -> None:
    (port,) = free_ports(1)
    one, reporter = opened("prometheus.PrometheusReporterFactory", port=port, filterLabelValueCharacters=False)
    assert isinstance(reporter, PullReporter)
    reporter.serve(lambda: one.select(ALL))
    try:
        with started(Prometheus(port)) as server:

            def query(text: str) -> Any:
                return ask(f"{server.url}/api/v1/query", query=text)["data"]["result"]

            until("Prometheus", lambda: is_ready(server.url))
            name = "flink_taskmanager_job_task_operator"
            (total,) = until("a scrape", lambda: query(f"sum({name}_numRecordsIn)"))
            assert total["value"][1] == "12"
            (quantile,) = query(f'{name}_latency{{quantile="0.95",task_name="Map -> Sink: out"}}')
            assert quantile["value"][1] == "96"
            (target,) = ask(f"{server.url}/api/v1/targets")["data"]["activeTargets"]
            assert (target["health"], target["lastError"]) == ("up", "")
    finally:
        reporter.close()


def test_carbon() -> None:
    with started(Carbon()) as server:
        one, reporter = opened("graphite.GraphiteReporterFactory", host="127.0.0.1", port=server.port)
        reporter.report(one.select(ALL))
        reporter.close()
        folder = server.files / "h/taskmanager/spark/my_job/Map"
        assert until("numRecordsIn", lambda: last_value(folder / "0/numRecordsIn/count.wsp")) == 7
        assert until("p95", lambda: last_value(folder / "0/latency/p95.wsp")) == 96


def last_value(file: Path) -> float | None:
    """The newest value of a whisper file with one archive."""
    if not file.exists() or file.stat().st_size < 28:
        return None
    data = file.read_bytes()
    offset, _, points = struct.unpack_from(">LLL", data, 16)
    found = [struct.unpack_from(">Ld", data, offset + 12 * point) for point in range(points)]
    return max(found)[1] if any(at for at, _ in found) else None
