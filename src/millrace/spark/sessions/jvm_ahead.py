"""A JVM that boots while Python still imports: most sessions want the same one, so it can be begun before they ask.

A session whose JVM has to be another one ends it and gets its own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millrace.configuration import spark_settings as meant
from millrace.configuration.log_limits import DIRECTORY
from millrace.datastream.settings import options
from millrace.spark import recovery_file
from millrace.spark.java import JavaInfo
from millrace.spark.sessions.class_options import class_options
from millrace.spark.sessions.logs import log4j_configuration
from millrace.spark.sessions.own_jvm import JAVA_OPTIONS, MEMORY, OwnJvm, known_command, needs_launcher
from millrace.spark.sessions.settings import SessionWishes, all_settings, one_process
from millrace.util.passing_folder import new_folder

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

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
    folder = new_folder("spark", recovery_file.scratch())
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
