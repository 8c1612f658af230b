"""The jobs that Flink was asked about (``tests/flink/rest``), as samples: one in each state."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.cluster.rest.samples import (
    NOW,
    OVER,
    SampleControl,
    SampleHolder,
    SamplePrograms,
    job_id,
    sample_checkpoint,
    sample_exception,
    sample_job,
    sample_subtask,
    sample_vertex,
)
from tests.flink.rest.programs import RUN_SQL, STATES

from millrace.cluster.control import Launch
from millrace.cluster.documents import CheckpointConfigDocument, CheckpointDocument, CheckpointsDocument, JobDocument
from millrace.cluster.processes.server import ProgramFolder

CONFIG = CheckpointConfigDocument(interval=1000, storage="FileSystemCheckpointStorage")
DEFAULT = "Cluster level default restart strategy"


def checkpoints(*history: CheckpointDocument) -> CheckpointsDocument:
    states = [each.status for each in history]
    counts = {"completed": states.count("COMPLETED"), "failed": states.count("FAILED")}
    return CheckpointsDocument(CONFIG, total=len(history), history=history, **counts)


DONE = checkpoints(*[sample_checkpoint(each) for each in (3, 2, 1)])


def job_of(name: str, id: str) -> JobDocument:
    """A job like the script of this name makes."""
    state = "RUNNING" if name == "canceled" else STATES[name]
    job = replace(
        sample_job(1, state, vertices=2), id=id, name=name, max_parallelism=-1, parameters={}, restart_strategy=DEFAULT,
        exceptions=(), checkpoints=DONE, accumulators=(),
    )  # fmt: skip
    if name == "plain":
        inputs = tuple([replace(each, ship_strategy="FORWARD") for each in job.vertices[1].inputs])
        chain = (job.vertices[0], replace(job.vertices[1], inputs=inputs))
        job = replace(job, vertices=chain, checkpoints=CheckpointsDocument(replace(CONFIG, interval=(1 << 63) - 1)))
    if name == "waiting":
        waiting = [sample_vertex(each, 100, "SCHEDULED", [each - 1] if each > 1 else []) for each in (1, 2)]
        job = replace(job, vertices=tuple(waiting), checkpoints=CheckpointsDocument(CONFIG))
    if name == "batch":
        job = replace(job, batch=True, checkpoints=CheckpointsDocument())
    if name == "failed":
        first = replace(sample_exception(), labels={}, concurrent=(replace(sample_exception(), labels={}),))
        whole = replace(first, task=None, host=None, task_manager=None)
        job = replace(job, exceptions=(whole,), checkpoints=checkpoints(sample_checkpoint(1)))
        job = replace(job, restart_strategy="Restart deactivated.")
    if name == "restarting":
        failures = [replace(sample_exception(at=NOW - age), labels={}) for age in (1000, 2000)]
        job = replace(ended(job, "FAILED"), state=state, ended=-1, exceptions=tuple(failures))
        job = replace(job, checkpoints=CheckpointsDocument(CONFIG))
    return job


def ended(job: JobDocument, state: str) -> JobDocument:
    """The job with all its subtasks in a state in which they have ended."""
    vertices = [
        replace(each, subtasks=tuple([sample_subtask(index, state, not each.inputs) for index in (0, 1)]))
        for each in job.vertices
    ]
    return replace(job, state=state, ended=NOW, vertices=tuple(vertices))


def _path(directory: str | None) -> str:
    return f"{directory or '/configured/savepoints'}/savepoint-012345-0123456789ab"


class Control(SampleControl):
    """Ends jobs as Flink does."""

    def cancel(self) -> None:
        super().cancel()
        self.holder.put(ended(self.document(), "CANCELED"))

    def savepoint(self, directory: str | None, native: bool) -> Future[str]:
        return self._checked("savepoint", directory) or self._ask("savepoint", _path(directory), directory, native)

    def stop(self, directory: str | None, drain: bool, native: bool) -> Future[str]:
        future = self._checked("stop", directory)
        if future is None:
            future = self._ask("stop", _path(directory), directory, drain, native)
            job = ended(self.document(), "FINISHED")
            savepoint = replace(sample_checkpoint(7, savepoint=True), ends_job=True)
            known = replace(job.checkpoints, history=(savepoint, *job.checkpoints.history))
            self.holder.put(replace(job, checkpoints=known))
        return future

    def checkpoint(self, full: bool) -> Future[int]:
        return self._checked("checkpoint", None) or super().checkpoint(full)

    def _checked(self, what: str, directory: str | None) -> Future[Any] | None:
        """A failure: of a job that doesn't run, or whose tasks wait, or of a directory that can't be written to."""
        job = self.document()
        runs = job.state == "RUNNING" and all(each.state == "RUNNING" for each in job.vertices[0].subtasks)
        if job.state in OVER or (runs and not (directory or "").startswith("/proc")):
            return None
        failed: Future[Any] = Future()
        failed.set_exception(OSError(f"No {what}."))
        return failed


class FlinkJobs:
    """Puts samples into a holder when they are asked for."""

    def __init__(self, holder: SampleHolder, folder: Path) -> None:
        self.holder = holder
        self.folder = folder
        self.arguments = "finished.sql"

    def submit(self, name: str, id: str | None = None) -> str:
        id = id or job_id(1000 + len(self.holder.jobs()))
        self.holder.put(job_of(name, id))
        self.holder.controls[id] = Control(self.holder, id)
        return id

    def file(self, name: str) -> tuple[str, bytes]:
        if name == "program":
            return RUN_SQL.name, RUN_SQL.read_bytes()
        return ("broken.zip", b"no archive") if name == "broken" else ("notes.txt", b"some text")


class FlinkPrograms(ProgramFolder):
    """Uploaded programs that make the finished job."""

    def __init__(self, path: Path, jobs: FlinkJobs) -> None:
        super().__init__(path)
        self.plan = SamplePrograms().plan
        self._jobs = jobs

    def run(self, launch: Launch) -> str:
        return self._jobs.submit("finished", launch.job_id)
