"""The default folders for state on disk: those of Spark or the system, if they are not in memory."""

from __future__ import annotations

import logging
import os
import re
import tempfile
from collections.abc import Iterable, Iterator

logger = logging.getLogger(__name__)

_FOLDERS = ("LOCAL_DIRS", "SPARK_LOCAL_DIRS")
"""Environment variables with directories, separated by commas: YARN's, and the one that Spark sets for its workers."""
_OF_A_PROCESS = re.compile(r"^(?:blockmgr|executor|spark)-[0-9a-f-]{36}$")
"""Directories that Spark makes inside the configured ones, and deletes when its processes end."""
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})


def local_folders() -> tuple[str, ...]:
    """Existing directories on disk; the system's directory for temporary files if there are none."""
    known = [folder for folder in map(os.path.abspath, _candidates()) if os.access(folder, os.W_OK)]
    on_disk = list(dict.fromkeys(folder for folder in known if file_system(folder) not in _IN_MEMORY))
    named = [folder for folder in on_disk if folder not in _of_the_system()]
    return tuple(named or on_disk[:1] or [tempfile.gettempdir()])


def _candidates() -> Iterator[str]:
    for variable in _FOLDERS:
        for folder in filter(None, os.environ.get(variable, "").split(",")):
            yield _configured(folder)
    yield from _of_the_system()


def _of_the_system() -> tuple[str, ...]:
    return (os.path.abspath(tempfile.gettempdir()), "/var/tmp")


def _configured(folder: str) -> str:
    while _OF_A_PROCESS.match(os.path.basename(folder)):
        folder = os.path.dirname(folder)
    return folder


def warn_of_memory(folders: Iterable[str]) -> None:
    """Log a warning if state on disk would be in memory after all."""
    for folder in folders:
        kind = file_system(folder)
        if kind in _IN_MEMORY:
            logger.warning(
                "state on disk would lie in %s, which is memory (%s): name a directory on a disk "
                "(state.backend.rocksdb.localdir, or set_db_storage_paths())",
                folder,
                kind,
            )


def file_system(folder: str, mounts: str = "/proc/mounts") -> str:
    """The type of the file system that a directory is on, whether it exists or not; "" if unknown."""
    path = os.path.realpath(folder)
    best, found = -1, ""
    try:
        with open(mounts) as file:
            for line in file:
                point, kind = (part.encode().decode("unicode_escape") for part in line.split()[1:3])
                below = path == point or path.startswith(point.rstrip("/") + "/")
                if below and len(point) >= best:  # what was mounted last hides the others
                    best, found = len(point), kind
    except OSError:
        return ""
    return found
