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
from dataclasses import dataclass, field
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

import millrace
from millrace.configuration import spark_settings as meant
from millrace.datastream.settings import options
from millrace.datastream.settings.dependencies import existing, is_flinks_and_missing
from millrace.spark import recovery_file
from millrace.spark.archives import zip_package
from millrace.spark.java import require_java
from millrace.spark.sessions.class_archive import archive_options
from millrace.spark.sessions.families import new_session
from millrace.spark.sessions.log_files import keep, new_log_file
from millrace.spark.sessions.logs import log4j_configuration, quiet_about_lost_jvm, stderr_to
from millrace.util.passing_folder import scratch_folder


@dataclass(frozen=True)
class Workplace:
    """A session of our own on the user's Spark, and what we know about it."""

    session: SparkSession
    local: bool
    """whether workers run on this machine"""
    log_file: str | None
    """where the JVM of a session that we made logs to"""


_log_files: dict[str, str] = {}
"""Spark application id -> log file, for the sessions that Millrace made."""
_shared: SparkSession | None = None
"""a session on a Spark that this process shares with others"""


@dataclass(frozen=True)
class SessionWishes:
    """What a job wants of a session that has to be made."""

    parallelism: int
    configuration: Mapping[str, str] = field(default_factory=dict, repr=False)
    jars: tuple[str, ...] = ()
    java_options: str | None = None
    """more options for the JVM; None: those of the class archive, if there is one"""
    computes: bool = False
    """whether Spark's own operators do the work, as in batch queries; elsewhere data only passes through its JVMs"""


def one_process(master: str) -> bool:
    """Whether a master runs everything in the driver's own JVM. ``local-cluster`` has executors of their own."""
    return master.startswith("local") and not master.startswith("local-cluster")


def one_machine(master: str) -> bool:
    """Whether all that Spark starts for a master runs on this machine."""
    return master.startswith("local")


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
    java = require_java()
    master = configuration.get(options.MASTER.key) or f"local[{max(wishes.parallelism, 1)}]"
    # Workers must run what this process runs; Spark would take any python3.
    python = configuration.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable
    os.environ["PYSPARK_PYTHON"] = python
    java_options = archive_options(java) if wishes.java_options is None else wishes.java_options
    log_file = new_log_file(configuration)
    package = None if one_process(master) else _package_archive(log_file)
    settings = {
        **session_settings(master, log_file, wishes, java_options, recovery_file.scratch() or scratch_folder()),
        **meant.spark_settings(configuration, meant.Target(master, wishes.parallelism)),
        **{key: str(value) for key, value in configuration.items() if key.startswith("spark.")},
        **_executor_settings(package, configuration),
    }
    builder: Any = SparkSession.builder.master(master).appName(configuration.get("pipeline.name", "millrace"))
    for key, value in settings.items():
        builder = builder.config(key, value)
    if one_process(master):
        # The one way to tell Spark's dashboard where to listen.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    logging.getLogger("py4j").setLevel(logging.WARNING)  # at INFO it reports every connection that it closes
    try:
        with stderr_to(log_file), own_interrupt_handler():
            session: SparkSession = builder.getOrCreate()
    except BaseException:
        keep(log_file)
        raise
    quiet_about_lost_jvm(session.sparkContext._accumulatorServer)
    _log_files[session.sparkContext.applicationId] = log_file
    if package is not None:
        session.sparkContext.addPyFile(package)
    # Without this the JVM of a program that ends in an error prints the wreck of its sockets.
    atexit.register(_stop_quietly, session)
    return session


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


def session_settings(
    master: str, log_file: str, wishes: SessionWishes, java_options: str, scratch: str
) -> dict[str, str]:
    """What Millrace asks of a session that it makes; the user's own settings come on top.

    :param scratch: a folder for what is not needed without the driver: a JVM that is killed leaves its files behind.
    """
    logging_option = f"-Dlog4j2.configurationFile=file:{log4j_configuration(log_file)}"
    java = f"-Djava.io.tmpdir={scratch} {logging_option} {java_options}".strip()
    on_driver, on_executors = meant.java_options(wishes.configuration, meant.Target(master))
    settings = {
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": _joined(java, on_driver),
        "spark.log.level": "WARN",
        # A task is to come back to the executor that has its state, not to go where most of its input lies.
        "spark.shuffle.reduceLocality.enabled": "false",
        "spark.python.daemon.module": "millrace.spark.workers.daemon",
        # Over TCP every task waits 40 ms for an acknowledgement that the other side delays.
        "spark.python.unix.domain.socket.enabled": "true",
    }
    if not wishes.computes:
        # Twenty epochs a second fill what the dashboard keeps by default (100,000 tasks) for twenty minutes: the JVM
        # would grow for as long.
        settings |= {
            "spark.ui.retainedJobs": "100",
            "spark.ui.retainedStages": "100",
            "spark.ui.retainedTasks": "2000",
            "spark.sql.ui.retainedExecutions": "100",
            # What epochs leave behind outlives the young generation: 4 MB a minute that are collected when the old one
            # is full, after hours of growth. Spark asks for a whole collection every half hour; it is cheap here.
            "spark.cleaner.periodicGC.interval": "5min",
        }
    if one_machine(master) or not wishes.computes:
        # Where data only passes through the JVM in large buffers, a simple collector will do. The second compiler would
        # take the cores that the Python workers need, for code that only copies bytes. Batch queries on a cluster have
        # both, since Spark computes them; those on one machine are short, mostly.
        settings |= {
            "spark.driver.extraJavaOptions": _joined(java, _lean(on_driver), on_driver),
            # Executors would write some lines for each task of each epoch, for as long as the job runs.
            "spark.executor.extraJavaOptions": _joined(logging_option, _lean(on_executors), on_executors),
        }
    elif on_executors:
        settings["spark.executor.extraJavaOptions"] = on_executors
    if one_process(master):
        settings |= {
            "spark.driver.memory": "768m",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
        settings["spark.local.dir"] = scratch
    configured = [jar for jar in meant.jars(wishes.configuration) if not is_flinks_and_missing(jar)]
    if jars := [*wishes.jars, *(jar if _is_remote(jar) else existing(jar, "pipeline.jars") for jar in configured)]:
        settings["spark.jars"] = ",".join(dict.fromkeys(jars))
    return settings


def _lean(given: str) -> str:
    """Options for a small JVM, beside those that the user has given."""
    # With one compiler alone Java reserves 48 MB for compiled code. A hundred queries fill that, and then nothing is
    # compiled any more.
    compiler = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    return compiler if meant.chooses_collector(given) else f"-XX:+UseSerialGC {compiler}"


def _joined(*options: str) -> str:
    return " ".join(filter(None, options))


def _is_remote(path: str) -> bool:
    return "://" in path and not path.startswith("file:")


def _executor_settings(package: str | None, configuration: Mapping[str, str]) -> dict[str, str]:
    """On a cluster the daemon that starts workers finds Millrace where Spark puts the files of the application: in the
    folder that an executor runs in, before its first task."""
    if package is None:
        return {}
    key = "spark.executorEnv.PYTHONPATH"
    # What the driver has is what executors would have inherited, where it starts them.
    given = configuration.get(key) or os.environ.get("PYTHONPATH")
    return {key: f"{os.path.basename(package)}:{given}" if given else os.path.basename(package)}


QUERY_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    # The plan moves a few large rows: compiling code for them takes longer than all of them together.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


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
