"""A daemon of Spark on another machine: started over ssh when the cluster starts, ended with it."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from millrace.cluster.standalone.agent import START, STOP, Answer, Request
from millrace.cluster.standalone.orders import Order
from millrace.cluster.standalone.records import read_record, remove_record, write_record
from millrace.cluster.standalone.ssh import RemoteCall

FIRST_DELAY_SECONDS = 2.0
LONGEST_DELAY_SECONDS = 60.0


class RemoteService:
    """Looks like a ``Service``, and never waits in a look. Once the daemon is there it is left alone.

    :param folder: where its record is kept.
    :param id: of the cluster, for other machines.
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
        """Its number on its machine."""
        record = read_record(self._folder, self._order.name) if self._there else None
        return None if record is None else record.process.pid

    def look(self, now: float) -> None:
        """Start it if it was not seen yet and it is time."""
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
        self._delay = min(max(2 * self._delay, FIRST_DELAY_SECONDS), LONGEST_DELAY_SECONDS)
        self._due = now + self._delay
        self._say(f"could not be started, next attempt in {self._delay:g} s: {found.error or 'it has ended'}")

    def end(self, seconds: float) -> None:
        """End the process that was started, and no other."""
        if self._call is not None:
            self._heard(self._call.wait(), time.monotonic())  # what it started would stay
            self._call = None
        error = end_remote(self._folder, self._order.name, self._id, self._options, seconds + 30.0)
        if error:
            self._say(f"could not be ended: {error}")

    def _say(self, text: str) -> None:
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} the {self.name} {text}", file=sys.stderr, flush=True)


def end_remote(folder: str, name: str, id: str, options: str, seconds: float) -> str:
    """End the daemon of another machine that a record names; why that was not possible."""
    record = read_record(folder, name)
    if record is None or record.host is None:
        return ""
    request = Request(STOP, id, name, process=record.process)
    found = RemoteCall(record.host, request, options, seconds).wait()
    if not found.error and not found.alive:
        remove_record(folder, name)
    return found.error or ("it does not end" if found.alive else "")
