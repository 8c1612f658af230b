"""Forwards what functions print, log and warn of: into the log of their process, and line by line to the driver.

A line is sent with its operator and subtask; these are found on the stack, so functions pay nothing as long as they
print nothing. ``OutputListener`` is the driver's end: it shows lines of owners on this machine as they are printed.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

from millrace.runtime.bases.operator import Operator
from millrace.spark.sessions.logs import keep
from millrace.spark.workers import processes
from millrace.spark.workers.frames import TaskId
from millrace.spark.workers.inspection import task_here
from millrace.spark.workers.shipping import Output
from millrace.util.folders import make_private

LONGEST = 4_000
"""The most characters of a line that are sent to the driver."""
SECONDS = 5.0
"""How long (s) a line waits for a driver that does not read, and the end of a job for the output before it."""
PAUSE = 30.0
"""Seconds for which nothing is sent to a driver after it could not be reached."""
SEPARATOR = "\0"
"""separates the speaker from the text in a message; twice: a number of lines that were left out follows"""
_RUNTIME = "millrace.runtime."


def speaker() -> str:
    """The operator and subtask whose code this thread runs, "map (1/2)"; empty if it runs none."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(_RUNTIME):
            # Only of the runtime's own frames: asking a frame for its variables costs, and is felt by debuggers.
            owner = frame.f_locals.get("self")
            context = getattr(owner, "context", None) if isinstance(owner, Operator) else None
            if context is not None:
                runtime = context.runtime
                number, all_ = runtime.get_index_of_this_subtask() + 1, runtime.get_number_of_parallel_subtasks()
                return f"{context.name} ({number}/{all_})"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


class LineSender:
    """Sends lines to the driver, at most ``lines`` a second of each speaker; of further lines it sends only their
    number.

    :param send: takes a message; False: it did not get there.
    """

    def __init__(self, lines: int, send: Callable[[str], bool], clock: Callable[[], float] = time.monotonic) -> None:
        self._lines = lines
        self._send = send
        self._clock = clock
        self._lock = threading.Lock()
        self._told: dict[str, tuple[float, int, int]] = {}
        """speaker -> (when its current second began, lines sent since, lines left out since)"""

    def tell(self, who: str, text: str) -> None:
        if not self._lines:
            return
        now = self._clock()
        with self._lock:
            began, told, left_out = self._told.get(who, (now, 0, 0))
            if now - began >= 1:
                self._confess(who, left_out)
                began, told, left_out = now, 0, 0
            if told < self._lines and self._send(f"{who}{SEPARATOR}{shortened(text)}"):
                told += 1
            else:
                left_out += 1
            self._told[who] = (began, told, left_out)

    def finish(self, at_once: bool = True) -> None:
        """Send the numbers of lines left out so far; if not ``at_once``, only for speakers whose current second is
        over."""
        now = self._clock()
        with self._lock:
            for who, (began, told, left_out) in list(self._told.items()):
                if at_once or now - began >= 1:
                    self._confess(who, left_out)
                    self._told[who] = (began, told, 0)

    def _confess(self, who: str, left_out: int) -> None:
        if left_out:
            self._send(f"{who}{SEPARATOR}{SEPARATOR}{left_out}")


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text):,} characters)"


class DriverSocket:
    """Sends messages to the driver's socket. Nothing here may hold up or break a job."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(SECONDS)
        self._silent_until = 0.0

    def __call__(self, message: str) -> bool:
        if time.monotonic() < self._silent_until:
            return False
        try:
            self._socket.sendto(message.encode("utf-8", "backslashreplace"), self._address)
        except OSError:
            self._silent_until = time.monotonic() + PAUSE
            return False
        return True


_LONGEST = 1 << 16
"""The most characters of an unfinished line; a longer one is sent as a line."""


class ForwardedStream:
    """A text stream that writes to the original stream and also sends its lines to the driver.

    :param stream: what it was; all is written there.
    """

    def __init__(self, stream: TextIO, tell: Callable[[str, str], None]) -> None:
        self._stream = stream
        self._tell = tell
        self._begun: dict[TaskId | int, str] = {}
        """task, or thread that runs none -> the line that it has begun"""

    def write(self, text: str) -> int:
        written = self._stream.write(text)
        writer = task_here() or threading.get_ident()
        *lines, rest = (self._begun.pop(writer, "") + text).split("\n")
        if len(rest) > _LONGEST:  # what never ends would grow for ever
            lines, rest = [*lines, rest], ""
        if rest:
            self._begun[writer] = rest
        for line in lines:
            if line:
                self._tell(speaker(), line)
        return written

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def end_line(self) -> None:
        """Send the line that this task or thread has begun as if it had ended."""
        if rest := self._begun.pop(task_here() or threading.get_ident(), ""):
            self._tell("", rest)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Log(logging.StreamHandler[Any]):
    """Writes what is logged to standard error, whatever that is at the moment."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    @property
    def stream(self) -> Any:
        return sys.stderr

    @stream.setter
    def stream(self, value: Any) -> None:
        """Ignore the assignment: ``sys.stderr`` is looked up for each record."""


QUIET = ("millrace", "py4j", "httpx", "httpcore")
"""loggers that only warn"""

_teller: LineSender | None = None


def follow(output: Output) -> None:
    """From now on, forward this process's output as a job's settings say."""
    global _teller
    _teller = LineSender(output.lines, DriverSocket(output.driver)) if output.driver is not None else None
    if not isinstance(sys.stdout, ForwardedStream):
        sys.stdout, sys.stderr = ForwardedStream(sys.stdout, _tell), ForwardedStream(sys.stderr, _tell)
    root = logging.getLogger()
    if not any(isinstance(handler, _Log) for handler in root.handlers):
        root.addHandler(_Log())
    root.setLevel(output.level)
    # Millrace's own remarks, and those of what it uses (each request of a sink, say), are not of the functions.
    for name in QUIET:
        logging.getLogger(name).setLevel(max(output.level, logging.WARNING))


def end_run(last: bool) -> None:
    """A run of a task has ended on this thread: send the line that the task has begun. After the ``last`` run, send the
    numbers of left-out lines at once."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, ForwardedStream):
            stream.end_line()
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    if _teller is not None:
        _teller.finish(at_once=last)


def _tell(who: str, text: str) -> None:
    if _teller is not None:
        _teller.tell(who, text)


LARGEST = 1 << 16
"""Bytes of a message."""


_numbers = itertools.count()


class OutputListener:
    """The driver's end: receives lines on a socket in a folder of this user, on a thread of its own.

    :param said: told who speaks ("map (1/2)", or nothing) and a line.
    """

    def __init__(self, said: Callable[[str, str], None]) -> None:
        self._said = said
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._log_file: str | None = None
        self.address: str | None = None
        """address of the socket; None: the listener does not listen"""

    def begin(self, log_file: str | None = None) -> None:
        """Begin to listen; where that is not possible, functions' output is in the log only."""
        self._log_file = log_file
        try:
            folder = processes.folder_of(os.getpid())
            make_private(folder)
            address = os.path.join(folder, f"o{next(_numbers)}")
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            listener.bind(address)
        except OSError:
            return
        self._socket, self.address = listener, address
        self._thread = threading.Thread(target=self._listen, args=(listener,), name="millrace-hearing", daemon=True)
        self._thread.start()

    def _listen(self, listener: socket.socket) -> None:
        while True:
            try:
                message = listener.recv(LARGEST).decode("utf-8", "replace")
            except OSError:
                return
            if not message:
                return  # the end
            who, _, line = message.partition(SEPARATOR)
            if line.startswith(SEPARATOR):
                line = self._left_out(int(line[1:]))
            with contextlib.suppress(Exception):  # a listener may fail
                self._said(who, line)

    def _left_out(self, lines: int) -> str:
        text = f"... and {lines:,} more {'line' if lines == 1 else 'lines'}"
        if self._log_file is None:
            return f"{text} in the log of Spark's executors"
        keep(self._log_file)
        return f"{text} in {self._log_file}"

    def end(self) -> None:
        """Receive what was sent so far, then stop."""
        if self._socket is None or self._thread is None or self.address is None:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.settimeout(SECONDS)
            last.sendto(b"", self.address)
        self._thread.join(SECONDS)
        self._socket.close()
        with contextlib.suppress(OSError):
            os.unlink(self.address)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(self.address))
            os.rmdir(os.path.dirname(os.path.dirname(self.address)))
