"""Routes about jobs, vertices and subtasks: what they say of the samples."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.cluster.rest.client import sample_client, sample_holder
from tests.cluster.rest.samples import (
    MANAGER,
    NOW,
    SampleHolder,
    job_id,
    sample_exception,
    sample_job,
    sample_subtask,
    vertex_id,
)

from millrace.cluster.documents import JobDocument
from millrace.cluster.durable_files import decode, encode

RUNNING, FINISHED, FAILED, CANCELED, RESTARTING, BATCH = (job_id(number) for number in range(1, 7))
VERTEX = vertex_id(2)
JOB = f"/jobs/{RUNNING}"
ONE = f"{JOB}/vertices/{VERTEX}"


def get(path: str) -> object:
    response = sample_client().get(path)
    assert response.status_code == 200, response.text
    return response.json()


def test_lists_of_jobs() -> None:
    assert get("/jobs")["jobs"][1] == {"id": FINISHED, "status": "FINISHED"}
    [first, second, *_] = get("/jobs/overview")["jobs"]
    assert first["end-time"] == -1 and first["duration"] >= 61_000
    assert (second["end-time"], second["duration"]) == (NOW, 61_000)
    assert (first["tasks"]["running"], first["tasks"]["total"], second["tasks"]["finished"]) == (6, 6, 6)


def test_overview_counts_jobs_and_slots() -> None:
    overview = get("/overview")
    assert [overview[f"jobs-{state}"] for state in ("running", "finished", "failed", "cancelled")] == [3, 1, 1, 1]
    assert (overview["taskmanagers"], overview["slots-total"], overview["slots-available"]) == (1, 4, 2)


def test_a_job_with_its_vertices() -> None:
    job = get(JOB)
    [source, middle, _] = job["vertices"]
    assert (job["state"], job["application-id"], job["job-type"]) == ("RUNNING", RUNNING, "STREAMING")
    assert job["timestamps"]["FAILED"] == 0 and job["timestamps"]["RUNNING"] == NOW - 60_400
    assert source["metrics"]["read-records"] == 0 and middle["metrics"]["read-records"] == 1000 + 1001
    assert middle["metrics"]["accumulated-busy-time"] == 1200.0 + 1300.0
    assert middle["tasks"]["RUNNING"] == 2 and job["status-counts"]["RUNNING"] == 3
    assert "stream-graph" not in job and "stream-graph" in get(f"/jobs/{BATCH}")


def test_the_state_of_a_vertex_is_that_of_its_worst_subtask() -> None:
    job = sample_job()
    vertex = replace(job.vertices[0], subtasks=(sample_subtask(0, "FINISHED"), sample_subtask(1, "RUNNING")))
    half = replace(job, vertices=(vertex, replace(job.vertices[1], subtasks=(sample_subtask(0, "FAILED"),))))
    [first, second] = sample_client(holder=SampleHolder([half])).get(JOB).json()["vertices"]
    assert (first["status"], second["status"]) == ("RUNNING", "FAILED")
    assert first["end-time"] == -1, "not all subtasks have ended"
    assert second["tasks"]["CREATED"] == 1, "a subtask that nothing is known of"


def test_plans_list_the_last_vertex_first_and_sources_without_inputs() -> None:
    [last, _, source] = get(f"{JOB}/plan")["plan"]["nodes"]
    assert last["inputs"] == [
        {"id": VERTEX, "num": 0, "exchange": "pipelined_bounded", "ship_strategy": "HASH"},
    ]
    assert "inputs" not in source
    assert source["description"] == "Source: words 1<br/>+- Filter &lt;1&gt;<br/>"


def test_configuration_hides_secrets() -> None:
    for path in (f"{JOB}/config", "/jobmanager/config", f"/millrace{JOB}", "/millrace/jobs"):
        text = json.dumps(get(path))
        assert "geheim" not in text and "******" in text


def test_exceptions_are_filtered_and_limited() -> None:
    entries = get(f"{JOB}/exceptions")["exceptionHistory"]
    assert [len(entry["concurrentExceptions"]) for entry in entries["entries"]] == [1, 0]
    assert entries["truncated"] is False
    limited = get(f"{JOB}/exceptions?maxExceptions=1")["exceptionHistory"]
    assert (len(limited["entries"]), limited["truncated"]) == (1, True)
    [system] = get(f"{JOB}/exceptions?failureLabelFilter=type:system,part:net")["exceptionHistory"]["entries"]
    assert system["failureLabels"] == {"type": "system", "part": "net"}
    assert get(f"{JOB}/exceptions?failureLabelFilter=type:system,part:x")["exceptionHistory"]["entries"] == []


def test_what_ended_a_job_is_a_failure_of_the_job_beside_that_of_the_task() -> None:
    task = sample_exception(at=NOW - 5)
    job = sample_job(50, "FAILED", exceptions=(task, sample_exception(at=NOW - 9)))
    client = sample_client(holder=SampleHolder([job]))
    whole, before = client.get(f"/jobs/{job.id}/exceptions").json()["exceptionHistory"]["entries"]
    assert {"taskName", "endpoint", "taskManagerId"}.isdisjoint(whole)
    assert [each["taskName"] for each in whole["concurrentExceptions"]] == [task.task]
    assert (before["taskName"], before["concurrentExceptions"]) == (task.task, [])


def test_results_of_jobs() -> None:
    assert get(f"{JOB}/execution-result") == {"status": {"id": "IN_PROGRESS"}}
    finished = get(f"/jobs/{FINISHED}/execution-result")["job-execution-result"]
    assert (finished["application-status"], finished["net-runtime"]) == ("SUCCEEDED", 61_000)
    failed = get(f"/jobs/{FAILED}/execution-result")["job-execution-result"]
    assert failed["failure-cause"]["class"] == "ZeroDivisionError"
    assert "job.py:12" in failed["failure-cause"]["stack-trace"]


def test_a_vertex_with_its_subtasks() -> None:
    vertex = get(ONE)
    assert [each["subtask"] for each in vertex["subtasks"]] == [0, 1]
    assert vertex["subtasks"][0]["start-time"] == vertex["subtasks"][0]["start_time"] == NOW - 60_000
    assert vertex["aggregated"]["metrics"]["read-records"] == {
        "min": 1000, "max": 1001, "avg": 1000, "sum": 2001, "median": 1000, "p25": 1000, "p75": 1001, "p95": 1001,
    }  # fmt: skip
    durations = vertex["subtasks"][0]["status-duration"]
    assert [durations[state] for state in ("CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING")] == [10, 20, 100, 400]


def test_subtasks_and_attempts() -> None:
    over = f"/jobs/{FINISHED}/vertices/{VERTEX}/subtasks/1"
    assert get(over) == get(f"{over}/attempts/0")
    assert (get(over)["status"], get(over)["duration"], get(over)["attempt"]) == ("FINISHED", 60_000, 0)
    assert get(f"{ONE}/subtasktimes")["subtasks"][0]["timestamps"]["FAILED"] == 0
    [manager] = get(f"{ONE}/taskmanagers")["taskmanagers"]
    assert (manager["taskmanager-id"], manager["status-counts"]["RUNNING"]) == (MANAGER, 2)


def test_accumulators_of_job_vertex_and_subtask() -> None:
    words = [{"name": "words", "type": "IntCounter", "value": "7"}]
    assert get(f"{JOB}/accumulators")["user-task-accumulators"] == words
    assert get(f"{ONE}/accumulators")["user-accumulators"] == words
    [first, second] = get(f"{ONE}/subtasks/accumulators")["subtasks"]
    assert (first["user-accumulators"][0]["value"], second["user-accumulators"][0]["value"]) == ("3", "4")
    assert get(f"{ONE}/subtasks/1/attempts/0/accumulators")["user-accumulators"][0]["value"] == "4"


@pytest.mark.parametrize(
    ("job", "expected"), [(RUNNING, "low"), (FINISHED, None), (job_id(77), None), (RESTARTING, None)]
)
def test_back_pressure(job: str, expected: str | None) -> None:
    body = get(f"/jobs/{job}/vertices/{VERTEX}/backpressure")
    if expected is None:
        assert body == {"status": "deprecated"}
    else:
        assert body["backpressure-level"] == body["backpressureLevel"] == expected
        assert [each["ratio"] for each in body["subtasks"]] == [0.3, 0.0]
        assert body["subtasks"][1]["busyRatio"] == 0.7


def test_before_the_first_epoch_a_subtask_is_idle() -> None:
    subtask = replace(sample_subtask(0), busy=None, idle=None, backpressured=None)
    job = sample_job()
    unknown = replace(job, vertices=(replace(job.vertices[1], subtasks=(subtask,)),))
    body = sample_client(holder=SampleHolder([unknown])).get(f"{ONE}/backpressure").json()
    assert (body["subtasks"][0]["busyRatio"], body["subtasks"][0]["idleRatio"]) == (0.0, 1.0)


def test_watermarks_of_sources_are_none() -> None:
    assert get(f"{ONE}/watermarks") == [
        {"id": f"{index}.currentInputWatermark", "value": str(NOW - 5000)} for index in (0, 1)
    ]
    assert get(f"{JOB}/vertices/{vertex_id(1)}/watermarks") == []


def test_flame_graphs() -> None:
    graph = get(f"{ONE}/flamegraph?type=ON_CPU&subtaskindex=1")
    child = {"name": "on_cpu of 1", "value": 5, "children": []}
    assert graph["data"] == {"name": "root", "value": 5, "children": [child]}
    assert get(f"/jobs/{FINISHED}/vertices/{VERTEX}/flamegraph") == {"endTimestamp": -1}


def test_applications_are_their_jobs() -> None:
    assert get("/applications/overview")["applications"][0]["jobs"] == {"RUNNING": 1}
    application = get(f"/applications/{CANCELED}")
    assert (application["name"], application["status"]) == ("SingleJobApplication(words 4)", "CANCELED")
    assert application["jobs"][0]["jid"] == CANCELED
    [cause] = get(f"/applications/{FAILED}/exceptions")["exceptionHistory"]["entries"]
    assert (cause["jobId"], cause["exceptionName"]) == (FAILED, "ZeroDivisionError")


def test_task_managers() -> None:
    manager = get(f"/taskmanagers/{MANAGER}")
    assert len(manager["allocatedSlots"]) == 2 * 3, "two slots for each of the three jobs that run"
    assert {slot["assignedTasks"] for slot in manager["allocatedSlots"]} == {3}
    assert get("/taskmanagers")["taskmanagers"][0]["freeSlots"] == 2
    assert "job.py:12" in get(f"/taskmanagers/{MANAGER}/thread-dump")["threadInfos"][0]["stringifiedThreadInfo"]


def test_our_documents_are_the_documents() -> None:
    response = sample_client().get(f"/millrace{JOB}")
    job = decode(response.content, JobDocument)
    assert job.parameters == {"input": "words.txt", "db.password": "******"}
    assert "geheim" not in response.text and encode(job) == encode(sample_job()).replace(b"geheim", b"******")
    listed = decode(sample_client().get("/millrace/jobs").content, list[JobDocument])
    assert [each.id for each in listed] == [each.id for each in sample_holder().jobs()]
    assert listed[0].vertices == () and listed[0].checkpoints.history == ()
