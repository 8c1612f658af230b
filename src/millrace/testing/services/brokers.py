"""Brokers: Apache Kafka (one or several, each a controller too), RabbitMQ, and the schema registry Apicurio.

Apicurio speaks the REST interface of Confluent's registry.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType

from millrace.testing.services.downloads import jars, java, unpacked
from millrace.testing.services.server import Server, ServiceUnavailable, free_ports
from millrace.testing.services.small_servers import SmallServer, program

# Kafka

KAFKA_VERSION = "4.4.0"
KAFKA_READY_SECONDS = 90.0
_KAFKA_JARS = (f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.5")
_KAFKA_MEMORY = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_KAFKA_LOGGING = """Configuration:
  Appenders:
    Console: {name: S, target: SYSTEM_OUT, PatternLayout: {pattern: "%d %p %c{1} %m%n"}}
  Loggers:
    Root: {level: WARN, AppenderRef: [{ref: S}]}
    Logger: [{name: kafka.server.KafkaRaftServer, level: INFO}]
"""


def _started(broker: Server) -> bool:
    return "Kafka Server started" in broker.said()


def fetch_kafka() -> Path:
    """The folder with its jars. :raises ServiceUnavailable: they cannot be fetched."""
    return jars("kafka", *_KAFKA_JARS)


class Kafka:
    """Brokers on loopback; started by ``start`` or ``with``, gone with ``stop`` or the process.

    Topics are not made by themselves. With several brokers every topic has up to three copies and outlives one of them.

    :param brokers: how many.
    :param settings: of every broker, beside ours.
    :param listeners: name -> security protocol; what clients and brokers use is the first.
    :param advertised: name of a listener -> ports of a proxy that are advertised to clients, one for each broker.
    :param java_options: of every broker's JVM.
    """

    def __init__(
        self,
        brokers: int = 1,
        settings: Mapping[str, str] | None = None,
        listeners: Mapping[str, str] | None = None,
        advertised: Mapping[str, list[int]] | None = None,
        java_options: tuple[str, ...] = (),
    ) -> None:
        self._count = brokers
        self._settings = dict(settings or {})
        self._listeners = dict(listeners or {"PLAINTEXT": "PLAINTEXT"})
        self._ports = {name: free_ports(brokers) for name in (*self._listeners, "CONTROLLER")}
        self._advertised = {**self._ports, **(advertised or {})}
        self._java_options = java_options
        self._folder: Path | None = None
        self.brokers: list[Server] = []

    @property
    def bootstrap(self) -> str:
        """``bootstrap.servers`` of the first listener."""
        return self.servers(next(iter(self._listeners)))

    def servers(self, listener: str) -> str:
        """``bootstrap.servers`` of a listener."""
        return ",".join(f"127.0.0.1:{port}" for port in self._advertised[listener])

    def ports(self, listener: str) -> list[int]:
        """Where the brokers listen."""
        return list(self._ports[listener])

    def start(self) -> Kafka:
        """:raises ServiceUnavailable: it cannot be had here."""
        program, libraries = java(), fetch_kafka()
        self._folder = Path(tempfile.mkdtemp(prefix="millrace-kafka-"))
        logging = self._folder / "log4j2.yaml"
        logging.write_text(_KAFKA_LOGGING)
        around = [program, *_KAFKA_MEMORY, f"-Dlog4j2.configurationFile={logging}", "-cp", f"{libraries}/*"]
        first, *others = uuid.uuid4().bytes
        # Without its highest bit the text cannot begin with a hyphen, which would be taken for an option.
        cluster = base64.urlsafe_b64encode(bytes([first & 0x7F, *others])).decode().rstrip("=")
        for number in range(self._count):
            file = self._folder / f"broker{number}.properties"
            file.write_text("".join(f"{key}={value}\n" for key, value in self._properties(number).items()))
            formatting = [*around, "-Xmx128m", "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(file)]
            done = subprocess.run(formatting, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise ServiceUnavailable(f"Kafka's storage cannot be formatted:\n{done.stdout}{done.stderr}")
            memory = ["-Xmx256m", "-Xms64m", "-Xss512k", *self._java_options]
            command = [*around[:3], *memory, *around[3:], "kafka.Kafka", str(file)]
            self.brokers.append(Server(f"Kafka broker {number}", command, self._folder / f"broker{number}.log"))
        try:
            self._start(self.brokers)
        except BaseException:
            self.stop()
            raise
        return self

    def restart(self, number: int) -> None:
        """Start a broker again that was killed or stopped, with its data."""
        self._start([self.brokers[number]])

    def stop(self) -> None:
        for each in self.brokers:
            each.kill()  # nothing of it stays: an orderly end would only take its time
        self.brokers = []
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Kafka:
        return self if self.brokers else self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @staticmethod
    def _start(brokers: list[Server]) -> None:
        for each in brokers:
            each.start()
        for each in brokers:
            each.wait(partial(_started, each), KAFKA_READY_SECONDS, "to start")

    def _properties(self, number: int) -> dict[str, str]:
        copies, names = str(min(self._count, 3)), list(self._listeners)
        in_sync = str(max(1, min(self._count, 3) - 1))
        voters = (f"{place + 1}@127.0.0.1:{port}" for place, port in enumerate(self._ports["CONTROLLER"]))
        found = {
            "process.roles": "broker,controller",
            "node.id": str(number + 1),
            "controller.quorum.voters": ",".join(voters),
            "controller.listener.names": "CONTROLLER",
            "listeners": ",".join(f"{each}://127.0.0.1:{self._ports[each][number]}" for each in (*names, "CONTROLLER")),
            "advertised.listeners": ",".join(f"{each}://127.0.0.1:{self._advertised[each][number]}" for each in names),
            "listener.security.protocol.map": ",".join(
                f"{name}:{protocol}" for name, protocol in (*self._listeners.items(), ("CONTROLLER", "PLAINTEXT"))
            ),
            "inter.broker.listener.name": names[-1],
            "log.dirs": f"{self._folder}/data{number}",
            "default.replication.factor": copies,
            "min.insync.replicas": in_sync,
            "auto.create.topics.enable": "false",
            "group.initial.rebalance.delay.ms": "0",
            "num.network.threads": "2",
            "num.io.threads": "4",
            "log.cleaner.dedupe.buffer.size": str(8 << 20),
            "transaction.max.timeout.ms": "900000",
            # Records are as old as programs say: those of long ago would be gone with the next round of the cleaner.
            "log.retention.ms": "-1",
        }
        for log in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
            found |= {f"{log}.replication.factor": copies, f"{log}.num.partitions": "4"}
        for log in ("transaction.state.log", "share.coordinator.state.topic"):
            found[f"{log}.min.isr"] = in_sync
        if self._count > 1:
            found |= {"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "1000"}
        return {**found, **self._settings}


# The schema registry

APICURIO_VERSION = "2.6.13.Final"
APICURIO_READY_SECONDS = 120.0
_APICURIO_PATH = (
    f"io/apicurio/apicurio-registry-app/{APICURIO_VERSION}/apicurio-registry-app-{APICURIO_VERSION}-all.tar.gz"
)
_APICURIO_MEMORY = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


def fetch_registry() -> Path:
    """The folder with its program. :raises ServiceUnavailable: it cannot be fetched."""
    return unpacked("Apicurio Registry", _APICURIO_PATH)


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
        command = [program, *_APICURIO_MEMORY, *at, "-jar", str(jar)]
        self.server = Server("Apicurio Registry", command, self._folder / "registry.log")
        try:
            self.server.start()
            self.server.wait(self._answers, APICURIO_READY_SECONDS, "to answer")
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


# RabbitMQ

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
