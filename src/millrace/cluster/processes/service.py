"""A long-lived process of a cluster that its supervisor keeps alive: the engine, the server."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from millrace.cluster.places.run_folder import Process, end, process_of

FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 30.0
STEADY_SECONDS = 60.0
"""A process that has lived for so long is started again without delay when it has died."""


class Service:
    """Starts a process, and starts it again when it has died; takes over one that is there.

    :param find: the process, from what it has written about itself; None: there is none.
    """

    def __init__(self, name: str, command: Sequence[str], log: str, find: Callable[[], Process | None]) -> None:
        self.name = name
        self._command = command
        self._log = log
        self._find = find
        self._child: subprocess.Popen[bytes] | None = None
        self._adopted = find()
        self._began = 0.0
        self._delay = 0.0
        self._due: float | None = None

    @property
    def pid(self) -> int | None:
        if self._child is not None:
            return self._child.pid
        return None if self._adopted is None else self._adopted.pid

    def look(self, now: float) -> None:
        """See whether it lives; start it when it does not, and it is time."""
        if self._lives():
            return
        if self._due is None:
            died = self._began > 0
            steady = now - self._began > STEADY_SECONDS
            if steady:
                self._delay = 0.0
            self._due = now + self._delay
            if died:
                self._delay = min(max(2 * self._delay, FIRST_DELAY_SECONDS), LONGEST_DELAY_SECONDS)
        if now >= self._due:
            self._due = None
            self._adopted = self._find()  # one of an earlier supervisor may have become ready
            if self._adopted is None:
                self._start(now)

    def want(self) -> None:
        """Start it soon, if nothing else does."""

    def _lives(self) -> bool:
        if self._adopted is not None:
            if self._adopted.is_alive:
                return True
            self._adopted = None
            self._say("has ended")
        if self._child is None:
            return False
        code = self._child.poll()
        if code is None:
            return True
        self._child = None
        self._say(f"has ended with exit code {code}")
        return False

    def _start(self, now: float) -> None:
        self._began = now
        with open(self._log, "ab") as log:
            self._child = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._say(f"is started as process {self._child.pid}")

    def end(self, seconds: float) -> None:
        """Ask it to end, and make it end when the time is over."""
        process = self._adopted if self._child is None else process_of(self._child.pid)
        if process is not None and end(process, seconds):
            if self._child is not None:
                self._child.wait()
            self._child = self._adopted = None

    def _say(self, text: str) -> None:
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} the {self.name} {text}", file=sys.stderr, flush=True)


class ServiceOnDemand(Service):
    """A service that is started when it is wanted, and let go when it ends."""

    def __init__(self, name: str, command: Sequence[str], log: str, find: Callable[[], Process | None]) -> None:
        super().__init__(name, command, log, find)
        self._wanted = False

    def want(self) -> None:
        self._wanted = True

    def look(self, now: float) -> None:
        wanted, self._wanted = self._wanted, False
        if not self._lives() and wanted:
            self._start(now)
