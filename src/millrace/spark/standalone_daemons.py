"""Builds the commands that start the master and workers of Spark's standalone mode: main classes, arguments,
environment and properties."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

MASTER_CLASS = "org.apache.spark.deploy.master.Master"
WORKER_CLASS = "org.apache.spark.deploy.worker.Worker"
SECRET = "spark.authenticate.secret"
CRYPTO = "spark.network.crypto.enabled"
DAEMON_MEMORY = "SPARK_DAEMON_MEMORY"
_FILTER = "org.apache.spark.ui.JWSFilter"
_KEY_SIGNS = re.compile(r"[\\ \t:=#!]")

_LOG4J = """\
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {path}
appender.file.filePattern = {path}.%i
appender.file.filePermissions = rw-------
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = {size}
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.fileIndex = min
appender.file.strategy.max = {kept}
"""


@dataclass(frozen=True)
class Daemon:
    """The command of a process that is to be started: a master or a worker."""

    main: str
    arguments: tuple[str, ...]
    address: str
    """where it listens: what comes from elsewhere does not reach it"""


def master(address: str, port: int) -> Daemon:
    """A master; workers and drivers find it at its address and port."""
    return Daemon(MASTER_CLASS, ("--host", address, "--port", str(port), "--webui-port", "0"), address)


def worker(address: str, cores: int, megabytes: int, url: str) -> Daemon:
    """A worker that offers processors and memory to the programs of a master."""
    offers = ("--cores", str(cores), "--memory", f"{megabytes}m")
    return Daemon(WORKER_CLASS, ("--host", address, "--port", "0", "--webui-port", "0", *offers, url), address)


def properties(secret: str, recovery: str | None, encrypted: bool, log_bytes: int, most_logs: int) -> dict[str, str]:
    """Settings of master and workers. Who does not know the secret is sent away.

    :param recovery: folder in which a master remembers workers and programs, for the one that is started after it.
    """
    found = {
        "spark.authenticate": "true",
        SECRET: secret,
        CRYPTO: "true" if encrypted else "false",
        # The master's pages and its REST server do not ask for a secret, so they are closed.
        **closed_pages(),
        "spark.master.rest.enabled": "false",
        "spark.ui.killEnabled": "false",
        "spark.master.ui.decommission.allow.mode": "DENY",
        "spark.port.maxRetries": "0",  # it is found where it was said to be, or not at all
        # A job decides by itself how often it begins again.
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.worker.cleanup.enabled": "true",
        "spark.executor.logs.rolling.strategy": "size",
        "spark.executor.logs.rolling.maxSize": str(log_bytes),
        "spark.executor.logs.rolling.maxRetainedFiles": str(max(most_logs, 1)),
    }
    if recovery is not None:
        found |= {"spark.deploy.recoveryMode": "FILESYSTEM", "spark.deploy.recoveryDirectory": recovery}
    return found


def closed_pages() -> dict[str, str]:
    """Settings that close the pages of a master and its workers, which cannot be left out: they want a signature by a
    key that is thrown away here."""
    return {"spark.ui.filters": _FILTER, f"spark.{_FILTER}.param.secretKey": secrets.token_urlsafe(32)}


def driver_properties(secret: str, encrypted: bool) -> dict[str, str]:
    """Settings of a driver that the master and its workers let in."""
    crypto = "true" if encrypted else "false"
    return {"spark.authenticate": "true", SECRET: secret, CRYPTO: crypto}


def as_file(settings: Mapping[str, str]) -> str:
    """Write settings in the format of Spark's ``--properties-file``."""
    return "".join(f"{_KEY_SIGNS.sub(_marked, key)} {_escaped(value)}\n" for key, value in settings.items())


def _escaped(value: str) -> str:
    """Escape a value in the way that ``java.util.Properties`` reads."""
    text = value.replace("\\", "\\\\")
    for sign, name in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ("\f", "\\f")):
        text = text.replace(sign, name)
    return f"\\{text}" if text.startswith(" ") else text


def _marked(sign: re.Match[str]) -> str:
    return f"\\{sign[0]}"


def log4j(path: str, log_bytes: int, most_logs: int) -> str:
    """A log4j2 configuration that logs into the file ``path``, rolls it at ``log_bytes`` bytes, and keeps ``most_logs``
    (at least 1) rolled files."""
    return _LOG4J.format(path=path, size=log_bytes, kept=max(most_logs, 1))


def spark_home() -> str:
    """Where PySpark is installed on this machine, without importing it."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("PySpark is not installed here")
    return os.path.dirname(spec.origin)


def command_line(daemon: Daemon, properties_file: str, work: str) -> list[str]:
    """The command of a daemon: Spark's own script, which becomes the process that it starts."""
    folder = ["--work-dir", work] if daemon.main == WORKER_CLASS else []
    script = os.path.join(spark_home(), "bin", "spark-class")
    return [script, daemon.main, "--properties-file", properties_file, *folder, *daemon.arguments]


def environment(daemon: Daemon, present: Mapping[str, str], log4j_file: str) -> dict[str, str]:
    """The environment of a daemon."""
    options = f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dlog4j2.configurationFile=file:{log4j_file}"
    return {
        **present,
        "SPARK_HOME": spark_home(),
        "SPARK_LOCAL_IP": daemon.address,
        DAEMON_MEMORY: present.get(DAEMON_MEMORY) or "512m",
        "SPARK_DAEMON_JAVA_OPTS": f"{options} {present.get('SPARK_DAEMON_JAVA_OPTS', '')}".strip(),
    }
