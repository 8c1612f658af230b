"""Tasks that run in Spark's Python workers themselves: jobs with a single epoch leave nothing behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from millrace.spark.owners.frames import Run
from millrace.spark.owners.running import Running

# Found through this module by every task: what a stage function captures arrives as a copy with every task.
_running = Running()


def run_here(
    job: str, payload: bytes, run: Run, order: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run a task in this process; the parameters are those of ``Running.run``."""
    if not _running.knows(job):
        _running.take(job, payload)
    return _running.run(job, run, order, batches)
