"""``FileWriter``: writes the elements of one subtask into the part files of its buckets."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from millrace.common.file_systems import Location, open_file_system
from millrace.common.sink import SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.file_system.bucket import BucketAssigner, BucketContext
from millrace.connectors.file_system.output_config import OutputFileConfig
from millrace.connectors.file_system.part import Part, PartState, PendingFile, discard_file
from millrace.connectors.file_system.rolling import RollingPolicy

__all__ = ["FileWriter", "WriterConfig", "WriterState"]

T = TypeVar("T")


@dataclass(frozen=True)
class WriterState:
    """What the writer of the next epoch goes on from."""

    subtask: int
    uid: str
    next_number: int
    last_check: int
    parts: tuple[PartState, ...]


@dataclass(frozen=True)
class WriterConfig:
    """What the sink's builder collected."""

    base: Location
    assigner: BucketAssigner
    policy: RollingPolicy
    output: OutputFileConfig
    check_interval_ms: int
    open_part: Callable[[PartState], Part]


class FileWriter(SinkWriter[T], Generic[T]):
    """One open part per bucket. Parts to be finished become committables in ``prepare_commit``, the others state."""

    def __init__(self, config: WriterConfig, context: WriterInitContext, states: Iterable[WriterState] = ()) -> None:
        self._config = config
        self._clock = context.current_processing_time
        self._subtask = context.get_index_of_subtask()
        self._bucket_context = BucketContext()
        self._pending: list[PendingFile] = []
        self._end_of_input = False
        states = list(states)
        # After a rescale numbers of another subtask must not come again: begin a new series of names.
        same = len(states) == 1 and states[0].subtask == self._subtask
        self._uid = states[0].uid if same else str(uuid.uuid4())
        self._next_number = states[0].next_number if same else 0
        self._last_check = min((state.last_check for state in states), default=self._clock())
        self._token = uuid.uuid4().hex[:12]
        self._parts: dict[str, Part] = {}
        for part_state in (part for state in states for part in state.parts):
            part = config.open_part(part_state)
            if part.bucket_id in self._parts:  # two subtasks became one: finish the second
                self._pending.append(part.finish())
            else:
                self._parts[part.bucket_id] = part

    def write(self, element: T, context: SinkWriterContext) -> None:
        now = self._clock()
        bucket_context = self._bucket_context
        bucket_context._now = now
        bucket_context._writer_context = context
        bucket_id = self._config.assigner.get_bucket_id(element, bucket_context)
        part = self._parts.get(bucket_id)
        if part is not None and self._config.policy.should_roll_on_event(part, element):
            self._roll(part)
            part = None
        if part is None:
            part = self._parts[bucket_id] = self._new_part(bucket_id, now)
        part.write(element, now)

    def _new_part(self, bucket_id: str, now: int) -> Part:
        if not isinstance(bucket_id, str) or bucket_id.startswith("/") or ".." in bucket_id.split("/"):
            raise ValueError(f"a bucket id is a path below the base path, got {bucket_id!r}")
        output, base = self._config.output, self._config.base
        number, self._next_number = self._next_number, self._next_number + 1
        name = f"{output.part_prefix}-{self._uid}-{self._subtask}-{number}{output.part_suffix}"
        directory = "/".join(filter(None, (base.path.rstrip("/"), bucket_id.strip("/"))))
        hidden = f"{directory}/.{name}.inprogress.{self._token}"
        return self._config.open_part(PartState(bucket_id, base.root, hidden, f"{directory}/{name}", 0, now, now))

    def _roll(self, part: Part) -> None:
        self._pending.append(part.finish())
        del self._parts[part.bucket_id]

    def flush(self, end_of_input: bool) -> None:
        self._end_of_input = end_of_input
        now = self._clock()
        if now - self._last_check >= self._config.check_interval_ms:
            self._last_check = now
            for part in list(self._parts.values()):
                if self._config.policy.should_roll_on_processing_time(part, now):
                    self._roll(part)

    def prepare_commit(self) -> list[PendingFile]:
        for part in list(self._parts.values()):
            if self._end_of_input or not part.resumable or self._config.policy.should_roll_on_checkpoint(part):
                self._roll(part)
        pending, self._pending = self._pending, []
        return pending

    def snapshot_state(self, checkpoint_id: int) -> list[WriterState]:
        parts = tuple(part.persist() for part in self._parts.values())
        return [WriterState(self._subtask, self._uid, self._next_number, self._last_check, parts)]

    def close(self) -> None:
        for part in self._parts.values():
            if part.persisted:
                part.close()
            else:
                part.discard()
        for pending in self._pending:
            if not pending.kept:
                discard_file(open_file_system(pending.root)[0], pending.in_progress)
        self._parts.clear()
        self._pending.clear()
