"""The Spark session: the user's own, or one that Millrace makes."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

import millrace
from millrace.configuration import spark_settings as meant
from millrace.datastream.settings import options
from millrace.spark.archives import zip_package
from millrace.spark.errors import SparkNotStartedError, launcher_said
from millrace.spark.sessions.families import new_session
from millrace.spark.sessions.jvm import jvm_for
from millrace.spark.sessions.launching import secret_settings, told_in_a_file
from millrace.spark.sessions.log_files import keep, look_after
from millrace.spark.sessions.logs import quiet_about_lost_jvm, stderr_to
from millrace.spark.sessions.settings import LOOPBACK, QUERY_SETTINGS, SessionWishes, one_machine, one_process
from millrace.spark.sessions.sparing import look_without_imports
from millrace.util.room import few_descriptors

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

__all__ = [
    "SessionWishes",
    "Workplace",
    "local_session",
    "log_file_of",
    "make_session",
    "one_machine",
    "one_process",
    "workplace",
]


@dataclass(frozen=True)
class Workplace:
    """A session of our own on the user's Spark, and what we know about it."""

    session: SparkSession
    local: bool
    """whether workers run on this machine"""
    log_file: str | None
    """where the JVM of a session that we made logs to"""


_LAUNCHER_ENDED = "JAVA_GATEWAY_EXITED"
"""PySpark's name of an error that says no more than this"""
_log_files: dict[str, str] = {}
"""Spark application id -> log file, for the sessions that Millrace made."""
_shared: SparkSession | None = None
"""a session on a Spark that this process shares with others"""


def local_session(parallelism: int = 2) -> SparkSession:
    """A quiet session on this machine with so many cores."""
    return make_session(SessionWishes(parallelism))


def workplace(given: SparkSession | None, wishes: SessionWishes) -> Workplace:
    """The given session, else the active one, else a new one; with settings of our own that don't touch the user's."""
    parent = given or SparkSession.getActiveSession() or _shared or make_session(wishes)
    _settle_python(parent.sparkContext)
    session = new_session(parent)
    for key, value in QUERY_SETTINGS.items():
        session.conf.set(key, value)
    context = session.sparkContext
    local = one_process(context.master)
    return Workplace(session, local, _log_files.get(context.applicationId))


def _settle_python(context: SparkContext) -> None:
    """Workers on this machine run what this process runs, unless the user has said what: Spark would take any
    ``python3``, which may lack the packages."""
    said = os.environ.get("PYSPARK_PYTHON") or context.getConf().get("spark.pyspark.python")
    if said is None and one_machine(context.master):
        context.pythonExec = sys.executable


def use_shared(session: SparkSession | None, log_file: str | None) -> None:
    """Let jobs that bring no session of their own run on this one, whose Spark belongs to another process."""
    global _shared
    _shared = session
    if session is not None and log_file is not None:
        _log_files[session.sparkContext.applicationId] = log_file


def log_file_of(context: SparkContext) -> str | None:
    """Where the JVM of a context logs to, if Millrace made it."""
    return _log_files.get(context.applicationId)


def make_session(wishes: SessionWishes) -> SparkSession:
    """A new session. Raises ``JavaNotFoundError`` with one line of advice before anything starts."""
    configuration = dict(wishes.configuration)
    os.environ.update(meant.environment(configuration, os.environ))
    # Workers must run what this process runs; Spark would take any python3.
    python = configuration.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable
    os.environ["PYSPARK_PYTHON"] = python
    master = configuration.get(options.MASTER.key) or f"local[{max(wishes.parallelism, 1)}]"
    look_without_imports()
    jvm = jvm_for(master, wishes)
    log_file = jvm.log_file
    package = None if one_process(master) else _package_archive(log_file)
    settings = jvm.settings | _executor_settings(package, configuration)
    settings |= secret_settings(master, settings)
    builder: Any = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    look_after(log_file, configuration)
    if one_machine(master):
        # The one way to tell Spark's pages, and the master and workers of a local cluster, where to listen.
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    logging.getLogger("py4j").setLevel(logging.WARNING)  # at INFO it reports every connection that it closes
    try:
        with stderr_to(log_file), own_interrupt_handler():
            _reach_jvm(jvm.gateway, settings)
            session: SparkSession = builder.getOrCreate()
    except BaseException as error:
        keep(log_file)
        if _LAUNCHER_ENDED in str(error):
            raise _not_started(log_file) from error
        raise
    quiet_about_lost_jvm(session.sparkContext._accumulatorServer)
    _log_files[session.sparkContext.applicationId] = log_file
    if package is not None:
        session.sparkContext.addPyFile(package)
    # Without this the JVM of a program that ends in an error prints the wreck of its sockets.
    atexit.register(_stop_quietly, session)
    return session


def _reach_jvm(gateway: JavaGateway | None, settings: Mapping[str, str]) -> None:
    """Let PySpark know the JVM, or start it."""
    if gateway is not None:
        SparkContext._ensure_initialized(gateway=gateway)
    elif SparkContext._gateway is None:
        with told_in_a_file(settings):
            SparkContext._ensure_initialized()


def _not_started(log_file: str) -> SparkNotStartedError:
    """What the launcher wrote into the log, as an error."""
    with open(log_file, encoding="utf-8", errors="replace") as file:
        said = launcher_said(file.read()) or "its launcher has ended without a word"
    more = "; env.hadoop.conf.dir says where it is, too" if "HADOOP_CONF_DIR" in said else few_descriptors()
    return SparkNotStartedError(f"Spark did not start: {said}{more}\ndetails: {log_file}")


@contextlib.contextmanager
def own_interrupt_handler() -> Iterator[None]:
    """Keep the program's handler of Ctrl-C: Spark's would fail all jobs before anybody could cancel them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _executor_settings(package: str | None, configuration: Mapping[str, str]) -> dict[str, str]:
    """On a cluster the daemon that starts workers finds Millrace where Spark puts the files of the application: in the
    folder that an executor runs in, before its first task."""
    if package is None:
        return {}
    key = "spark.executorEnv.PYTHONPATH"
    # What the driver has is what executors would have inherited, where it starts them.
    given = configuration.get(key) or os.environ.get("PYTHONPATH")
    return {key: f"{os.path.basename(package)}:{given}" if given else os.path.basename(package)}


def _package_archive(log_file: str) -> str:
    """Millrace itself as a zip file, for executors where it isn't installed."""
    package = os.path.dirname(os.path.abspath(millrace.__file__))
    name = os.path.basename(log_file).removesuffix(".log") + "-package.zip"
    return zip_package(package, os.path.join(tempfile.gettempdir(), name), prefix="millrace")


def _stop_quietly(session: SparkSession) -> None:
    try:
        session.stop()
    except Exception:
        # The JVM is gone already, and so is what it should have stopped.
        return
