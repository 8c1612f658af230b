"""RabbitMQ, as Debian packages it."""

from __future__ import annotations

import os
import shutil
import urllib.parse
from collections.abc import Sequence
from pathlib import Path

from millrace.testing.services.ports import free_ports
from millrace.testing.services.problems import ServiceUnavailable
from millrace.testing.services.server import Server
from millrace.testing.services.small import SmallServer, program

_PROGRAMS = "/usr/lib/rabbitmq/bin"


class RabbitMQ(SmallServer):
    """A RabbitMQ node with user and password ``guest``. Its name server (epmd) is one of its own, too."""

    name = "RabbitMQ"
    ready_seconds = 120.0

    def __init__(self) -> None:
        super().__init__()
        self._between, self._names = free_ports(2)
        self._epmd: Server | None = None

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}/{urllib.parse.quote('/', safe='')}"

    def command(self, folder: Path) -> Sequence[str]:
        server = shutil.which("rabbitmq-server", path=f"{_PROGRAMS}{os.pathsep}{os.environ.get('PATH', '')}")
        if server is None:
            raise ServiceUnavailable("rabbitmq-server is not installed: make services, or apt-get install it")
        self._epmd = Server(
            "epmd",
            [program("epmd", "it comes with Erlang"), "-port", str(self._names), "-address", "127.0.0.1"],
            folder / "epmd.log",
        )
        self._epmd.start()
        (folder / "plugins").write_text("[].")
        (folder / "rabbitmq.conf").write_text("")
        variables = {
            "HOME": folder,
            "RABBITMQ_NODENAME": f"millrace{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": self.port,
            "RABBITMQ_DIST_PORT": self._between,
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": self._names,
            "RABBITMQ_MNESIA_BASE": folder / "data",
            "RABBITMQ_LOG_BASE": folder / "log",
            "RABBITMQ_ENABLED_PLUGINS_FILE": folder / "plugins",
            "RABBITMQ_CONFIG_FILE": folder / "rabbitmq.conf",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        }
        given = ["env", *(f"{name}={value}" for name, value in variables.items())]
        if os.getuid() != 0 or not server.startswith(_PROGRAMS):
            return [*given, server]
        # Debian's script refuses root, and the folder must be the other user's.
        _give(folder, "rabbitmq")
        return [*given, "setpriv", "--reuid=rabbitmq", "--regid=rabbitmq", "--clear-groups", server]

    def ready(self) -> bool:
        assert self.server is not None
        return "Starting broker... completed" in self.server.said() and super().ready()

    def stop(self) -> None:
        super().stop()
        if self._epmd is not None:
            self._epmd.kill()
            self._epmd = None


def _give(folder: Path, user: str) -> None:
    shutil.chown(folder, user, user)
    for each in folder.rglob("*"):
        shutil.chown(each, user, user)
