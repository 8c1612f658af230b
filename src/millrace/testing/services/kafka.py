"""Apache Kafka: one broker, or several, each a controller too (KRaft)."""

from __future__ import annotations

import base64
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType

from millrace.testing.services.jars import jars, java
from millrace.testing.services.ports import free_ports
from millrace.testing.services.problems import ServiceUnavailable
from millrace.testing.services.server import Server

VERSION = "4.4.0"
READY_SECONDS = 90.0
_JARS = (f"org.apache.kafka:kafka_2.13:{VERSION}", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.5")
_SMALL = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_LOGGING = """Configuration:
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
    return jars("kafka", *_JARS)


class Kafka:
    """Brokers on loopback; started by ``start`` or ``with``, gone with ``stop`` or the process.

    Topics are not made by themselves. With several brokers every topic has up to three copies and outlives one of them.

    :param brokers: how many.
    :param settings: of every broker, beside ours.
    :param listeners: name -> security protocol; what clients and brokers use is the first.
    :param advertised: name of a listener -> the ports that clients are told instead, one for each broker: of a proxy.
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
        logging.write_text(_LOGGING)
        around = [program, *_SMALL, f"-Dlog4j2.configurationFile={logging}", "-cp", f"{libraries}/*"]
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
            each.wait(partial(_started, each), READY_SECONDS, "to start")

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
