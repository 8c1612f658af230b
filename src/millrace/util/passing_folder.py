"""Temporary folders that go with their process, or when the next one starts.

A process that is killed leaves its files behind, and so does its JVM. They lie in folders that name the process, so the
next one can tell, and removes them.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import tempfile

from millrace.util.private_folder import make_private
from millrace.util.processes import is_alive, started_at

__all__ = ["holds_sockets", "new_folder", "remove_left", "scratch_folder"]

LONGEST = 50
"""Characters of the path of a scratch folder: sockets lie in there, whose paths have a hundred at most."""
_OURS = re.compile(r"millrace-(?:spark|state|ship)-(\d+)-(\d+)(?:-\w+)?")


def scratch_folder() -> str:
    """The folder for a Spark of this process, private; it is removed when the process ends."""
    root, name = tempfile.gettempdir(), _prefix("spark")
    if not holds_sockets(os.path.join(root, name)):
        root = "/tmp"
    remove_left(root)
    path = os.path.join(root, name)
    make_private(path)
    atexit.register(_remove, path, os.getpid())
    return path


def holds_sockets(path: str) -> bool:
    """Whether a folder's path leaves room for the names of Spark's sockets."""
    return len(path) <= LONGEST


def new_folder(kind: str, parent: str | None = None) -> str:
    """A new folder of this process, which removes it; if it can't any more, the next one does.

    :param kind: ``spark``, ``state`` or ``ship``.
    """
    return tempfile.mkdtemp(prefix=f"{_prefix(kind)}-", dir=parent)


def _prefix(kind: str) -> str:
    process = os.getpid()
    return f"millrace-{kind}-{process}-{started_at(process) or 0}"


def _remove(path: str, process: int) -> None:
    if process == os.getpid():  # not a fork of it
        shutil.rmtree(path, ignore_errors=True)


def remove_left(root: str) -> None:
    """Remove the folders of this user's processes that are gone."""
    with os.scandir(root) as entries:
        found = [(entry, name) for entry in entries if (name := _OURS.fullmatch(entry.name))]
    for entry, name in found:
        with contextlib.suppress(OSError):
            mine = entry.stat(follow_symlinks=False).st_uid == os.getuid()
            if mine and not is_alive(int(name[1]), int(name[2]) or None):
                shutil.rmtree(entry.path, ignore_errors=True)
