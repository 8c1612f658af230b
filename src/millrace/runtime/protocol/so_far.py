"""What the tasks have done of an epoch that goes on: figures for those who look at the job. Nothing of it counts before
the epoch is complete."""

from __future__ import annotations

from typing import NamedTuple

from millrace.runtime.protocol.times import OperatorTimes, TaskTimes


class OperatorSoFar(NamedTuple):
    """What one operator's subtask has done. The fields are those of an ``OperatorReport``."""

    operator: int
    subtask: int
    records_in: int
    records_out: int
    watermark: int
    """that has come (ms)"""
    watermark_out: int
    bytes_in: int
    bytes_out: int
    times: OperatorTimes
    holds_back: bool | None
    """of a source: whether others of its alignment group wait for this subtask; None: of no source"""


class TaskSoFar(NamedTuple):
    """What one task has done."""

    stage: int
    partition: int
    reports: tuple[OperatorSoFar, ...]
    times: TaskTimes
