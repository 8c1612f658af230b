"""Documents: frozen descriptions of a job and of its cluster, which travel between processes as JSON.

A ``JobDocument`` has the same form for a running job, an archived job and a job of another process. Times are in
milliseconds since 1970, sizes in bytes. ``masked`` takes secrets out before a document leaves the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from millrace.util.secrets import mask_options, mask_text

# Metrics and accumulators


@dataclass(frozen=True)
class MetricDocument:
    """One metric with its value."""

    name: str
    """the metric's name in Flink, with the operator before it if the metric belongs to one: ``Map.numRecordsIn``"""
    value: float | int | str | None
    kind: str = "gauge"
    """counter, meter, gauge or histogram"""


@dataclass(frozen=True)
class AccumulatorDocument:
    """One accumulator of the user."""

    name: str
    type: str
    value: str


# Vertices, operators and subtasks


@dataclass(frozen=True)
class InputDocument:
    """From which vertex a vertex gets elements, and how they are spread."""

    vertex: str
    ship_strategy: str
    """Flink's name: FORWARD, HASH, REBALANCE, ..."""
    number: int = 0
    exchange: str = "pipelined_bounded"


@dataclass(frozen=True)
class OperatorDocument:
    """One operator of a vertex."""

    uid: str
    name: str
    origin: str
    """file:line where the user made it"""
    description: str = ""


@dataclass(frozen=True)
class SubtaskDocument:
    """One subtask of a vertex. Counts are of completed epochs, since the job's start."""

    index: int
    state: str
    """a name of Flink's ``ExecutionState``"""
    attempt: int
    host: str
    task_manager: str
    """id of the executor that it was on last"""
    states: dict[str, int]
    """name of an ``ExecutionState`` -> when the subtask entered it (ms); states that it never had are missing"""
    started: int = -1
    ended: int = -1
    records_in: int = 0
    records_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    busy_ms: float = 0.0
    backpressured_ms: float = 0.0
    idle_ms: float = 0.0
    busy: float | None = None
    """share of the last seconds in which the subtask worked, 0 to 1; None: unknown"""
    backpressured: float | None = None
    idle: float | None = None
    watermark: int | None = None
    """the subtask's input watermark (ms); None before the first watermark"""
    state_bytes: int = 0
    metrics: tuple[MetricDocument, ...] = ()
    accumulators: tuple[AccumulatorDocument, ...] = ()


@dataclass(frozen=True)
class VertexDocument:
    """One vertex."""

    id: str
    """32 hexadecimal digits, the same for the same program"""
    name: str
    parallelism: int
    max_parallelism: int
    slot_sharing_group: str
    """32 hexadecimal digits"""
    operators: tuple[OperatorDocument, ...]
    inputs: tuple[InputDocument, ...] = ()
    subtasks: tuple[SubtaskDocument, ...] = ()
    heavy_keys: tuple[HeavyKey, ...] = ()
    """the keys with the most records, as far as the subtasks could count them"""
    states: dict[str, int] = field(default_factory=dict)
    """name of a state -> its size in bytes, as far as sizes are known"""


@dataclass(frozen=True)
class HeavyKey:
    """A key that gets a large share of a vertex's input."""

    key: str
    share: float
    """the key's share of the vertex's input, 0 to 1"""


# Checkpoints and savepoints

FOREVER = 9223372036854775807
"""The checkpoint interval that Flink shows for a job without checkpoints."""


@dataclass(frozen=True)
class CheckpointConfigDocument:
    """What is configured. Times are ms."""

    mode: str = "exactly_once"
    interval: int = FOREVER
    timeout: int = 600_000
    min_pause: int = 0
    max_concurrent: int = 1
    tolerable_failures: int = 0
    retained_on_cancellation: bool = False
    externalized: bool = False
    state_backend: str = "HashMapStateBackend"
    storage: str = "JobManagerCheckpointStorage"
    unaligned: bool = False
    after_tasks_finish: bool = True


@dataclass(frozen=True)
class TaskCheckpointDocument:
    """What one vertex did for a checkpoint."""

    vertex: str
    subtasks: int
    acknowledged: int
    latest_ack: int
    """when the last subtask acknowledged (ms), -1 if none has"""
    size: int
    full_size: int
    duration: int
    sizes: tuple[int, ...] = ()
    """bytes that each subtask wrote for this checkpoint"""


@dataclass(frozen=True)
class CheckpointDocument:
    """One checkpoint or savepoint. Times and durations are ms."""

    id: int
    savepoint: bool
    status: str
    """IN_PROGRESS, COMPLETED or FAILED"""
    triggered: int
    latest_ack: int = -1
    duration: int = 0
    """from the beginning of the checkpoint's epoch until the checkpoint was recorded"""
    size: int = 0
    """bytes written for this checkpoint"""
    full_size: int = 0
    """bytes of all files that the checkpoint consists of, also those that it shares with earlier ones"""
    path: str | None = None
    discarded: bool = False
    ends_job: bool = False
    """whether the job was stopped with this savepoint"""
    failed: int = -1
    failure: str | None = None
    tasks: tuple[TaskCheckpointDocument, ...] = ()


@dataclass(frozen=True)
class RestoredDocument:
    """The checkpoint or savepoint that the job went on from last."""

    id: int
    at: int
    savepoint: bool
    path: str | None


@dataclass(frozen=True)
class CheckpointsDocument:
    """All that is known of a job's checkpoints."""

    config: CheckpointConfigDocument = field(default_factory=CheckpointConfigDocument)
    restored_count: int = 0
    total: int = 0
    in_progress: int = 0
    completed: int = 0
    failed: int = 0
    history: tuple[CheckpointDocument, ...] = ()
    """checkpoints, the newest first"""
    restored: RestoredDocument | None = None


# Failures and restarts


@dataclass(frozen=True)
class ExceptionDocument:
    """One failure, with those that came at the same time."""

    name: str
    """class of the exception"""
    text: str
    """the message for the user: operator, line, cause"""
    stacktrace: str
    at: int
    """when it happened (ms)"""
    task: str | None = None
    """the task that failed, ``Map -> Sink (1/2) - execution #0``; None if no single task did"""
    host: str | None = None
    task_manager: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    concurrent: tuple[ExceptionDocument, ...] = ()
    root: bool = True
    """whether the job failed or restarted because of it"""


# Epochs


@dataclass(frozen=True)
class EpochDocument:
    """One completed epoch. Times are ms."""

    number: int
    began: int
    duration: int
    records: int
    """elements that the sources have read"""
    watermark: int | None
    """the lowest watermark that has reached an end of the job (ms); None before the first"""
    phases: dict[str, float] = field(default_factory=dict)
    """plan, start, read, process, exchange, record, commit -> duration in ms; phases that were not measured are
    missing"""
    checkpoint: bool = False


# The job


@dataclass(frozen=True)
class SlowDocument:
    """The operator that takes most of the time of a job while records wait for it."""

    vertex: str
    """id of the operator's vertex"""
    operator: str
    """name of the operator"""
    millis: float
    """average time that the operator takes for one record (ms), over the last seconds"""
    share: float
    """the operator's share of the time of all operators, 0 to 1"""


@dataclass(frozen=True)
class JobDocument:
    """One job at one moment. Times are ms since the epoch; -1 stands for "not yet", as in Flink's answers."""

    id: str
    """32 hexadecimal digits"""
    name: str
    state: str
    """a name of ``JobStatus``"""
    batch: bool
    parallelism: int
    max_parallelism: int
    started: int
    ended: int
    written: int
    """when this document was made (ms)"""
    timestamps: dict[str, int]
    """name of a ``JobStatus`` -> when the job entered it last, 0 if never"""
    vertices: tuple[VertexDocument, ...] = ()
    """the job's vertices in topological order"""
    checkpoints: CheckpointsDocument = field(default_factory=CheckpointsDocument)
    exceptions: tuple[ExceptionDocument, ...] = ()
    """failures, the newest first"""
    exceptions_truncated: bool = False
    epochs: tuple[EpochDocument, ...] = ()
    """the last epochs, the oldest first"""
    accumulators: tuple[AccumulatorDocument, ...] = ()
    """accumulators, merged over the whole job"""
    metrics: tuple[MetricDocument, ...] = ()
    """metrics of the job itself (``numRestarts``, ``lastCheckpointSize``, ...)"""
    restart_strategy: str = ""
    """the restart strategy in Flink's words"""
    parameters: dict[str, str] = field(default_factory=dict)
    """the user's global job parameters"""
    configuration: dict[str, str] = field(default_factory=dict)
    """options that the program and the command line have set; secrets are masked"""
    object_reuse: bool = False
    stoppable: bool = False
    """whether it can be stopped with a savepoint"""
    log_file: str | None = None
    output_file: str | None = None
    """file with everything that the program and its functions print"""
    spark_page: str | None = None
    """address of Spark's own web page"""
    process: int = 0
    """pid of the process that drives the job"""
    slow: SlowDocument | None = None
    at_work: str | None = None
    """progress of the running epoch, in words: its number, its start and, after some seconds, the task that it waits
    for"""


# Task managers, logs and uploaded programs


@dataclass(frozen=True)
class TaskManagerDocument:
    """One executor of Spark."""

    id: str
    host: str
    port: int
    slots: int
    free_slots: int
    last_heartbeat: int
    """time of the last heartbeat (ms since the epoch)"""
    cores: int
    physical_memory: int
    """memory of the machine in bytes"""
    free_memory: int
    """bytes of the JVM's heap"""
    heap_max: int
    heap_used: int
    worker_memory: int = 0
    """bytes that the Python workers on the executor use"""
    tasks: int = 0
    log_file: str | None = None
    metrics: tuple[MetricDocument, ...] = ()


@dataclass(frozen=True)
class LogDocument:
    """A log file that can be read."""

    name: str
    size: int
    modified: int
    """time of the last change (ms)"""


@dataclass(frozen=True)
class ProgramDocument:
    """An uploaded program: a Python file, or an archive with one."""

    id: str
    """``<uuid>_<name>``, as Flink's ids of jars"""
    name: str
    uploaded: int
    entry: str | None
    """file or module that is run, if the program declares one"""


# Threads and stacks


@dataclass(frozen=True)
class ThreadDocument:
    """One thread with its stack."""

    name: str
    text: str
    """the thread's name, state and stack, one frame a line"""


@dataclass(frozen=True)
class FrameDocument:
    """A node of a flame graph: a frame, how often it was seen, and the frames that it called."""

    name: str
    value: int
    children: tuple[FrameDocument, ...] = ()


# Documents without secrets


def masked(job: JobDocument) -> JobDocument:
    """A copy of the job's document whose secrets are masked: in options, in texts of exceptions, in paths of
    checkpoints."""
    return replace(
        job,
        parameters=mask_options(job.parameters),
        configuration=mask_options(job.configuration),
        exceptions=tuple([_exception(each) for each in job.exceptions]),
        checkpoints=_checkpoints(job.checkpoints),
    )


def _exception(exception: ExceptionDocument) -> ExceptionDocument:
    return replace(
        exception,
        text=mask_text(exception.text),
        stacktrace=mask_text(exception.stacktrace),
        concurrent=tuple([_exception(each) for each in exception.concurrent]),
    )


def _checkpoints(known: CheckpointsDocument) -> CheckpointsDocument:
    restored = known.restored
    if restored is not None:
        restored = replace(restored, path=_text(restored.path))
    return replace(known, history=tuple([_checkpoint(each) for each in known.history]), restored=restored)


def _checkpoint(checkpoint: CheckpointDocument) -> CheckpointDocument:
    return replace(checkpoint, path=_text(checkpoint.path), failure=_text(checkpoint.failure))


def _text(text: str | None) -> str | None:
    return None if text is None else mask_text(text)


# Values of state as JSON


def plain(value: Any) -> Any:
    """A value in JSON's types; a value that JSON cannot represent becomes text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(part) for part in value]
    return str(value)


def key_of(key: Any) -> Any:
    """A key of a program from its JSON form: JSON's lists become tuples."""
    return tuple(map(key_of, key)) if isinstance(key, list) else key
