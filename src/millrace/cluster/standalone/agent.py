"""The far end of ssh: starts, looks at and ends daemons of Spark on the machine that it runs on.

``python -m millrace.cluster.standalone.agent`` reads a request from its standard input, since it holds a secret that
a command line would show, and prints the answer as its last line.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass

from millrace.cluster.documents.codec import decode, encode
from millrace.cluster.places.run_folder import Process, end, run_folder
from millrace.cluster.standalone.daemon import command, wait_for
from millrace.cluster.standalone.orders import MASTER, Order, write_order
from millrace.cluster.standalone.records import Record, read_record, recorded, remove_record
from millrace.util.private_folder import make_private

START, LOOK, STOP = "start", "look", "stop"
MARK = "millrace-answer "
"""begins the line of the answer: what the machine greets with may stand before it"""
START_SECONDS = 60.0
END_SECONDS = 15.0
_ID = re.compile(r"[0-9a-f]{8,64}\Z")
_NAME = re.compile(r"[a-z]+(?:-[0-9]+)?\Z")


@dataclass(frozen=True)
class Request:
    """What is to happen to one daemon."""

    call: str
    cluster: str
    """which cluster it belongs to: a number in hexadecimal digits"""
    name: str
    order: Order | None = None
    """what to start"""
    process: Process | None = None
    """what to end: this one, and no other"""


@dataclass(frozen=True)
class Answer:
    """What has become of it."""

    record: Record | None = None
    alive: bool = False
    error: str = ""


def answer(request: Request) -> Answer:
    """Do what is asked for, on this machine."""
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
    """Start it, unless it is there."""
    make_private(folder)
    logs = os.path.join(folder, "logs")
    make_private(logs)
    before = read_record(folder, order.name)
    if before is not None and before.process.is_alive:
        return Answer(before, True)
    write_order(folder, order)
    with open(os.path.join(logs, f"{order.name}.out"), "ab", opener=_private) as log:
        process = subprocess.Popen(
            command(folder, order.name, logs), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
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
    """Logs stay; what tells of processes, and the secret, goes with the last of them."""
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
