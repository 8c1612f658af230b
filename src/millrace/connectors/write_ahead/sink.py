"""``WriteAheadSink``: base of sinks for stores without transactions (Flink's model: ``GenericWriteAheadSink``)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, TypeVar

from millrace.common.files.file_systems import absolute, is_local, locate
from millrace.common.sink import NamedSink, WriterInitContext
from millrace.connectors.owner import owner_of
from millrace.connectors.write_ahead.batch import BatchWriter
from millrace.connectors.write_ahead.committer import WriteAheadCommitter
from millrace.connectors.write_ahead.folder import LogFolder
from millrace.connectors.write_ahead.sender import BatchSender
from millrace.util.private_folder import make_shared

__all__ = ["BatchSender", "WriteAheadSink"]

T = TypeVar("T")

WEEK_MS = 7 * 24 * 60 * 60 * 1000


class WriteAheadSink(NamedSink[T], Generic[T]):
    """Keeps what is written back until its checkpoint is recorded; then the driver sends it to the store, batch by
    batch, in the order of the epochs. Subclasses say how, in ``create_sender``.

    What this promises depends on how the store remembers the batches that it has:

    - in one transaction with their elements (``BatchSender.remembers``): **exactly once**;
    - by itself, but not in one transaction, or by marks in ``log_directory`` (the default): **at least once**; a batch
      is there twice only if the driver dies, or loses the store, between the sending and the mark;
    - not at all (no ``log_directory``): at least once; what the last checkpoint holds is sent again by each recovery.

    Nothing of an epoch that failed is ever sent. All elements go through the driver.

    :param log_directory: a path or URI that driver and workers reach; small files for what is waiting and what is sent.
        Keep it over restarts of the program. None: all that is waiting travels with the checkpoint.
    :param inline_bytes: batches up to this size travel with the checkpoint even so.
    :param trust_directory: whether all who can write to ``log_directory`` may be trusted: what is waiting there is
        unpickled. Else it is this user's alone.
    :param keep_marks_ms: how long to remember what is sent. Going on from an older checkpoint or savepoint may send the
        batches that wait in it again.
    """

    def __init__(
        self,
        log_directory: str | None,
        *,
        inline_bytes: int = 64 * 1024,
        keep_marks_ms: int = WEEK_MS,
        trust_directory: bool = False,
    ) -> None:
        self._log_directory = None if log_directory is None else absolute(log_directory)
        self._inline_bytes = inline_bytes
        self._keep_marks_ms = keep_marks_ms
        self._trust_directory = trust_directory

    @abstractmethod
    def create_sender(self) -> BatchSender[T]:
        """Connect to the store. Called on the driver, for each commit."""

    def create_writer(self, context: WriterInitContext) -> BatchWriter:
        folder = self._folder()
        if folder is not None:
            folder = folder.child(owner_of(context.get_job_id(), self._uid))
        return BatchWriter(context, self._uid, folder, self._inline_bytes)

    def create_committer(self) -> WriteAheadCommitter:
        return WriteAheadCommitter(self.create_sender, self._folder(), self._keep_marks_ms, self._uid)

    def _folder(self) -> LogFolder | None:
        if self._log_directory is None:
            return None
        location = locate(self._log_directory)
        if is_local(location.file_system()):
            make_shared(location.path, self._trust_directory)
        return LogFolder(location)
