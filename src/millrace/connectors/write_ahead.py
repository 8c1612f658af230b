"""A write-ahead log in front of stores without transactions: ``WriteAheadSink`` (Flink's ``GenericWriteAheadSink``).

What a subtask writes in an epoch is one ``Batch``, the committable of the sink. When its checkpoint is recorded the
driver sends it to the store, in the order of the epochs. A small batch travels with the checkpoint, a large one waits
in a file of ``LogFolder``; its elements are pickled in blocks, each with its length and checksum. Where the store does
not remember which batches it has, ``Marks``, empty files, do.
"""

from __future__ import annotations

import io
import logging
import pickle
import struct
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pyarrow import fs

from millrace.common.files.file_systems import Location, absolute, locate
from millrace.common.files.object_stores import is_local, makes_folders
from millrace.common.sink import Committer, NamedSink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.sink_base import epoch_of_name, owner_of, prepared_name
from millrace.util.by_value import pickled_by_value
from millrace.util.folders import make_shared

__all__ = ["Batch", "BatchSender", "BatchWriter", "LOG", "LogFolder", "Marks", "WriteAheadCommitter", "WriteAheadSink"]


# Files of the log


class LogFolder:
    """The files right below one directory. Can be pickled."""

    def __init__(self, location: Location) -> None:
        self._root = location.root
        self._path = location.path.rstrip("/")

    def child(self, name: str) -> LogFolder:
        return LogFolder(Location(self._root, f"{self._path}/{name}"))

    @property
    def _system(self) -> Any:
        return Location(self._root, self._path).file_system()

    def path(self, name: str) -> str:
        """The file's path, for messages."""
        return f"{self._path}/{name}"

    def create(self, name: str) -> Any:
        """A stream of bytes into a new file."""
        if not makes_folders(self._system):
            self._system.create_dir(self._path, recursive=True)
        return self._system.open_output_stream(self.path(name))

    def open(self, name: str) -> Any:
        """A stream of the file's bytes."""
        return self._system.open_input_stream(self.path(name))

    def size(self, name: str) -> int | None:
        """None if there is no such file."""
        info = self._system.get_file_info(self.path(name))
        return info.size if info.type is fs.FileType.File else None

    def names(self) -> list[str]:
        """All files; none if the directory is not there."""
        selector = fs.FileSelector(self._path, allow_not_found=True)
        return [info.base_name for info in self._system.get_file_info(selector) if info.type is fs.FileType.File]

    def delete(self, name: str) -> None:
        """Delete a file; one that is gone is fine."""
        try:
            self._system.delete_file(self.path(name))
        except FileNotFoundError:
            return


# Batches: the committables

LOG = ".log"
"""ending of a batch's file"""
BLOCK = 1000
"""elements that are pickled together"""
_HEADER = struct.Struct("<II")


@dataclass(frozen=True)
class Batch:
    """The elements that one subtask wrote in one epoch."""

    name: str
    """no other batch has it, in no job: what a store should remember"""
    subtask: int
    checkpoint_id: int
    """the number of the epoch"""
    timestamp: int
    """the task's clock when it ended, ms"""
    count: int
    """elements"""
    size: int
    """bytes"""
    data: bytes | None
    folder: LogFolder | None
    """where the file lies if ``data`` is None"""

    @property
    def is_there(self) -> bool:
        """Whether its elements can be read."""
        return self.folder is None or self.folder.size(self.name + LOG) is not None

    @property
    def place(self) -> str:
        return self.name if self.folder is None else self.folder.path(self.name + LOG)

    def elements(self) -> Iterator[Any]:
        """:raises OSError: the file is not what was written."""
        if self.folder is not None:
            found = self.folder.size(self.name + LOG)
            if found != self.size:
                raise OSError(f"{self.place} has {found} bytes, but {self.size} were written")
        stream = io.BytesIO(self.data or b"") if self.folder is None else self.folder.open(self.name + LOG)
        with stream:
            seen = 0
            while seen < self.count:
                block = self._block(stream)
                seen += len(block)
                yield from block

    def _block(self, stream: Any) -> list[Any]:
        header = stream.read(_HEADER.size)
        length, checksum = _HEADER.unpack(header) if len(header) == _HEADER.size else (0, -1)
        payload = stream.read(length)
        if zlib.crc32(payload) != checksum:
            raise OSError(f"{self.place} is corrupt: a block is not what was written")
        block: list[Any] = pickle.loads(payload)
        return block

    def delete(self) -> None:
        """Delete the file, if there is one."""
        if self.folder is not None:
            self.folder.delete(self.name + LOG)


class BatchWriter(SinkWriter[Any]):
    """Collects what a subtask writes in each epoch.

    :param uid: of the operator; batches are named after it.
    :param folder: where to put what is larger than ``inline_bytes``; None: nowhere, all travels as bytes.
    """

    def __init__(self, context: WriterInitContext, uid: str, folder: LogFolder | None, inline_bytes: int) -> None:
        self._context = context
        self._uid = uid
        self._folder = folder
        self._inline_bytes = inline_bytes
        self._file: Any = None
        self._begin()

    def _begin(self) -> None:
        """The next batch."""
        self._name = ""
        self._block: list[Any] = []
        self._count = 0
        self._buffer = io.BytesIO()
        self._written = 0

    def write(self, element: Any, context: SinkWriterContext) -> None:
        self._block.append(element)
        if len(self._block) == BLOCK:
            self._end_block()

    def _end_block(self) -> None:
        self._name = self._name or prepared_name(self._context, self._uid)
        payload = pickled_by_value(self._block)
        self._count += len(self._block)
        self._block = []
        data = _HEADER.pack(len(payload), zlib.crc32(payload)) + payload
        self._written += len(data)
        if self._file is None and self._folder is not None and self._written > self._inline_bytes:
            self._file = self._folder.create(self._name + LOG)
            self._file.write(self._buffer.getvalue())
            self._buffer = io.BytesIO()
        (self._buffer if self._file is None else self._file).write(data)

    def prepare_commit(self) -> list[Batch]:
        if self._block:
            self._end_block()
        if not self._count:
            return []
        context = self._context
        inline = self._file is None
        if not inline:
            self._file.close()
        batch = Batch(
            name=self._name,
            subtask=context.get_index_of_subtask(),
            checkpoint_id=context.get_checkpoint_id(),
            timestamp=context.current_processing_time(),
            count=self._count,
            size=self._written,
            data=self._buffer.getvalue() if inline else None,
            folder=None if inline else self._folder,
        )
        self._file = None
        self._begin()
        return [batch]

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None and self._folder is not None:  # the epoch failed here
            file.close()
            self._folder.delete(self._name + LOG)


# The store's side

T = TypeVar("T")


class BatchSender(ABC, Generic[T]):
    """Brings batches into a store, on the driver. Made for one commit: connections don't grow old between
    checkpoints, and are used in one thread."""

    remembers = False
    """Whether ``is_sent`` answers. If so the store keeps account by itself, and the sink makes no marks."""

    @abstractmethod
    def send(self, values: Iterator[T], batch: Batch) -> None:
        """Write the values; when this returns, the store has them for good.

        A sender that remembers also writes ``batch.name``. If that is one transaction with the values, each batch is in
        the store exactly once; else it is there twice if the driver dies between the two.
        """

    def is_sent(self, batch: Batch) -> bool:
        """Whether the store has the batch, by ``batch.name``. Only asked of a sender that remembers."""
        raise TypeError(f"{type(self).__name__}.remembers is set, but it has no is_sent()")

    def close(self) -> None:
        """Release connections; called after success and after failure."""


# Which batches the store has

SENT = ".sent"
_BELOW = "below-"


@dataclass
class _Owner:
    """What is marked of one sink of one job."""

    sent: dict[str, str] = field(default_factory=dict)
    """batch -> file"""
    below: int = 0
    """every batch of an earlier epoch is sent"""
    below_file: str = ""


class Marks:
    """``<owner>/<batch>.<ms>.sent``: one small file for each batch of the newest epoch, and ``below-<epoch>.<ms>.sent``
    for all before. Read once in the life of a driver."""

    def __init__(self, folder: LogFolder, keep_ms: int) -> None:
        self._folder = folder
        self._keep_ms = keep_ms
        self._owners: dict[str, _Owner] = {}

    def has(self, batch: str) -> bool:
        owner = self._of(_owner(batch))
        return batch in owner.sent or epoch_of_name(batch) < owner.below

    def add(self, batch: str) -> None:
        owner = self._of(_owner(batch))
        owner.sent[batch] = self._write(_owner(batch), batch)

    def collapse(self, batches: Iterable[str]) -> None:
        """All these are sent, and they are all that waited, in the order of their epochs: marks of epochs before the
        newest one become one. Numbers of epochs are never used twice, so none of them can wait again."""
        newest: dict[str, int] = {}
        for batch in batches:
            newest[_owner(batch)] = max(newest.get(_owner(batch), 0), epoch_of_name(batch))
        for name, epoch in newest.items():
            owner = self._of(name)
            if epoch > owner.below:
                self._collapse(name, owner, epoch)

    def _collapse(self, name: str, owner: _Owner, epoch: int) -> None:
        old = [batch for batch in owner.sent if epoch_of_name(batch) < epoch]
        if not old:
            return
        folder, former = self._folder.child(name), owner.below_file
        owner.below, owner.below_file = epoch, self._write(name, f"{_BELOW}{epoch}")
        for file in (former, *(owner.sent.pop(batch) for batch in old)):
            if file:
                folder.delete(file)

    def _write(self, owner: str, mark: str) -> str:
        file = f"{mark}.{int(time.time() * 1000)}{SENT}"
        self._folder.child(owner).create(file).close()
        return file

    def _of(self, owner: str) -> _Owner:
        if owner not in self._owners:
            self._owners[owner] = self._read(self._folder.child(owner))
        return self._owners[owner]

    def _read(self, folder: LogFolder) -> _Owner:
        """What is marked; marks that are too old are deleted."""
        found = _Owner()
        oldest = int(time.time() * 1000) - self._keep_ms
        for name in folder.names():
            if not name.endswith(SENT):
                continue
            mark, _, sent_at = name[: -len(SENT)].rpartition(".")
            if int(sent_at) < oldest:
                folder.delete(name)
            elif not mark.startswith(_BELOW):
                found.sent[mark] = name
            elif int(mark[len(_BELOW) :]) > found.below:
                found.below, found.below_file = int(mark[len(_BELOW) :]), name
        return found


def _owner(batch: str) -> str:
    return batch.partition("-")[0]


# The committer, on the driver

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


# The sink

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
