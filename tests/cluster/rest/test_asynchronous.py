"""Operations that are begun with one request and looked up with others."""

from __future__ import annotations

import re
from concurrent.futures import Future
from typing import Any

import pytest
from tests.cluster.rest.client import Client, sample_client, sample_holder
from tests.cluster.rest.samples import SampleHolder, SamplePrograms, job_id

from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.call import RestError, Triggers
from millrace.cluster.rest.settings import RestSettings

JOB, NO_JOB = f"/jobs/{job_id(1)}", f"/jobs/{job_id(77)}"
TRIGGER = "a" * 32


class World:
    """One server and what it holds."""

    def __init__(self) -> None:
        self.holder: SampleHolder = sample_holder()
        self.client = Client(make_app(self.holder, SamplePrograms(), RestSettings()))
        self.control = self.holder.controls[job_id(1)]

    def begin(self, path: str, **body: Any) -> str:
        response = self.client.post(path, json=body)
        assert response.status_code in (200, 202), response.text
        id: str = response.json()["request-id"]
        assert re.fullmatch("[0-9a-f]{32}", id)
        return id

    def look(self, path: str) -> Any:
        response = self.client.get(path)
        assert response.status_code == 200, response.text
        return response.json()


@pytest.fixture
def world() -> World:
    return World()


def test_a_savepoint_goes_on_and_is_done(world: World) -> None:
    world.control.pending = Future()
    id = world.begin(f"{JOB}/savepoints", **{"target-directory": "/s", "formatType": "NATIVE"})
    assert world.look(f"{JOB}/savepoints/{id}") == {"status": {"id": "IN_PROGRESS"}, "operation": None}
    world.control.pending.set_result("/s/savepoint-9")
    assert world.look(f"{JOB}/savepoints/{id}") == {
        "status": {"id": "COMPLETED"},
        "operation": {"location": "/s/savepoint-9"},
    }
    assert world.control.asked == [("savepoint", "/s", True)]


def test_a_savepoint_that_fails_tells_why(world: World) -> None:
    world.control.pending = Future()
    id = world.begin(f"{JOB}/savepoints", **{"target-directory": "/s"})
    world.control.pending.set_exception(OSError("no room: s3://me:geheim@bucket"))
    cause = world.look(f"{JOB}/savepoints/{id}")["operation"]["failure-cause"]
    assert cause == {
        "class": "OSError",
        "stack-trace": "OSError: no room: s3://me:******@bucket\n",
        "serialized-throwable": "",
    }


def test_the_same_id_twice_is_the_same_operation(world: World) -> None:
    for _ in range(2):
        assert world.begin(f"{JOB}/savepoints", **{"target-directory": "/s", "triggerId": TRIGGER.upper()}) == TRIGGER
    assert len(world.control.asked) == 1
    assert world.begin(f"{JOB}/checkpoints", triggerId=TRIGGER) == TRIGGER
    assert world.look(f"{JOB}/checkpoints/{TRIGGER}")["operation"] == {"checkpointId": 7}


def test_cancelling_with_a_savepoint_waits_for_it(world: World) -> None:
    world.control.pending = Future()
    id = world.begin(f"{JOB}/savepoints", **{"target-directory": "/s", "cancel-job": True})
    assert world.look(f"{JOB}/status") == {"status": "RUNNING"}
    world.control.pending.set_result("/s/savepoint-9")
    assert world.look(f"{JOB}/status") == {"status": "CANCELED"}
    assert world.look(f"{JOB}/savepoints/{id}")["operation"] == {"location": "/s/savepoint-9"}


def test_a_job_whose_savepoint_fails_is_not_cancelled(world: World) -> None:
    world.control.pending = Future()
    id = world.begin(f"{JOB}/savepoints", **{"target-directory": "/s", "cancel-job": True})
    world.control.pending.set_exception(OSError("no room"))
    assert world.look(f"{JOB}/status") == {"status": "RUNNING"}
    assert "failure-cause" in world.look(f"{JOB}/savepoints/{id}")["operation"]


def test_stopping_answers_where_savepoints_do(world: World) -> None:
    id = world.begin(f"{JOB}/stop", targetDirectory="/s", drain=True)
    assert world.look(f"{JOB}/savepoints/{id}")["operation"] == {"location": "/s/savepoint-2"}
    assert world.control.asked == [("stop", "/s", True, False)]


def test_a_configured_directory_is_used(world: World) -> None:
    world.holder.options = {"execution.checkpointing.savepoint-dir": "/configured"}
    world.begin(f"{JOB}/savepoints")
    assert world.control.asked == [("savepoint", None, False)]


def test_an_unknown_job_fails_when_it_is_looked_up(world: World) -> None:
    id = world.begin(f"{NO_JOB}/savepoints", **{"target-directory": "/s"})
    cause = world.look(f"{NO_JOB}/savepoints/{id}")["operation"]["failure-cause"]
    assert f"FlinkJobNotFoundException: Could not find Flink job ({job_id(77)})" in cause["stack-trace"]
    id = world.begin(f"{NO_JOB}/checkpoints")
    assert "failureCause" in world.look(f"{NO_JOB}/checkpoints/{id}")["operation"]


def test_a_job_that_is_over_fails_when_it_is_looked_up(world: World) -> None:
    over = f"/jobs/{job_id(2)}"
    id = world.begin(f"{over}/stop", targetDirectory="/s")
    cause = world.look(f"{over}/savepoints/{id}")["operation"]["failure-cause"]
    assert cause["stack-trace"] == "JobOverError: Job words 2 is FINISHED.\n"


def test_disposal_of_savepoints(world: World) -> None:
    ids = [world.begin("/savepoint-disposal", **{"savepoint-path": path}) for path in ("/s/savepoint-1", "/nowhere")]
    results = [wait_for(world, f"/savepoint-disposal/{id}") for id in ids]
    assert results[0] == {} and world.holder.disposed == ["/s/savepoint-1"]
    assert results[1]["failure-cause"]["class"] == "FileNotFoundError"


def wait_for(world: World, path: str) -> Any:
    while (found := world.look(path))["status"]["id"] != "COMPLETED":
        pass
    return found["operation"]


def test_data_sets_are_gone_at_once(world: World) -> None:
    response = world.client.call("DELETE", f"/datasets/{job_id(5)}")
    assert response.status_code == 202
    assert world.look(f"/datasets/delete/{response.json()['request-id']}")["operation"] == {}


def test_cancelling() -> None:
    world = World()
    for path in (JOB, JOB, f"{JOB}?mode=cancel", f"/jobs/{job_id(4)}"):
        response = world.client.call("PATCH", path)
        assert (response.status_code, response.json()) == (202, {}), "also when it is CANCELED already"
    assert world.control.asked == [("cancel",)]
    assert world.client.post(f"/applications/{job_id(5)}/cancel").status_code == 202
    assert world.holder.controls[job_id(5)].asked == [("cancel",)]


def test_links_that_cancel_are_off_unless_allowed() -> None:
    holder = sample_holder()
    client = sample_client(RestSettings(yarn_cancel=True), holder)
    assert client.get(f"{JOB}/yarn-cancel").status_code == 202
    assert holder.controls[job_id(1)].asked == [("cancel",)]
    assert sample_client(RestSettings(cancel=False)).call("PATCH", JOB).json() == {"errors": [f"Not found: {JOB}"]}


def test_shutting_down() -> None:
    world = World()
    assert world.client.call("DELETE", "/cluster").json() == {}
    assert world.holder.is_shut_down


def test_queryable_state(world: World) -> None:
    def ask(**body: Any) -> Any:
        return world.client.post(f"/millrace{JOB}/state", json=body)

    assert ask(operator="counts", state="count", key="spark").json() == {"value": 3}
    assert ask(operator="counts", state="count", key="flink").json() == {"value": None}
    assert ask(operator="counts", state="other", key="x").status_code == 400
    assert ask(state="count").status_code == 400
    assert world.client.post(f"/millrace{NO_JOB}/state", json={"operator": "a", "state": "b"}).status_code == 404
    over = world.client.post(f"/millrace/jobs/{job_id(2)}/state", json={"operator": "a", "state": "count"})
    assert (over.status_code, over.json()["errors"]) == (
        409,
        ["org.apache.flink.runtime.rest.handler.RestHandlerException: Job words 2 is FINISHED.\n"],
    )


class Clock:
    """Goes on when told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def done(value: object = None) -> Future[object]:
    future: Future[object] = Future()
    future.set_result(value)
    return future


def test_completed_operations_are_forgotten_after_a_while() -> None:
    clock = Clock()
    triggers = Triggers(10, 60.0, clock)
    going_on: Future[object] = Future()
    triggers.begin(("a", "", "1"), done)
    triggers.begin(("a", "", "2"), lambda: going_on)
    clock.now = 60.0
    assert triggers.find(("a", "", "1")) is not None
    clock.now = 61.0
    assert triggers.find(("a", "", "1")) is None
    assert triggers.find(("a", "", "2")) is not None, "it goes on, so it is not forgotten"
    going_on.set_result(None)
    assert triggers.find(("a", "", "2")) is not None
    clock.now = 122.0
    assert triggers.find(("a", "", "2")) is None


def test_there_are_never_too_many() -> None:
    triggers = Triggers(2, 60.0, Clock())
    triggers.begin(("a", "", "1"), Future)
    triggers.begin(("a", "", "2"), done)
    triggers.begin(("a", "", "3"), Future)
    assert triggers.find(("a", "", "2")) is None, "the oldest that is completed makes room"
    with pytest.raises(RestError, match="2 operations in progress"):
        triggers.begin(("a", "", "4"), done)
    triggers.begin(("a", "", "3"), done)  # is there already


def test_an_operation_that_cannot_begin_has_failed() -> None:
    def start() -> Future[object]:
        raise OSError("no")

    triggers = Triggers(2, 60.0, Clock())
    triggers.begin(("a", "", "1"), start)
    found = triggers.find(("a", "", "1"))
    assert found is not None and isinstance(found.exception(timeout=0), OSError)
