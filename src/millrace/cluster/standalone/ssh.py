"""Asking another machine over ``ssh``, which must let this user in without asking back."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from typing import IO

from millrace.cluster.documents.codec import decode, encode
from millrace.cluster.standalone.agent import MARK, Answer, Request
from millrace.cluster.standalone.hosts import parse_host

CONNECT_SECONDS = 10
CALL_SECONDS = 150.0
"""How long a machine may take for what it is asked."""


def command(target: str, options: str = "") -> list[str]:
    """The command line that runs our end on a machine, with the same Python as here.

    :param options: more options of ssh, as a shell would read them: ``env.ssh.opts``.
    """
    parse_host(target)
    there = shlex.join([sys.executable, "-m", "millrace.cluster.standalone.agent"])
    alive = ["-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"]
    never_asks = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_SECONDS}"]
    return ["ssh", *never_asks, *alive, *shlex.split(options), "--", target, there]


def cluster_id(cluster: str) -> str:
    """What tells a cluster from others, on machines that several of them use."""
    return f"{zlib.crc32(f'{socket.gethostname()} {os.getuid()} {os.path.realpath(cluster)}'.encode()):08x}"


class RemoteCall:
    """A request that is under way. Nothing waits for it but who asks for its result."""

    def __init__(self, target: str, request: Request, options: str = "", seconds: float = CALL_SECONDS) -> None:
        self._target = target
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._found: Answer | None = None
        # Files, not pipes: whoever does not read must not hold up the other side.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        with tempfile.TemporaryFile() as given:
            given.write(encode(request))
            given.seek(0)
            self._process = self._begin(command(target, options), given)

    def _begin(self, line: Sequence[str], given: IO[bytes]) -> subprocess.Popen[bytes] | None:
        try:
            return subprocess.Popen(
                line, stdin=given, stdout=self._output, stderr=self._errors, start_new_session=True
            )
        except OSError as error:
            self._errors.write(f"ssh can't be started: {error}".encode())
            return None

    def poll(self) -> Answer | None:
        """The answer, as soon as there is one; one that says so if it does not come."""
        if self._found is None:
            if self._process is None or self._process.poll() is not None:
                self._found = self._read()
            elif time.monotonic() > self._until:
                self._process.kill()
                self._process.wait()
                self._found = Answer(error=f"{self._target} has not answered for {self._seconds:g} s")
            else:
                return None
            self._output.close()
            self._errors.close()
        return self._found

    def wait(self) -> Answer:
        """The answer."""
        while (found := self.poll()) is None:
            time.sleep(0.02)
        return found

    def _read(self) -> Answer:
        for line in reversed(_text(self._output).splitlines()):
            if line.startswith(MARK):
                try:
                    return decode(line.removeprefix(MARK).encode(), Answer)
                except ValueError as error:
                    return Answer(error=f"{self._target}: {error}")
        code = "" if self._process is None else f"ssh has ended with exit code {self._process.returncode}: "
        said = " ".join(_text(self._errors).split())[-500:]
        return Answer(error=f"{self._target}: {code}{said or 'it said nothing'}")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")
