"""Servers that take metrics, for tests alone: InfluxDB, Prometheus and carbon, as Debian packages them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from millrace.testing.services.server import ServiceUnavailable
from millrace.testing.services.small_servers import SmallServer, program


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
