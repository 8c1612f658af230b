"""Becomes a master or a worker of Spark: ``python -m millrace.cluster.standalone.daemon FOLDER NAME LOGS``.

The process writes down itself which one it is before it turns into Spark's, so whoever starts it may die meanwhile.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from dataclasses import replace

from millrace.cluster.places.durable import write_file
from millrace.cluster.places.run_folder import this_process
from millrace.cluster.standalone.orders import read_order
from millrace.cluster.standalone.records import Record, read_record, write_record
from millrace.spark.standalone.daemons import command_line, environment, log4j
from millrace.util.private_folder import make_private

WAIT_SECONDS = 60.0
"""How long a worker waits for its master; Spark's own attempts begin then."""


def command(folder: str, name: str, logs: str) -> list[str]:
    """What starts the daemon of that name."""
    return [sys.executable, "-m", "millrace.cluster.standalone.daemon", folder, name, logs]


def become(folder: str, name: str, logs: str) -> None:
    """Turn this process into the daemon; does not return."""
    order = read_order(folder, name)
    before = read_record(folder, name)
    record = Record(this_process(), time.time_ns() // 1_000_000)
    write_record(folder, name, record if before is None else replace(record, starts=before.starts + 1))
    settings, logging, work = (os.path.join(folder, f"{name}{end}") for end in (".conf", ".log4j2.properties", "-work"))
    write_file(settings, order.settings.encode())
    log = os.path.join(logs, f"{name}.log")
    write_file(logging, log4j(log, order.logging.file_bytes, order.logging.older_files).encode())
    make_private(work)
    line = command_line(order.daemon, settings, work)
    variables = environment(order.daemon, os.environ, logging)
    if order.waits_for is not None:
        wait_for(order.waits_for, WAIT_SECONDS)
    os.execve(line[0], line, variables)


def wait_for(address: tuple[str, int], seconds: float) -> bool:
    """Whether something listens there; waits for it."""
    until = time.monotonic() + seconds
    while not listens(address, min(seconds, 2.0)):
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def listens(address: tuple[str, int], seconds: float = 2.0) -> bool:
    """Whether something listens at an address now."""
    try:
        socket.create_connection(address, timeout=seconds).close()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    become(*sys.argv[1:4])
