"""TLS between the processes of a job, where Spark's own connections are encrypted.

Each job has a certificate of its own, which travels with the job's secret. Both ends of a connection show it and accept
no other one, so there is no authority and no name of a host to check. ``spark/jobs/certificates.py`` makes it.

A TLS connection must not be used by two threads at the same time: where one thread reads and others write, it takes two
connections (``TwoWay``). ``ssl`` is imported where it is used only, since
every Python worker of a session of the user's own imports this module.
"""

from __future__ import annotations

import contextlib
import select
import socket
import tempfile
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ssl import SSLContext

HANDSHAKE_SECONDS = 10.0
"""Seconds that each end of a new TLS connection waits for the next bytes of the other."""


@dataclass(frozen=True)
class Certificate:
    """A job's own certificate with its key."""

    certificate: str = field(repr=False)
    """PEM"""
    key: str = field(repr=False)
    """PEM, PKCS 8 without a password"""


def encrypted(link: socket.socket, tls: Certificate | None, server: bool) -> socket.socket:
    """Return a connection that encrypts what goes over ``link``, which must not be used any more; None as certificate:
    ``link`` itself.

    :param server: whether this end has accepted the connection.
    :raises OSError: the other end does not have the job's certificate, or says nothing; ``link`` is closed.
    """
    if tls is None:
        return link
    link.settimeout(HANDSHAKE_SECONDS)
    try:
        return _context(tls, server).wrap_socket(link, server_side=server)
    except BaseException:
        link.close()
        raise


@lru_cache(maxsize=4)
def _context(tls: Certificate, server: bool) -> SSLContext:
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    # It is that of no authority, so what its key has signed is not accepted.
    context.load_verify_locations(cadata=tls.certificate)
    if server:
        # Tickets would make a connection readable that has nothing to say, and no connection is resumed.
        context.num_tickets = 0
    # OpenSSL takes a key from a file only. This one can be read by this user alone, and is there for a moment.
    with tempfile.NamedTemporaryFile("w", prefix="millrace-") as file:
        file.write(tls.certificate + tls.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context


class Link(Protocol):
    """A connection that messages go over: a socket, or ``TwoWay``."""

    def recv(self, most: int, /) -> bytes: ...

    def sendall(self, content: bytes, /) -> None: ...

    def fileno(self) -> int:
        """The number of the file that is readable when something comes."""

    def settimeout(self, seconds: float | None, /) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class TwoWay:
    """Two TLS connections to the same process, one a direction: one thread may receive while others send, one at a
    time."""

    receiving: socket.socket
    sending: socket.socket

    def recv(self, most: int) -> bytes:
        return self.receiving.recv(most)

    def sendall(self, content: bytes) -> None:
        self.sending.sendall(content)

    def fileno(self) -> int:
        return self.receiving.fileno()

    def settimeout(self, seconds: float | None) -> None:
        self.receiving.settimeout(seconds)
        self.sending.settimeout(seconds)

    def close(self) -> None:
        self.receiving.close()
        self.sending.close()


def held(link: Link) -> bool:
    """Whether ``link`` holds bytes that are decrypted but not read yet, which no poll reports; false without TLS."""
    pending = getattr(link.receiving if isinstance(link, TwoWay) else link, "pending", None)
    return pending is not None and pending() > 0


def come(link: socket.socket, most: int) -> bytes | None:
    """Take what has come over a connection that does not block; empty: it has ended, None: nothing has come, or not all
    of a piece of TLS."""
    try:
        return link.recv(most)
    except BlockingIOError:
        return None
    except OSError as error:
        import ssl

        if isinstance(error, ssl.SSLWantReadError):
            return None
        raise


def takes(link: Link) -> bool:
    """Whether bytes can be sent at this moment without waiting for the other end."""
    return _polled((link.sending if isinstance(link, TwoWay) else link).fileno(), select.POLLOUT)


def comes(link: Link) -> bool:
    """Whether something of the other end can be read at this moment, its end too."""
    return held(link) or _polled(link.fileno(), select.POLLIN)


def _polled(file: int, event: int) -> bool:
    # Not select.select, which knows no files from 1,024 on.
    poller = select.poll()
    poller.register(file, event)
    return bool(poller.poll(0))


def cut(link: Link) -> None:
    """End a connection in both directions, if that has not happened yet; may be called from any thread, and wakes those
    that wait at it."""
    for each in (link.receiving, link.sending) if isinstance(link, TwoWay) else (link,):
        assert isinstance(each, socket.socket)
        # The shutdown of TLS drops the encryption first: what another thread sends at that moment would be readable.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(each, socket.SHUT_RDWR)
