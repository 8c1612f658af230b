"""Points in InfluxDB: version 1 on a real server, version 2 by the requests that it is sent."""

from __future__ import annotations

import datetime as dt
import http.server
import json
import threading
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from tests.connectors.conftest import started
from tests.connectors.stores.as_rows import AsRows
from tests.connectors.stores.checks import chosen_checks
from tests.connectors.stores.store_tables import SECRET, StoreTables
from tests.servers.metric_servers import InfluxDb

from millrace.common.sink import Sink
from millrace.connectors.influxdb.influxdb_streams import InfluxTarget, line
from millrace.connectors.influxdb.influxdb_table import InfluxRows
from millrace.connectors.stores import BufferedSink, Buffering
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.influxdb import InfluxDBConfig, InfluxDBPoint, InfluxDBSink
from millrace.relational.rex import Field
from millrace.relational.types import BooleanType, TimestampType, string
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest
from millrace.testing.local import run_locally
from millrace.testing.services.server import free_ports
from millrace.util.exceptions import TableException

AT = dt.datetime(2024, 1, 2, 3, 4, 5, 678901)
COLUMNS = "host STRING, `at` TIMESTAMP(6), n BIGINT, d DOUBLE, s STRING, b BOOLEAN"
SERVERS: list[Influx] = []
"""the one that is tested: checks are listed before it is there"""


class Influx:
    """A server, asked without the code that is tested."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, query: str, database: str = "", method: str = "GET") -> list[dict[str, Any]]:
        asked = urllib.parse.urlencode({"q": query, "db": database, "epoch": "u"})
        request = urllib.request.Request(f"{self.url}/query?{asked}", method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            (found,) = json.load(answer)["results"]
        return [
            dict(zip(series["columns"], row), **series.get("tags", {}))
            for series in found.get("series", ())
            for row in series["values"]
        ]

    def create(self) -> str:
        name = f"d_{uuid.uuid4().hex[:10]}"
        self.ask(f"CREATE DATABASE {name}", method="POST")
        return name

    def options(self, database: str, **more: str) -> dict[str, str]:
        given = {"url": self.url, "database": database, "measurement": "m, 1", "tags": "host"}
        return given | {name.replace("__", ".").replace("_", "-"): value for name, value in more.items()}


@pytest.fixture(scope="module")
def influx() -> Iterator[Influx]:
    with started(InfluxDb()) as server:
        SERVERS.append(Influx(server.url))
        yield SERVERS[0]
        SERVERS.clear()


@pytest.fixture
def tables() -> StoreTables:
    return StoreTables()


def test_lines() -> None:
    tags = {"z": "1", "a b": "x,y=z", "none": None, "empty": ""}
    fields = {"n": 1, "f": 1.5, "s": 'say "x" \\', "b": True, "null": None}
    assert line("m, 1", tags, fields, AT) == (
        r'm\,\ 1,a\ b=x\,y\=z,z=1 n=1i,f=1.5,s="say \"x\" \\",b=true 1704164645678901'
    )
    assert line("m", {}, {"n": -1}, dt.datetime(1969, 12, 31, 23, 59, 59)).endswith(" -1000000")
    for bad in (float("nan"), 1 << 63, object()):
        with pytest.raises(ValueError, match="field 'n': InfluxDB has no"):
            line("m", {}, {"n": bad}, AT)
    with pytest.raises(ValueError, match="has no field: all its values are NULL"):
        line("m", {"a": "x"}, {"n": None}, AT)
    with pytest.raises(ValueError, match="no line breaks"):
        line("m", {"a": "x\ny"}, {"n": 1}, AT)


@pytest.mark.services
def test_a_table(tables: StoreTables, influx: Influx) -> None:
    database = influx.create()
    table = tables.over("influxdb", COLUMNS, influx.options(database))
    tables.insert(
        f"INSERT INTO {table} VALUES ('a b', TIMESTAMP '2024-01-02 03:04:05.678901', 7, 1.5, 'say \"x\"\n\\', TRUE), "
        f"('c', TIMESTAMP '2024-01-02 03:04:05.678901', 8, CAST(NULL AS DOUBLE), CAST(NULL AS STRING), FALSE)"
    )
    at = 1704164645678901
    found = sorted(influx.ask('SELECT * FROM "m, 1" GROUP BY *', database), key=str)
    assert {"time": at, "host": "a b", "n": 7, "d": 1.5, "s": 'say "x"\n\\', "b": True} in found
    assert {"time": at, "host": "c", "n": 8, "d": None, "s": None, "b": False} in found
    assert len(found) == 2
    # Once more: the same points.
    tables.insert(f"INSERT INTO {table} VALUES ('c', TIMESTAMP '2024-01-02 03:04:05.678901', 9, 2.0, 'x', FALSE)")
    assert [each["n"] for each in influx.ask("SELECT n FROM \"m, 1\" WHERE host = 'c'", database)] == [9]


@pytest.mark.services
def test_updates(tables: StoreTables, influx: Influx) -> None:
    database = influx.create()
    columns = "host STRING, `at` TIMESTAMP(6), n BIGINT, PRIMARY KEY (host, `at`) NOT ENFORCED"
    table = tables.over("influxdb", columns, influx.options(database))
    values = ", ".join("('a', TIMESTAMP '2024-01-01 00:00:00')" for _ in range(5))
    tables.insert(f"INSERT INTO {table} SELECT h, t, COUNT(*) FROM (VALUES {values}) AS v(h, t) GROUP BY h, t")
    assert [each["n"] for each in influx.ask('SELECT n FROM "m, 1"', database)] == [5]


@pytest.mark.services
def test_a_sink_of_points(influx: Influx) -> None:
    database = influx.create()
    config = InfluxDBConfig.builder(influx.url, "u", "p", database).batch_actions(2).flush_duration(100).build()
    points = [InfluxDBPoint("m", 1_000 + number, {"k": "v"}, {"n": number}) for number in range(5)]
    env = StreamExecutionEnvironment()
    env.from_collection(points).sink_to(InfluxDBSink(config))
    run_locally(env)
    assert [(each["time"], each["n"]) for each in influx.ask("SELECT n FROM m", database)] == [
        ((1_000 + number) * 1_000, number) for number in range(5)
    ]


class Written(SinkUnderTest):
    exactly_once = False  # what no checkpoint covers is seen before
    seen_after_ms = 1_000

    def __init__(self) -> None:
        (self.server,) = SERVERS
        self.database = self.server.create()

    def sink(self) -> Sink[Any]:
        columns = (Field("element", string()), Field("at", TimestampType(6)), Field("b", BooleanType()))
        rows = InfluxRows("m", columns, ("element",), "at")
        target = InfluxTarget(self.server.url, self.database)
        return AsRows(BufferedSink(target, rows, Buffering(max_rows=3), len), point)

    def written(self) -> Sequence[str]:
        return [each["element"] for each in self.server.ask("SELECT * FROM m", self.database)]

    def close(self) -> None:
        self.server.ask(f"DROP DATABASE {self.database}", method="POST")


def point(element: str) -> list[Any]:
    return [pa.array([element]), pa.array([AT]), pa.array([True])]


@pytest.mark.services
@pytest.mark.usefixtures("influx")
@pytest.mark.parametrize("check", chosen_checks(Written), ids=str)
def test_conformance(check: Check) -> None:
    check()


@contextmanager
def answering(*statuses: int) -> Iterator[tuple[str, list[tuple[str, dict[str, str], bytes]]]]:
    """A server that answers with these statuses, one after the other: its URL, and what it was sent."""
    requests: list[tuple[str, dict[str, str], bytes]] = []
    left = list(statuses)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests.append((self.path, dict(self.headers), body))
            status = left.pop(0) if len(left) > 1 else left[0]
            said = b'{"code":"x","message":"what it says"}' if status != 204 else b""
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *arguments: Any) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", requests
    finally:
        server.shutdown()
        server.server_close()


def version_2(url: str) -> dict[str, str]:
    return {"url": url, "organization": "o", "bucket": "b c", "token": SECRET, "measurement": "m", "tags": "host"}


INSERT = "INSERT INTO {} VALUES ('a', TIMESTAMP '1970-01-01 00:00:01', 1)"
SHORT = "host STRING, `at` TIMESTAMP(6), n BIGINT"


def test_version_2(tables: StoreTables) -> None:
    with answering(204) as (url, requests):
        tables.insert(INSERT.format(tables.over("influxdb", SHORT, version_2(url))))
    ((path, headers, body),) = requests
    parsed = urllib.parse.urlsplit(path)
    assert parsed.path == "/api/v2/write"
    assert dict(urllib.parse.parse_qsl(parsed.query)) == {"org": "o", "bucket": "b c", "precision": "us"}
    assert headers["Authorization"] == f"Token {SECRET}"
    assert body == b"m,host=a n=1i 1000000"


def test_what_is_tried_again_and_what_is_not(tables: StoreTables) -> None:
    with answering(503, 429, 204) as (url, requests):
        target = InfluxTarget(url, organization="o", bucket="b", token=SECRET)
        config = InfluxDBConfig(target, Buffering(pause=0.01))
        env = StreamExecutionEnvironment()
        env.from_collection([InfluxDBPoint("m", 1, {}, {"n": 1})]).sink_to(InfluxDBSink(config))
        run_locally(env)
        assert len(requests) == 3
    with answering(401) as (url, requests):
        said = tables.failure(INSERT.format(tables.over("influxdb", SHORT, version_2(url))))
        assert "bucket b c: what it says (status 401)" in said
        assert len(requests) == 1


def test_nobody_listens(tables: StoreTables) -> None:
    (port,) = free_ports(1)
    options = {**version_2(f"http://127.0.0.1:{port}"), "sink.max-retries": "0"}
    said = tables.failure(INSERT.format(tables.over("influxdb", SHORT, options)))
    assert f"127.0.0.1:{port}" in said
    assert "refused" in said


@pytest.mark.services
def test_what_the_server_refuses(tables: StoreTables, influx: Influx) -> None:
    missing = tables.over("influxdb", SHORT, influx.options("missing"))
    assert "database not found" in tables.failure(INSERT.format(missing))
    database = influx.create()
    tables.insert(INSERT.format(tables.over("influxdb", SHORT, influx.options(database))))
    other = tables.over("influxdb", SHORT.replace("n BIGINT", "n STRING"), influx.options(database))
    said = tables.failure("INSERT INTO " + other + " VALUES ('a', TIMESTAMP '1970-01-01 00:00:02', 'x')")
    assert "field type conflict" in said
    null = "INSERT INTO {} VALUES ('a', TIMESTAMP '1970-01-01 00:00:01', CAST(NULL AS BIGINT))"
    assert "all its values are NULL" in tables.failure(null.format(missing))


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ("host STRING, n BIGINT", {}, "'time-column' names the column with the time of a point"),
        (f"{SHORT}, `at2` TIMESTAMP(3)", {}, "at, at2"),
        (f"{SHORT}, x DECIMAL(9, 2)", {}, "column 'x': InfluxDB has no fields of type DECIMAL(9, 2)"),
        (SHORT, {"tags": "n"}, "tag 'n' is no column of type STRING"),
        (SHORT, {"token": "x"}, "'organization' is missing"),
        (SHORT, {"url": "udp://h"}, "'url' is http://host:port"),
        (f"{SHORT}, PRIMARY KEY (host) NOT ENFORCED", {}, "is its tags and its time: host, at"),
    ],
)
def test_what_cannot_be(tables: StoreTables, columns: str, options: dict[str, str], said: str) -> None:
    given = {"url": "http://h", "database": "d", "measurement": "m", "tags": "host", **options}
    table = tables.over("influxdb", columns, given)
    with pytest.raises(TableException) as caught:
        tables.insert(f"INSERT INTO {table} VALUES {made(columns)}")
    assert said in str(caught.value)


def made(columns: str) -> str:
    """A row of NULLs."""
    kinds = [each.split(" ", 1)[1] for each in columns.partition(", PRIMARY")[0].replace("(9, 2)", "(9)").split(", ")]
    return f"({', '.join(f'CAST(NULL AS {kind})' for kind in kinds)})"


def test_reading_is_not_possible(tables: StoreTables) -> None:
    given = {"url": "http://h", "database": "d", "measurement": "m"}
    with pytest.raises(Exception, match="connector 'influxdb' cannot be read from"):
        tables.query(f"SELECT * FROM {tables.over('influxdb', SHORT, given)}")
