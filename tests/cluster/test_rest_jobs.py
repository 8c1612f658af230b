"""Jobs over REST, against the real routes in front of a fake job."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cluster.test_socket_control import ID, FakeControl

from millrace.cluster.addresses import same_address
from millrace.cluster.client import RemoteJobFailedError, RestJobClient
from millrace.cluster.control import ElsewhereError, JobLine, UnknownJobError
from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.settings import RestSettings
from millrace.cluster.rest_jobs import RestJobs
from millrace.cluster.socket_control import JobsHere
from millrace.common.jobs import JobStatus


class Through(httpx.BaseTransport):
    """Gives requests to an application of this process."""

    def __init__(self, app: Any) -> None:
        self._transport = httpx.ASGITransport(app)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return asyncio.run(self._handle(request))

    async def _handle(self, request: httpx.Request) -> httpx.Response:
        async with httpx.AsyncClient(transport=self._transport) as client:
            answer = await client.request(
                request.method, request.url, content=request.read(), headers=dict(request.headers)
            )
        return httpx.Response(answer.status_code, content=answer.content, request=request)


def served(control: FakeControl, token: str | None) -> RestJobs:
    from millrace.cluster.job_holders import ProcessHolder

    holder = ProcessHolder(JobsHere(lambda: [control]), {}, list, lambda: None)
    app = make_app(holder, None, RestSettings(token="secret"))
    return RestJobs("http://localhost:8081/", token, Through(app))


@pytest.fixture
def control() -> FakeControl:
    return FakeControl()


@pytest.fixture
def jobs(control: FakeControl) -> RestJobs:
    return served(control, "secret")


def test_the_document_of_a_job(jobs: RestJobs, control: FakeControl) -> None:
    assert jobs.document(ID) == control.document()
    assert RestJobClient(ID, "http://localhost:8081", jobs=jobs).document() == control.document()
    with pytest.raises(UnknownJobError):
        jobs.document("b" * 32)


def test_a_job_over_rest(jobs: RestJobs, control: FakeControl) -> None:
    assert jobs.jobs() == [JobLine(ID, "words", "RUNNING", 1000)]
    assert jobs.state(ID) == "RUNNING"
    jobs.cancel(ID)
    assert jobs.savepoint(ID, "/d", True) == "/d/sp"
    assert jobs.stop(ID, "/d", True, False) == "/d/sp"
    assert jobs.checkpoint(ID, True) == 7
    expected = [("cancel",), ("savepoint", "/d", True), ("stop", "/d", True, False), ("checkpoint", True)]
    assert control.asked == expected


def test_what_is_begun_is_not_waited_for(jobs: RestJobs, control: FakeControl) -> None:
    begun = [jobs.begin_savepoint(ID, "/d", True), jobs.begin_stop(ID, "/d", True, False)]
    assert all(len(each) == 32 for each in begun) and len(set(begun)) == 2
    assert control.asked == [("savepoint", "/d", True), ("stop", "/d", True, False)]


def test_without_the_token_nothing_changes(control: FakeControl) -> None:
    jobs = served(control, None)
    assert jobs.state(ID) == "RUNNING"
    with pytest.raises(ElsewhereError, match="Unauthorized"):
        jobs.cancel(ID)
    assert control.asked == []


def test_what_there_is_not(jobs: RestJobs, control: FakeControl) -> None:
    with pytest.raises(UnknownJobError):
        jobs.state("b" * 32)
    with pytest.raises(ElsewhereError, match="Could not find Flink job"):
        jobs.savepoint("b" * 32, "/d", False)
    with pytest.raises(UnknownJobError, match="Could not find Flink job"):
        jobs.cancel("b" * 32)
    control.state = "FINISHED"
    with pytest.raises(ElsewhereError, match="FINISHED"):
        jobs.cancel(ID)
    with pytest.raises(ElsewhereError, match=r"^Connection refused\nnothing answers at http://127"):
        RestJobs("http://127.0.0.1:1", None).jobs()


def test_disposal(jobs: RestJobs, tmp_path: Path) -> None:
    with pytest.raises(ElsewhereError, match="nothing is deleted"):
        jobs.dispose(str(tmp_path))


def test_the_client_of_a_job(jobs: RestJobs, control: FakeControl) -> None:
    client = RestJobClient(ID, jobs.url, jobs=jobs)
    assert str(client.get_job_id()) == ID
    assert client.get_job_status().result(30) is JobStatus.RUNNING
    assert client.stop_with_savepoint(True, "/d").result(30) == "/d/sp"
    assert client.trigger_savepoint("/d").result(30) == "/d/sp"
    assert client.trigger_checkpoint().result(30) == 7
    assert client.get_accumulators().result(30) == {}
    assert client.query_state("op", "count", "k").result(30) == {"k": [1, [2], None, "<class 'object'>"]}
    with pytest.raises(UnknownJobError, match="Could not find Flink job"):
        jobs.cancel("b" * 32)
    control.state = "FINISHED"
    assert str(client.get_job_execution_result().result(30).get_job_id()) == ID
    control.state = "CANCELED"
    with pytest.raises(RemoteJobFailedError, match="is CANCELED"):
        client.wait()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("localhost:8081", "http://127.0.0.1:8081", True),
        ("http://localhost:8081/", "http://localhost:8081", True),
        ("localhost:8081", "http://localhost:8082", False),
        ("host:8081", "http://host:8081", True),
        ("host:8081", "http://localhost:8081", False),
        ("host:8081", None, False),
    ],
)
def test_addresses(one: str, other: str | None, same: bool) -> None:
    assert same_address(one, other) is same
