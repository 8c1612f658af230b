"""Log files that may be read, by their names."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from millrace.cluster.documents.cluster import LogDocument
from millrace.util.log_rotation import log_of

PIECE_BYTES = 64 * 1024
READ_BYTES = 16 * 1024 * 1024
"""Of a longer log only the end is read."""


def is_log(name: str) -> bool:
    """Whether a file of a folder of logs is one, or an older one: ``a.log``, ``a.out.2``."""
    return log_of(name).endswith((".log", ".out"))


def with_older(path: str) -> list[str]:
    """A log, and what it was before it began again."""
    folder, name = os.path.split(path)
    with contextlib.suppress(FileNotFoundError):
        return [path, *(os.path.join(folder, each) for each in sorted(os.listdir(folder)) if _is_older(each, name))]
    return [path]


def _is_older(found: str, name: str) -> bool:
    return found != name and log_of(found) == name


def list_logs(paths: Iterable[str]) -> list[LogDocument]:
    """Those of the files that are there."""
    found = []
    for path in paths:
        try:
            stat = os.stat(path)
        except FileNotFoundError:
            continue
        found.append(LogDocument(os.path.basename(path), stat.st_size, stat.st_mtime_ns // 1_000_000))
    return found


def read_log(paths: Iterable[str], name: str) -> Iterator[bytes] | None:
    """What is in the file of that name now, piece by piece; None: it is none of these."""
    for path in paths:
        if os.path.basename(path) == name:
            try:
                file = open(path, "rb")  # noqa: SIM115  whoever reads to the end closes it
            except FileNotFoundError:
                return None
            return _pieces(file)
    return None


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """Up to where the file ends now: it grows while it is read."""
    with file:
        left = os.fstat(file.fileno()).st_size
        if left > READ_BYTES:
            file.seek(left - READ_BYTES)
            left = READ_BYTES
        while left and (piece := file.read(min(left, PIECE_BYTES))):
            left -= len(piece)
            yield piece
