"""The world of requests: jobs are waited for until they are what they are to be."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.flink.rest import world as module
from tests.flink.rest.ask import Request
from tests.flink.rest.send import Answered
from tests.flink.rest.world import NoValue, World


class FakeJobs:
    """Jobs that are counted."""

    folder = Path("/some/where")
    arguments = "a,b"

    def __init__(self) -> None:
        self.submitted: list[str] = []

    def submit(self, name: str) -> str:
        self.submitted.append(name)
        return f"job{len(self.submitted)}"

    def file(self, name: str) -> tuple[str, bytes]:
        return name, b""


@pytest.fixture
def jobs() -> FakeJobs:
    return FakeJobs()


@pytest.fixture
def world(jobs: FakeJobs, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose server says first that a job is created, then that it runs, then that it has a checkpoint."""
    asked: list[str] = []
    checkpoints = {"counts": {"completed": 2}, "latest": {"completed": {"id": 7}}}

    def send(base: str, request: Request) -> Answered:
        asked.append(request.target)
        body: Any = {"state": "CREATED", "status-counts": {"RUNNING": 0, "CREATED": 2}}
        if len(asked) > 1:
            body = {"state": "RUNNING", "status-counts": {"RUNNING": 2, "CREATED": 0}}
            body["vertices"] = [{"id": "first"}, {"id": "last"}]
        if request.target.endswith("/checkpoints"):
            body = checkpoints
        if request.target == "/jobs/ended":
            body = {"state": "FAILED"}
        return Answered(200, "", "", body)

    monkeypatch.setattr(module, "send", send)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(module, "METRICS_SECONDS", 0)
    return World("http://nowhere", jobs)


def test_a_job_is_submitted_once(world: World, jobs: FakeJobs) -> None:
    assert world.value("running") == world.value("running") == "job1"
    assert world.value("running#another") == "job2"
    assert jobs.submitted == ["running", "running"]


def test_parts_of_a_job(world: World, jobs: FakeJobs) -> None:
    assert [world.value(f"running.{part}") for part in ("vertex", "sink", "checkpoint")] == ["first", "last", "7"]
    assert jobs.submitted == ["running"]
    with pytest.raises(NoValue, match=r"running\.nothing"):
        world.value("running.nothing")


def test_a_job_that_ended_otherwise_is_told_at_once(
    world: World, jobs: FakeJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = ["ended"]
    monkeypatch.setattr(jobs, "submit", lambda name: ended.pop())
    for _ in range(2):
        with pytest.raises(NoValue, match="finished: job ended is FAILED and was to be FINISHED"):
            world.value("finished")
    assert ended == [], "it is submitted once"


def test_what_answers_said_is_kept_until_they_say_something_else(world: World) -> None:
    world.keep("trigger", "abc")
    assert world.value("kept.trigger") == "abc"
    world.keep("trigger", None)
    with pytest.raises(NoValue):
        world.value("kept.trigger")
