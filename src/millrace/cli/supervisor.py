"""``millrace run`` as two processes: this one watches its child, the driver, and starts another when it has died.

The child is a fork of this process, made before anything large is imported: that takes a millisecond or two.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from types import FrameType

from millrace.cluster.processes.driver_restarts import Restarts
from millrace.util import system

DRIVER_LOST = 70
"""Exit code of a driver whose JVM is gone."""

STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name))
"""Signals that ask the program to end: they are forwarded to the driver, which is not restarted then."""
SAVEPOINT: signal.Signals | None = getattr(signal, "SIGUSR1", None)
"""The signal that asks for a savepoint."""

_POLL_SECONDS = 0.1


def can_supervise() -> bool:
    """Whether this process may fork a driver that takes its place.

    Not inside another program: its threads would be missing in the fork, and a stream of its own (a test that captures
    output) would not see what the fork writes. Nor where the system has no fork, or reaps children itself.
    """
    streams = ("stdin", "stdout", "stderr")
    return (
        hasattr(os, "fork")
        and threading.active_count() == 1
        and all(getattr(sys, name) is getattr(sys, f"__{name}__") for name in streams)
        and signal.getsignal(signal.SIGCHLD) is not signal.SIG_IGN
    )


class Supervisor:
    """Runs a driver, and restarts it when it dies."""

    def __init__(self) -> None:
        self.directory = tempfile.mkdtemp(prefix="millrace-run-")
        """folder for files of the drivers, which may be left over when they die"""
        self.recovery = os.path.join(self.directory, "jobs")
        """recovery file that the drivers write for this process, see ``millrace.spark.job_records``"""
        self._input = _Input()
        self._restarts = Restarts(self.recovery, self._input.is_lost)
        self._driver: int | None = None
        self._stopped_by: int | None = None
        self._handed_on = mmap.mmap(-1, 1)
        """number of signals forwarded to the driver, in memory that it shares"""
        self._handlers: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}
        """signal handlers before this process set its own; the driver restores them"""

    def handed_on(self) -> int:
        """Number of ending signals that were forwarded to the driver, or are about to be."""
        return self._handed_on[0]

    def supervise(self) -> int | None:
        """Run drivers until one has ended; returns its exit code, or 128 plus the number of the signal that killed it.

        Returns None in the driver, which continues with the program.
        """
        code = self._run()
        if code is not None:
            shutil.rmtree(self.directory, ignore_errors=True)
        return code

    def _run(self) -> int | None:
        # What the shell of a background command has switched off stays off.
        signals = (*STOPPING, SAVEPOINT) if SAVEPOINT is not None else STOPPING
        for number in signals:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._handlers[number] = signal.signal(number, self._hand_on)
        while not self._start():
            code = self._wait()
            died = code < 0 or code == DRIVER_LOST
            delay = self._delay_after(code) if died and self._stopped_by is None else None
            if delay is None:
                return code if code >= 0 else 128 - code
            self._pause(delay / 1000)
            if self._stopped_by is not None:
                _say("cancelled")
                return 128 + self._stopped_by
            self._input.rewind()
        return None

    def _hand_on(self, number: int, _: FrameType | None) -> None:
        if number in STOPPING:
            self._stopped_by = number
            self._handed_on[0] = min(self._handed_on[0] + 1, 255)
        if self._driver is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._driver, number)

    def _start(self) -> bool:
        """Fork a driver; returns True in the driver."""
        sys.stdout.flush()
        sys.stderr.flush()
        watcher = os.getpid()
        # A signal of this moment waits until this process knows whom to tell, and the driver has its own handlers.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, self._handlers)
        driver = os.fork()
        if driver == 0:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            if SAVEPOINT in self._handlers:
                signal.signal(SAVEPOINT, signal.SIG_IGN)  # it would kill a driver that has no job yet
            if system.has_parent_death_signal():  # no driver survives a ``millrace run`` that is killed
                with contextlib.suppress(OSError):
                    system.signal_when_parent_dies(watcher, signal.SIGKILL)
        else:
            self._driver = driver
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return driver == 0

    def _wait(self) -> int:
        """Wait for the driver; returns its exit code, or minus the number of the signal that killed it."""
        assert self._driver is not None
        _, status = os.waitpid(self._driver, 0)
        self._driver = None
        return os.waitstatus_to_exitcode(status)

    def _delay_after(self, code: int) -> int | None:
        """Print how a dead driver is handled; returns the delay before the next one starts (ms), None if none does."""
        death = None if code == DRIVER_LOST else _death(-code)
        verdict = self._restarts.after(death, int(time.monotonic() * 1000))
        if verdict.text:
            _say(verdict.text)
        return verdict.delay_ms

    def _pause(self, seconds: float) -> None:
        """Sleep, unless a signal asks the program to end."""
        end = time.monotonic() + seconds
        while self._stopped_by is None and (rest := end - time.monotonic()) > 0:
            time.sleep(min(rest, _POLL_SECONDS))


class _Input:
    """Standard input, which a restarted driver must read from the same position."""

    def __init__(self) -> None:
        self.is_lost = False
        """whether input has been read that cannot be read again"""
        self._position: int | None = None
        with contextlib.suppress(OSError):  # closed, so that no process reads it
            mode = os.fstat(0).st_mode
            self.is_lost = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
            if stat.S_ISREG(mode):
                self._position = os.lseek(0, 0, os.SEEK_CUR)

    def rewind(self) -> None:
        if self._position is not None:
            os.lseek(0, self._position, os.SEEK_SET)


def _death(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    why = " (kill -9, or the machine ran out of memory)" if name == "SIGKILL" else ""
    return f"the driver was killed by {name}{why}"


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        erase = "\r\x1b[K" if sys.stderr.isatty() else ""  # the live line of the driver that died
        print(f"{erase}{text}", file=sys.stderr, flush=True)
