"""The file of one task and epoch: pieces of its state by operator, each with a checksum.

A file is: ``MAGIC`` | sections | index | length of the index (4 bytes) | CRC-32 of the index (4) | ``MAGIC``. A section
is one pickle (protocol 5) of what one operator gave for one piece. The index, a JSON list, has the uid of each section,
where it begins, how long it is, and its CRC-32: a reader takes out the operators that it wants.
"""

from __future__ import annotations

import json
import pickle
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from millrace.checkpoint.errors import CorruptFileError
from millrace.runtime.member import TaskDelta
from millrace.runtime.pickling import dumps

MAGIC = b"MLRSTAT1"
"""The last character is the version of the format."""
_END = struct.Struct("<II8s")


def task_file(pieces: Iterable[TaskDelta]) -> Iterator[bytes]:
    """The content of a file, as pieces of bytes; only one section is in memory at a time."""
    yield MAGIC
    place = len(MAGIC)
    index: list[tuple[str, int, int, int]] = []
    for piece in pieces:
        for uid, state in piece.items():
            section = dumps(state)
            index.append((uid, place, len(section), zlib.crc32(section)))
            place += len(section)
            yield section
    written = json.dumps(index, separators=(",", ":")).encode()
    yield written
    yield _END.pack(len(written), zlib.crc32(written), MAGIC)


def read_task_file(path: str, content: Any, wanted: Callable[[str], bool] = lambda uid: True) -> Iterator[TaskDelta]:
    """The pieces in a file, section by section, of the operators that are ``wanted``.

    :raises CorruptFileError: naming ``path``, when the content is not what was written.
    """
    view = memoryview(content)
    for uid, begin, length, checksum in _index(path, view):
        if not wanted(uid):
            continue
        section = view[begin : begin + length]
        if zlib.crc32(section) != checksum:
            raise CorruptFileError(path, f"the checksum of the state of operator {uid} is wrong")
        yield {uid: pickle.loads(section)}


def _index(path: str, view: memoryview) -> list[tuple[str, int, int, int]]:
    if len(view) < len(MAGIC) + _END.size or view[: len(MAGIC)] != MAGIC:
        raise CorruptFileError(path, f"it is no state file of this version ({len(view)} bytes)")
    length, checksum, magic = _END.unpack(view[-_END.size :])
    written = view[-_END.size - length : -_END.size]
    if magic != MAGIC or length > len(view) or zlib.crc32(written) != checksum:
        raise CorruptFileError(path, "its end is damaged or missing")
    return [tuple(section) for section in json.loads(bytes(written))]
