"""What the long-lived processes of a cluster say about themselves, for those who look for them."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from typing import TypeVar

from millrace.cluster.documents.codec import decode, encode
from millrace.cluster.places.durable import write_file
from millrace.cluster.places.run_folder import Process, read_entry

ENGINE_FILE, SERVER_FILE, GATEWAY_FILE = "engine.json", "server.json", "gateway.json"
CANNOT_LISTEN = 78
"""Exit code of a server: the port is taken, or must not be used."""


_held: list[int] = []


def become(folder: str, name: str, description: EngineDescription | ServerDescription) -> bool:
    """Say that this process is a cluster's engine or server from now on; False: it is not to be.

    It is not when another one is there, or when the supervisor that has started it has died meanwhile: the next one
    does not know of a process that has not said yet what it is, and starts its own.

    :param name: of the file that says so.
    """
    lock = os.open(os.path.join(folder, f"{name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return False
    supervisor = read_entry(folder)
    if supervisor is None or supervisor.entry.process.pid != os.getppid():
        os.close(lock)
        return False
    _held.append(lock)  # for life
    write_file(os.path.join(folder, name), encode(description))
    return True


@dataclass(frozen=True)
class EngineDescription:
    """What others know about an engine that is ready."""

    process: Process
    application: str
    """Spark's id"""
    master: str
    slots: int
    web_page: str | None
    """address of Spark's own pages"""
    log_file: str | None


@dataclass(frozen=True)
class ServerDescription:
    """What others know about a server that is ready."""

    process: Process
    url: str


@dataclass(frozen=True)
class GatewayDescription:
    """What others know about the SQL gateway of a cluster that is ready."""

    process: Process


D = TypeVar("D", EngineDescription, ServerDescription, GatewayDescription)


def describe_engine(folder: str) -> EngineDescription | None:
    """What is known about the engine of a cluster; None: it is not ready, or dead."""
    return _described(folder, ENGINE_FILE, EngineDescription)


def describe_server(folder: str) -> ServerDescription | None:
    """What is known about the server of a cluster; None: it is not ready, or dead."""
    return _described(folder, SERVER_FILE, ServerDescription)


def describe_gateway(folder: str) -> GatewayDescription | None:
    """What is known about the SQL gateway of a cluster; None: it is not ready, or not needed."""
    return _described(folder, GATEWAY_FILE, GatewayDescription)


def _described(folder: str, name: str, kind: type[D]) -> D | None:
    try:
        with open(os.path.join(folder, name), "rb") as file:
            found = decode(file.read(), kind)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return found if found.process.is_alive else None
