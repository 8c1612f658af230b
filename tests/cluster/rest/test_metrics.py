"""Metrics by name, and aggregated over several things."""

from __future__ import annotations

import os
import statistics
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cluster.rest.client import sample_client, sample_holder
from tests.cluster.rest.samples import MANAGER, job_id, vertex_id

from millrace.cluster.rest.metrics import aggregate, skew
from millrace.cluster.rest.statistics import percentile

ONE = f"/jobs/{job_id(1)}/vertices/{vertex_id(2)}"
UNKNOWN = job_id(77)


def get(path: str) -> list[dict[str, object]]:
    response = sample_client().get(path)
    assert response.status_code == 200, response.text
    return response.json()


def test_without_get_there_are_only_names() -> None:
    names = get(f"/jobs/{job_id(1)}/metrics")
    assert {"id": "numRestarts"} in names and all(each.keys() == {"id"} for each in names)
    assert {"id": "0.Map.numRecordsIn"} in get(f"{ONE}/metrics")
    assert {"id": "Map.numRecordsIn"} in get(f"{ONE}/subtasks/metrics")


def test_values_are_texts_and_unknown_names_are_left_out() -> None:
    assert get(f"/jobs/{job_id(1)}/metrics?get=numRestarts,nothing,totalNumberOfCheckpoints") == [
        {"id": "numRestarts", "value": "1"},
        {"id": "totalNumberOfCheckpoints", "value": "6"},
    ]
    assert get(f"{ONE}/metrics?get=1.numRecordsIn&get=0.numRecordsInPerSecond") == [
        {"id": "1.numRecordsIn", "value": "1001"},
        {"id": "0.numRecordsInPerSecond", "value": "17.5"},
    ]
    assert get(f"{ONE}/subtasks/1/metrics?get=busyTimeMsPerSecond") == [{"id": "busyTimeMsPerSecond", "value": "700.0"}]
    assert get(f"/taskmanagers/{MANAGER}/metrics?get=Status.JVM.Memory.Heap.Max")[0]["value"] == str(2 << 30)
    assert get("/jobmanager/metrics?get=numRunningJobs") == [{"id": "numRunningJobs", "value": "3"}]


def test_the_server_measures_itself() -> None:
    names = {each["id"] for each in get("/jobmanager/metrics")}
    assert {"Status.JVM.CPU.Load", "Status.JVM.CPU.Time", "Status.JVM.Threads.Count", "taskSlotsTotal"} <= names
    assert not [name for name in names if str(name).startswith("System.")]  # only where that is wanted
    wanted = "Status.JVM.Memory.Heap.Used,Status.JVM.FileDescriptor.Open"
    used, files = [int(str(each["value"])) for each in get(f"/jobmanager/metrics?get={wanted}")]
    resident = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")]
    assert used == pytest.approx(int(resident[0].split()[1]) * 1024, rel=0.5)
    assert 3 <= files <= 2 * len(os.listdir("/proc/self/fd"))


def test_the_machine_is_measured_where_that_is_wanted() -> None:
    holder = sample_holder()
    holder.options = {"metrics.system-resource": "true"}
    client = sample_client(holder=holder)
    names = {each["id"] for each in client.get("/jobmanager/metrics").json()}
    assert {"System.CPU.Usage", "System.CPU.Load1min", "System.CPU.UsageCPU0", "System.Memory.Available"} <= names
    answer = client.get("/jobmanager/metrics?get=System.Memory.Total,System.CPU.Load5min").json()
    total, load = [float(each["value"]) for each in answer]
    assert total == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert load >= 0


@pytest.mark.parametrize(
    "path",
    [
        f"/jobs/{UNKNOWN}/metrics",
        f"/jobs/{UNKNOWN}/vertices/{vertex_id(1)}/metrics",
        f"/jobs/{job_id(1)}/vertices/{UNKNOWN}/metrics",
        f"/jobs/{job_id(1)}/vertices/{UNKNOWN}/subtasks/metrics",
        f"{ONE}/subtasks/99/metrics",
        f"{ONE}/jm-operator-metrics",
        "/taskmanagers/nobody/metrics",
    ],
)
def test_what_is_unknown_has_none(path: str) -> None:
    assert get(path) == []


def test_aggregates_over_subtasks() -> None:
    [all_of_them] = get(f"{ONE}/subtasks/metrics?get=numRecordsIn")
    assert all_of_them == {
        "id": "numRecordsIn", "min": 1000.0, "max": 1001.0, "avg": 1000.5, "sum": 2001.0,
        "skew": pytest.approx(0.5 / 1000.5 * 100),
    }  # fmt: skip
    assert get(f"{ONE}/subtasks/metrics?get=numRecordsIn&agg=min,MAX") == [
        {"id": "numRecordsIn", "min": 1000.0, "max": 1001.0}
    ]
    assert get(f"{ONE}/subtasks/metrics?get=numRecordsIn&agg=sum&subtasks=1") == [{"id": "numRecordsIn", "sum": 1001.0}]
    assert get(f"{ONE}/subtasks/metrics?get=numRecordsIn&agg=sum&subtasks=0-5") == [
        {"id": "numRecordsIn", "sum": 2001.0}
    ]
    assert get(f"{ONE}/subtasks/metrics?get=numRecordsIn&subtasks=x") == []
    assert get(f"{ONE}/subtasks/metrics?get=numRecordsIn&subtasks=0-99999999999999999999") == []


def test_aggregates_over_jobs_and_task_managers() -> None:
    chosen = f"{job_id(1)},{job_id(2)}"
    assert get(f"/jobs/metrics?get=numRestarts&agg=sum&jobs={chosen}") == [{"id": "numRestarts", "sum": 2.0}]
    assert get(f"/jobs/metrics?get=numRestarts&jobs={UNKNOWN}") == []
    assert get("/jobs/metrics?get=lastCheckpointExternalPath") == [], "texts can't be added up"
    assert get(f"/taskmanagers/metrics?get=Status.JVM.Memory.Heap.Max&agg=avg&taskmanagers={MANAGER}") == [
        {"id": "Status.JVM.Memory.Heap.Max", "avg": float(2 << 30)}
    ]


def test_aggregates_of_numbers_that_are_none() -> None:
    [found] = aggregate([{"x": float("nan")}, {"x": 1.0}], ["x"], ["sum", "avg"])
    assert found == {"id": "x", "avg": "NaN", "sum": "NaN"}
    assert skew([0.0, 0.0]) == 0.0


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=50), st.sampled_from([25, 50, 75, 90, 95, 99]))
def test_percentiles_are_those_of_the_standard_library(values: list[int], percent: int) -> None:
    # "exclusive" quantiles lie at p * (n + 1), as those of Flink's library; beyond the ends they go on, Flink's don't.
    expected = statistics.quantiles(values, n=100, method="exclusive")[percent - 1]
    clipped = min(max(values), max(min(values), expected))
    assert percentile(sorted(values), percent) == pytest.approx(clipped)
