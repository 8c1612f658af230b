"""A server process: a process group of its own on free ports, with a log, a deadline to be ready, and an end.

No server outlives the process that started it, however that ends: a small process waits at a pipe whose other end only
this process holds, and kills the process groups that it was given when the pipe closes, by a kill -9 as well.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path


class ServiceUnavailable(Exception):
    """A server cannot be had here: no Java, no network, or it did not start. The message says what to do."""


def free_ports(count: int) -> list[int]:
    """Different ports that nothing listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


_SOURCE = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    word, group = line.split()
    (groups.add if word == "watch" else groups.discard)(int(group))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""
_lock = threading.Lock()
_watcher: tuple[int, subprocess.Popen[str]] | None = None
"""the process that kills orphaned servers, with the pid of the process that started it: a forked child starts its
own"""


def watch(group: int) -> None:
    """Kill a process group when this process ends."""
    _say("watch", group)


def forget(group: int) -> None:
    """Unregister a process group that has ended: its number may be reused soon."""
    _say("forget", group)


def _say(word: str, group: int) -> None:
    global _watcher
    with _lock:
        if _watcher is None or _watcher[0] != os.getpid():
            started = subprocess.Popen(
                [sys.executable, "-S", "-c", _SOURCE], stdin=subprocess.PIPE, text=True, start_new_session=True
            )
            _watcher = os.getpid(), started
        pipe = _watcher[1].stdin
        assert pipe is not None
        pipe.write(f"{word} {group}\n")
        pipe.flush()


POLL_SECONDS = 0.05
STOP_SECONDS = 15.0
LOG_SHOWN = 2_000


class Server:
    """Runs one command.

    :param name: for messages.
    :param log: where its output goes; it is added to.
    """

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name = name
        self.log = log
        self._command = list(command)
        self._process: subprocess.Popen[bytes] | None = None
        self._begin = 0

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} does not run"
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        self._begin = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as out:
            try:
                self._process = subprocess.Popen(
                    self._command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
                )
            except OSError as error:
                raise ServiceUnavailable(f"{self.name} cannot be started: {error}") from error
        watch(self._process.pid)

    def wait(self, ready: Callable[[], bool], seconds: float, what: str) -> None:
        """Wait until it is ready.

        :param what: that is waited for, for the error.
        :raises ServiceUnavailable: it ended, or the time is over; with the end of its log.
        """
        until = time.monotonic() + seconds
        while not ready():
            if not self.running:
                raise ServiceUnavailable(f"{self.name} ended while it started:\n{self.said()[-LOG_SHOWN:]}")
            if time.monotonic() > until:
                said = self.said()[-LOG_SHOWN:]
                self.stop()
                raise ServiceUnavailable(f"{self.name}: {what} took more than {seconds:g} s:\n{said}")
            time.sleep(POLL_SECONDS)

    def said(self) -> str:
        """The server's output since its last start."""
        with self.log.open("rb") as file:
            file.seek(self._begin)
            return file.read().decode(errors="replace")

    def signal(self, number: int) -> None:
        """Send a signal to the whole group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def kill(self) -> None:
        """Kill the server (SIGKILL), as when its machine fails."""
        self.signal(signal.SIGKILL)
        self._ended()

    def stop(self) -> None:
        """Ask it to end, then make it."""
        if self._process is None:
            return
        if self.running:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        self.kill()

    def _ended(self) -> None:
        assert self._process is not None
        self._process.wait()
        forget(self._process.pid)
