"""Long-lived processes that the supervisor of a cluster keeps alive: engine, server, gateway, Spark's master and
workers.

A process that has ended is restarted after a growing delay. Daemons on other machines are started over ssh when the
cluster starts, and ended with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from millrace.cluster import job_folder
from millrace.cluster.processes.remote_daemons import START, STOP, Answer, RemoteCall, Request, cluster_id
from millrace.cluster.processes.spark_daemons import (
    MASTER,
    Logging,
    Order,
    daemon_command,
    orders,
    read_record,
    recorded,
    remove_record,
    write_order,
    write_record,
)
from millrace.cluster.processes.spark_layout import folder_of, names, read_layout
from millrace.cluster.run_folder import Process, end, process_of
from millrace.configuration.files import log_limits
from millrace.util.folders import make_private

# On this machine

FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 30.0
STEADY_SECONDS = 60.0
"""A process that has lived this long is restarted without delay when it dies."""


class Service:
    """A process that is started, and restarted when it has died; an existing process is taken over.

    :param find: finds the process by the description that it has written; None if there is none.
    """

    def __init__(self, name: str, command: Sequence[str], log: str, find: Callable[[], Process | None]) -> None:
        self.name = name
        self._command = command
        self._log = log
        self._find = find
        self._child: subprocess.Popen[bytes] | None = None
        self._adopted = find()
        self._began = 0.0
        self._delay = 0.0
        self._due: float | None = None

    @property
    def pid(self) -> int | None:
        if self._child is not None:
            return self._child.pid
        return None if self._adopted is None else self._adopted.pid

    def look(self, now: float) -> None:
        """Check the process, and start it if it is dead and its restart is due."""
        if self._lives():
            return
        if self._due is None:
            died = self._began > 0
            steady = now - self._began > STEADY_SECONDS
            if steady:
                self._delay = 0.0
            self._due = now + self._delay
            if died:
                self._delay = min(max(2 * self._delay, FIRST_DELAY_SECONDS), LONGEST_DELAY_SECONDS)
        if now >= self._due:
            self._due = None
            self._adopted = self._find()  # one of an earlier supervisor may have become ready
            if self._adopted is None:
                self._start(now)

    def want(self) -> None:
        """Request a start of the process. Does nothing here: a plain service is always kept alive."""

    def _lives(self) -> bool:
        if self._adopted is not None:
            if self._adopted.is_alive:
                return True
            self._adopted = None
            self._say("has ended")
        if self._child is None:
            return False
        code = self._child.poll()
        if code is None:
            return True
        self._child = None
        self._say(f"has ended with exit code {code}")
        return False

    def _start(self, now: float) -> None:
        self._began = now
        with open(self._log, "ab") as log:
            self._child = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._say(f"is started as process {self._child.pid}")

    def end(self, seconds: float) -> None:
        """Ask the process to end, and kill it after these seconds."""
        process = self._adopted if self._child is None else process_of(self._child.pid)
        if process is not None and end(process, seconds):
            if self._child is not None:
                self._child.wait()
            self._child = self._adopted = None

    def _say(self, text: str) -> None:
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} the {self.name} {text}", file=sys.stderr, flush=True)


class ServiceOnDemand(Service):
    """A service that is started on request only, and not restarted when it has ended."""

    def __init__(self, name: str, command: Sequence[str], log: str, find: Callable[[], Process | None]) -> None:
        super().__init__(name, command, log, find)
        self._wanted = False

    def want(self) -> None:
        self._wanted = True

    def look(self, now: float) -> None:
        wanted, self._wanted = self._wanted, False
        if not self._lives() and wanted:
            self._start(now)


# On another machine

REMOTE_FIRST_DELAY_SECONDS = 2.0
REMOTE_LONGEST_DELAY_SECONDS = 60.0


class RemoteService:
    """A daemon on another machine, with the methods of a ``Service``. ``look`` never blocks; a running daemon is left
    alone.

    :param folder: folder with the daemon's record.
    :param id: the cluster's id on other machines.
    """

    def __init__(self, order: Order, folder: str, id: str, options: str) -> None:
        assert order.host is not None
        self.name = f"{order.name} on {order.host}"
        self._host = order.host
        self._order = order
        self._folder = folder
        self._id = id
        self._options = options
        self._call: RemoteCall | None = None
        self._there = False
        self._due = 0.0
        self._delay = 0.0

    @property
    def pid(self) -> int | None:
        """The daemon's process number on its machine."""
        record = read_record(self._folder, self._order.name) if self._there else None
        return None if record is None else record.process.pid

    def look(self, now: float) -> None:
        """Start the daemon if it has not been seen yet and its next attempt is due."""
        if self._there or (self._call is None and now < self._due):
            return
        if self._call is None:
            request = Request(START, self._id, self._order.name, self._order)
            self._call = RemoteCall(self._host, request, self._options)
        found = self._call.poll()
        if found is not None:
            self._call = None
            self._heard(found, now)

    def _heard(self, found: Answer, now: float) -> None:
        if found.record is not None:
            write_record(self._folder, self._order.name, replace(found.record, host=self._host))
        if found.record is not None and found.alive and not found.error:
            self._there = True
            self._say(f"runs as process {found.record.process.pid}")
            return
        self._delay = min(max(2 * self._delay, REMOTE_FIRST_DELAY_SECONDS), REMOTE_LONGEST_DELAY_SECONDS)
        self._due = now + self._delay
        self._say(f"could not be started, next attempt in {self._delay:g} s: {found.error or 'it has ended'}")

    def end(self, seconds: float) -> None:
        """End exactly the process that was started."""
        if self._call is not None:
            self._heard(self._call.wait(), time.monotonic())  # what it started would stay
            self._call = None
        error = end_remote(self._folder, self._order.name, self._id, self._options, seconds + 30.0)
        if error:
            self._say(f"could not be ended: {error}")

    def _say(self, text: str) -> None:
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} the {self.name} {text}", file=sys.stderr, flush=True)


def end_remote(folder: str, name: str, id: str, options: str, seconds: float) -> str:
    """End the daemon of another machine that a record names; returns the error if that failed."""
    record = read_record(folder, name)
    if record is None or record.host is None:
        return ""
    request = Request(STOP, id, name, process=record.process)
    found = RemoteCall(record.host, request, options, seconds).wait()
    if not found.error and not found.alive:
        remove_record(folder, name)
    return found.error or ("it does not end" if found.alive else "")


# Spark's master and workers

STOP_SECONDS = 30.0


def spark_services(cluster: str, configuration: Mapping[str, str]) -> list[Service | RemoteService]:
    """The services for Spark's master and workers in the cluster's layout, the master first; empty if the cluster has
    no Spark of its own."""
    layout = read_layout(cluster)
    if layout is None:
        return []
    folder, logs, id = folder_of(cluster), os.path.join(cluster, job_folder.LOGS), cluster_id(cluster)
    limits = log_limits(configuration)
    recovery = os.path.join(folder, "recovery")
    wanted = orders(layout, Logging(limits.file_bytes, limits.older_files), recovery)
    if not anything_left(cluster):
        # What a master remembers of an earlier cluster is gone with it, and so are its processes.
        shutil.rmtree(recovery, ignore_errors=True)
        for name in recorded(folder):
            remove_record(folder, name)
    make_private(recovery)
    _end_unwanted(folder, {MASTER, *names(layout.workers)})
    return [
        _service(folder, logs, each) if each.host is None else RemoteService(each, folder, id, layout.ssh_options)
        for each in wanted
    ]


def anything_left(cluster: str) -> bool:
    """Whether a Spark process of the cluster is alive on this machine, or may be alive on another one."""
    folder = folder_of(cluster)
    records = [read_record(folder, name) for name in recorded(folder)]
    return any(each is not None and (each.host is not None or each.process.is_alive) for each in records)


def _service(folder: str, logs: str, order: Order) -> Service:
    write_order(folder, order)

    def find() -> Process | None:
        record = read_record(folder, order.name)
        return record.process if record is not None and record.process.is_alive else None

    log = os.path.join(logs, f"{order.name}.out")
    return Service(f"{order.name} of Spark", daemon_command(folder, order.name, logs), log, find)


def _end_unwanted(folder: str, wanted: set[str]) -> None:
    """End the workers on this machine that the layout no longer has."""
    for name in recorded(folder):
        record = read_record(folder, name)
        if name not in wanted and record is not None and record.host is None and end(record.process, STOP_SECONDS):
            remove_record(folder, name)


def end_left(cluster: str) -> list[str]:
    """End the remaining daemons of a cluster that has no supervisor; returns a line for each."""
    layout = read_layout(cluster)
    folder, id = folder_of(cluster), cluster_id(cluster)
    ended = []
    for name in sorted(recorded(folder), key=lambda each: each == MASTER):
        record = read_record(folder, name)
        if record is None:
            continue
        if record.host is not None:
            error = end_remote(folder, name, id, "" if layout is None else layout.ssh_options, STOP_SECONDS)
            ended.append(f"{name} on {record.host}" + (f" (not ended: {error})" if error else ""))
            continue
        if record.process.is_alive and end(record.process, STOP_SECONDS):
            ended.append(name)
        remove_record(folder, name)
    return ended
