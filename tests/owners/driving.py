"""A job whose tasks run in owners, without Spark: the test is the driver and the worker, and a sleeping process the
executor."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from millrace.checkpoint.shared_folder import FirstWrite
from millrace.datastream import DataStream
from millrace.graph.serialize import serialize
from millrace.runtime.bases.epoch_protocol import EpochPlan, TaskAck
from millrace.runtime.clocks import now_millis
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.runtime.exchange.exchange import ACK
from millrace.runtime.operators import specs
from millrace.runtime.storage import TaskId
from millrace.spark.workers import pipe, processes
from millrace.spark.workers.frames import Call, Greeting, Run
from millrace.spark.workers.orders import Orders
from millrace.spark.workers.pipe import SCHEMA, OwnerLostError
from millrace.spark.workers.shipping import Output, ShippedJob, digest


class Executor:
    """A process that nothing runs in but the clock: workers say that it has started them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        monkeypatch.setattr(pipe, "executor", lambda: self.process.pid)
        self.folder = processes.folder_of(self.process.pid)

    def keeper(self) -> int:
        """The process that listens for this executor's workers."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(os.path.join(self.folder, processes.SOCKET))
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            return int(struct.unpack("3i", credentials)[0])

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


class OwnedJob:
    """A job that runs epoch by epoch in owners and collects a stream."""

    def __init__(
        self,
        stream: DataStream,
        folder: Path,
        owners: int = 2,
        records: int = 20,
        token: str | None = None,
        cancel_seconds: float = 180.0,
        output: Output | None = None,
    ) -> None:
        env = stream.get_execution_environment()
        env._program.add("Sink: Collect", specs.Collect(), stream._edges(), None)
        self.job = replace(env.job_graph(), epoch_records=records)
        self.coordinator = Coordinator(self.job, now_millis)
        self._orders = Orders(self.job.partitions, None, self.coordinator.cleaner)
        shipped = ShippedJob(
            self.job.job_id,
            serialize(self.job.for_tasks()),
            str(folder),
            cloudpickle.dumps({}),
            token=token,
            output=output or Output(),
        )
        self.payload = shipped.encode()
        self._owners = owners
        self._cancel_seconds = cancel_seconds
        self._run = 0
        self.first_writes: list[FirstWrite | None] = []
        """what the tasks of the last epoch have told of their processes"""

    def epoch(self) -> list[Any]:
        """The next epoch: what it collected."""
        plan = self.coordinator.plan()
        rows: list[pa.RecordBatch] = []
        for stage, width in enumerate(self.job.partitions):
            given, rows = pa.Table.from_batches(rows, SCHEMA), []
            for partition in range(width):
                mine = given.filter(pc.equal(given["target"], partition))
                rows += self.task((stage, partition), plan, mine.to_batches())
        acks = [TaskAck.decode(row["payload"]) for batch in rows for row in batch.to_pylist() if row["edge"] == ACK]
        self.first_writes = [ack.first_write for ack in acks]
        result = self.coordinator.complete(plan, acks)
        return [value for part in result.collected for value in cloudpickle.loads(part)]

    def task(self, task: TaskId, plan: EpochPlan, batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """One task of an epoch."""
        self._run += 1
        greeting = Greeting(self.job.job_id, task, plan.epoch, self._owners, 600.0, self._cancel_seconds)
        call = Call(digest(self.payload), Run(task, self._run, 0), self._orders.publish(plan), "/", b"", False)
        return list(pipe.run_in_owner(greeting, call, self.payload, iter(batches)))

    def forget(self) -> None:
        pipe.forget(self.job.job_id)


COUNT, KEYS = 240, 24
"""elements of a job that counts them by key, and keys"""


def epoch_after_a_kill(job: OwnedJob) -> list[Any]:
    """What the next epoch collects. If the keeper has not noticed yet that an owner is dead, the job restarts once."""
    try:
        return job.epoch()
    except OwnerLostError:
        job.coordinator.restart()
        return job.epoch()


def run_to_end(job: OwnedJob) -> list[Any]:
    """What all further epochs collect."""
    found = []
    while not job.coordinator.finished:
        found += job.epoch()
    return found


def check(found: list[Any]) -> None:
    """Every one of ``COUNT`` elements was counted once, in order: rows (key, count, ...)."""
    for key in range(KEYS):
        assert [count for found_key, count, *_ in found if found_key == key] == list(range(1, COUNT // KEYS + 1))


def eventually(what: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until it is so."""
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, f"not within {seconds} s: {what}"
        time.sleep(0.05)


def lives(process: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # also while it is read
        return False
