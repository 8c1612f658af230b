"""The folder that a job's driver and tasks share: whether the driver lives, and whether tasks write where it reads.

The driver says that it lives by touching a file of the folder every few seconds. It puts a token into the folder before
the job begins; each process that runs tasks looks for the token once, and says with its next acknowledgement what it
has written first, where the driver looks for that. A directory that only one machine sees is found in the first epoch.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from millrace.checkpoint.folder import Folder, SnapshotError
from millrace.util.system import is_alive, started_at, this_machine
from millrace.util.threads import JobThread

DRIVER = "driver"
"""The file."""
BEAT_SECONDS = 10.0
SILENT_SECONDS = 60.0
"""A driver on another machine that has said nothing for so long is dead, by the clock of the store where it says so;
where that is not known by those of the machines, which may differ by most of that. Any of these may be set meanwhile,
so it is waited for once more, by a clock that cannot be set."""
CONFIRM_SECONDS = 1.5 * BEAT_SECONDS
"""how long a driver on another machine is waited for that seems to be dead"""


@dataclass(frozen=True)
class LivingDriver:
    """Who wrote the file."""

    machine: str
    host: str
    process: int
    started: int | None
    """ticks since the start of the machine"""
    beat: float
    """seconds since 1970"""

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}"

    @property
    def is_here(self) -> bool:
        """Whether it is known at once that it is dead: it was on this machine."""
        return self.machine == this_machine()

    def seems_to_live(self, folder: Folder) -> bool:
        """By the clocks, if it is on another machine.

        :param folder: where its file lies.
        """
        if self.is_here:
            return is_alive(self.process, self.started)
        silent = folder.age(DRIVER)
        return (time.time() - self.beat if silent is None else silent) < SILENT_SECONDS


class Heartbeat:
    """Says that this process drives the job of a folder, from ``start`` to ``stop``."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._stopped = threading.Event()
        self._thread = JobThread(target=self._run, name="millrace-heartbeat", daemon=True)

    def start(self) -> None:
        self._beat()
        self._thread.start()

    def stop(self) -> None:
        """The job is over here."""
        self._stopped.set()
        self._thread.join(SILENT_SECONDS)
        with contextlib.suppress(OSError):
            self._folder.delete(DRIVER)

    def _run(self) -> None:
        while not self._stopped.wait(BEAT_SECONDS):
            with contextlib.suppress(OSError):  # the next one may get through
                self._beat()

    def _beat(self) -> None:
        process = os.getpid()
        driver = LivingDriver(this_machine(), socket.gethostname(), process, started_at(process), time.time())
        self._folder.write(DRIVER, [json.dumps(asdict(driver)).encode()])


def living_driver(folder: Folder) -> LivingDriver | None:
    """Who drives the job of a folder; None if no process does any more, or never said so."""
    return None if left_alone([folder]) else _read(folder)


def is_left_alone(folder: Folder) -> bool:
    """Whether a driver has been here, and is dead."""
    return bool(left_alone([folder]))


def left_alone(folders: Iterable[Folder]) -> list[Folder]:
    """Those in which a driver has been that is dead. Of drivers on other machines it takes a while to say so: one may
    only seem to be dead since a clock was set."""
    silent = [(folder, driver) for folder in folders if (driver := _read(folder)) and not driver.seems_to_live(folder)]
    if any(not driver.is_here for _, driver in silent):
        time.sleep(CONFIRM_SECONDS)
    return [folder for folder, driver in silent if driver.is_here or _read(folder) == driver]


def _read(folder: Folder) -> LivingDriver | None:
    try:
        return LivingDriver(**json.loads(bytes(folder.read(DRIVER))))
    except (OSError, ValueError, TypeError):
        return None


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
