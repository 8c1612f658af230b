"""Spark's master and workers as processes: ``python -m ....spark_daemons FOLDER NAME LOGS`` turns into one of them.

An order says which daemon is started under which name. The process records its pid and start time before it turns into
Spark's: its parent may die, and yet no other process can be mistaken for it.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from dataclasses import dataclass, replace

from millrace.cluster.durable_files import decode, encode, write_file
from millrace.cluster.processes.spark_layout import Layout, names
from millrace.cluster.run_folder import Process, this_process
from millrace.spark.standalone_daemons import (
    Daemon,
    as_file,
    command_line,
    environment,
    log4j,
    master,
    properties,
    worker,
)
from millrace.util.folders import make_private

# Orders

MASTER = "master"
_SUFFIX = ".order.json"


@dataclass(frozen=True)
class Logging:
    """Limits of a daemon's log: the size of a file, and the number of older files."""

    file_bytes: int
    older_files: int


@dataclass(frozen=True)
class Order:
    """A daemon to be started."""

    name: str
    daemon: Daemon
    host: str | None
    """ssh's name of the daemon's machine; None: this machine"""
    settings: str
    """content of Spark's properties file; contains secrets"""
    logging: Logging
    waits_for: tuple[str, int] | None = None
    """host and port that must listen before the daemon starts"""


def orders(layout: Layout, logging: Logging, recovery: str) -> list[Order]:
    """The orders for all daemons of a layout, the master first.

    :param recovery: folder in which a master on this machine stores its workers and applications.
    """
    where = (layout.address, layout.port)

    def settings(remembers: bool) -> str:
        found = properties(
            layout.secret,
            recovery if remembers else None,
            layout.encrypted,
            logging.file_bytes,
            logging.older_files,
        )
        return as_file(found)

    host = None if layout.master.here else layout.master.target
    found = [Order(MASTER, master(*where), host, settings(layout.master.here), logging)]
    for name, place in zip(names(layout.workers), layout.workers, strict=True):
        # A worker of this machine is found where its master is, if that is here.
        here = layout.address if layout.master.here else place.name
        daemon = worker(here if place.here else place.name, layout.cores, layout.megabytes, layout.url)
        found.append(Order(name, daemon, None if place.here else place.target, settings(False), logging, where))
    return found


def write_order(folder: str, order: Order) -> None:
    """Write an order to a file that only this user can read."""
    write_file(os.path.join(folder, f"{order.name}{_SUFFIX}"), encode(order))


def read_order(folder: str, name: str) -> Order:
    with open(os.path.join(folder, f"{name}{_SUFFIX}"), "rb") as file:
        return decode(file.read(), Order)


# Records of processes

SUFFIX = ".process.json"


@dataclass(frozen=True)
class Record:
    """The record of a started master or worker."""

    process: Process
    began: int
    """ms since the epoch"""
    starts: int = 1
    """how often the daemon was started for this cluster"""
    host: str | None = None
    """ssh's name of the daemon's machine; None: this machine"""


def write_record(folder: str, name: str, record: Record) -> None:
    write_file(_path(folder, name), encode(record))


def read_record(folder: str, name: str) -> Record | None:
    """The record of the last daemon with this name, which may be dead."""
    try:
        with open(_path(folder, name), "rb") as file:
            return decode(file.read(), Record)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None


def remove_record(folder: str, name: str) -> None:
    try:
        os.unlink(_path(folder, name))
    except FileNotFoundError:
        return


def recorded(folder: str) -> list[str]:
    """The names of all daemons with a record."""
    try:
        found = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(name.removesuffix(SUFFIX) for name in found if name.endswith(SUFFIX))


def _path(folder: str, name: str) -> str:
    return os.path.join(folder, f"{name}{SUFFIX}")


# The process

WAIT_SECONDS = 60.0
"""How long a worker waits until its master listens; after that Spark retries itself."""


def daemon_command(folder: str, name: str, logs: str) -> list[str]:
    """The command line that starts the daemon with this name."""
    return [sys.executable, "-m", "millrace.cluster.processes.spark_daemons", folder, name, logs]


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
    """Wait until something listens at an address; returns whether that is so."""
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
