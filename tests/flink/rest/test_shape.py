"""The shape of an answer: what is kept of it and what is not."""

# ruff: noqa: E501  tables of what is to come out

from __future__ import annotations

from typing import Any

import pytest
from tests.flink.rest.answer import Answer, widened
from tests.flink.rest.ask import Ask
from tests.flink.rest.differences import Difference, differences
from tests.flink.rest.shape import metric_names, shape
from tests.flink.rest.texts import constant, message

ID = "0123456789abcdef" * 2


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"a": 1, "b": 1.5, "c": True, "d": None, "e": "some text"}, {"a": "int", "b": "num", "c": "bool", "d": "null", "e": "str"}),
        ({"jid": ID, "session": "01234567-89ab-cdef-0123-456789abcdef"}, {"jid": "<id>", "session": "<uuid>"}),
        ({"state": "RUNNING", "end-time": -1}, {"state": "=RUNNING", "end-time": "=-1"}),
        ({"busyRatio": "NaN"}, {"busyRatio": "=NaN"}),
        ([], []),
        ([{"a": 1}, {"a": 1.5, "b": 2}], [{"a": "int|num", "b?": "int"}]),
        ([{"state": "RUNNING"}, {"state": "FINISHED"}], [{"state": "=FINISHED|=RUNNING"}]),
        ({ID: {"n": 1}, ID[::-1]: {"n": 2}}, {"<id>": {"n": "int"}}),
        ({"user-config": {"some.key": "x"}}, {"user-config": {"*": "str"}}),
        ({"fields": [1, "a", None]}, {"fields": ["==1", '=="a"', "==null"]}),
        ({"errors": ["Not found: /overview"]}, {"errors": ["=Not found: /overview"]}),
        ({"interval": 2**63 - 1}, {"interval": f"={2**63 - 1}"}),
        ([{"x": [1]}, {"x": []}], [{"x": ["int"]}]),
        ([{"x": None}, {"x": {"y": 1}}], [{"x?": {"y": "int"}}]),
    ],
)  # fmt: skip
def test_shapes(body: Any, wanted: Any) -> None:
    assert shape(body) == wanted


def test_a_message_is_the_exception_without_its_trace() -> None:
    trace = "org.x.Wrapped: outer\n\tat org.x.A.b(A.java:1)\nCaused by: org.x.Cause: inner\n\t... 3 more\n"
    assert message(trace) == "=org.x.Wrapped: outer / Caused by: org.x.Cause: inner"
    server = "<Exception on server side:\norg.x.Failed: why\n\tat org.x.A.b(A.java:1)\nEnd of exception on server side>"
    assert message(server) == "=org.x.Failed: why"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"Could not find Flink job ({ID})", "Could not find Flink job (<id>)"),
        ("Savepoint completed. Path: file:/some/where/savepoint-012345-0123456789ab", "Savepoint completed. Path: <path>/savepoint-<id>"),
        ("at localhost:12345", "at <host>"),
        ("24.11.2026 06:01:02 : x", "<time> : x"),
        ("Not found: /jobs/overview", "Not found: /jobs/overview"),
    ],
)  # fmt: skip
def test_placeholders(text: str, wanted: str) -> None:
    assert constant(text) == wanted


def test_names_of_metrics_are_those_without_subtask_and_operator() -> None:
    body = [{"id": "0.numRecordsIn"}, {"id": "1.numRecordsIn"}, {"id": "0.Source__x[1].numRecordsOut"}]
    assert metric_names(body) == ["numRecordsIn", "numRecordsOut"]
    assert metric_names([{"id": "Status.JVM.CPU.Load"}]) == ["Status.JVM.CPU.Load"]


def test_what_flink_answers_otherwise_each_time_is_widened() -> None:
    kept = Answer(200, shape={"a": "int", "b": "null", "c": "int", "d": ["int"]}, names=("x", "y"))
    other = Answer(200, shape={"a": "num", "b": {"e": "int"}, "d": []}, names=("x",))
    wanted = {"a": "int|num", "b?": {"e": "int"}, "c?": "int", "d": ["int"]}
    assert widened(kept, other) == Answer(200, shape=wanted, names=("x",))
    assert widened(kept, Answer(404)) == kept
    ask = Ask("rest", "GET", "/x")
    for answer in (kept, other):
        assert list(differences(ask, widened(kept, other), answer)) in (
            [],
            [Difference(ask.key, "body/d", "has elements", "is empty")],
        )
