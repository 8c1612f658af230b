"""What InfluxDB gets, read by a parser of its own."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.metrics.reporters.samples import ALL, COUNTER, OPERATOR, of_operator, opened, web

from millrace.metrics.report import CounterSnapshot, GaugeSnapshot, MetricEntry
from millrace.metrics.reporters.http_reporters import line

KIND = "influxdb.InfluxdbReporterFactory"
START = "taskmanager_job_task_operator_"

Point = tuple[str, dict[str, str], dict[str, object], int]


class Reader:
    """Reads points one after the other."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def points(self) -> Iterator[Point]:
        while self.at < len(self.text):
            name, tags, fields = self.until(", "), {}, {}
            while self.text[self.at - 1] == ",":
                key = self.until("=")
                tags[key] = self.until(", ")
            while self.text[self.at - 1] != " " or not fields:
                key = self.until("=")
                fields[key] = self.value()
            yield name, tags, fields, int(self.until("\n"))

    def until(self, ends: str) -> str:
        """Up to an end that no backslash stands before."""
        found = ""
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == "\\" and self.text[self.at : self.at + 1] in (",", "=", " "):
                char = self.text[self.at]
                self.at += 1
            elif char in ends:
                return found
            found += char
        self.at += 1
        return found

    def value(self) -> object:
        if self.text[self.at] != '"':
            text = self.until(", ")
            return int(text[:-1]) if text.endswith("i") else float(text)
        quoted = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL).match(self.text, self.at)
        assert quoted is not None
        self.at = quoted.end() + 1
        return re.sub(r'\\(["\\])', r"\1", quoted[1])


def one(entry: MetricEntry) -> Point | None:
    setup, _ = opened(KIND, host="h", db="d")
    text = line(setup.select([entry])[0], 5)
    return None if text is None else next(Reader(text).points())


def test_points() -> None:
    with web() as server:
        server.status = 204
        setup, reporter = opened(KIND, host="127.0.0.1", port=server.port, db="my db", retentionPolicy="one_hour")
        began = time.time_ns() // 1_000_000
        reporter.report(setup.select(ALL))
        reporter.close()
        (request,) = server.requests
    address = urlsplit(request.path)
    assert (request.method, address.path) == ("POST", "/write")
    expected = {"db": ["my db"], "rp": ["one_hour"], "consistency": ["one"], "precision": ["ms"]}
    assert parse_qs(address.query) == expected
    assert "Authorization" not in request.headers
    points = list(Reader(request.body.decode()).points())
    assert all(began <= millis <= time.time_ns() // 1_000_000 for *_, millis in points)
    found = [(name.removeprefix(START), fields) for name, _, fields, _ in points]
    assert found == [
        ("numRecordsIn", {"count": 7}),
        ("numRecordsIn", {"count": 5}),
        ("perSecond", {"count": 120, "rate": 2.5}),
        ("currentInputWatermark", {"value": -(2**63)}),
        ("last", {"value": "a b\n"}),
        ("table_late", {"count": 1}),
        ("lengths", {"count": 3, "sum": 6.0, "min": 1.0, "max": 3.0, "mean": 2.0}),
        (
            "latency",
            {
                "run-count": 200,
                "count": 100,
                "min": 1,
                "max": 100,
                "mean": 50.5,
                "std-dev": pytest.approx(28.866, abs=0.001),
                "50-percentile": 51,
                "75-percentile": 76,
                "95-percentile": 96,
                "98-percentile": 99,
                "99-percentile": 100,
                "999-percentile": 100,
            },
        ),
        ("jobmanager_job_numEpochs", {"count": 4}),
    ]
    assert points[0][1] == {key[1:-1]: value for key, value in OPERATOR.items()}


@pytest.mark.parametrize("value", ["a,b=c d", 'quote "', "back\\slash", "日本"])
def test_special_characters(value: str) -> None:
    point = one(of_operator((value, value), CounterSnapshot(1), **{value: value}))
    assert point is not None
    assert point[0].endswith(f"_{value}")
    assert point[1][value] == value
    text = one(of_operator(("g",), GaugeSnapshot(value)))
    assert text is not None and text[2] == {"value": value}


def test_line_breaks_and_backslashes_end_nothing() -> None:
    point = one(of_operator(("n",), CounterSnapshot(1), a="x\ny", b="end\\", c="a\\,b"))
    assert point is not None
    assert (point[1]["a"], point[1]["b"], point[1]["c"]) == ("x y", "end/", "a/,b")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, "true"), (2**63, 2.0**63), (1.5, 1.5), (3, 3), ("", ""), (math.inf, None), (None, None)],
)
def test_values(value: object, expected: object) -> None:
    point = one(of_operator(("g",), GaugeSnapshot(value)))
    assert (None if point is None else point[2]["value"]) == expected


def test_who_asks() -> None:
    with web() as server:
        setup, reporter = opened(
            KIND, host="127.0.0.1", port=server.port, db="d", username="u", password="geheim", consistency="ANY"
        )
        reporter.report(setup.select([COUNTER]))
        (request,) = server.requests
    assert request.headers["Authorization"] == "Basic dTpnZWhlaW0="
    assert "geheim" not in request.path and "consistency=any" in request.path
