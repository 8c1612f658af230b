"""Which tasks may run again by themselves, and how their failures become Spark's."""

from __future__ import annotations

import pytest

from millrace.runtime.bases.epoch_protocol import TaskAck
from millrace.runtime.coordination.restart import (
    FAILOVER_STRATEGY,
    FailureRate,
    FixedDelay,
    NoRestart,
    RestartPolicy,
    TaskFailedError,
    failing_alone,
    is_regional,
    spark_attempts,
    task_retries,
)
from millrace.runtime.exchange.exchange import ACK, Packet
from millrace.runtime.failure import Failure


def test_region_is_the_default() -> None:
    assert is_regional({})
    assert is_regional({FAILOVER_STRATEGY: " Region "})
    assert not is_regional({FAILOVER_STRATEGY: "full"})
    with pytest.raises(ValueError, match=r"jobmanager.execution.failover-strategy must be region or full, not 'one'"):
        is_regional({FAILOVER_STRATEGY: "one"})


@pytest.mark.parametrize(
    ("master", "max_failures", "attempts"),
    [
        ("local", None, 1),
        ("local[2]", "9", 1),
        ("local[*]", None, 1),
        ("local[2,5]", None, 5),
        ("local[*, 3]", "9", 3),
        ("local-cluster[3,2,1024]", None, 4),
        ("spark://host:7077", "7", 7),
        ("yarn", None, 4),
    ],
)
def test_how_often_spark_runs_a_task(master: str, max_failures: str | None, attempts: int) -> None:
    assert spark_attempts(master, max_failures) == attempts


@pytest.mark.parametrize(
    ("policy", "regional", "batch", "retries"),
    [
        (NoRestart(), True, True, 0),
        (FixedDelay(2, 0), True, True, 2),
        (FixedDelay(9, 0), True, True, 3),
        (FailureRate(1, 1, 0), True, True, 3),
        (FixedDelay(2, 0), False, True, 0),
        (FixedDelay(2, 0), True, False, 0),
    ],
)
def test_how_often_a_task_runs_again(policy: RestartPolicy, regional: bool, batch: bool, retries: int) -> None:
    assert task_retries(policy, regional, batch, attempts=4) == retries


def ack(stage: int, partition: int, failure: Failure | None = None) -> Packet:
    return Packet(partition, ACK, partition, stage, TaskAck(1, stage, partition, failure=failure).encode())


def test_only_the_tasks_own_failure_counts() -> None:
    failure = Failure("map", 1, "job.py:3", "ValueError: no")
    packets = [Packet(0, 4, 1, 0, b"data"), ack(0, 1, failure), ack(1, 0, failure), ack(1, 1)]
    assert list(failing_alone(packets, (1, 1))) == packets
    found = []
    with pytest.raises(TaskFailedError, match=r"map at job.py:3: ValueError: no; it will run again"):
        found += failing_alone(packets, (1, 0))
    assert found == packets[:2], "what was sent before, which Spark drops with the task"
