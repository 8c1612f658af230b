"""Ctrl-C and SIGTERM: the first lets the job be cancelled, the second ends this process at once."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StoppedError(KeyboardInterrupt):
    """The user, or the system, wants the program to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    @property
    def exit_code(self) -> int:
        """What a shell says of a command that a signal ended."""
        return 128 + self.number


class Stopper:
    """Turns signals into ``StoppedError`` in the main thread."""

    def __init__(self, handed_on: Callable[[], int] = lambda: 0) -> None:
        """``handed_on``: how many signals the process that watches this one has handed on, or is about to."""
        self._handed_on = handed_on
        self._received: int | None = None
        self._count = 0
        self._deferred = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Handle the signals inside; afterwards too, once one has come, until the process has ended."""
        # What the shell of a background command has switched off stays off.
        wanted = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self._handle) for number in wanted}
        try:
            yield
        finally:
            if self._received is None:
                for number, handler in before.items():
                    signal.signal(number, handler)

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """Let what is inside come to its end first: a call to the JVM that is cut off spoils the connection."""
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False
            self._take_back()
        if self._received is not None:
            raise StoppedError(self._received)

    def _take_back(self) -> None:
        # Spark's handler would cancel its own jobs first, and the job would look as if it had failed.
        handler = signal.getsignal(signal.SIGINT)
        if getattr(handler, "__module__", "").startswith("pyspark"):
            signal.signal(signal.SIGINT, self._handle)

    def _handle(self, number: int, _: FrameType | None) -> None:
        self._count += 1
        # A terminal or a shell tells both processes, and the one that watches hands it on all the same: then a signal
        # arrives twice. Whichever way more have come, so many were sent.
        handed_on = self._handed_on()
        if max(handed_on, self._count - handed_on) > 1:
            os._exit(128 + number)
        if self._received is None:
            self._received = number
            if not self._deferred:
                raise StoppedError(number)
