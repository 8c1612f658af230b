"""A vertex of a job: a chain of operators that counts as one task, and its subtasks."""

from __future__ import annotations

from dataclasses import dataclass, field

from millrace.cluster.documents.numbers import AccumulatorDocument, MetricDocument


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
    """name of an ``ExecutionState`` -> when the subtask entered it, only those that it has been in"""
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
    """share of the last seconds in which it worked, 0 to 1; None: not known"""
    backpressured: float | None = None
    idle: float | None = None
    watermark: int | None = None
    """the input watermark (ms); None: none has come yet"""
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
    """the keys with most elements, as far as they were seen"""
    states: dict[str, int] = field(default_factory=dict)
    """name of a state -> bytes, as far as they are known"""


@dataclass(frozen=True)
class HeavyKey:
    """A key that gets a large share of a vertex's input."""

    key: str
    share: float
    """of the input, 0 to 1"""
