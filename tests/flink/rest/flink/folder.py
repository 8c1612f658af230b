"""A folder of our own in which an installed Flink runs, and leaves its installation as it is."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import socket
import sys
import tempfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path

VERSION = "2.3.0"
GATEWAY_JAR = f"flink-sql-gateway-{VERSION}.jar"
GATEWAY_URL = f"https://repo1.maven.org/maven2/org/apache/flink/flink-sql-gateway/{VERSION}/{GATEWAY_JAR}"

CACHE = Path(tempfile.gettempdir()) / "millrace-flink-jars"

# The virtual machines of all servers together stay below 2.5 GB.
MEMORY = {
    "jobmanager.memory.heap.size": "320m",
    "jobmanager.memory.off-heap.size": "64m",
    "jobmanager.memory.jvm-metaspace.size": "256m",
    "jobmanager.memory.jvm-overhead.min": "64m",
    "taskmanager.memory.framework.heap.size": "96m",
    "taskmanager.memory.task.heap.size": "160m",
    "taskmanager.memory.framework.off-heap.size": "96m",
    "taskmanager.memory.framework.off-heap.batch-shuffle.size": "32m",
    "taskmanager.memory.managed.size": "192m",
    "taskmanager.memory.network.min": "48m",
    "taskmanager.memory.network.max": "48m",
    "taskmanager.memory.jvm-metaspace.size": "200m",
    "taskmanager.memory.jvm-overhead.min": "64m",
    "env.java.opts.sql-gateway": "-Xmx256m -XX:MaxMetaspaceSize=256m",
    "env.java.opts.historyserver": "-Xmx96m -XX:MaxMetaspaceSize=96m",
    "env.java.opts.client": "-Xmx256m",
}


def home() -> Path:
    """The folder of the installed apache-flink, which is a distribution."""
    found = importlib.util.find_spec("pyflink")
    if found is None or found.origin is None:
        raise SystemExit("apache-flink is not installed here: run `make flink`")
    return Path(found.origin).parent


@dataclass(frozen=True)
class FlinkFolder:
    """Where one Flink has its files, and the ports that it listens on."""

    home: Path
    root: Path
    rest_port: int
    gateway_port: int
    history_port: int

    @property
    def environment(self) -> dict[str, str]:
        python = str(Path(sys.executable).parent)
        return {
            **os.environ,
            "PATH": os.pathsep.join((python, os.environ["PATH"])),
            "FLINK_HOME": str(self.home),
            "FLINK_CONF_DIR": str(self.root / "conf"),
            "FLINK_LOG_DIR": str(self.root / "log"),
            "FLINK_PID_DIR": str(self.root / "pid"),
            "FLINK_LIB_DIR": str(self.root / "lib"),
            "FLINK_OPT_DIR": str(self.root / "opt"),
        }

    @property
    def savepoints(self) -> Path:
        return self.root / "savepoints"


def make_folder(home: Path, root: Path, cache: Path, settings: dict[str, str]) -> FlinkFolder:
    """A new folder under ``root``, with the distribution's configuration and ``settings`` over it."""
    for name in ("conf", "log", "pid", "lib", "opt", "savepoints", "checkpoints", "archives", "uploads", "temporary"):
        (root / name).mkdir(parents=True, exist_ok=True)
    rest, gateway, history, rpc = free_ports(4)
    for file in (home / "conf").iterdir():
        shutil.copy(file, root / "conf")
    for name in ("lib", "opt"):
        for jar in (home / name).glob("*.jar"):
            _link(jar, root / name / jar.name)
    # On the class path of the cluster, too: a jar that holds nothing but a manifest then starts a Python program.
    for jar in (home / "opt").glob("flink-python-*.jar"):
        _link(jar, root / "lib" / jar.name)
    _link(gateway_jar(cache), root / "opt" / GATEWAY_JAR)
    config = {
        **MEMORY,
        "rest.port": str(rest),
        "jobmanager.rpc.port": str(rpc),
        "taskmanager.numberOfTaskSlots": "12",
        # A job that waits for slots is to wait, however long the cluster is up: else it fails after five minutes.
        "slot.request.timeout": "3600000",
        "io.tmp.dirs": str(root / "temporary"),
        "web.upload.dir": str(root / "uploads"),
        "execution.checkpointing.dir": (root / "checkpoints").as_uri(),
        "jobmanager.archive.fs.dir": (root / "archives").as_uri(),
        "historyserver.archive.fs.dir": (root / "archives").as_uri(),
        "historyserver.archive.fs.refresh-interval": "1000",
        "historyserver.web.address": "localhost",
        "historyserver.web.port": str(history),
        "historyserver.web.tmpdir": str(root / "temporary" / "history"),
        "sql-gateway.endpoint.rest.address": "localhost",
        "sql-gateway.endpoint.rest.port": str(gateway),
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        **settings,
    }
    _write_config(root / "conf" / "config.yaml", config)
    return FlinkFolder(home, root, rest, gateway, history)


def _write_config(file: Path, config: dict[str, str]) -> None:
    """The distribution's options for the Java virtual machine, and ``config`` as flat keys."""
    options = [line.strip() for line in file.read_text("utf-8").splitlines() if line.strip().startswith("all: ")]
    lines = [f"env.java.opts.all: {options[0].removeprefix('all: ')}"]
    lines += ["jobmanager.bind-host: localhost", "jobmanager.rpc.address: localhost"]
    lines += ["taskmanager.bind-host: localhost", "taskmanager.host: localhost", "rest.address: localhost"]
    lines += ["jobmanager.execution.failover-strategy: region", "parallelism.default: 1"]
    lines += [f"{key}: {value}" for key, value in config.items()]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _link(target: Path, link: Path) -> None:
    if not link.exists():
        link.symlink_to(target)


def gateway_jar(cache: Path) -> Path:
    """The SQL gateway, which PyPI's distribution leaves out; fetched once, checked against Maven's checksum."""
    file = cache / GATEWAY_JAR
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(GATEWAY_URL, timeout=120) as answer:
            content = answer.read()
        with urllib.request.urlopen(f"{GATEWAY_URL}.sha1", timeout=60) as answer:
            wanted = answer.read().decode().split()[0]
        if hashlib.sha1(content).hexdigest() != wanted:
            raise RuntimeError(f"{GATEWAY_URL} is not what its checksum says")
        file.write_bytes(content)
    return file


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that are free now; held together, so that they are different ones."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
