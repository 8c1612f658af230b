"""A driver's JVM that is started without Spark's launcher, and one that boots while Python still imports.

Most sessions want the same JVM, so it can be begun before they ask; a session whose JVM has to be another one ends it
and gets its own. The daemon of the workers starts beside it and imports meanwhile. Both end with this process, however
it ends. The JVM would by itself, since its standard input ends, but only when it has found the folder where it is to
say that it answers; the process that watches a driver removes that folder when the driver is dead, and the JVM would
then wait for ever. So the system tells it (``parent_death``).
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
from millrace.spark.sessions import daemon_ahead
from millrace.spark.sessions.logs import log4j_configuration
from millrace.spark.sessions.settings import SessionWishes, all_settings, one_process
from millrace.util import system as parent_death
from millrace.util.folders import new_folder

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
    return remembered(environment) if lasting and parent_death.has_parent_death_signal() else None


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
    parent_death.signal_when_parent_dies(driver, signal.SIGTERM)


SWITCH = "MILLRACE_START_AHEAD"
"""The variable that switches it off with ``0``."""


@dataclass
class JvmAhead:
    """A JVM that waits for its session."""

    jvm: OwnJvm
    java: JavaInfo
    log_file: str
    """until a session has it"""
    memory: str
    options: str
    environment: Mapping[str, str]
    """that of this process when the JVM was begun"""

    def fits(self, settings: Mapping[str, str]) -> bool:
        """Whether a session with these settings would get a JVM like this one."""
        return (
            not needs_launcher(settings)
            and settings.get(MEMORY) == self.memory
            and settings.get(JAVA_OPTIONS) == self.options
            # What a program puts there is meant for the JVM and the workers, too.
            and _told(os.environ) == self.environment
        )

    def connect(self, settings: Mapping[str, str], log_file: str) -> JavaGateway | None:
        """The way to it for a session with these settings, when it answers; None: it is of no use, and gone.

        :param log_file: where its log is to be from now on.
        """
        if not self.fits(settings) or not self.jvm.answers() or not self._move_log(log_file):
            self.jvm.end()
            return None
        return self.jvm.connect(settings)

    def _move_log(self, log_file: str) -> bool:
        """What writes to it has it open, and goes on."""
        try:
            os.replace(self.log_file, log_file)
        except OSError:
            return False  # another file system
        return True


_ahead: JvmAhead | None = None


@contextlib.contextmanager
def begun_ahead(configuration: Mapping[str, str]) -> Iterator[None]:
    """The JVM of the session that this configuration will want boots inside, if it can be told. No call has to ask for
    it. Inside another one, and where this process has a JVM, nothing happens."""
    global _ahead
    if os.environ.get(SWITCH) == "0" or _ahead is not None or _has_spark():
        yield
        return
    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):  # the session tells it
        _ahead = _begin(configuration)
    try:
        yield
    finally:
        if (unused := ahead()) is not None:
            unused.jvm.end()


def _has_spark() -> bool:
    """PySpark is not imported for it: that is what takes its time meanwhile."""
    module = sys.modules.get("pyspark.core.context")
    return module is not None and module.SparkContext._gateway is not None


def ahead() -> JvmAhead | None:
    """The JVM that was begun, once: it is the caller's."""
    global _ahead
    found, _ahead = _ahead, None
    return found


def _begin(configuration: Mapping[str, str]) -> JvmAhead | None:
    environment = {**os.environ, **meant.environment(configuration, os.environ)}
    master = configuration.get(options.MASTER.key) or "local"
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
    return JvmAhead(jvm, command.java, log_file, settings[MEMORY], settings[JAVA_OPTIONS], _told(environment))


def _can_move(folder: str, target: str | None) -> bool:
    """Whether a file can be moved there while it is open; None: the temporary directory."""
    if target is None:
        target = tempfile.gettempdir()
    return os.path.isdir(target) and os.stat(target).st_dev == os.stat(folder).st_dev


def _told(environment: Mapping[str, str]) -> dict[str, str]:
    """What an environment says beside what Millrace puts there when it makes a session."""
    return {name: value for name, value in environment.items() if name not in ("PYSPARK_PYTHON", "SPARK_LOCAL_IP")}
