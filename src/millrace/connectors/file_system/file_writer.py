"""``FileWriter``: writes the elements of one subtask into the part files of its buckets.

Finished parts are committables, unfinished ones are state, which the next run copies or goes on from.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from millrace.common.files.file_systems import Location
from millrace.common.sink import SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.file_system.part_files import (
    Part,
    PartState,
    PendingFile,
    RowPart,
    hidden_name,
    is_of,
    part_store,
)
from millrace.connectors.file_system.part_policies import (
    BasePathBucketAssigner,
    BucketAssigner,
    BucketContext,
    DateTimeBucketAssigner,
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from millrace.connectors.sink_base import owner_of

__all__ = ["FileWriter", "WriterConfig", "WriterState"]


T = TypeVar("T")

_BY_CLOCK = (BasePathBucketAssigner, DateTimeBucketAssigner)
_BY_SIZE = (DefaultRollingPolicy, OnCheckpointRollingPolicy)
COPY_LIMIT = 4 << 20
"""Bytes. A part that was begun by another run and is larger is finished instead of being gone on with: then no byte
of it is copied more than once, be the writer moved ever so often."""
COPIES = 8
"""A part that was copied so often is finished, too: the copies stay until it is visible."""


@dataclass(frozen=True)
class WriterState:
    """What another writer goes on from."""

    subtask: int
    uid: str
    next_number: int
    last_check: int
    parts: tuple[PartState, ...]
    owner: str = ""
    """the job and the sink"""


@dataclass(frozen=True)
class WriterConfig:
    """What the sink's builder collected."""

    base: Location
    uid: str
    """uid of the sink's operator"""
    assigner: BucketAssigner
    policy: RollingPolicy
    output: OutputFileConfig
    check_interval_ms: int
    new_part: Callable[[PartState], Part]
    resume_part: Callable[[PartState, str], Part]
    """resumes a part of another writer, in a copy of this name"""
    numbers_epochs: bool = False
    """whether committables have the number of their epoch, so that files of one epoch can be merged"""
    encode_together: Callable[[Iterable[Any]], bytes | None] | None = None
    """the bytes of many elements at once; gives None, with no element taken, where that would be other bytes"""


class FileWriter(SinkWriter[T], Generic[T]):
    """One open part per bucket. Parts to be finished become committables in ``prepare_commit``, the others state: this
    writer goes on with them, and another one, if it has to take over, in copies."""

    def __init__(self, config: WriterConfig, context: WriterInitContext, states: Iterable[WriterState] = ()) -> None:
        self._config = config
        self._context = context
        self._clock = context.current_processing_time
        self._subtask = context.get_index_of_subtask()
        self._bucket_context = BucketContext()
        self._pending: list[PendingFile] = []
        self._end_of_input = False
        self._owner = owner_of(context.get_job_id(), config.uid)
        states = list(states)
        # Numbers of another subtask or of another job must not come again: begin a new series of names.
        self._continues = len(states) == 1 and states[0].subtask == self._subtask and states[0].owner == self._owner
        self._uid = states[0].uid if self._continues else str(uuid.uuid4())
        self._next_number = states[0].next_number if self._continues else 0
        self._last_check = min((state.last_check for state in states), default=self._clock())
        self._token = uuid.uuid4().hex[:12]
        self._parts: dict[str, Part] = {}
        # Neither looks at single elements; a subclass may.
        alike = type(config.assigner) in _BY_CLOCK and type(config.policy) in _BY_SIZE
        self._encode_together = config.encode_together if alike else None
        for part_state in (part for state in states for part in state.parts):
            if self._was_finished(part_state):
                continue
            part = config.resume_part(part_state, self._hidden(part_state.target))
            # Two subtasks became one: finish the second part. Nor does a bulk format go on with a part of rows.
            large = part_state.size > COPY_LIMIT or len(part_state.replaces) >= COPIES
            if part.bucket_id in self._parts or large or not part.resumable:
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

    def write_together(self, elements: list[T], remaining: Iterable[T], context: SinkWriterContext) -> None:
        """Write elements at once, as far as that makes no difference. What is taken of ``remaining`` is written.

        :param elements: all that ``remaining`` gives.
        """
        encode, now = self._encode_together, self._clock()
        data = None if encode is None or not elements else encode(remaining)
        if data is None:
            return
        self._bucket_context._now = now
        bucket_id = self._config.assigner.get_bucket_id(None, self._bucket_context)
        part = self._parts.get(bucket_id)
        policy, size = self._config.policy, len(data) + (0 if part is None else part.size)
        if isinstance(policy, DefaultRollingPolicy) and size > policy.part_size:
            for element in elements:
                self.write(element, context)
            return
        if part is None:
            part = self._parts[bucket_id] = self._new_part(bucket_id, now)
        assert isinstance(part, RowPart), "its encoder encodes rows"
        part.append(data, now)

    def _new_part(self, bucket_id: str, now: int) -> Part:
        if not isinstance(bucket_id, str) or bucket_id.startswith("/") or ".." in bucket_id.split("/"):
            raise ValueError(f"a bucket id is a path below the base path, got {bucket_id!r}")
        base = self._config.base
        directory = "/".join(filter(None, (base.path.rstrip("/"), bucket_id.strip("/"))))
        name = self._next_name()
        if self._continues and part_store(base.root).size(f"{directory}/{name}") is not None:
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
        """A name for the part while it is written: no other run of this task has it."""
        directory, _, name = target.rpartition("/")
        return f"{directory}/{hidden_name(name, self._owner, self._context.get_checkpoint_id(), self._token)}"

    def _was_finished(self, state: PartState) -> bool:
        """Whether the part is visible by now: a later run, or another job, has gone on with it from here."""
        store = part_store(state.root)
        size = store.size(state.target)
        if size is None or size < state.size:
            return False
        return not is_of(self._owner, state.in_progress) or store.size(state.in_progress) is None

    def _roll(self, part: Part) -> None:
        self._pending.append(part.finish())
        del self._parts[part.bucket_id]

    def end_slice(self, now: int) -> None:
        # What is finished waits for its commit all the same, but the next part can begin.
        self._roll_by_clock(now)

    def flush(self, end_of_input: bool) -> None:
        self._end_of_input = end_of_input
        self._roll_by_clock(self._clock())

    def _roll_by_clock(self, now: int) -> None:
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
        if self._config.numbers_epochs:
            epoch = self._context.get_checkpoint_id()
            return [replace(each, epoch=epoch) for each in pending]
        return pending

    def snapshot_state(self, checkpoint_id: int) -> list[WriterState]:
        parts = tuple(part.persist() for part in self._parts.values())
        return [WriterState(self._subtask, self._uid, self._next_number, self._last_check, parts, self._owner)]

    def close(self) -> None:
        for part in self._parts.values():
            part.close()
        # Finished in an epoch that came to no good end.
        for pending in self._pending:
            if not pending.kept:
                part_store(pending.root).delete(pending.in_progress)
        self._parts.clear()
        self._pending.clear()
