"""Names for what a sink prepares. They tell whose it is, so that a recovery takes back its own things only."""

from __future__ import annotations

import hashlib
import uuid

from millrace.common.sink import WriterInitContext

__all__ = ["epoch_of_name", "owner_of", "prepared_name"]


def owner_of(job_id: str, uid: str) -> str:
    """What the names of one sink of one job begin with: of fixed length, the same in every process and attempt."""
    return hashlib.sha256(f"{job_id}\0{uid}".encode()).hexdigest()[:16]


def prepared_name(context: WriterInitContext, uid: str) -> str:
    """A name for what a writer prepares in this epoch.

    The random part makes it unique even if Spark runs a task twice, or if a job goes on from an old checkpoint and
    counts its epochs from there again.
    """
    owner = owner_of(context.get_job_id(), uid)
    return f"{owner}-{context.get_checkpoint_id()}-{context.get_index_of_subtask()}-{uuid.uuid4().hex[:12]}"


def epoch_of_name(name: str) -> int:
    """The epoch in which a writer prepared what has this name."""
    return int(name.split("-")[1])
