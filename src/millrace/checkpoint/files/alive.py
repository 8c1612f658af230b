"""Whether the driver of a job lives: it says so in a file of the job's folder, again and again."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from dataclasses import asdict, dataclass

from millrace.checkpoint.files.folder import Folder
from millrace.util.processes import is_alive, started_at, this_machine

__all__ = ["DRIVER", "Heartbeat", "LivingDriver", "is_left_alone", "living_driver"]

DRIVER = "driver"
"""The file."""
BEAT_SECONDS = 10.0
SILENT_SECONDS = 60.0
"""A driver on another machine that has said nothing for so long is dead, by the clock of the store where it says so;
where that is not known by those of the machines, which may differ by most of that."""


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

    def lives(self, folder: Folder) -> bool:
        """:param folder: where its file lies."""
        if self.machine == this_machine():
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
    driver = _read(folder)
    return driver if driver is not None and driver.lives(folder) else None


def is_left_alone(folder: Folder) -> bool:
    """Whether a driver has been here, and is dead."""
    driver = _read(folder)
    return driver is not None and not driver.lives(folder)


def _read(folder: Folder) -> LivingDriver | None:
    try:
        return LivingDriver(**json.loads(bytes(folder.read(DRIVER))))
    except (OSError, ValueError, TypeError):
        return None
