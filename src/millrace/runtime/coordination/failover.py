"""What runs again when a task fails: ``jobmanager.execution.failover-strategy``.

In streaming mode an epoch is the unit of failure: what a failed one did counts for nothing, in all tasks. A job in
batch mode is one epoch, so that would be all of it. There, with ``region``, the failing task fails its Spark task:
Spark runs that one again, and takes what the stages before it have written from its shuffle files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from millrace.runtime.coordination.restart_policies import RestartPolicy
from millrace.runtime.exchange.exchange import ACK, Packet
from millrace.runtime.failure import Failure
from millrace.runtime.protocol.epoch import TaskAck
from millrace.runtime.storage import TaskId

__all__ = ["FAILOVER_STRATEGY", "TaskFailedError", "failing_alone", "is_regional", "spark_attempts", "task_retries"]

FAILOVER_STRATEGY = "jobmanager.execution.failover-strategy"
_LOCAL = re.compile(r"^local(?:\[[^,\]]*(?:,\s*(?P<attempts>\d+))?\])?$")


class TaskFailedError(Exception):
    """Fails a Spark task, so that Spark runs it again."""


def is_regional(configuration: Mapping[str, str]) -> bool:
    """Whether only what a failure concerns runs again. Raises ``ValueError`` for an unknown strategy."""
    strategy = configuration.get(FAILOVER_STRATEGY, "region").strip().lower()
    if strategy not in ("region", "full"):
        raise ValueError(f"{FAILOVER_STRATEGY} must be region or full, not {strategy!r}")
    return strategy == "region"


def spark_attempts(master: str, max_failures: str | None) -> int:
    """How often Spark runs a task at most.

    :param max_failures: ``spark.task.maxFailures``, which does not count for a local master.
    """
    local = _LOCAL.match(master)
    if local is not None:
        return int(local["attempts"] or 1)
    return int(max_failures or 4)


def task_retries(policy: RestartPolicy, regional: bool, batch: bool, attempts: int) -> int:
    """How often a task that fails may run again before its failure is the job's."""
    return min(policy.most_restarts, attempts - 1) if regional and batch else 0


def failing_alone(packets: Iterable[Packet], task: TaskId) -> Iterator[Packet]:
    """The packets of a task, whose failure must not be its acknowledgement.

    :raises TaskFailedError: the task has failed.
    """
    stage, partition = task
    for packet in packets:
        if packet.edge == ACK and (packet.number, packet.channel) == (stage, partition):
            failure = TaskAck.decode(packet.payload).failure
            if failure is not None:
                raise TaskFailedError(_text(failure))
        yield packet


def _text(failure: Failure) -> str:
    return f"{failure.operator} at {failure.origin}: {failure.cause}; it will run again"
