"""Unknown ids, malformed requests and wrong methods: statuses and texts as a Flink 2.3 gave them."""

from __future__ import annotations

import json

import pytest
from tests.cluster.rest.client import sample_client, sample_holder
from tests.cluster.rest.samples import MANAGER, job_id, vertex_id

JOB, NO_JOB = f"/jobs/{job_id(1)}", f"/jobs/{job_id(77)}"
ONE, NO_VERTEX = f"{JOB}/vertices/{vertex_id(2)}", f"{JOB}/vertices/{job_id(77)}"
TRIGGER = job_id(5)
UNREADABLE = 'Bad request, could not parse parameters: Cannot resolve {} parameter ({}) from value "{}".'
NOT_FOUND = f"org.apache.flink.runtime.rest.NotFoundException: Job {job_id(77)} not found"
NO_SUCH_JOB = f"org.apache.flink.runtime.messages.FlinkJobNotFoundException: Could not find Flink job ({job_id(77)})"
NO_VERTEX_TEXT = f"No vertex with ID '{job_id(77)}' exists."
NO_TRIGGER = f"operation with triggerId={TRIGGER} for job {job_id(1)}."
RESCALES = "has not enabled the `Adaptive` scheduler"


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        *[
            (f"{NO_JOB}{path}", 404, NOT_FOUND)
            for path in (
                "", "/config", "/plan", "/exceptions", "/accumulators", "/checkpoints", "/checkpoints/config",
                f"/vertices/{vertex_id(1)}", f"/vertices/{vertex_id(1)}/watermarks", "/rescales/history",
            )
        ],
        (f"{NO_JOB}/execution-result", 404, NO_SUCH_JOB),
        (f"{NO_JOB}/status", 500, NO_SUCH_JOB),
        (f"{NO_JOB}/resource-requirements", 500, NO_SUCH_JOB),
        (f"{JOB}/resource-requirements", 500, "java.lang.UnsupportedOperationException"),
        *[(f"{JOB}/rescales/{name}", 404, RESCALES) for name in ("history", "overview", "summary")],
        (f"{JOB}/rescales/details/{TRIGGER}", 404, RESCALES),
        (f"{JOB}/rescales/config", 404, "AdaptiveScheduler is not enabled for this job"),
        (f"{JOB}/rescaling/{TRIGGER}", 503, "Rescaling is temporarily disabled. See FLINK-12312."),
        (NO_VERTEX, 404, f"JobVertex {job_id(77)} not found"),
        (f"{NO_VERTEX}/taskmanagers", 404, f"JobVertex {job_id(77)} not found"),
        *[
            (f"{NO_VERTEX}/{path}", 404, NO_VERTEX_TEXT)
            for path in ("subtasktimes", "accumulators", "watermarks", "subtasks/0", "subtasks/accumulators")
        ],
        (f"{ONE}/subtasks/99", 404, f"Invalid subtask index for vertex {vertex_id(2)}"),
        (f"{ONE}/subtasks/0/attempts/9", 404, "Invalid attempt num 9"),
        (f"{JOB}/savepoints/{TRIGGER}", 404, f"There is no savepoint {NO_TRIGGER}"),
        (f"{JOB}/checkpoints/{TRIGGER}", 404, f"There is no checkpoint {NO_TRIGGER}"),
        (f"/savepoint-disposal/{TRIGGER}", 404, "Operation not found under key"),
        (f"/datasets/delete/{TRIGGER}", 404, "Operation not found under key"),
        (f"/applications/{job_id(77)}", 500, "FlinkApplicationNotFoundException"),
        ("/taskmanagers/x", 500, "No TaskExecutor registered under x."),
        ("/taskmanagers/x/thread-dump", 500, "No TaskExecutor registered under x."),
        ("/taskmanagers/x/logs", 404, "Could not find TaskExecutor x"),
        ("/taskmanagers/x/log", 404, "Failed to transfer file from TaskExecutor x because it was unknown."),
        (f"/taskmanagers/{MANAGER}/logs/nothing", 500, f"Failed to transfer file from TaskExecutor {MANAGER}."),
        ("/jobmanager/logs/nothing", 404, "This file does not exist in JobManager log dir."),
        ("/jars/nothing/plan", 500, "Jar file nothing does not exist"),
        ("/jobs/xyz", 400, UNREADABLE.format("path", "jobid", "xyz")),
        ("/v1/jobs/xyz", 400, UNREADABLE.format("path", "jobid", "xyz")),
        (f"{JOB}/vertices/xyz", 400, UNREADABLE.format("path", "vertexid", "xyz")),
        (f"{ONE}/subtasks/x", 400, UNREADABLE.format("path", "subtaskindex", "x")),
        (f"{ONE}/subtasks/-1", 400, UNREADABLE.format("path", "subtaskindex", "-1")),
        (f"{JOB}/checkpoints/details", 400, UNREADABLE.format("path", "triggerid", "details")),
        (f"{JOB}/checkpoints/details/abc", 400, UNREADABLE.format("path", "checkpointid", "abc")),
        ("/applications/xyz", 400, UNREADABLE.format("path", "applicationid", "xyz")),
        (f"{ONE}/flamegraph?type=wrong", 400, UNREADABLE.format("query", "type", "wrong")),
        (f"{ONE}/subtasks/metrics?agg=wrong", 400, UNREADABLE.format("query", "agg", "wrong")),
        ("/jobs/metrics?jobs=xyz", 400, UNREADABLE.format("query", "jobs", "xyz")),
        (f"{JOB}/exceptions?maxExceptions=x", 400, UNREADABLE.format("query", "maxExceptions", "x")),
        (f"{JOB}/exceptions?failureLabelFilter=a", 400, UNREADABLE.format("query", "failureLabelFilter", "a")),
        (f"{JOB}/exceptions?maxExceptions=-1", 500, "java.lang.IllegalArgumentException: -1"),
        (f"{JOB}/yarn-stop", 308, 'The termination mode "stop" has been removed.'),
        ("/nothing", 404, "Unable to load requested file /nothing."),
        ("/v1/nothing", 404, "Unable to load requested file /v1/nothing."),
        ("/v2/overview", 404, "Unable to load requested file /v2/overview."),
        (f"{JOB}/yarn-cancel", 404, f"Unable to load requested file {JOB}/yarn-cancel."),
    ],
)  # fmt: skip
def test_get(path: str, status: int, text: str) -> None:
    response = sample_client().get(path)
    errors = response.json()["errors"]
    assert (response.status_code, text in errors[-1]) == (status, True), errors
    assert response.headers["content-type"] == "application/json; charset=UTF-8"
    if status == 500:
        assert errors[0] == "Internal server error."
        assert errors[1].startswith("<Exception on server side:\n") and errors[1].endswith("exception on server side>")


ALL = [vertex_id(number) for number in (1, 2, 3)]


def needs(*ids: str) -> bytes:
    return json.dumps({id: {"parallelism": {"lowerBound": 1, "upperBound": 2}} for id in ids}).encode()


SAVEPOINT = "Request did not match expected format SavepointTriggerRequestBody."
NO_DIRECTORY = "Config key [execution.checkpointing.savepoint-dir] is not set. Property [{}] must be provided."


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "text"),
    [
        ("POST", "/overview", None, 404, "Not found: /overview"),
        ("DELETE", "/overview", None, 404, "Not found: /overview"),
        ("OPTIONS", "/overview", None, 404, "Not found: /overview"),
        ("PUT", NO_JOB, None, 404, f"Not found: {NO_JOB}"),
        ("PATCH", NO_JOB, None, 404, "Job could not be found."),
        ("PATCH", f"{JOB}?mode=wrong", None, 400, UNREADABLE.format("query", "mode", "wrong")),
        ("PATCH", f"{NO_JOB}?mode=stop", None, 308, 'The termination mode "stop" has been removed.'),
        ("PATCH", f"/jobs/{job_id(2)}", None, 409, "already reached another terminal state (FINISHED)."),
        ("POST", f"{JOB}/savepoints", None, 400, NO_DIRECTORY.format("target-directory")),
        ("POST", f"{NO_JOB}/savepoints", b"{}", 400, NO_DIRECTORY.format("target-directory")),
        ("POST", f"{JOB}/stop", b"{}", 400, NO_DIRECTORY.format("targetDirectory")),
        *[
            ("POST", f"{JOB}/savepoints", body, 400, SAVEPOINT)
            for body in (
                b"{bad", b"[]", b'{"triggerId":"xyz"}', b'{"formatType":"NIX"}', b'{"cancel-job":"x"}', b"\xff",
                b"[" * 100_000,
            )
        ],
        ("POST", "/savepoint-disposal", b"{}", 400, "Field savepoint-path must not be omitted or be null."),
        ("PATCH", f"{JOB}/rescaling?parallelism=2", None, 503, "Rescaling is temporarily disabled."),
        ("PUT", f"{JOB}/resource-requirements", b"{}", 400, "Request body does not specify resource requirements."),
        ("PUT", f"{JOB}/resource-requirements", needs("x"), 400, "expected format JobResourceRequirementsBody."),
        ("PUT", f"{JOB}/resource-requirements", needs(job_id(7)), 400, f"Job vertex [{job_id(7)}] was not found"),
        ("PUT", f"{JOB}/resource-requirements", needs(vertex_id(1)), 400, "The request is incomplete, missing job"),
        ("PUT", f"{JOB}/resource-requirements", needs(*ALL), 500, "java.lang.UnsupportedOperationException"),
        ("PUT", f"{NO_JOB}/resource-requirements", needs(*ALL), 500, NO_SUCH_JOB),
        ("PUT", f"/jobs/{job_id(2)}/resource-requirements", needs(*ALL), 500, "FlinkJobNotFoundException"),
        ("POST", f"{JOB}/checkpoints", b'{"checkpointType":"INCREMENTAL"}', 500, "See FLINK-33723."),
        ("PATCH", f"{JOB}/clientHeartbeat", None, 400, "Request did not conform to expected format."),
        ("PATCH", f"{JOB}/clientHeartbeat", b"{}", 400, "expected format JobClientHeartbeatRequestBody."),
        ("POST", f"/applications/{job_id(2)}/cancel", None, 404, "Application could not be found."),
        ("DELETE", "/jars/nothing", None, 400, "File nothing does not exist"),
        ("POST", "/jars/nothing/run", b"{}", 500, "Jar file nothing does not exist"),
        ("POST", "/jars/nothing/plan", None, 500, "Jar file nothing does not exist"),
        ("POST", "/jars/upload", b"{}", 400, "Exactly 1 file must be sent, received 0."),
        ("POST", f"/applications/{job_id(77)}/cancel", None, 404, "Application could not be found."),
    ],
)  # fmt: skip
def test_changes(method: str, path: str, body: bytes | None, status: int, text: str) -> None:
    response = sample_client().call(method, path, content=body)
    errors = response.json()["errors"]
    assert (response.status_code, text in errors[-1]) == (status, True), errors


def test_head_is_a_wrong_method() -> None:
    assert sample_client().call("HEAD", "/overview").status_code == 404


def test_unknown_parameters_and_fields_are_ignored() -> None:
    client = sample_client()
    assert client.get(f"{JOB}?unknown=1").status_code == 200
    body = b'{"unknown": [], "target-directory": "/tmp/s"}'
    assert client.post(f"{JOB}/savepoints", content=body).status_code == 202


@pytest.mark.parametrize("path", ["/overview", "/v1/overview", "/overview/", "/jobs/", f"/v1{JOB}/"])
def test_other_forms_of_a_path(path: str) -> None:
    assert sample_client().get(path).status_code == 200


def test_what_breaks_unexpectedly_shows_no_stack_and_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(type(sample_holder())):  # type: ignore[misc]
        def jobs(self) -> object:
            raise RuntimeError("can't reach jdbc:x://h/d?password=geheim")

    response = sample_client(holder=Broken()).get("/jobs")
    assert response.status_code == 500
    assert response.json()["errors"] == [
        "Internal server error.",
        "<Exception on server side:\nRuntimeError: can't reach jdbc:x://h/d?password=******\n\n"
        "End of exception on server side>",
    ]
    # Not its text: where a session was made in this process, PySpark's logger has another form of it.
    assert any(record.exc_info for record in caplog.records), "the log has what the answer has not"
