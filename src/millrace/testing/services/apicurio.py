"""Apicurio Registry: a schema registry that speaks the REST interface of Confluent's."""

from __future__ import annotations

import shutil
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType

from millrace.testing.services.downloads import unpacked
from millrace.testing.services.jars import java
from millrace.testing.services.ports import free_ports
from millrace.testing.services.problems import ServiceUnavailable
from millrace.testing.services.server import Server

VERSION = "2.6.13.Final"
READY_SECONDS = 120.0
_PATH = f"io/apicurio/apicurio-registry-app/{VERSION}/apicurio-registry-app-{VERSION}-all.tar.gz"
_SMALL = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


def fetch_registry() -> Path:
    """The folder with its program. :raises ServiceUnavailable: it cannot be fetched."""
    return unpacked("Apicurio Registry", _PATH)


class SchemaRegistry:
    """A registry on loopback that keeps its schemas in memory; started by ``start`` or ``with``."""

    def __init__(self) -> None:
        (self._port,) = free_ports(1)
        self._folder: Path | None = None
        self.server: Server | None = None

    @property
    def url(self) -> str:
        """What clients of Confluent's registry take."""
        return f"http://127.0.0.1:{self._port}/apis/ccompat/v7"

    def start(self) -> SchemaRegistry:
        """:raises ServiceUnavailable: it cannot be had here."""
        program, archive = java(), fetch_registry()
        jar = next(iter([*archive.glob("*runner*.jar"), *archive.glob("**/quarkus-run.jar")]), None)
        if jar is None:
            raise ServiceUnavailable(f"Apicurio Registry: {archive} has no program to start")
        self._folder = Path(tempfile.mkdtemp(prefix="millrace-registry-"))
        at = [f"-Dquarkus.http.port={self._port}", "-Dquarkus.http.host=127.0.0.1"]
        command = [program, *_SMALL, *at, "-jar", str(jar)]
        self.server = Server("Apicurio Registry", command, self._folder / "registry.log")
        try:
            self.server.start()
            self.server.wait(self._answers, READY_SECONDS, "to answer")
        except BaseException:
            self.stop()
            raise
        return self

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def stop(self) -> None:
        if self.server is not None:
            self.server.kill()
            self.server = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> SchemaRegistry:
        return self if self.server is not None else self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
