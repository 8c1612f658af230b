"""What functions print, log and warn of in this process: to its log as ever, and line by line to the driver.

A line is told with the operator and the subtask that it comes from: those are found on the stack, so functions pay
nothing as long as they are silent.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

from millrace.runtime.bases.base import Operator
from millrace.spark.shipping.output import Output

LONGEST = 4_000
"""Characters of a line that the driver is told."""
SECONDS = 5.0
"""How long a line waits for a driver that does not read."""
PAUSE = 30.0
"""How long (s) such a driver is told nothing."""
SEPARATOR = "\0"
"""between the one who speaks and the text, in a message; twice: instead of a text, a number of lines is left out"""
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


class Teller:
    """Tells the driver lines, so many a second of each speaker; of the others it tells how many there were.

    :param send: takes a message; False: it did not get there.
    """

    def __init__(self, lines: int, send: Callable[[str], bool], clock: Callable[[], float] = time.monotonic) -> None:
        self._lines = lines
        self._send = send
        self._clock = clock
        self._lock = threading.Lock()
        self._told: dict[str, tuple[float, int, int]] = {}
        """speaker -> (when its second began, lines told since, lines left out)"""

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
        """Tell what was left out so far; if not at once, then of those whose second is over."""
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


class Wire:
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
"""characters of a line that has not ended; more of them are one by themselves"""


class Told:
    """A text stream that also tells its lines.

    :param stream: what it was; all is written there.
    """

    def __init__(self, stream: TextIO, tell: Callable[[str, str], None]) -> None:
        self._stream = stream
        self._tell = tell
        self._begun: dict[int, str] = {}
        """thread -> a line that it has not ended"""

    def write(self, text: str) -> int:
        written = self._stream.write(text)
        thread = threading.get_ident()
        *lines, rest = (self._begun.pop(thread, "") + text).split("\n")
        if len(rest) > _LONGEST:  # what never ends would grow for ever
            lines, rest = [*lines, rest], ""
        if rest:
            self._begun[thread] = rest
        for line in lines:
            if line:
                self._tell(speaker(), line)
        return written

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def end_line(self) -> None:
        """What this thread has begun is a line."""
        if rest := self._begun.pop(threading.get_ident(), ""):
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
        """It is looked for each time."""


QUIET = ("millrace", "py4j", "httpx", "httpcore")
"""loggers that only warn"""

_teller: Teller | None = None


def follow(output: Output) -> None:
    """From now on this process's functions speak as a job wants it."""
    global _teller
    _teller = Teller(output.lines, Wire(output.driver)) if output.driver is not None else None
    if not isinstance(sys.stdout, Told):
        sys.stdout, sys.stderr = Told(sys.stdout, _tell), Told(sys.stderr, _tell)
    root = logging.getLogger()
    if not any(isinstance(handler, _Log) for handler in root.handlers):
        root.addHandler(_Log())
    root.setLevel(output.level)
    # Millrace's own remarks, and those of what it uses (each request of a sink, say), are not of the functions.
    for name in QUIET:
        logging.getLogger(name).setLevel(max(output.level, logging.WARNING))


def end_run(last: bool) -> None:
    """A run of a task has ended on this thread: the line that it has begun is told. If it is the last one, nothing may
    wait for another."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, Told):
            stream.end_line()
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    if _teller is not None:
        _teller.finish(at_once=last)


def _tell(who: str, text: str) -> None:
    if _teller is not None:
        _teller.tell(who, text)
