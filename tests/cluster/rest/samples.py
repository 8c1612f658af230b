"""Jobs and machines as documents, for tests of the REST API, the history server and the web pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

from millrace.cluster.control import JobControl, JobHolder, JobOverError, Launch, LaunchError, ProgramStore
from millrace.cluster.documents import (
    AccumulatorDocument,
    CheckpointConfigDocument,
    CheckpointDocument,
    CheckpointsDocument,
    EpochDocument,
    ExceptionDocument,
    FrameDocument,
    HeavyKey,
    InputDocument,
    JobDocument,
    LogDocument,
    MetricDocument,
    OperatorDocument,
    ProgramDocument,
    RestoredDocument,
    SubtaskDocument,
    TaskCheckpointDocument,
    TaskManagerDocument,
    ThreadDocument,
    VertexDocument,
)

NOW = 1_790_000_000_000
"""the moment that the samples are of"""
MANAGER = "localhost:40001-0e626c"
OVER = ("FINISHED", "CANCELED", "FAILED")


def job_id(number: int) -> str:
    return f"{number:032x}"


def vertex_id(number: int) -> str:
    return f"{number:016x}{'5eed' * 4}"


def sample_subtask(index: int, state: str = "RUNNING", source: bool = False) -> SubtaskDocument:
    """A subtask; the second of each vertex is slower than the first."""
    started = NOW - 60_000
    states = {"CREATED": started - 30, "SCHEDULED": started - 20, "DEPLOYING": started}
    if state != "CREATED":
        states |= {"INITIALIZING": started + 100, "RUNNING": started + 500}
    if state in OVER:
        states[state] = NOW
    return SubtaskDocument(
        index=index,
        state=state,
        attempt=0,
        host="localhost",
        task_manager=MANAGER,
        states=states,
        started=started,
        ended=NOW if state in OVER else -1,
        records_in=0 if source else 1000 + index,
        records_out=1000 + index,
        bytes_in=0 if source else 20_000,
        bytes_out=20_000,
        busy_ms=1200.0 + 100 * index,
        backpressured_ms=300.0,
        idle_ms=5000.0,
        busy=min(1.0, 0.2 + 0.5 * index),
        backpressured=0.3 if index == 0 else 0.0,
        idle=0.5,
        watermark=None if source else NOW - 5000,
        state_bytes=4096,
        metrics=(MetricDocument("numRecordsInPerSecond", 17.5, "meter"), MetricDocument("Map.numRecordsIn", 7)),
        accumulators=(AccumulatorDocument("words", "IntCounter", str(3 + index)),),
    )


def sample_vertex(
    number: int, parallelism: int = 2, state: str = "RUNNING", inputs: Sequence[int] = ()
) -> VertexDocument:
    """A vertex; one without inputs is a source."""
    name = f"Map {number}" if inputs else f"Source: words {number}"
    return VertexDocument(
        id=vertex_id(number),
        name=f"{name} -> Filter <{number}>",
        parallelism=parallelism,
        max_parallelism=128,
        slot_sharing_group=vertex_id(1000),
        operators=(
            OperatorDocument(f"uid-{number}-a", name, "job.py:12"),
            OperatorDocument(f"uid-{number}-b", f"Filter <{number}>", "job.py:13"),
        ),
        inputs=tuple([InputDocument(vertex_id(each), "HASH", place) for place, each in enumerate(inputs)]),
        subtasks=tuple([sample_subtask(index, state, not inputs) for index in range(parallelism)]),
        heavy_keys=(HeavyKey("spark", 0.4),),
        states={"count": 8192},
    )


def sample_checkpoint(number: int, status: str = "COMPLETED", savepoint: bool = False) -> CheckpointDocument:
    """A checkpoint of the first two vertices."""
    done = status == "COMPLETED"
    tasks = [
        TaskCheckpointDocument(vertex_id(each), 2, 2 if done else 1, NOW - 1000, 300 * number, 900, 40, (100, 200))
        for each in (1, 2)
    ]
    return CheckpointDocument(
        id=number,
        savepoint=savepoint,
        status=status,
        triggered=NOW - 10_000 + number,
        latest_ack=NOW - 9000 + number if done else -1,
        duration=50 + number,
        size=600 * number,
        full_size=1800,
        path=f"s3://me:geheim@checkpoints/chk-{number}" if done else None,
        failed=NOW if status == "FAILED" else -1,
        failure="A file could not be written: token=geheim" if status == "FAILED" else None,
        tasks=tuple(tasks),
    )


def sample_checkpoints() -> CheckpointsDocument:
    return CheckpointsDocument(
        CheckpointConfigDocument(interval=1000, externalized=True),
        restored_count=1,
        total=6,
        in_progress=1,
        completed=4,
        failed=1,
        history=(
            sample_checkpoint(6, "IN_PROGRESS"),
            sample_checkpoint(5, savepoint=True),
            sample_checkpoint(4, "FAILED"),
            *[sample_checkpoint(each) for each in (3, 2, 1)],
        ),
        restored=RestoredDocument(0, NOW - 60_000, True, "s3://me:geheim@savepoints/savepoint-1"),
    )


def sample_exception(text: str = "division by zero", at: int = NOW - 2000, **labels: str) -> ExceptionDocument:
    return ExceptionDocument(
        name="ZeroDivisionError",
        text=f"Map (job.py:12): {text}",
        stacktrace=f'File "job.py", line 12, in divide, password=geheim\nZeroDivisionError: {text}',
        at=at,
        task="Map (1/2) - execution #0",
        host="localhost",
        task_manager=MANAGER,
        labels=labels or {"type": "user"},
    )


def sample_job(
    number: int = 1, state: str = "RUNNING", vertices: int = 3, parallelism: int = 2, **changes: Any
) -> JobDocument:
    """A job of a chain of vertices, with all that a job can have."""
    inner = state if state in OVER else "RUNNING"
    chain = [sample_vertex(each, parallelism, inner, [each - 1] if each > 1 else []) for each in range(1, vertices + 1)]
    exceptions = (sample_exception(), sample_exception("old", NOW - 9000, type="system", part="net"))
    job = JobDocument(
        id=job_id(number),
        name=f"words {number}",
        state=state,
        batch=False,
        parallelism=parallelism,
        max_parallelism=128,
        started=NOW - 61_000,
        ended=NOW if state in OVER else -1,
        written=NOW,
        timestamps={"INITIALIZING": NOW - 61_000, "RUNNING": NOW - 60_500, state: NOW - 60_400},
        vertices=tuple(chain),
        checkpoints=sample_checkpoints(),
        exceptions=(replace(exceptions[0], concurrent=(replace(exceptions[1], root=False),)), exceptions[1]),
        epochs=(EpochDocument(7, NOW - 2000, 1000, 2001, NOW - 5000, {"read": 10.0, "process": 700.0}, True),),
        accumulators=(AccumulatorDocument("words", "IntCounter", "7"),),
        metrics=(MetricDocument("numRestarts", 1, "counter"),),
        restart_strategy="Restart with fixed delay (1000 ms). #3 restart attempts.",
        parameters={"input": "words.txt", "db.password": "geheim"},
        configuration={"parallelism.default": "2", "s3.secret-key": "geheim"},
        stoppable=True,
    )
    return replace(job, **changes)


def sample_manager() -> TaskManagerDocument:
    gigabyte = 1 << 30
    return TaskManagerDocument(
        MANAGER, "localhost", 40001, 4, 2, NOW, 4, 16 * gigabyte, gigabyte, 2 * gigabyte, gigabyte, 1 << 20, 6
    )


@dataclass
class SampleControl:
    """Steers a sample; remembers what it was asked for."""

    holder: SampleHolder
    id: str
    asked: list[tuple[Any, ...]] = field(default_factory=list)
    pending: Future[Any] | None = None
    """what the next savepoint, stop or checkpoint is; None: it is done at once"""

    def document(self) -> JobDocument:
        found = self.holder.job(self.id)
        assert found is not None
        return found

    def _ask(self, what: str, result: Any, *arguments: Any) -> Future[Any]:
        self.asked.append((what, *arguments))
        job = self.document()
        if job.state in OVER:
            raise JobOverError(f"Job {job.name} is {job.state}.")
        if self.pending is not None:
            return self.pending
        done: Future[Any] = Future()
        done.set_result(result)
        return done

    def cancel(self) -> None:
        self._ask("cancel", None)
        self.holder.put(replace(self.document(), state="CANCELED", ended=NOW))

    def savepoint(self, directory: str | None, native: bool) -> Future[str]:
        return self._ask("savepoint", f"{directory or '/configured'}/savepoint-1", directory, native)

    def stop(self, directory: str | None, drain: bool, native: bool) -> Future[str]:
        return self._ask("stop", f"{directory or '/configured'}/savepoint-2", directory, drain, native)

    def checkpoint(self, full: bool) -> Future[int]:
        return self._ask("checkpoint", 7, full)

    def query_state(self, operator: str, state: str, key: Any) -> Future[Any]:
        if state != "count":
            raise LookupError(f"Operator {operator} has no state {state}.")
        return self._ask("state", {"spark": 3}.get(key), operator, state, key)

    def threads(self, task_manager: str | None) -> list[ThreadDocument]:
        return [ThreadDocument("task 1", f'"task 1" on {task_manager}\n  at job.py:12')]

    def flame_graph(self, vertex: str, subtask: int | None, mode: str) -> FrameDocument:
        return FrameDocument("root", 5, (FrameDocument(f"{mode} of {subtask}", 5),))


class SampleHolder:
    """Holds samples."""

    def __init__(self, jobs: Sequence[JobDocument] = (), options: Mapping[str, str] | None = None) -> None:
        self._jobs = {each.id: each for each in jobs}
        self.controls = {each.id: SampleControl(self, each.id) for each in jobs}
        self.options = options or {"parallelism.default": "2", "security.rest.token": "geheim"}
        self.is_shut_down = False
        self.disposed: list[str] = []
        self.files = {"server.log": b"started\n", "server.out": b"hello\n"}

    def put(self, job: JobDocument) -> None:
        self._jobs[job.id] = job

    def jobs(self) -> Sequence[JobDocument]:
        return [*self._jobs.values()]

    def job(self, id: str) -> JobDocument | None:
        return self._jobs.get(id)

    def control(self, id: str) -> JobControl | None:
        return self.controls.get(id)

    def task_managers(self) -> Sequence[TaskManagerDocument]:
        return [sample_manager()]

    def configuration(self) -> Mapping[str, str]:
        return self.options

    def logs(self, task_manager: str | None) -> Sequence[LogDocument]:
        return [LogDocument(name, len(text), NOW) for name, text in self.files.items()]

    def read_log(self, task_manager: str | None, name: str) -> Iterable[bytes] | None:
        return [self.files[name]] if name in self.files else None

    def threads(self) -> Sequence[ThreadDocument]:
        return [ThreadDocument("MainThread", '"MainThread"\n  at server.py:1')]

    def dispose_savepoint(self, path: str) -> None:
        if path.startswith("/no") or path in self.disposed:
            raise FileNotFoundError(f"There is no savepoint at {path}.")
        self.disposed.append(path)

    def shut_down(self) -> None:
        self.is_shut_down = True


class SamplePrograms:
    """Programs that are never run."""

    def __init__(self) -> None:
        self.known: dict[str, ProgramDocument] = {}
        self.launches: list[Launch] = []

    def programs(self) -> Sequence[ProgramDocument]:
        return [*self.known.values()]

    def upload(self, name: str, content: BinaryIO) -> ProgramDocument:
        if not name.endswith((".py", ".zip")):
            raise ValueError("Only Python programs and archives are allowed.")
        program = ProgramDocument(f"0000-{name}", name, NOW, name)
        self.known[program.id] = program
        return program

    def delete(self, id: str) -> bool:
        return self.known.pop(id, None) is not None

    def plan(self, launch: Launch) -> JobDocument:
        self.launches.append(launch)
        return sample_job(9, "CREATED")

    def run(self, launch: Launch) -> str:
        self.launches.append(launch)
        if "fail" in launch.arguments:
            raise LaunchError("job.py, line 3: no such input")
        return launch.job_id or job_id(9)


def check_types(holder: SampleHolder, control: SampleControl, programs: SamplePrograms) -> None:
    """For mypy: the samples are what the contracts say."""
    _one: JobHolder = holder
    _two: JobControl = control
    _three: ProgramStore = programs
