"""Whether the driver of a job lives: it says so in a file of the job's folder, again and again."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from millrace.checkpoint.files.folder import Folder
from millrace.util.processes import is_alive, started_at, this_machine

__all__ = ["DRIVER", "Heartbeat", "LivingDriver", "is_left_alone", "living_driver"]

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
        self._thread = threading.Thread(target=self._run, name="millrace-heartbeat", daemon=True)

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
