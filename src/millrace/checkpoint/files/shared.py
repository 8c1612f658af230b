"""Whether the tasks write where the driver reads: a directory of one machine is found out in the first epoch.

The driver puts a token into the folder of the job before it begins. Each process that runs tasks looks for it once, and
says with its next acknowledgement what it has written first, where the driver looks for that.
"""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from millrace.checkpoint.files.errors import SnapshotError
from millrace.checkpoint.files.folder import Folder
from millrace.util.processes import this_machine

__all__ = ["TOKEN", "FirstWrite", "NotSharedError", "SharedFolder", "first_write", "offer"]

TOKEN = "token"
"""The file that the driver writes."""


class NotSharedError(SnapshotError):
    """Tasks and driver do not see the same directory."""

    def __init__(self, uri: str, host: str, what: str) -> None:
        super().__init__(
            f"{uri} is not the same directory on {host} as on the driver's machine ({what}). State and checkpoints "
            f"need one that all machines share, such as NFS, HDFS or an object store: set execution.checkpointing.dir, "
            f"or millrace.state.directory for a job without checkpoints"
        )


@dataclass(frozen=True)
class FirstWrite:
    """What a process has written to see whether the driver finds it."""

    host: str
    process: str
    path: str
    """below the folder"""
    size: int
    """bytes"""


# -- in the driver ----------------------------------------------------------------------------------------------------


def offer(folder: Folder) -> str:
    """Put a token into the folder, before the first epoch; its text travels with the job."""
    token = uuid.uuid4().hex
    folder.write(TOKEN, [token.encode()])
    return token


class SharedFolder:
    """What the driver has seen of the processes that run its tasks."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._seen: set[str] = set()

    def check(self, writes: Iterable[FirstWrite | None]) -> None:
        """Look for what acknowledgements of an epoch name; each process is looked at once.

        :raises NotSharedError: naming the directory and the machine that writes to another one.
        """
        for write in writes:
            if write is None or write.process in self._seen:
                continue
            size = self._folder.size(write.path)
            if size != write.size:
                found = "is missing here" if size is None else f"has {size} bytes here"
                raise NotSharedError(self._folder.uri, write.host, f"{write.path}, which it wrote there, {found}")
            self._seen.add(write.process)
            self._folder.delete(write.path)


# -- in the processes of tasks ----------------------------------------------------------------------------------------

_lock = threading.Lock()
_done: dict[str, FirstWrite] = {}
"""token -> what this process has written; of the last jobs only"""
_JOBS = 16


def first_write(folder: Folder, token: str) -> FirstWrite:
    """Look for the token and write something for the driver to find; once a process and job, later calls give the same.

    :raises NotSharedError: the token is not there.
    """
    with _lock:
        known = _done.get(token)
        if known is None:
            known = _done[token] = _write(folder, token)
            while len(_done) > _JOBS:
                del _done[next(iter(_done))]
        return known


def _write(folder: Folder, token: str) -> FirstWrite:
    host = socket.gethostname()
    try:
        found = bytes(folder.read(TOKEN)).decode(errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        raise NotSharedError(folder.uri, host, f"the driver's file {TOKEN} is missing there") from None
    if found != token:
        raise NotSharedError(folder.uri, host, f"its file {TOKEN} is not the driver's")
    process = f"{this_machine()}-{os.getpid()}"
    path = f"seen/{process}-{token[:8]}"
    return FirstWrite(host, process, path, folder.write(path, [process.encode()]))
