"""ClickHouse, installed on the machine by Debian."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from millrace.testing.services.database import Database
from millrace.testing.services.ports import free_ports
from millrace.testing.services.small import program

_SETTINGS = """<yandex>
<logger><level>warning</level><console>1</console></logger>
<http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
<path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><users_config>{folder}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>16777216</mark_cache_size>
</yandex>"""
_USER = """<{name}><password>{password}</password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></{name}>"""


class ClickHouse(Database):
    """An old ClickHouse (18.16 in Debian 12) with a user that has a password."""

    name = "ClickHouse"
    ready_seconds = 60.0
    user = "millrace"
    password = "millrace"

    def __init__(self) -> None:
        super().__init__()
        (self._tcp,) = free_ports(1)

    def command(self, folder: Path) -> Sequence[str]:
        there = program("clickhouse-server", "make services, or apt-get install clickhouse-server")
        for name in ("data", "tmp"):
            (folder / name).mkdir(exist_ok=True)
        users = _USER.format(name="default", password="") + _USER.format(name=self.user, password=self.password)
        (folder / "users.xml").write_text(
            f"<yandex><profiles><default/></profiles><users>{users}</users><quotas><default/></quotas></yandex>"
        )
        settings = folder / "config.xml"
        settings.write_text(_SETTINGS.format(http=self.port, tcp=self._tcp, folder=folder))
        return [there, f"--config-file={settings}"]

    @property
    def url(self) -> str:
        """Of its HTTP interface."""
        return f"http://127.0.0.1:{self.port}"

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/ping", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False
