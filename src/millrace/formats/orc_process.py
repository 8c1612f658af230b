"""The process that reads ORC files. Its memory is limited, it has no access to file systems, and it imports as
little as it can."""

from __future__ import annotations

import contextlib
import json
import resource
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow.orc import ORCFile

from millrace.common.files.file_access import PositionedFile
from millrace.formats.orc_frames import ASK, BATCH, DONE, ERROR, GIVE, OPEN, OPENED, READ, receive, send


class _Asked(PositionedFile):
    """The file, whose bytes the other process has."""

    def __init__(self, length: int, source: Any, target: Any) -> None:
        super().__init__(length)
        self._source = source
        self._target = target

    def read_at(self, size: int, offset: int) -> bytes:
        send(self._target, ASK, struct.pack("<QQ", offset, size))
        kind, found = receive(self._source)
        if kind != GIVE:
            raise OSError(found.decode())
        return found


def serve(source: Any, target: Any, most: int) -> None:
    """Answer until the other process ends.

    :param most: bytes of a batch.
    """
    file: Any = None
    while True:
        try:
            kind, content = receive(source)
        except EOFError:
            return
        try:
            if kind == OPEN:
                (size,) = struct.unpack("<Q", content)
                file = ORCFile(pa.PythonFile(_Asked(size, source, target)))
                send(target, OPENED, struct.pack("<Q", file.nstripes) + file.schema.serialize().to_pybytes())
            elif kind == READ:
                wanted = json.loads(content)
                rows = file.read_stripe(wanted["stripe"], columns=wanted["columns"])
                for batch in _parts(rows, wanted["rows"], most):
                    send(target, BATCH, _as_stream(batch))
                send(target, DONE)
        except (EOFError, BrokenPipeError):
            return
        except BaseException as error:
            send(target, ERROR, (str(error) or type(error).__name__).encode())


def _parts(batch: pa.RecordBatch, rows: int, most: int) -> Iterator[pa.RecordBatch]:
    """Pieces of so many rows, or fewer where they are large."""
    begin = 0
    while begin < batch.num_rows:
        part = batch.slice(begin, rows)
        while part.num_rows > 1 and part.nbytes > most:
            part = part.slice(0, part.num_rows // 2)
        yield part
        begin += part.num_rows


def _as_stream(batch: pa.RecordBatch) -> Any:
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_batch(batch)
    return stream.getvalue()


def main(room: int, most: int) -> None:
    """Serve standard input and output with so many bytes of memory beside what this program itself takes."""
    pa.set_cpu_count(1)
    with contextlib.suppress(OSError, ValueError):  # a system without such a limit, or without /proc
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + room, taken + room))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    serve(sys.stdin.buffer, sys.stdout.buffer, most)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
