"""A job as others see it: state, times, vertices, checkpoints, exceptions, numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from millrace.cluster.documents.checkpoints import CheckpointsDocument
from millrace.cluster.documents.epochs import EpochDocument
from millrace.cluster.documents.exceptions import ExceptionDocument
from millrace.cluster.documents.numbers import AccumulatorDocument, MetricDocument
from millrace.cluster.documents.vertices import VertexDocument


@dataclass(frozen=True)
class SlowDocument:
    """The operator that takes most of the time of a job while records wait for it."""

    vertex: str
    """its id"""
    operator: str
    """its name"""
    millis: float
    """that a record takes it, by the last seconds"""
    share: float
    """of the time of all operators, 0 to 1"""


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
    """when this document was made"""
    timestamps: dict[str, int]
    """name of a ``JobStatus`` -> when the job entered it last, 0 if never"""
    vertices: tuple[VertexDocument, ...] = ()
    """in topological order"""
    checkpoints: CheckpointsDocument = field(default_factory=CheckpointsDocument)
    exceptions: tuple[ExceptionDocument, ...] = ()
    """the newest first"""
    exceptions_truncated: bool = False
    epochs: tuple[EpochDocument, ...] = ()
    """the last ones, oldest first"""
    accumulators: tuple[AccumulatorDocument, ...] = ()
    """of the whole job"""
    metrics: tuple[MetricDocument, ...] = ()
    """of the job itself (``numRestarts``, ``lastCheckpointSize``, ...)"""
    restart_strategy: str = ""
    """as Flink describes it"""
    parameters: dict[str, str] = field(default_factory=dict)
    """the user's global job parameters"""
    configuration: dict[str, str] = field(default_factory=dict)
    """what the program and the command line have set; secrets are masked"""
    object_reuse: bool = False
    stoppable: bool = False
    """whether it can be stopped with a savepoint"""
    log_file: str | None = None
    output_file: str | None = None
    """where what the program and its functions print is kept"""
    spark_page: str | None = None
    """address of Spark's own web page"""
    process: int = 0
    """pid of the process that drives it"""
    slow: SlowDocument | None = None
    at_work: str | None = None
    """what the epoch is at that runs, in words: its number, since when, and after some seconds the task that it waits
    for"""
