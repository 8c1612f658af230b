"""Where Unix sockets lie: in the folder of what listens there, or in a short one where that path is too long."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket

from millrace.spark.owners import place
from millrace.util.private_folder import make_private

ENGINE, SUPERVISOR, CONTROL, GATEWAY = "engine.sock", "supervisor.sock", "control.sock", "gateway.sock"
"""Names of the sockets of engine, supervisor, of the process of a program, and of the SQL gateway of a cluster."""


def socket_path(folder: str, name: str) -> str:
    """The path of a socket of a private folder.

    :raises NotPrivateError: others can write to the short folder.
    """
    path = os.path.join(folder, name)
    if len(path.encode()) <= place.MAX_PATH:
        return path
    short = os.path.join(place.base_folder(), "s" + hashlib.sha256(folder.encode()).hexdigest()[:16])
    make_private(short)
    return os.path.join(short, name)


def listen(path: str) -> socket.socket:
    """Listen there, in place of a process that is dead."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    os.chmod(path, 0o600)
    listener.listen(64)
    return listener
