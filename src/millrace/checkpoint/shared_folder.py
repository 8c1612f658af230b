"""The folder that a job's driver and tasks share: a heartbeat of the driver, and a check that both see the same folder.

The driver shows that it is alive by writing a file in the folder every few seconds. Before the job begins it writes a
token; each process that runs tasks looks for the token once and writes a file of its own, which its next
acknowledgement names, and the driver looks for that file. A directory that only one machine sees is found out in the
first epoch.
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
"""name of the heartbeat file"""
BEAT_SECONDS = 10.0
SILENT_SECONDS = 60.0
"""Time (s) without a heartbeat after which a driver on another machine counts as dead: by the clock of the file store,
if known; else by the clocks of the machines, which may differ by most of that. As a clock may have been set, the driver
gets one more chance, measured by a monotonic clock."""
CONFIRM_SECONDS = 1.5 * BEAT_SECONDS
"""how long to wait for a heartbeat of a driver on another machine that seems to be dead (s)"""


@dataclass(frozen=True)
class LivingDriver:
    """The driver process that wrote the heartbeat file."""

    machine: str
    host: str
    process: int
    started: int | None
    """start of the process, in ticks since the start of the machine; None: not known"""
    beat: float
    """time of the last heartbeat, seconds since 1970"""

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}"

    @property
    def is_here(self) -> bool:
        """Whether the driver runs on this machine, so that its death can be seen at once."""
        return self.machine == this_machine()

    def seems_to_live(self, folder: Folder) -> bool:
        """Whether the driver seems to be alive; for another machine, judged by clocks.

        :param folder: the folder with its heartbeat file.
        """
        if self.is_here:
            return is_alive(self.process, self.started)
        silent = folder.age(DRIVER)
        return (time.time() - self.beat if silent is None else silent) < SILENT_SECONDS


class Heartbeat:
    """Writes the heartbeat of this process for the job of a folder, from ``start`` to ``stop``."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._stopped = threading.Event()
        self._thread = JobThread(target=self._run, name="millrace-heartbeat", daemon=True)

    def start(self) -> None:
        self._beat()
        self._thread.start()

    def stop(self) -> None:
        """Stop the heartbeat and delete its file."""
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
    """The driver of the job of a folder; None if it is dead, or there never was one."""
    return None if left_alone([folder]) else _read(folder)


def is_left_alone(folder: Folder) -> bool:
    """Whether the folder has a driver, and it is dead."""
    return bool(left_alone([folder]))


def left_alone(folders: Iterable[Folder]) -> list[Folder]:
    """The folders whose drivers are dead. For drivers on other machines this takes some time, because one may only seem
    to be dead since a clock was set."""
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
"""name of the token file"""


class NotSharedError(SnapshotError):
    """Tasks and driver do not see the same folder."""

    def __init__(self, uri: str, host: str, what: str) -> None:
        super().__init__(
            f"{uri} is not the same directory on {host} as on the driver's machine ({what}). State and checkpoints "
            f"need one that all machines share, such as NFS, HDFS or an object store: set execution.checkpointing.dir, "
            f"or millrace.state.directory for a job without checkpoints"
        )


@dataclass(frozen=True)
class FirstWrite:
    """The file that a process has written to show that it sees the driver's folder."""

    host: str
    process: str
    path: str
    """path below the folder"""
    size: int
    """size in bytes"""


# -- in the driver ----------------------------------------------------------------------------------------------------


def offer(folder: Folder) -> str:
    """Write a token into the folder, before the first epoch. Returns its text, which is sent with the job."""
    token = uuid.uuid4().hex
    folder.write(TOKEN, [token.encode()])
    return token


class SharedFolder:
    """Checks, in the driver, whether the processes of its tasks see the folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._seen: set[str] = set()

    def check(self, writes: Iterable[FirstWrite | None]) -> None:
        """Look for the files that acknowledgements of an epoch name; each process is checked once.

        :raises NotSharedError: a file is missing; the text names the directory and the machine that writes to another
            one.
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
"""token -> the file of this process, for the last jobs only"""
_JOBS = 16


def first_write(folder: Folder, token: str) -> FirstWrite:
    """Look for the token, and write a file for the driver to find. Done once per process and job; later calls return
    the same.

    :raises NotSharedError: the token is missing.
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
