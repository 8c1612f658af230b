"""``FileWriter``: writes the elements of one subtask into the part files of its buckets."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pyarrow import fs

from millrace.common.file_systems import Location, open_file_system
from millrace.common.sink import SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.file_system.bucket import BucketAssigner, BucketContext
from millrace.connectors.file_system.hidden import hidden_name, is_of
from millrace.connectors.file_system.output_config import OutputFileConfig
from millrace.connectors.file_system.part import Part, PartState, PendingFile, discard_file, is_file
from millrace.connectors.file_system.rolling import RollingPolicy
from millrace.connectors.owner import owner_of

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
    owner: str = ""
    """the job and the sink"""
    epoch: int = 0
    """at whose end this is"""


@dataclass(frozen=True)
class WriterConfig:
    """What the sink's builder collected."""

    base: Location
    uid: str
    """of the operator"""
    assigner: BucketAssigner
    policy: RollingPolicy
    output: OutputFileConfig
    check_interval_ms: int
    new_part: Callable[[PartState], Part]
    resume_part: Callable[[PartState, PartState | None], Part]
    """goes on with a part of an earlier epoch; as a copy of the second one, if there is one"""


class FileWriter(SinkWriter[T], Generic[T]):
    """One open part per bucket. Parts to be finished become committables in ``prepare_commit``, the others state."""

    def __init__(self, config: WriterConfig, context: WriterInitContext, states: Iterable[WriterState] = ()) -> None:
        self._config = config
        self._clock = context.current_processing_time
        self._subtask = context.get_index_of_subtask()
        self._bucket_context = BucketContext()
        self._pending: list[PendingFile] = []
        self._end_of_input = False
        self._owner = owner_of(context.get_job_id(), config.uid)
        states = list(states)
        # Numbers of another subtask or of another job must not come again: begin a new series of names.
        self._continues = (
            len(states) == 1 and states[0].subtask == self._subtask and states[0].owner == self._owner
        )
        self._uid = states[0].uid if self._continues else str(uuid.uuid4())
        self._next_number = states[0].next_number if self._continues else 0
        self._last_check = min((state.last_check for state in states), default=self._clock())
        self._token = uuid.uuid4().hex[:12]
        self._parts: dict[str, Part] = {}
        # An epoch in between has failed, and may have tasks that do not know it yet; or this job began with the state
        # of another one, which may go on.
        shared = any(
            state.epoch + 1 != context.get_checkpoint_id() or state.owner != self._owner for state in states
        )
        for part_state in (part for state in states for part in state.parts):
            if not shared:
                part = config.resume_part(part_state, None)
            elif self._was_finished(part_state):
                continue
            else:
                part = config.resume_part(part_state.under(self._hidden(part_state.target)), part_state)
            # Two subtasks became one: finish the second part. Nor does a bulk format go on with a part of rows.
            if part.bucket_id in self._parts or not part.resumable:
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
        base = self._config.base
        directory = "/".join(filter(None, (base.path.rstrip("/"), bucket_id.strip("/"))))
        name = self._next_name()
        if self._continues and is_file(base.file_system(), f"{directory}/{name}"):
            # The job went on from an old checkpoint: a later run has finished this part. Begin a new series.
            self._continues, self._uid, self._next_number = False, str(uuid.uuid4()), 0
            name = self._next_name()
        target = f"{directory}/{name}"
        return self._config.new_part(PartState(bucket_id, base.root, self._hidden(target), target, 0, now, now))

    def _next_name(self) -> str:
        output = self._config.output
        number, self._next_number = self._next_number, self._next_number + 1
        return f"{output.part_prefix}-{self._uid}-{self._subtask}-{number}{output.part_suffix}"

    def _hidden(self, target: str) -> str:
        """A name for the part while it is written: no other epoch or attempt has it."""
        directory, _, name = target.rpartition("/")
        return f"{directory}/{hidden_name(name, self._owner, self._token)}"

    def _was_finished(self, state: PartState) -> bool:
        """Whether the part is visible by now: a later run, or another job, has gone on with it from here."""
        file_system = open_file_system(state.root)[0]
        hidden, target = file_system.get_file_info([state.in_progress, state.target])
        gone = hidden.type is fs.FileType.NotFound or not is_of(self._owner, state.in_progress)
        return bool(gone and target.type is fs.FileType.File and target.size >= state.size)

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
        return [
            WriterState(
                self._subtask, self._uid, self._next_number, self._last_check, parts, self._owner, checkpoint_id
            )
        ]

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
