"""Which JVM a session gets: the one that was begun ahead, one that is begun now, or that of Spark's launcher."""

from __future__ import annotations

import contextlib
import os
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark import SparkContext

from millrace.spark import recovery_file
from millrace.spark.java import JavaInfo, require_java
from millrace.spark.sessions import jvm_ahead
from millrace.spark.sessions.class_archive import archive_options
from millrace.spark.sessions.log_files import log_file_path
from millrace.spark.sessions.logs import log4j_configuration
from millrace.spark.sessions.own_jvm import OwnJvm, known_command, needs_launcher
from millrace.spark.sessions.settings import SessionWishes, all_settings
from millrace.util.passing_folder import new_folder

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway


@dataclass(frozen=True)
class SessionJvm:
    """The JVM of a session, and what the session begins with."""

    gateway: JavaGateway | None
    """None: Spark starts it, or this process has it from a session that was stopped"""
    settings: dict[str, str] = field(repr=False)
    log_file: str


def jvm_for(master: str, wishes: SessionWishes) -> SessionJvm:
    """The JVM for a new session.

    :raises JavaNotFoundError: before anything starts.
    """
    begun = jvm_ahead.ahead()
    if begun is not None and SparkContext._gateway is not None:
        begun.jvm.end()
    elif begun is not None:
        settings = all_settings(master, begun.log_file, wishes, _class_options(begun.java, wishes))
        log_file = log_file_path(wishes.configuration)
        if (gateway := begun.connect(settings, log_file)) is not None:
            return SessionJvm(gateway, settings, log_file)
    makes_archive = wishes.java_options is not None
    command = None if makes_archive or SparkContext._gateway is not None else known_command(os.environ)
    java = require_java() if command is None else command.java
    log_file = log_file_path(wishes.configuration)
    settings = all_settings(master, log_file, wishes, _class_options(java, wishes))
    log4j_configuration(log_file)
    if command is None or needs_launcher(settings):
        return SessionJvm(None, settings, log_file)
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        folder = new_folder("spark", recovery_file.scratch())
        gateway = OwnJvm.begin(command, settings, log_file, folder, os.environ).connect(settings)
        if gateway is not None:
            return SessionJvm(gateway, settings, log_file)
    require_java()  # which may tell why
    return SessionJvm(None, settings, log_file)


def _class_options(java: JavaInfo, wishes: SessionWishes) -> str:
    return archive_options(java) if wishes.java_options is None else wishes.java_options
