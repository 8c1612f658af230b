"""``DataStream.cache``: the result of one job in files, as a source of later jobs."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import threading
import uuid
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.source import (
    Boundedness,
    ReaderOutput,
    Source,
    SourceReaderContext,
    SplitEnumeratorContext,
)
from millrace.connectors.source_base import QueueEnumerator, QueueReader
from millrace.util.by_value import pickled_by_value
from millrace.util.folders import make_shared

__all__ = ["CacheSink", "CacheSource", "ResultCache"]


@dataclass(frozen=True)
class CachePart:
    """What one subtask wrote in one epoch."""

    subtask: int
    subtasks: int
    path: str | None
    """a file of pickled (values, timestamps); None: nothing in this epoch"""
    last: bool


@dataclass(frozen=True)
class CacheSplit:
    """The files that one subtask wrote, in order, and where its reader is: it drops those that it has read."""

    split_id: str
    files: tuple[str, ...]
    offset: int = 0


class ResultCache:
    """The stored result of a stream: either empty or complete. Lives on the driver.

    :param directory: parent of the files, which all workers reach; None: a temporary one.
    :param trust_directory: whether everyone who can write to the directory may be trusted; else the files are private
        to this user.
    """

    def __init__(self, directory: str | None = None, trust_directory: bool = False) -> None:
        self._parent = directory
        self._trust = trust_directory
        self._full: _Contents | None = None

    def source(self) -> CacheSource | None:
        """The result as a source; None if no job has computed it yet."""
        return None if self._full is None else CacheSource(self._full)

    def sink(self) -> CacheSink:
        """Where a job writes the result."""
        return CacheSink(self, _Contents(self._parent, self._trust))

    def fill(self, contents: _Contents) -> None:
        """A job has written all of ``contents``. Of two that computed the same at the same time the first counts."""
        if self._full is None:
            self._full = contents
        else:
            contents.discard()

    def invalidate(self) -> None:
        """Forget the result: the next job computes it again. Its files go with the last job that reads them."""
        full, self._full = self._full, None
        if full is not None:
            full.discard()


class _Contents:
    """A directory with one result."""

    def __init__(self, parent: str | None, trust: bool) -> None:
        base = os.path.abspath(parent or tempfile.gettempdir())
        self.directory = os.path.join(base, f"millrace-cache-{uuid.uuid4().hex}")
        make_shared(self.directory, trust)
        self.parts: list[CachePart] = []
        self._lock = threading.Lock()
        self._readers = 0
        self._unwanted = False
        # At the latest when the program ends.
        self._delete = weakref.finalize(self, shutil.rmtree, self.directory, True)

    @property
    def complete(self) -> bool:
        return bool(self.parts) and sum(part.last for part in self.parts) == self.parts[0].subtasks

    def splits(self) -> list[CacheSplit]:
        """One split a subtask, in the order of the subtasks."""
        return [
            CacheSplit(str(subtask), tuple(p.path for p in self.parts if p.subtask == subtask and p.path is not None))
            for subtask in range(self.parts[0].subtasks)
        ]

    def read(self) -> None:
        """A job reads the files until it calls ``done``."""
        with self._lock:
            self._readers += 1

    def done(self) -> None:
        with self._lock:
            self._readers -= 1
            self._delete_unwanted()

    def discard(self) -> None:
        """No reader will begin to read the files."""
        with self._lock:
            self._unwanted = True
            self._delete_unwanted()

    def _delete_unwanted(self) -> None:
        if self._unwanted and not self._readers:
            self._delete()


class CacheSink(Sink[Any]):
    """Writes a result into files; when all subtasks have ended, the cache has it."""

    def __init__(self, cache: ResultCache, contents: _Contents) -> None:
        self._cache: ResultCache | None = cache
        self._contents: _Contents | None = contents
        self._directory = contents.directory

    def create_writer(self, context: WriterInitContext) -> CacheWriter:
        return CacheWriter(self._directory, context)

    def create_committer(self) -> CacheCommitter:
        assert self._cache is not None and self._contents is not None, "committers are made on the driver"
        return CacheCommitter(self._cache, self._contents)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": None, "_contents": None}


class CacheWriter(SinkWriter[Any]):
    """One file an epoch, a block of (values, timestamps) for every ``flush``."""

    def __init__(self, directory: str, context: WriterInitContext) -> None:
        self._context = context
        self._directory = directory
        self._file: BinaryIO | None = None
        self._values: list[Any] = []
        self._timestamps: list[int | None] = []
        self._last = False

    def write(self, element: Any, context: SinkWriterContext) -> None:
        self._values.append(element)
        self._timestamps.append(context.timestamp())

    def flush(self, end_of_input: bool) -> None:
        self._last = end_of_input
        if not self._values:
            return
        if self._file is None:
            name = f"{self._context.get_index_of_subtask()}-{uuid.uuid4().hex}"
            self._file = open(os.path.join(self._directory, name), "wb")  # noqa: SIM115  closed at the end of the epoch
        stamped = any(timestamp is not None for timestamp in self._timestamps)
        self._file.write(pickled_by_value((self._values, self._timestamps if stamped else None)))
        self._values, self._timestamps = [], []

    def prepare_commit(self) -> list[CachePart]:
        file, self._file = self._file, None
        path = None
        if file is not None:
            file.close()
            path = file.name
        elif not self._last:
            return []
        context = self._context
        subtask, subtasks = context.get_index_of_subtask(), context.get_number_of_parallel_subtasks()
        return [CachePart(subtask, subtasks, path, self._last)]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class CacheCommitter(Committer[CachePart]):
    """Collects the parts of all epochs."""

    def __init__(self, cache: ResultCache, contents: _Contents) -> None:
        self._cache = cache
        self._contents = contents

    def commit(self, committables: Sequence[CachePart]) -> None:
        self._contents.parts.extend(committables)
        if self._contents.complete:
            self._cache.fill(self._contents)

    def abort(self, committables: Sequence[CachePart]) -> None:
        for part in committables:
            if part.path is not None:
                os.unlink(part.path)

    def close(self) -> None:
        if not self._contents.complete:
            self._contents.discard()


class CacheSource(Source[Any, CacheSplit]):
    """Reads a result: subtask i gets what subtask i wrote, in its order and with its timestamps."""

    def __init__(self, contents: _Contents) -> None:
        self._contents: _Contents | None = contents
        self.parallelism = contents.parts[0].subtasks

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[CacheSplit], checkpoint: Sequence[CacheSplit] | None = None
    ) -> CacheEnumerator:
        assert self._contents is not None, "enumerators are made on the driver"
        return CacheEnumerator(context, self._contents, checkpoint)

    def create_reader(self, context: SourceReaderContext) -> CacheReader:
        return CacheReader()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_contents": None}


class CacheEnumerator(QueueEnumerator[CacheSplit]):
    """Hands out the splits, and holds on to the files until it is closed."""

    def __init__(
        self,
        context: SplitEnumeratorContext[CacheSplit],
        contents: _Contents,
        checkpoint: Sequence[CacheSplit] | None,
    ) -> None:
        super().__init__(context, contents.splits() if checkpoint is None else checkpoint)
        self._contents = contents
        contents.read()

    def close(self) -> None:
        self._contents.done()


class CacheReader(QueueReader[Any, CacheSplit]):
    """Emits one block a poll."""

    def read(self, split: CacheSplit, output: ReaderOutput[Any]) -> CacheSplit | None:
        return self._read_block(split, output) if split.files else None

    def _read_block(self, split: CacheSplit, output: ReaderOutput[Any]) -> CacheSplit:
        """Emit a block; gives the split that is left."""
        with open(split.files[0], "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(split.offset)
            values, timestamps = pickle.load(file)
            behind = file.tell()
        output.collect_batch(values, timestamps)
        if behind < size:
            return replace(split, offset=behind)
        return replace(split, files=split.files[1:], offset=0)
