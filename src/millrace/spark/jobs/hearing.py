"""The driver's ear: what functions print and log on this machine, as it is said."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import threading
from collections.abc import Callable

from millrace.spark.owners import place
from millrace.spark.owners.output import SEPARATOR
from millrace.spark.sessions.log_files import keep
from millrace.util.private_folder import make_private

__all__ = ["Hearing"]

LARGEST = 1 << 16
"""Bytes of a message."""
SECONDS = 5.0
"""How long the end of a job waits for what was said before it."""
_numbers = itertools.count()


class Hearing:
    """Listens on a socket in a folder of this user's alone, on a thread of its own.

    :param said: told who speaks ("map (1/2)", or nothing) and a line.
    """

    def __init__(self, said: Callable[[str, str], None]) -> None:
        self._said = said
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._log_file: str | None = None
        self.address: str | None = None
        """None: it hears nothing"""

    def begin(self, log_file: str | None = None) -> None:
        """Listen; where that is not possible functions are heard in the log only."""
        self._log_file = log_file
        try:
            folder = place.folder_of(os.getpid())
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
            with contextlib.suppress(Exception):  # nobody may be there to be told
                self._said(who, line)

    def _left_out(self, lines: int) -> str:
        text = f"... and {lines:,} more {'line' if lines == 1 else 'lines'}"
        if self._log_file is None:
            return f"{text} in the log of Spark's executors"
        keep(self._log_file)
        return f"{text} in {self._log_file}"

    def end(self) -> None:
        """Hear what was said so far, and no more."""
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
