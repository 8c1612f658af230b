"""The comparer, against a server that answers as recorded: no difference; with a broken answer exactly that one."""

# ruff: noqa: E501  tables of what is to come out

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.flink.rest.answer import NOT_ASKED, Answer, read
from tests.flink.rest.ask import REST, SURFACES, Ask
from tests.flink.rest.asks import all_asks
from tests.flink.rest.compare import compare
from tests.flink.rest.differences import Difference
from tests.flink.rest.known import Known, explained
from tests.flink.rest.page import page
from tests.flink.rest.replay import ReplayedValues, replaying


def compared(surface: str, asks: list[Ask], changed: dict[str, Answer]) -> list[Difference]:
    """What the comparer finds when a server answers as recorded, but for what is changed."""
    with replaying(asks, read(surface) | changed) as base:
        return compare({surface: base}, ReplayedValues(), asks)


@pytest.mark.parametrize("surface", SURFACES)
def test_the_recording_itself_has_no_difference(surface: str) -> None:
    asks = all_asks(surface)
    assert len(asks) > 50
    assert [str(each) for each in compared(surface, asks, {})] == []


def ask_for(path: str, about: str) -> Ask:
    return next(ask for ask in all_asks(REST) if (ask.path, ask.about) == (path, about))


def shape_with(change: Callable[[Any], Any]) -> Callable[[Answer], Answer]:
    return lambda answer: replace(answer, shape=change(answer.shape))


def without(name: str) -> Callable[[Any], Any]:
    return lambda shape: {key: each for key, each in shape.items() if key != name}


JOB, RUNNING = "/jobs/{jobid}", "a running job"
BROKEN: list[tuple[str, str, Callable[[Answer], Answer], tuple[str, str, str]]] = [
    ("/overview", "", lambda answer: replace(answer, status=201), ("status", "200", "201")),
    ("/overview", "", lambda answer: replace(answer, content_type="text/plain"), ("content-type", "application/json;charset=utf-8", "text/plain")),
    (JOB, RUNNING, shape_with(without("plan")), ("body/plan", "an object of jid, name, nodes, type", "missing")),
    (JOB, RUNNING, shape_with(lambda shape: shape | {"new": "int"}), ("body/new", "missing", "int")),
    (JOB, RUNNING, shape_with(lambda shape: shape | {"duration": "str"}), ("body/duration", "int", "str")),
    (JOB, RUNNING, shape_with(lambda shape: shape | {"end-time": "int"}), ("body/end-time", "=-1", "int")),
    (JOB, RUNNING, shape_with(lambda shape: shape | {"state": "=FINISHED"}), ("body/state", "=RUNNING", "=FINISHED")),
    (JOB, RUNNING, shape_with(lambda shape: shape | {"vertices": []}), ("body/vertices", "has elements", "is empty")),
    (JOB, RUNNING, shape_with(lambda shape: shape | {"vertices": {}}), ("body/vertices", "a list", "an object of nothing")),
    ("/nothing", "no such path", shape_with(lambda shape: {"errors": ["=Not here"]}), ("body/errors", "['=Unable to load requested file /nothing.']", "['=Not here']")),
    ("/jobs/{jobid}/metrics", RUNNING, lambda answer: replace(answer, names=answer.names[1:]), ("metrics", "", "without these")),
]  # fmt: skip


@pytest.mark.parametrize(("path", "about", "broken", "wanted"), BROKEN)
def test_a_broken_answer_is_that_difference_and_no_other(
    path: str, about: str, broken: Callable[[Answer], Answer], wanted: tuple[str, str, str]
) -> None:
    ask = ask_for(path, about)
    answer = read(REST)[ask.key]
    found = compared(REST, [ask], {ask.key: broken(answer)})
    place, flink, ours = wanted
    if place == "metrics":
        flink = answer.names[0]
    assert found == [Difference(ask.key, place, flink, ours)]


def test_java_may_be_missing_from_a_message() -> None:
    ask = ask_for(JOB, "no job has this id")
    kept = read(REST)[ask.key].shape["errors"]
    assert "Exception" in kept[0]
    said = {"errors": ["=Job <id> not found"]}
    assert compared(REST, [ask], {ask.key: replace(read(REST)[ask.key], shape=said)}) == []
    said = {"errors": ["=Job <id> is not here"]}
    assert len(compared(REST, [ask], {ask.key: replace(read(REST)[ask.key], shape=said)})) == 1


def test_an_error_instead_of_an_answer_is_one_difference() -> None:
    ask = ask_for(JOB, RUNNING)
    error = Answer(500, "application/json;charset=utf-8", shape={"errors": ["=Internal server error."]})
    assert compared(REST, [ask], {ask.key: error}) == [Difference(ask.key, "status", "200", "500")]


def test_what_cannot_be_asked_is_a_difference() -> None:
    """A trigger that does not say its id: neither can its operation be asked for."""
    first = next(ask for ask in all_asks(REST) if "savepoint_plain" in ask.keep)
    second = next(ask for ask in all_asks(REST) if "@kept.savepoint_plain" in ask.given.values())
    answer = read(REST)[first.key]
    found = compared(REST, [first, second], {first.key: replace(answer, shape={})})
    assert [each.place for each in found] == ["body/request-id", "status"]
    assert found[1].ours == "there is no kept.savepoint_plain"


def test_a_server_that_is_gone_is_a_difference() -> None:
    ask = ask_for("/overview", "")
    with replaying([ask], read(REST)) as base:
        pass
    found = compare({REST: base}, ReplayedValues(), [ask])
    assert [(each.place, each.flink) for each in found] == [("status", "200")]
    assert found[0].ours.startswith("no answer")


def test_a_request_that_flink_was_never_asked_is_a_difference() -> None:
    ask = Ask(REST, "GET", "/overview", "something new")
    with replaying([ask], {ask.key: Answer(200)}) as base:
        found = compare({REST: base}, ReplayedValues(), [ask])
    assert [each.flink for each in found] == ["was never asked"]


def test_reasons_and_the_page() -> None:
    found = [
        Difference("rest GET /a/{x}", "body/y", "int", "missing"),
        Difference("rest GET /b", "status", "200", "404"),
    ]
    fits, idle = Known("no such thing here", "rest GET /a/*"), Known("never", "gateway *")
    reasons, others = explained(found, [fits, idle])
    assert reasons == {fits: found[:1], idle: []}
    assert others == found[1:]
    written = page(2, reasons)
    assert "| `rest GET /a/{x}` | `body/y` | `int` | `missing` | 1 | no such thing here |" in written
    assert "never" not in written.split("|---|")[1]


def test_not_asked_is_no_status_of_http() -> None:
    assert NOT_ASKED < 100
