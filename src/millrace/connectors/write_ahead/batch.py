"""``Batch``: what one subtask wrote in one epoch, on its way to the store. The committable of a write-ahead log.

Elements are pickled in blocks, each with its length and checksum. A small batch travels as bytes, a large one lies in a
file.
"""

from __future__ import annotations

import io
import pickle
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from millrace.common.sink import SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.owner import prepared_name
from millrace.connectors.write_ahead.folder import LogFolder
from millrace.util.by_value import pickled_by_value

__all__ = ["LOG", "Batch", "BatchWriter"]

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
