"""A driver's JVM that is started as Spark's launcher would (``java_command``), without the launcher.

Beside it starts the daemon of the workers, which imports meanwhile. Both end with this process, however it ends. The
JVM would by itself, since its standard input ends, but only when it has found the folder where it is to say that it
answers: whoever watches a driver removes that when the driver is dead, and the JVM then waits for ever. So the system
tells it (``parent_death``).
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from millrace.spark.sessions import daemon_ahead
from millrace.spark.sessions.java_command import JavaCommand, remembered, spark_home
from millrace.spark.sessions.settings import one_process
from millrace.util import parent_death

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

BOOT_SECONDS = 120.0
"""How long a JVM may take until it answers."""
MEMORY, JAVA_OPTIONS = "spark.driver.memory", "spark.driver.extraJavaOptions"
"""Settings that its command line is made of."""
_LOOK_SECONDS = 0.005
_CONNECTION, _FILE = "_PYSPARK_DRIVER_CONN_INFO_PATH", "connection"
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
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


def needs_launcher(settings: Mapping[str, str]) -> bool:
    """Whether only Spark's launcher can start the JVM of a session with these settings."""
    return not one_process(settings["spark.master"]) or any(key.startswith(_OF_LAUNCHER) for key in settings)


def known_command(environment: Mapping[str, str]) -> JavaCommand | None:
    """How a JVM is started here; None: only Spark's launcher can do that.

    Its parent is the thread that starts it, which has to last as long as this process.
    """
    lasting = threading.current_thread() is threading.main_thread()
    return remembered(environment) if lasting and parent_death.is_told() else None


@dataclass
class OwnJvm:
    """A JVM that boots, or waits for its session."""

    process: subprocess.Popen[bytes]
    folder: str
    """for what it needs until then"""
    daemon: daemon_ahead.Waiting

    @staticmethod
    def begin(
        command: JavaCommand, settings: Mapping[str, str], log_file: str, folder: str, environment: Mapping[str, str]
    ) -> OwnJvm:
        """Start it, with its daemon.

        :param folder: this process alone can enter it; it is removed when the JVM has its session, or is not wanted.
        :raises OSError, subprocess.SubprocessError: that is not possible.
        """
        environment = {
            **environment,
            _CONNECTION: os.path.join(folder, _FILE),
            "SPARK_HOME": spark_home(),
            "SPARK_CONNECT_MODE": "0",
            "SPARK_LOCAL_IP": environment.get("SPARK_LOCAL_IP", "127.0.0.1"),
            "PYSPARK_PYTHON": environment.get("PYSPARK_PYTHON", sys.executable),
            "PYTHONHASHSEED": "0",  # as Spark's scripts do, for the workers
        }
        daemon = daemon_ahead.begin(spark_home(), environment, log_file)
        try:
            with open(log_file, "ab") as log:
                process = subprocess.Popen(
                    command.line(settings[MEMORY], shlex.split(settings[JAVA_OPTIONS])),
                    stdin=subprocess.PIPE,
                    stderr=log,
                    env=environment | daemon.variables,
                    preexec_fn=partial(_as_child, os.getpid()),
                )
        except (OSError, subprocess.SubprocessError):
            daemon.end()
            raise
        return OwnJvm(process, folder, daemon)

    def connect(self, settings: Mapping[str, str]) -> JavaGateway | None:
        """The way to it for a session with these settings, when it answers; None: it has ended."""
        if not self.answers():
            self.end()
            return None
        from pyspark.java_gateway import launch_gateway
        from pyspark.serializers import UTF8Deserializer, read_int

        with open(self._connection, "rb") as file:
            os.environ[_PORT], os.environ[_SECRET] = str(read_int(file)), UTF8Deserializer().loads(file)
        try:
            gateway: Any = launch_gateway()
        finally:
            del os.environ[_PORT], os.environ[_SECRET]
        shutil.rmtree(self.folder, ignore_errors=True)
        gateway.proc = self.process
        _in_use.append(self.daemon)
        # What reads these here is told by the launcher elsewhere.
        properties = {**settings, "SPARK_SUBMIT": "true", "spark.submit.deployMode": "client"}
        system = gateway.jvm.java.lang.System
        for key, value in properties.items():
            system.setProperty(key, value)
        return gateway

    def answers(self) -> bool:
        """Wait until it does; False: it has ended, or takes too long."""
        until = time.monotonic() + BOOT_SECONDS
        while not os.path.exists(self._connection):
            if self.process.poll() is not None or time.monotonic() > until:
                return False
            time.sleep(_LOOK_SECONDS)
        return True

    @property
    def _connection(self) -> str:
        """The file where it says how to reach it."""
        return os.path.join(self.folder, _FILE)

    def end(self) -> None:
        """End it: no session wants it."""
        self.daemon.end()
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)


_in_use: list[daemon_ahead.Waiting] = []
"""They end when their standard input does."""


def _as_child(driver: int) -> None:
    """What the JVM's process does before it becomes Java."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the driver decides what it means
    parent_death.signal_with(driver, signal.SIGTERM)
