"""Looking at checkpoints."""

from __future__ import annotations

import pytest
from tests.cluster.rest.client import sample_client
from tests.cluster.rest.samples import NOW, SampleHolder, job_id, sample_job, vertex_id

from millrace.cluster.documents import FOREVER, CheckpointsDocument

ALL = f"/jobs/{job_id(1)}/checkpoints"


def get(path: str) -> dict[str, object]:
    response = sample_client().get(path)
    assert response.status_code == 200, response.text
    return response.json()


def test_counts_latest_and_history() -> None:
    known = get(ALL)
    assert known["counts"] == {"restored": 1, "total": 6, "in_progress": 1, "completed": 4, "failed": 1}
    assert {kind: known["latest"][kind]["id"] for kind in known["latest"]} == {
        "completed": 3, "savepoint": 5, "failed": 4, "restored": 0,
    }  # fmt: skip
    assert [each["className"] for each in known["history"]] == [
        "in_progress", "completed", "failed", "completed", "completed", "completed",
    ]  # fmt: skip
    assert all(each["tasks"] == {} for each in known["history"])
    failed = known["latest"]["failed"]
    assert failed["failure_timestamp"] == NOW and failed["failure_message"].endswith("be written: token=******")
    assert "external_path" not in failed
    assert known["latest"]["completed"]["external_path"] == "s3://me:******@checkpoints/chk-3"


def test_the_summary_is_of_completed_ones() -> None:
    summary = get(ALL)["summary"]
    # durations 51, 52, 53, 55
    assert summary["end_to_end_duration"] == {
        "min": 51, "max": 55, "avg": 52, "p50": 52.5, "p90": 55.0, "p95": 55.0, "p99": 55.0, "p999": 55.0,
    }  # fmt: skip


def test_without_checkpoints_percentiles_are_nan() -> None:
    holder = SampleHolder([sample_job(checkpoints=CheckpointsDocument())])
    client = sample_client(holder=holder)
    known = client.get(ALL).json()
    assert known["summary"]["state_size"]["p50"] == "NaN" and known["summary"]["alignment_buffered"]["p50"] == 0.0
    assert known["latest"] == {"completed": None, "savepoint": None, "failed": None, "restored": None}
    assert client.get(f"{ALL}/config").json()["interval"] == FOREVER


def test_details_have_tasks_and_subtasks() -> None:
    details = get(f"{ALL}/details/3")
    assert set(details["tasks"]) == {vertex_id(1), vertex_id(2)}
    assert (details["num_subtasks"], details["num_acknowledged_subtasks"]) == (4, 4)
    vertex = get(f"{ALL}/details/3/subtasks/{vertex_id(2)}")
    assert [each["checkpointed_size"] for each in vertex["subtasks"]] == [100, 200]
    assert vertex["summary"]["checkpointed_size"]["avg"] == 150
    pending = get(f"{ALL}/details/6/subtasks/{vertex_id(2)}")
    assert pending["status"] == "IN_PROGRESS"
    assert pending["subtasks"][1] == {"className": "pending", "index": 1, "status": "pending_or_failed"}


def test_configuration() -> None:
    config = get(f"{ALL}/config")
    assert (config["mode"], config["interval"]) == ("exactly_once", 1000)
    assert config["externalization"] == {"enabled": True, "delete_on_cancellation": True}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (f"{ALL}/details/99", "Could not find checkpointing statistics for checkpoint 99."),
        (f"{ALL}/details/3/subtasks/{job_id(7)}", f"There is no checkpoint statistics for task {job_id(7)}."),
        (f"/jobs/{job_id(6)}/checkpoints", "Checkpointing has not been enabled."),
        (f"/jobs/{job_id(6)}/checkpoints/config", f"Checkpointing is not enabled for this job ({job_id(6)})."),
        (f"/jobs/{job_id(6)}/checkpoints/details/1", f"Checkpointing was not enabled for job {job_id(6)}."),
    ],
)
def test_what_is_not_there(path: str, text: str) -> None:
    response = sample_client().get(path)
    assert response.status_code == 404 and text in response.json()["errors"][0]
