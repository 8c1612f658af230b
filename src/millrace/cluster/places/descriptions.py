"""What the long-lived processes of a cluster say about themselves, for those who look for them."""

from __future__ import annotations

import os
from dataclasses import dataclass

from millrace.cluster.documents.codec import decode
from millrace.cluster.places.run_folder import Process

ENGINE_FILE, SERVER_FILE, GATEWAY_FILE = "engine.json", "server.json", "gateway.json"
CANNOT_LISTEN = 78
"""Exit code of a server: the port is taken, or must not be used."""


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


def describe_engine(folder: str) -> EngineDescription | None:
    """What is known about the engine of a cluster; None: it is not ready, or dead."""
    try:
        with open(os.path.join(folder, ENGINE_FILE), "rb") as file:
            found = decode(file.read(), EngineDescription)
    except (OSError, ValueError):
        return None
    return found if found.process.is_alive else None


def describe_server(folder: str) -> ServerDescription | None:
    """What is known about the server of a cluster; None: it is not ready, or dead."""
    try:
        with open(os.path.join(folder, SERVER_FILE), "rb") as file:
            found = decode(file.read(), ServerDescription)
    except (OSError, ValueError):
        return None
    return found if found.process.is_alive else None


def describe_gateway(folder: str) -> GatewayDescription | None:
    """What is known about the SQL gateway of a cluster; None: it is not ready, or not needed."""
    try:
        with open(os.path.join(folder, GATEWAY_FILE), "rb") as file:
            found = decode(file.read(), GatewayDescription)
    except (OSError, ValueError):
        return None
    return found if found.process.is_alive else None
