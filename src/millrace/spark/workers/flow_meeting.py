"""The places where the owners of a job in flow meet: how one owner listens for the others, and how it connects to them.

On one machine owners meet at sockets in the private folder of their keeper, and the kernel says which user is at the
other end. On a cluster they meet at TCP ports of their machines, and both ends prove that they know the secret of this
set of connections.
"""

from __future__ import annotations

import contextlib
import errno
import hmac
import logging
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from millrace.spark.workers.encryption import Certificate, encrypted
from millrace.spark.workers.frames import Address, TaskId, exactly, same_user
from millrace.spark.workers.stage import SECONDS, admit, connect
from millrace.util.system import no_room, writing
from millrace.util.threads import JobThread

logger = logging.getLogger(__name__)

_BACKLOG = 1024
_CLOSED = {errno.EBADF, errno.EINVAL}
"""What a listener says that was closed, or shut down to wake the thread that accepts."""
_PAUSE_SECONDS = 1.0
"""Seconds after which connections are accepted again, if there were no more files."""


class Meeting(Protocol):
    """Where one owner listens. ``ready`` is readable when ``arrived`` may have a connection."""

    place: str
    """what other owners need to connect, see ``connect``"""
    at_once: bool
    """whether owners connect with each other before the first epoch, since they may not be able to"""

    @property
    def ready(self) -> socket.socket: ...

    def begin(self, secret: bytes) -> None:
        """Take the secret that the owners of this set of connections share; connections can come from now on."""

    def arrived(self) -> list[socket.socket]:
        """Return the connections of other owners that have come; does not wait long."""

    def connect(self, place: str, number: int) -> socket.socket:
        """Connect to the owner that listens at ``place``.

        :param number: the number of the owner that connects.
        :raises OSError: it is not there, or has not proved that it belongs to the job.
        """

    def close(self) -> None: ...


class LocalMeeting:
    """Owners of one machine meet at sockets in a folder of this user alone.

    :param path: of this owner's socket.
    """

    at_once = False

    def __init__(self, path: str) -> None:
        self.place = path
        self._secret = b""
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self._listener.bind(path)
        self._listener.listen(_BACKLOG)

    def begin(self, secret: bytes) -> None:
        self._secret = secret

    @property
    def ready(self) -> socket.socket:
        return self._listener

    def arrived(self) -> list[socket.socket]:
        link, _ = self._listener.accept()
        link.settimeout(SECONDS)
        with contextlib.suppress(OSError, EOFError):
            if same_user(link, os.getuid()):
                secret = exactly(link, len(self._secret))
                if hmac.compare_digest(secret, self._secret):
                    link.settimeout(None)
                    return [link]
        link.close()
        return []

    def connect(self, place: str, number: int) -> socket.socket:
        with writing(place):
            link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            link.connect(place)
            link.sendall(self._secret)
        except BaseException:
            link.close()
            raise
        return link

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self.place)
        self._listener.close()


class NetworkMeeting:
    """Owners of several machines meet at TCP ports. Each connection is admitted on a thread of its own, so that a
    stranger who says nothing keeps no owner from its work.

    :param host: this machine, as the others reach it.
    :param ports: the ports to try, in their order; 0: any free one.
    :param tls: what both ends of a connection show each other; None: connections are not encrypted.
    :raises OSError: none of the ports is free.
    """

    at_once = True

    def __init__(self, host: str, ports: Sequence[int], tls: Certificate | None = None) -> None:
        self._secret = b""
        self._tls = tls
        self._listener = listen((host, ""), ports)
        self.place = f"{host}:{self._listener.getsockname()[1]}"
        self._links: deque[socket.socket] = deque()
        self._ready, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        self._lock = threading.Lock()
        self._closed = False

    def begin(self, secret: bytes) -> None:
        self._secret = secret
        given = self._listener, secret, self._tls, self._take
        JobThread(target=admit_each, args=given, name="millrace-meeting", daemon=True).start()

    @property
    def ready(self) -> socket.socket:
        return self._ready

    def arrived(self) -> list[socket.socket]:
        self._ready.recv(1024)
        found = []
        while self._links:
            found.append(self._links.popleft())
        return found

    def connect(self, place: str, number: int) -> socket.socket:
        host, _, port = place.rpartition(":")
        with writing(place):
            return connect(Address(host, int(port), self._secret, self._tls), (number, 0))

    def _take(self, _: TaskId, link: socket.socket) -> bool:
        with self._lock:
            if self._closed:
                return False
            self._links.append(link)
            with contextlib.suppress(BlockingIOError):  # enough wakes are on their way
                self._wake.send(b"x")
            return True

    def close(self) -> None:
        with self._lock:
            self._closed = True
            while self._links:
                self._links.popleft().close()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        for each in (self._listener, self._ready, self._wake):
            each.close()


def admit_each(
    listener: socket.socket,
    secret: bytes,
    tls: Certificate | None,
    take: Callable[[TaskId, socket.socket], bool],
) -> None:
    """Admit those who connect to a listener until it is closed, each on a thread of its own: one that says nothing lets
    no other one wait. Connections that do not prove that they belong to the job are closed.

    :param take: gets what the other end calls itself, and the connection; says whether it wants the connection.
    """
    while True:
        try:
            link, _ = listener.accept()
        except OSError as error:
            if listener.fileno() < 0 or error.errno in _CLOSED:
                return
            # One that has left meanwhile, or no more files for now: those who wait are admitted later.
            if error.errno != errno.ECONNABORTED:
                logger.warning("no connection of the job is accepted for now: %s", no_room(error, "accept"))
                time.sleep(_PAUSE_SECONDS)
            continue
        given = link, secret, tls, take
        JobThread(target=_admit, args=given, name="millrace-admitting", daemon=True).start()


def _admit(
    link: socket.socket, secret: bytes, tls: Certificate | None, take: Callable[[TaskId, socket.socket], bool]
) -> None:
    try:
        link = encrypted(link, tls, server=True)
        task = admit(link, secret)
    except OSError:
        link.close()
        return
    if not take(task, link):
        link.close()


def listen(hosts: Sequence[str], ports: Sequence[int]) -> socket.socket:
    """Listen at the first port that is free.

    :param hosts: addresses to listen at, in the order to try: the next one where this machine has not the address
        before, as behind address translation. Empty: all addresses of this machine.
    :param ports: 0: any free one.
    :raises OSError: none of the ports is free.
    """
    problem: OSError | None = None
    for port in ports:
        for host in hosts:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            try:
                return socket.create_server((host.strip("[]"), port), family=family, backlog=_BACKLOG)
            except OSError as error:
                problem = error
                if error.errno != errno.EADDRNOTAVAIL:
                    break
    shown = ", ".join(map(str, ports[:3])) + (f", ... {ports[-1]}" if len(ports) > 3 else "")
    raise OSError(f"cannot listen at {hosts[0]}, port {shown}: {problem}") from problem
