"""Flink's division of memory, against numbers of its documentation and plain sums."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.configuration.registry import ConfigurationError
from millrace.configuration.spark_settings import Sizes, job_manager, task_manager

MB = 1 << 20
T, J = "taskmanager.memory.", "jobmanager.memory."


def megabytes(sizes: Sizes | None) -> tuple[int, int | None] | None:
    return None if sizes is None else (sizes.heap // MB, None if sizes.total is None else sizes.total // MB)


@pytest.mark.parametrize(
    ("settings", "heap", "total"),
    [
        # The sizes that Flink's configuration comes with: its start logs 384 mb for tasks and 128 mb for itself.
        ({T + "process.size": "1728m"}, 512, 1728),
        ({T + "flink.size": "1280m"}, 512, 1728),
        ({"taskmanager.heap.size": "1280m"}, 512, 1728),
        ({"taskmanager.heap.mb": "1280"}, 512, 1728),
        ({T + "process.size": "1728m", T + "managed.size": "0"}, 1024, 1728),
        ({T + "process.size": "1728m", T + "managed.fraction": "0.0"}, 1024, 1728),
        ({T + "process.size": "1728m", T + "task.heap.size": "600m"}, 728, 1728),
        ({T + "task.heap.size": "384m", T + "managed.size": "512m"}, 512, 1728),
        ({T + "task.heap.size": "1g"}, 1152, None),
    ],
)
def test_task_managers(settings: dict[str, str], heap: int, total: int | None) -> None:
    found = megabytes(task_manager(settings))
    assert found is not None
    assert found[0] == pytest.approx(heap, abs=1)
    assert found[1] == (None if total is None else pytest.approx(total, abs=1))


@pytest.mark.parametrize(
    ("settings", "heap", "total"),
    [
        ({J + "process.size": "1600m"}, 1024, 1600),
        ({J + "flink.size": "1152m"}, 1024, 1600),
        ({J + "heap.size": "1024m"}, 1024, 1600),
        ({"jobmanager.heap.mb": "1152"}, 1024, 1600),
        ({J + "process.size": "1600m", J + "off-heap.size": "256m"}, 896, 1600),
    ],
)
def test_job_managers(settings: dict[str, str], heap: int, total: int) -> None:
    assert megabytes(job_manager(settings)) == (heap, total)


def test_nothing_is_set() -> None:
    assert task_manager({}) is None
    assert job_manager({T + "process.size": "2g"}) is None


def test_parts_that_do_not_fit() -> None:
    with pytest.raises(ConfigurationError, match=r"^taskmanager.memory.\*: with 1024 mb in all"):
        task_manager({T + "process.size": "1g", T + "managed.size": "900m"})
    with pytest.raises(ConfigurationError, match=r"^jobmanager.memory.\*"):
        job_manager({J + "process.size": "500m"})


@given(st.integers(1024, 1 << 20))
def test_whole_and_parts_agree(total: int) -> None:
    """What remains of a process without the JVM's part gives the same process again."""
    by_process = task_manager({T + "process.size": f"{total} mb"})
    assert by_process is not None
    overhead = min(max(total * MB * 0.1, 192 * MB), 1024 * MB)
    inner = total * MB - 256 * MB - int(overhead)
    by_inner = task_manager({T + "flink.size": str(inner)})
    assert by_inner is not None
    assert by_inner.heap == by_process.heap
    assert by_inner.total == pytest.approx(total * MB, abs=16)
    assert by_process.heap == inner - 128 * MB - int(inner * 0.4) - int(max(inner * 0.1, 64 * MB))
