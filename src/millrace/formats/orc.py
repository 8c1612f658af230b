"""ORC files, written by pyarrow and read as record batches.

pyarrow reads a whole stripe at once, and a few bytes in a stripe decide how much memory that takes. So another process
(``orc_process``) reads: its memory is limited, and it ends by itself if the limit is too low, with or without an error.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from millrace.common.configuration import Configuration
from millrace.common.files.file_access import VARIABLE, record_limit
from millrace.common.serialization import BulkWriterFactory
from millrace.formats.arrow_rows import ArrowWriterFactory, arrow_schema
from millrace.formats.orc_frames import ASK, BATCH, DONE, ERROR, GIVE, OPEN, OPENED, READ, receive, send

ROWS = 1 << 15
"""Rows that a writer holds back."""

# The properties of Apache ORC that pyarrow has, by its name for them.
_PROPERTIES = {
    "orc.compress": "compression",
    "orc.compress.size": "compression_block_size",
    "orc.stripe.size": "stripe_size",
    "orc.row.index.stride": "row_index_stride",
}


class OrcBulkWriters:
    """Writers of ORC files for ``FileSink.for_bulk_format``.

    >>> row = DataTypes.ROW([DataTypes.FIELD("id", DataTypes.INT())])
    >>> sink = FileSink.for_bulk_format("out", OrcBulkWriters.for_row_type(row)).build()
    >>> written = env.from_collection([Row(1)], Types.ROW_NAMED(["id"], [Types.INT()])).sink_to(sink)
    >>> result = env.execute()
    """

    @staticmethod
    def for_row_type(
        row_type: Any, writer_properties: Configuration | None = None, hadoop_config: Any = None
    ) -> BulkWriterFactory:
        """Write rows (Row, tuple or dict) of a type: ``Types.ROW_NAMED``, ``DataTypes.ROW`` or a pyarrow schema.

        Of the writer's properties ``orc.compress`` (ZLIB by default; NONE, SNAPPY, LZ4, ZSTD), ``orc.compress.size``,
        ``orc.stripe.size`` and ``orc.row.index.stride`` count; others and ``hadoop_config`` are ignored.

        :raises ValueError: for a type that ORC does not have (times of the day, for example).
        """
        given = {} if writer_properties is None else writer_properties.to_dict()
        return _OrcWriterFactory(arrow_schema(row_type), orc_options(given))


def orc_options(properties: Mapping[str, str]) -> dict[str, Any]:
    """What pyarrow's writer takes for ORC's writer properties; compressed with ZLIB if they say nothing."""
    given = {ours: _value(properties[theirs]) for theirs, ours in _PROPERTIES.items() if theirs in properties}
    return {"compression": "zlib", **given}


def _value(text: str) -> int | str:
    if text.isdigit():
        return int(text)
    return "uncompressed" if text.upper() == "NONE" else text.lower()


class _OrcWriterFactory(ArrowWriterFactory):
    def __init__(self, schema: Any, options: dict[str, Any]) -> None:
        super().__init__(schema)
        self._options = options
        # What ORC refuses shows here, in the program, and not in a task.
        try:
            file = self.open(pa.BufferOutputStream())
            self.write(file, pa.RecordBatch.from_pylist([], schema=schema))
            file.close()
        except (pa.ArrowException, TypeError, OSError) as error:
            raise ValueError(f"ORC can't write {schema}: {error}") from error

    @property
    def rows(self) -> int:
        return ROWS

    def open(self, stream: Any) -> Any:
        from pyarrow.orc import ORCWriter

        return ORCWriter(stream, **self._options)

    def write(self, file: Any, batch: Any) -> None:
        file.write(pa.Table.from_batches([batch]))


TIMES = 8
"""How many records of the largest size the memory of the process holds."""
_BATCH_TIMES = 4
_IDLE = 2
"""processes that wait for the next file"""


class OrcError(ValueError):
    """A file that is no ORC file, or one that is too large."""


class OrcRows:
    """An ORC file that is open.

    :param stream: the file, which has ``size`` and ``read_at``; it stays the caller's.
    :raises OrcError: it is none.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._reader: _Reader | None = _acquire()
        try:
            ((_, content),) = self._asked(OPEN, struct.pack("<Q", stream.size()), OPENED)
            (self.stripes,) = struct.unpack("<Q", content[:8])
            self.schema: pa.Schema = pa.ipc.read_schema(pa.BufferReader(content[8:]))
            self.names: list[str] = self.schema.names
        except UnicodeDecodeError as error:
            self.close()
            raise OrcError(f"a column has a name that is no text: {error}") from None
        except BaseException:
            self.close()
            raise

    def batches(self, stripe: int, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of a stripe, so many at once or fewer.

        :raises OrcError: the file is damaged, or its stripe too large.
        """
        question = json.dumps({"stripe": stripe, "columns": list(columns), "rows": rows}).encode()
        for _, content in self._asked(READ, question, BATCH):
            yield pa.ipc.open_stream(pa.BufferReader(content)).read_next_batch()

    def close(self) -> None:
        """The process may read the next file."""
        reader, self._reader = self._reader, None
        if reader is not None:
            _release(reader)

    def _drop(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.end()

    def _asked(self, question: bytes, content: bytes, answer: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The answers of a kind; one of ``OPENED``, and of others all until there are no more."""
        reader = self._reader
        if reader is None:
            raise OrcError("it is closed")
        at_rest = False
        try:
            reader.send(question, content)
            while not at_rest:
                kind, found = reader.receive()
                if kind == ASK:
                    self._give(reader, *struct.unpack("<QQ", found))
                    continue
                at_rest = kind in (OPENED, ERROR, DONE)
                if kind == ERROR:
                    raise OrcError(_explained(found.decode("utf-8", "replace")))
                if kind == answer:
                    yield kind, found
        except (EOFError, BrokenPipeError):
            code = reader.end()
            raise OrcError(
                f"the process that reads it has ended ({_ending(code)}): the file is damaged, or it {_room()}"
            ) from None
        finally:
            if not at_rest:  # what it still sends would be taken for another answer
                self._drop()

    def _give(self, reader: _Reader, offset: int, size: int) -> None:
        try:
            found = self._stream.read_at(size, offset)
        except OSError as error:
            reader.send(ERROR, str(error).encode())
        else:
            reader.send(GIVE, found)


def _explained(text: str) -> str:
    """The text of an error; if the memory was too little, the text says so."""
    lacking = any(words in text for words in ("bad_alloc", "malloc of size", "realloc of size", "MemoryError"))
    return f"{text} (it {_room()})" if lacking else text


def _room() -> str:
    return (
        f"needs more than {TIMES * record_limit()} bytes for a stripe, which is {TIMES} times the environment variable "
        f"{VARIABLE} of the workers"
    )


def _ending(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


class _Reader:
    """A process that reads an ORC file, as this process sees it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.owner = os.getpid()
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
            "ARROW_DEFAULT_MEMORY_POOL": "system",  # others set addresses aside that count as memory
        }
        sizes = [str(TIMES * limit), str(limit // _BATCH_TIMES)]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "millrace.formats.orc_process", *sizes],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )

    def send(self, kind: bytes, content: bytes) -> None:
        send(self._process.stdin, kind, content)

    def receive(self) -> tuple[bytes, bytes]:
        return receive(self._process.stdout)

    def end(self) -> int | None:
        """End the process, and return its exit code."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            return self._process.wait(0.5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


_idle: list[_Reader] = []
_lock = threading.Lock()


def _acquire() -> _Reader:
    limit = record_limit()
    with _lock:
        # What a parent process has begun is the parent's.
        mine = [each for each in _idle if each.owner == os.getpid() and each.limit == limit]
        _idle[:] = mine[1:]
    return mine[0] if mine else _Reader(limit)


def _release(reader: _Reader) -> None:
    with _lock:
        if len(_idle) < _IDLE:
            _idle.append(reader)
            return
    reader.end()
