"""How the two ends of a connection prove to each other that they belong to one job: both know its secret.

The secret travels to Spark's tasks with their function, as all of the job does, and never over the connection itself.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import struct
from dataclasses import dataclass, field

from millrace.spark.owners.frames import TaskId, exactly

_TASK = struct.Struct(">II")
_NONCE = 16
_PROOF = 32
SECONDS = 10.0
"""How long one end waits for the other."""


class NotProvedError(ConnectionError):
    """The other end does not know the secret."""


@dataclass(frozen=True)
class Address:
    """Where a job's driver waits for its tasks."""

    host: str
    port: int
    secret: bytes = field(repr=False)


def connect(address: Address, task: TaskId) -> socket.socket:
    """A connection to the driver, for a task.

    :raises OSError: nobody is there, or it is not the driver (``NotProvedError``).
    """
    link = socket.create_connection((address.host, address.port), SECONDS)
    try:
        hello = secrets.token_bytes(_NONCE) + _TASK.pack(*task)
        link.sendall(hello)
        challenge, proof = exactly(link, _NONCE), exactly(link, _PROOF)
        if not hmac.compare_digest(proof, _proof(address.secret, b"driver", hello, challenge)):
            raise NotProvedError(f"{address.host}:{address.port} is not the driver of this job")
        link.sendall(_proof(address.secret, b"task", hello, challenge))
    except EOFError:
        link.close()
        raise NotProvedError(f"{address.host}:{address.port} has closed the connection") from None
    except BaseException:
        link.close()
        raise
    settle(link)
    return link


def admit(link: socket.socket, secret: bytes) -> TaskId:
    """The task at the other end of a connection that was accepted.

    :raises OSError: it is none of this job (``NotProvedError``), or says nothing.
    """
    link.settimeout(SECONDS)
    try:
        hello = exactly(link, _NONCE + _TASK.size)
        challenge = secrets.token_bytes(_NONCE)
        link.sendall(challenge + _proof(secret, b"driver", hello, challenge))
        proof = exactly(link, _PROOF)
    except EOFError:
        raise NotProvedError("who connected has gone") from None
    if not hmac.compare_digest(proof, _proof(secret, b"task", hello, challenge)):
        raise NotProvedError("who connected does not know the secret")
    settle(link)
    stage, partition = _TASK.unpack(hello[_NONCE:])
    return stage, partition


def settle(link: socket.socket) -> None:
    """From here on it waits as long as it takes, small messages leave at once, and a lost machine is noticed."""
    link.settimeout(None)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def _proof(secret: bytes, who: bytes, hello: bytes, challenge: bytes) -> bytes:
    return hmac.digest(secret, who + hello + challenge, "sha256")
