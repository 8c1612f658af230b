"""Where the tasks of a job connect to its driver."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
from collections.abc import Collection

from pyspark import SparkContext

from millrace.spark.owners.frames import TaskId
from millrace.spark.resident.proof import Address, admit

SECRET_BYTES = 32


class Reception:
    """Listens until all tasks are there, or it is closed.

    :param host: the driver's machine, as the tasks reach it.
    :param bind: the address of it to listen at.
    """

    def __init__(self, tasks: Collection[TaskId], host: str, bind: str) -> None:
        self._missing = set(tasks)
        self._links: dict[TaskId, socket.socket] = {}
        self._changed = threading.Condition()
        self._closed = False
        family = socket.AF_INET6 if ":" in bind else socket.AF_INET
        self._listener = socket.create_server((bind.strip("[]"), 0), family=family, backlog=max(len(self._missing), 16))
        secret = secrets.token_bytes(SECRET_BYTES)
        self.address = Address(host.strip("[]"), self._listener.getsockname()[1], secret)
        threading.Thread(target=self._listen, name="millrace-reception", daemon=True).start()

    @staticmethod
    def of(context: SparkContext, tasks: Collection[TaskId]) -> Reception:
        """At the addresses that this Spark has for its driver."""
        settings = context.getConf()
        host = settings.get("spark.driver.host") or "127.0.0.1"
        return Reception(tasks, host, settings.get("spark.driver.bindAddress") or host)

    @property
    def missing(self) -> list[TaskId]:
        """Tasks that have not come yet."""
        with self._changed:
            return sorted(self._missing)

    def wait(self) -> dict[TaskId, socket.socket] | None:
        """The connections of all tasks; None: it was closed before."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or not self._missing)
            if self._missing:
                return None
            links, self._links = self._links, {}
        self.close()
        return links

    def close(self) -> None:
        """No other task is let in, and those that have not been taken over are sent away."""
        with self._changed:
            self._closed = True
            links, self._links = self._links, {}
            self._changed.notify_all()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that listens
        self._listener.close()
        for link in links.values():
            link.close()

    def _listen(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            # Each on a thread of its own: one that says nothing lets nobody wait.
            threading.Thread(target=self._admit, args=(link,), name="millrace-admitting", daemon=True).start()

    def _admit(self, link: socket.socket) -> None:
        try:
            task = admit(link, self.address.secret)
        except OSError:
            link.close()
            return
        with self._changed:
            if self._closed or task not in self._missing:
                link.close()
                return
            self._missing.remove(task)
            self._links[task] = link
            self._changed.notify_all()
