"""A JVM that boots while Python still imports: most sessions want the same one, so it can be begun before they ask.

It is started as Spark's launcher would (``java_command``), without the launcher. A session whose JVM has to be another
one ends it and has Spark start its own.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from millrace.configuration import spark_settings as meant
from millrace.datastream.settings import options
from millrace.spark.java import JavaInfo
from millrace.spark.sessions.class_options import class_options
from millrace.spark.sessions.java_command import remembered, spark_home
from millrace.spark.sessions.logs import log4j_configuration
from millrace.spark.sessions.settings import SessionWishes, all_settings, one_process

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

BOOT_SECONDS = 120.0
"""How long a JVM may take until it answers."""
_LOOK_SECONDS = 0.005
_CONNECTION = "_PYSPARK_DRIVER_CONN_INFO_PATH"
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
_MEMORY, _JAVA = "spark.driver.memory", "spark.driver.extraJavaOptions"
_OF_LAUNCHER = (
    "spark.archives",
    "spark.driver.defaultJavaOptions",
    "spark.driver.extraClassPath",
    "spark.driver.extraLibraryPath",
    "spark.driver.userClassPathFirst",
    "spark.files",
    "spark.jars",
    "spark.submit.",
)
"""Settings that begin so are read before the JVM runs, or change its class path."""


class Companion(Protocol):
    """What is begun together with a JVM, which will ask for it."""

    @property
    def variables(self) -> Mapping[str, str]:
        """What the JVM finds it by, in its environment."""

    def end(self) -> None:
        """The JVM is not wanted."""


@dataclass
class JvmAhead:
    """A JVM that waits for its session."""

    process: subprocess.Popen[bytes]
    java: JavaInfo
    log_file: str
    """in the folder, until a session has it"""
    folder: str
    memory: str
    options: str
    environment: Mapping[str, str]
    """that of this process when the JVM was begun"""
    daemon: Companion

    def fits(self, settings: Mapping[str, str]) -> bool:
        """Whether a session with these settings would get a JVM like this one."""
        return (
            self.process.poll() is None
            and one_process(settings["spark.master"])
            and settings.get(_MEMORY) == self.memory
            and settings.get(_JAVA) == self.options
            and not any(key.startswith(_OF_LAUNCHER) for key in settings)
            # What a program puts there is meant for the JVM and the workers, too.
            and _told(os.environ) == self.environment
        )

    def connect(self, settings: Mapping[str, str], log_file: str) -> JavaGateway | None:
        """The way to it for a session with these settings, when it answers; None: it is of no use, and gone.

        :param log_file: where its log is to be from now on.
        """
        path = os.path.join(self.folder, "connection")
        if not self.fits(settings) or not self._answers(path) or not self._move_log(log_file):
            self.end()
            return None
        from pyspark.java_gateway import launch_gateway
        from pyspark.serializers import UTF8Deserializer, read_int

        with open(path, "rb") as file:
            os.environ[_PORT], os.environ[_SECRET] = str(read_int(file)), UTF8Deserializer().loads(file)
        try:
            gateway: Any = launch_gateway()
        finally:
            del os.environ[_PORT], os.environ[_SECRET]
        gateway.proc = self.process
        # What reads these here is told by the launcher elsewhere.
        properties = {**settings, "SPARK_SUBMIT": "true", "spark.submit.deployMode": "client"}
        system = gateway.jvm.java.lang.System
        for key, value in properties.items():
            system.setProperty(key, value)
        return gateway

    def _move_log(self, log_file: str) -> bool:
        """What writes to it has it open, and goes on."""
        try:
            os.replace(self.log_file, log_file)
        except OSError:
            return False  # another file system
        return True

    def _answers(self, path: str) -> bool:
        until = time.monotonic() + BOOT_SECONDS
        while not os.path.exists(path):
            if self.process.poll() is not None or time.monotonic() > until:
                return False
            time.sleep(_LOOK_SECONDS)
        return True

    def end(self) -> None:
        """End it: no session wants it."""
        self.daemon.end()
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)


_ahead: JvmAhead | None = None


def begin(
    configuration: Mapping[str, str], folder: str, daemon: Callable[[str, Mapping[str, str], str], Companion]
) -> None:
    """Start the JVM of the session that this configuration will want, if it can be told.

    :param folder: for what it needs, as long as it lives; this process alone can enter it.
    :param daemon: begins that of the workers, with the folder of PySpark, the environment and the log file.
    """
    global _ahead
    environment = before = {**os.environ, **meant.environment(configuration, os.environ)}
    master = configuration.get(options.MASTER.key) or "local"
    command = remembered(environment) if one_process(master) and _ahead is None else None
    if command is None:
        return
    try:
        os.mkdir(folder := os.path.join(folder, "jvm"), 0o700)
        log_file = os.path.join(folder, "jvm.log")
        wishes = SessionWishes(1, configuration)
        settings = all_settings(master, log_file, wishes, class_options(command.archive))
        log4j_configuration(log_file)
    except (OSError, ValueError):
        return  # the session tells it
    environment = {
        **before,
        _CONNECTION: os.path.join(folder, "connection"),
        "SPARK_HOME": spark_home(),
        "SPARK_CONNECT_MODE": "0",
        "SPARK_LOCAL_IP": before.get("SPARK_LOCAL_IP", "127.0.0.1"),
        "PYSPARK_PYTHON": before.get("PYSPARK_PYTHON", sys.executable),
        "PYTHONHASHSEED": "0",  # as Spark's scripts do, for the workers
    }
    beside = daemon(spark_home(), environment, log_file)
    environment |= beside.variables
    words = command.line(settings[_MEMORY], shlex.split(settings[_JAVA]))
    with open(log_file, "ab") as log:
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stderr=log, env=environment, preexec_fn=_deaf_to_interrupts
        )
    asked = (settings[_MEMORY], settings[_JAVA], _told(before))
    _ahead = JvmAhead(process, command.java, log_file, folder, *asked, beside)


def _told(environment: Mapping[str, str]) -> dict[str, str]:
    """What an environment says beside what Millrace puts there when it makes a session."""
    return {name: value for name, value in environment.items() if name not in ("PYSPARK_PYTHON", "SPARK_LOCAL_IP")}


def _deaf_to_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def ahead() -> JvmAhead | None:
    """The JVM that was begun, once: it is the caller's."""
    global _ahead
    found, _ahead = _ahead, None
    return found


def drop() -> None:
    """End the JVM that was begun and that no session has asked for."""
    if (unused := ahead()) is not None:
        unused.end()
