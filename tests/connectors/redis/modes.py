"""A cluster of one server, and a sentinel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import redis

from millrace.testing.services import Redis
from millrace.testing.services.small_servers import program


class ClusterNode(Redis):
    """All slots are its own."""

    def command(self, folder: Path) -> Sequence[str]:
        bus = ["--cluster-enabled", "yes", "--cluster-port", str(self._bus_port)]
        return [*super().command(folder), *bus]

    def __init__(self) -> None:
        super().__init__()
        self._bus_port = self.port + 1 if self.port < 65_000 else self.port - 1
        self._slots = False

    def ready(self) -> bool:
        if not super().ready():
            return False
        with redis.Redis(port=self.port) as client:
            try:
                if not self._slots:
                    client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
                    self._slots = True
                return client.execute_command("CLUSTER INFO")["cluster_state"] == "ok"
            except redis.RedisError:
                return False


class Sentinel(Redis):
    """Watches one server, which it calls ``main``."""

    name = "Redis Sentinel"

    def __init__(self, master: int) -> None:
        super().__init__()
        self._master = master

    def command(self, folder: Path) -> Sequence[str]:
        settings = folder / "sentinel.conf"
        settings.write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {folder}\nsentinel monitor main 127.0.0.1 {self._master} 1\n"
        )
        return [program("redis-server", "make services, or apt-get install redis-server"), str(settings), "--sentinel"]
