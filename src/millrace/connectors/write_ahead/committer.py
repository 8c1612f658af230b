"""``WriteAheadCommitter``: sends batches to the store when their checkpoint is recorded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.sink import Committer
from millrace.connectors.owner import epoch_of_name, owner_of
from millrace.connectors.write_ahead.batch import LOG, Batch
from millrace.connectors.write_ahead.folder import LogFolder
from millrace.connectors.write_ahead.marks import Marks
from millrace.connectors.write_ahead.sender import BatchSender

__all__ = ["WriteAheadCommitter"]

logger = logging.getLogger(__name__)


class WriteAheadCommitter(Committer[Batch]):
    """Sends each batch, notes that it is sent, then deletes its file: in this order, so that none is lost."""

    def __init__(
        self, create_sender: Callable[[], BatchSender[Any]], folder: LogFolder | None, keep_marks_ms: int, uid: str
    ) -> None:
        self._create_sender = create_sender
        self._folder = folder
        self._marks = None if folder is None else Marks(folder, keep_marks_ms)
        self._uid = uid
        self._recovered: frozenset[str] = frozenset()

    def commit(self, committables: Sequence[Batch]) -> None:
        """:raises FileNotFoundError: a batch is gone that cannot have been sent before."""
        if not committables:
            return
        sender = self._create_sender()
        try:
            for batch in sorted(committables, key=lambda batch: (batch.checkpoint_id, batch.subtask)):
                self._commit(batch, sender)
        finally:
            sender.close()
        if self._marks is not None and not sender.remembers:
            self._marks.collapse(batch.name for batch in committables)

    def _commit(self, batch: Batch, sender: BatchSender[Any]) -> None:
        marks = None if sender.remembers else self._marks
        if not self._is_sent(batch, sender):
            if batch.is_there:
                sender.send(batch.elements(), batch)
                if marks is not None:
                    marks.add(batch.name)
            elif batch.name in self._recovered:
                logger.warning("%s is gone: it was sent so long ago that this is forgotten", batch.place)
            else:
                raise FileNotFoundError(f"{batch.place} is to be sent, but it is gone: {batch.count} elements are lost")
        batch.delete()

    def _is_sent(self, batch: Batch, sender: BatchSender[Any]) -> bool:
        if sender.remembers:
            return sender.is_sent(batch)
        return self._marks is not None and self._marks.has(batch.name)

    def abort(self, committables: Sequence[Batch]) -> None:
        for batch in committables:
            batch.delete()

    def recover(self, job_id: str, committables: Sequence[Batch], states: Sequence[Any]) -> None:
        """Delete the files of this job and sink that do not wait to be sent."""
        self._recovered = frozenset(batch.name for batch in committables)
        self._delete_others(job_id, self._recovered, None)

    def sweep(self, job_id: str, epoch: int, committables: Sequence[Batch], states: Sequence[Any]) -> None:
        self._delete_others(job_id, frozenset(batch.name for batch in committables), epoch)

    def _delete_others(self, job_id: str, waiting: frozenset[str], last: int | None) -> None:
        """:param last: files of later epochs stay; None: no epoch is later."""
        if self._folder is None:
            return
        folder = self._folder.child(owner_of(job_id, self._uid))
        for file in folder.names():
            name = file.removesuffix(LOG)
            if name != file and name not in waiting and (last is None or epoch_of_name(name) <= last):
                folder.delete(file)
