"""Log files that may be read, by their names."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from millrace.cluster.documents.cluster import LogDocument
from millrace.util.log_rotation import log_of

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


def read_log(paths: Iterable[str], name: str) -> bytes | None:
    """What is in the file of that name; None: it is none of these."""
    for path in paths:
        if os.path.basename(path) == name:
            try:
                with open(path, "rb") as file:
                    size = os.fstat(file.fileno()).st_size
                    file.seek(max(0, size - READ_BYTES))
                    return file.read()
            except FileNotFoundError:
                return None
    return None
