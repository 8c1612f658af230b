"""A driver's JVM that is started without Spark's launcher, and one that boots while Python still imports.

Most sessions want the same JVM, so it can be begun before they ask; a session whose JVM has to be another one ends it
and gets its own. The daemon of the workers starts beside it and imports meanwhile. Both end with this process, however
it ends. The JVM would by itself, since its standard input ends, but only when it has found the folder where it is to
say that it answers; the process that watches a driver removes that folder when the driver is dead, and the JVM would
then wait for ever. So the system signals it (``signal_when_parent_dies``).
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from millrace.configuration import own_options as options
from millrace.configuration import spark_settings as meant
from millrace.configuration.files import DIRECTORY
from millrace.spark import job_records
from millrace.spark.java import JavaCommand, JavaInfo, class_options, remembered, spark_home
from millrace.spark.sessions import early_daemon
from millrace.spark.sessions.logs import log4j_configuration
from millrace.spark.sessions.settings import SessionWishes, all_settings, one_process
from millrace.util.folders import new_folder
from millrace.util.system import has_parent_death_signal, signal_when_parent_dies

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway


BOOT_SECONDS = 120.0
"""How long a JVM may take until it answers."""
MEMORY, JAVA_OPTIONS = "spark.driver.memory", "spark.driver.extraJavaOptions"
"""The settings that the JVM's command line is made of."""
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
"""Prefixes of settings that are read before the JVM runs, or change its class path."""


def needs_launcher(settings: Mapping[str, str]) -> bool:
    """Whether only Spark's launcher can start the JVM of a session with these settings."""
    return not one_process(settings["spark.master"]) or any(key.startswith(_OF_LAUNCHER) for key in settings)


def known_command(environment: Mapping[str, str]) -> JavaCommand | None:
    """The command that starts a JVM on this machine; None: only Spark's launcher can start one.

    The JVM's parent is the thread that starts it, so that has to be the main thread, which lasts as long as the
    process.
    """
    lasting = threading.current_thread() is threading.main_thread()
    return remembered(environment) if lasting and has_parent_death_signal() else None


@dataclass
class OwnJvm:
    """A JVM that boots, or waits for its session."""

    process: subprocess.Popen[bytes]
    folder: str
    """the folder for the connection file and the log of the JVM; it is removed when a session has the JVM"""
    daemon: early_daemon.Waiting

    @staticmethod
    def begin(
        command: JavaCommand, settings: Mapping[str, str], log_file: str, folder: str, environment: Mapping[str, str]
    ) -> OwnJvm:
        """Start the JVM, together with a worker daemon.

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
        daemon = early_daemon.begin(spark_home(), environment, log_file)
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
        """Wait for the JVM and return the py4j gateway to it, for a session with these settings; None: the JVM has
        ended."""
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
        # Elsewhere Spark's launcher passes these to the JVM as its system properties.
        properties = {**settings, "SPARK_SUBMIT": "true", "spark.submit.deployMode": "client"}
        system = gateway.jvm.java.lang.System
        for key, value in properties.items():
            system.setProperty(key, value)
        return gateway

    def answers(self) -> bool:
        """Wait until the JVM says how to reach it; False: it has ended, or takes longer than ``BOOT_SECONDS``."""
        until = time.monotonic() + BOOT_SECONDS
        while not os.path.exists(self._connection):
            if self.process.poll() is not None or time.monotonic() > until:
                return False
            time.sleep(_LOOK_SECONDS)
        return True

    @property
    def _connection(self) -> str:
        """The file in which the JVM writes its port and secret."""
        return os.path.join(self.folder, _FILE)

    def end(self) -> None:
        """End the JVM and its daemon, since no session wants them."""
        self.daemon.end()
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)


_in_use: list[early_daemon.Waiting] = []
"""Daemons of JVMs in use. The list keeps their standard input open: a daemon ends when that is closed."""


def _as_child(driver: int) -> None:
    """What the JVM's process does before it becomes Java."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the driver decides what it means
    signal_when_parent_dies(driver, signal.SIGTERM)


SWITCH = "MILLRACE_START_AHEAD"
"""The environment variable that switches the early start of the JVM off with ``0``."""


@dataclass
class EarlyJvm:
    """A JVM that was begun early, with what a session must want to be able to use it."""

    jvm: OwnJvm
    java: JavaInfo
    log_file: str
    """the path of the JVM's log until a session has the JVM"""
    memory: str
    options: str
    environment: Mapping[str, str]
    """the environment of this process when the JVM was begun, without the variables that Millrace sets"""

    def fits(self, settings: Mapping[str, str]) -> bool:
        """Whether a session with these settings would get a JVM like this one."""
        return (
            not needs_launcher(settings)
            and settings.get(MEMORY) == self.memory
            and settings.get(JAVA_OPTIONS) == self.options
            # What a program puts there is meant for the JVM and the workers, too.
            and _without_ours(os.environ) == self.environment
        )

    def connect(self, settings: Mapping[str, str], log_file: str) -> JavaGateway | None:
        """Return the gateway to the JVM for a session with these settings; None: the JVM did not fit and was ended.

        :param log_file: where the JVM's log is to be from now on.
        """
        if not self.fits(settings) or not self.jvm.answers() or not self._move_log(log_file):
            self.jvm.end()
            return None
        return self.jvm.connect(settings)

    def _move_log(self, log_file: str) -> bool:
        """Move the JVM's log to another path; the JVM has the file open and goes on writing. False: that is
        impossible."""
        try:
            os.replace(self.log_file, log_file)
        except OSError:
            return False  # another file system
        return True


_early: EarlyJvm | None = None


@contextlib.contextmanager
def started_early(configuration: Mapping[str, str]) -> Iterator[None]:
    """Start the JVM for a session with this configuration early, while the block runs. The JVM is ended after the block
    if no session has taken it. Does nothing inside another such block, if this process has a JVM, or if the
    configuration needs Spark's launcher."""
    global _early
    if os.environ.get(SWITCH) == "0" or _early is not None or _has_spark():
        yield
        return
    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):  # the session tells it
        _early = _begin(configuration)
    try:
        yield
    finally:
        if (unused := take_early_jvm()) is not None:
            unused.jvm.end()


def _has_spark() -> bool:
    """Whether this process has a JVM of Spark. Does not import PySpark, which takes seconds."""
    module = sys.modules.get("pyspark.core.context")
    return module is not None and module.SparkContext._gateway is not None


def take_early_jvm() -> EarlyJvm | None:
    """Take the JVM that was begun early, which belongs to the caller from now on; None: there is none, or it was
    taken."""
    global _early
    found, _early = _early, None
    return found


def _begin(configuration: Mapping[str, str]) -> EarlyJvm | None:
    environment = {**os.environ, **meant.environment(configuration, os.environ)}
    master = options.MASTER.find(configuration) or "local"
    command = known_command(environment) if one_process(master) else None
    if command is None:
        return None
    # Not in the folder for logs: there the log would stay if this process were killed.
    folder = new_folder("spark", job_records.scratch())
    with contextlib.ExitStack() as undo:
        undo.callback(shutil.rmtree, folder, ignore_errors=True)
        log_file = os.path.join(folder, "jvm.log")
        settings = all_settings(master, log_file, SessionWishes(1, configuration), class_options(command.archive))
        if needs_launcher(settings) or not _can_move(folder, configuration.get(DIRECTORY)):
            return None
        log4j_configuration(log_file)
        jvm = OwnJvm.begin(command, settings, log_file, folder, environment)
        undo.pop_all()
    return EarlyJvm(jvm, command.java, log_file, settings[MEMORY], settings[JAVA_OPTIONS], _without_ours(environment))


def _can_move(folder: str, target: str | None) -> bool:
    """Whether an open file can be moved from ``folder`` to ``target`` (None: the temporary directory): one file
    system."""
    if target is None:
        target = tempfile.gettempdir()
    return os.path.isdir(target) and os.stat(target).st_dev == os.stat(folder).st_dev


def _without_ours(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without the variables that Millrace sets when it makes a session."""
    return {name: value for name, value in environment.items() if name not in ("PYSPARK_PYTHON", "SPARK_LOCAL_IP")}
