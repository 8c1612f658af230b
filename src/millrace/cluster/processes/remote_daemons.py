"""Spark daemons on other machines, started and ended over ``ssh``, which must log this user in without a prompt.

``python -m millrace.cluster.processes.remote_daemons`` is the remote end. It reads a request from its standard input,
since the request holds a secret that a command line would show, and prints the answer as its last line.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from millrace.cluster.durable_files import decode, encode
from millrace.cluster.processes.spark_daemons import (
    MASTER,
    Order,
    Record,
    daemon_command,
    read_record,
    recorded,
    remove_record,
    wait_for,
    write_order,
)
from millrace.cluster.processes.spark_layout import folder_of, names, parse_host, read_layout
from millrace.cluster.run_folder import Process, end, run_folder
from millrace.util.folders import make_private

# The near end

CONNECT_SECONDS = 10
CALL_SECONDS = 150.0
"""How long another machine may take to answer a request."""


def ssh_command(target: str, options: str = "") -> list[str]:
    """The command line that runs the remote end on a machine, with the same Python as here.

    :param options: more options of ssh, as a shell would read them: ``env.ssh.opts``.
    """
    parse_host(target)
    there = shlex.join([sys.executable, "-m", "millrace.cluster.processes.remote_daemons"])
    alive = ["-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"]
    never_asks = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_SECONDS}"]
    return ["ssh", *never_asks, *alive, *shlex.split(options), "--", target, there]


def cluster_id(cluster: str) -> str:
    """A short id of a cluster, for machines that several clusters use."""
    return f"{zlib.crc32(f'{socket.gethostname()} {os.getuid()} {os.path.realpath(cluster)}'.encode()):08x}"


class RemoteCall:
    """A request to another machine that is in progress. Only ``wait`` blocks."""

    def __init__(self, target: str, request: Request, options: str = "", seconds: float = CALL_SECONDS) -> None:
        self._target = target
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._found: Answer | None = None
        # Files, not pipes: ssh must not block because this side does not read.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        with tempfile.TemporaryFile() as given:
            given.write(encode(request))
            given.seek(0)
            self._process = self._begin(ssh_command(target, options), given)

    def _begin(self, line: Sequence[str], given: IO[bytes]) -> subprocess.Popen[bytes] | None:
        try:
            return subprocess.Popen(line, stdin=given, stdout=self._output, stderr=self._errors, start_new_session=True)
        except OSError as error:
            self._errors.write(f"ssh can't be started: {error}".encode())
            return None

    def poll(self) -> Answer | None:
        """The answer, or None while there is none; after the time limit an answer with an error."""
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
        """Wait for the answer."""
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


# State of master and workers

LOOK_SECONDS = 20.0


@dataclass(frozen=True)
class DaemonStatus:
    """The state of a master or a worker."""

    name: str
    host: str
    record: Record | None
    alive: bool
    error: str = ""
    """why the daemon's state is unknown"""

    @property
    def text(self) -> str:
        """The state as a line for the user."""
        if self.error:
            return f"nothing is known: {self.error}"
        if self.record is None or not self.alive:
            return "not there"
        began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.record.began / 1000))
        again = f", started {self.record.starts} times, last at {began}" if self.record.starts > 1 else ""
        return f"process {self.record.process.pid}{again}"


def daemon_statuses(cluster: str) -> list[DaemonStatus]:
    """The state of all daemons of the layout; other machines are asked in parallel. Empty if the cluster has no Spark
    of its own."""
    layout = read_layout(cluster)
    if layout is None:
        return []
    folder, id = folder_of(cluster), cluster_id(cluster)
    wanted = [(MASTER, layout.master), *zip(names(layout.workers), layout.workers, strict=True)]
    asked = {
        name: RemoteCall(place.target, Request(LOOK, id, name), layout.ssh_options, LOOK_SECONDS)
        for name, place in wanted
        if not place.here
    }
    found = []
    for name, place in wanted:
        if name in asked:
            answer = asked[name].wait()
            kept = read_record(folder, name)
            known = answer.record is not None and kept is not None and answer.record.process == kept.process
            found.append(DaemonStatus(name, place.target, answer.record, answer.alive and known, answer.error))
        else:
            record = read_record(folder, name)
            found.append(DaemonStatus(name, place.target, record, record is not None and record.process.is_alive))
    return found


# The far end

START, LOOK, STOP = "start", "look", "stop"
MARK = "millrace-answer "
"""prefix of the answer's line: a machine may print a greeting before it"""
START_SECONDS = 60.0
END_SECONDS = 15.0
_ID = re.compile(r"[0-9a-f]{8,64}\Z")
_NAME = re.compile(r"[a-z]+(?:-[0-9]+)?\Z")


@dataclass(frozen=True)
class Request:
    """A request to start or end one daemon."""

    call: str
    cluster: str
    """id of the cluster that the daemon belongs to, in hexadecimal digits"""
    name: str
    order: Order | None = None
    """the daemon to start"""
    process: Process | None = None
    """the process to end: exactly this one"""


@dataclass(frozen=True)
class Answer:
    """The result of a request."""

    record: Record | None = None
    alive: bool = False
    error: str = ""


def answer(request: Request) -> Answer:
    """Carry out a request on this machine."""
    if not _ID.match(request.cluster) or not _NAME.match(request.name):
        return Answer(error=f"no such daemon: {request.name!r}")
    folder = os.path.join(run_folder(), f"spark-{request.cluster}")
    if request.call == START and request.order is not None:
        return _start(folder, request.order)
    record = read_record(folder, request.name)
    if request.call == STOP and record is not None and record.process == request.process:
        ended = end(record.process, END_SECONDS)
        if ended:
            remove_record(folder, request.name)
            _remove_unused(folder)
        return Answer(record, not ended)
    return Answer(record, record is not None and record.process.is_alive)


def _start(folder: str, order: Order) -> Answer:
    """Start a daemon, unless it runs."""
    make_private(folder)
    logs = os.path.join(folder, "logs")
    make_private(logs)
    before = read_record(folder, order.name)
    if before is not None and before.process.is_alive:
        return Answer(before, True)
    write_order(folder, order)
    with open(os.path.join(logs, f"{order.name}.out"), "ab", opener=_private) as log:
        process = subprocess.Popen(
            daemon_command(folder, order.name, logs),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    until = time.monotonic() + START_SECONDS
    while (record := read_record(folder, order.name)) is None or record.process.pid != process.pid:
        if process.poll() is not None or time.monotonic() > until:
            return Answer(error=f"{order.name} does not start: see {logs}")
        time.sleep(0.05)
    if order.name == MASTER and not wait_for((order.daemon.address, _port(order)), START_SECONDS):
        return Answer(record, process.poll() is None, f"the master does not listen: see {logs}")
    return Answer(record, process.poll() is None)


def _port(order: Order) -> int:
    words = order.daemon.arguments
    return int(words[words.index("--port") + 1])


def _remove_unused(folder: str) -> None:
    """Remove the records and the secret when the last daemon is gone; logs stay."""
    if recorded(folder):
        return
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name.endswith("-work"):
            shutil.rmtree(path, ignore_errors=True)
        elif os.path.isfile(path):
            os.unlink(path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def main() -> None:
    """Answer the request of the standard input."""
    os.chdir("/")
    try:
        found = answer(decode(sys.stdin.buffer.read(), Request))
    except (OSError, ValueError) as error:
        found = Answer(error=str(error))
    print(f"\n{MARK}{encode(found).decode()}", flush=True)


if __name__ == "__main__":
    main()
