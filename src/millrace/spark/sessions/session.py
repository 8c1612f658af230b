"""The Spark session: the user's own, or one that Millrace makes, with the JVM under it.

``jvm_for`` chooses the JVM: the one that was started early, one that is begun now, or that of Spark's launcher.
Reading, checking and linking 15,000 classes from 280 jars is most of what a JVM does when Spark starts.
``make_archive`` stores the result of one such start (``-XX:ArchiveClassesAtExit``) once per machine, user, Java and
PySpark; sessions use the archive if it is there, and a JVM that finds it unfit ignores it. ``look_without_imports``
keeps PySpark from importing pandas and its tools for tests in the driver: a sixth of all that a driver imports before
its first row.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession, types
from pyspark.sql.pandas import functions

import millrace
from millrace.configuration import own_options as options
from millrace.configuration import spark_settings as meant
from millrace.spark import job_records
from millrace.spark.archives import zip_package
from millrace.spark.errors import SparkNotStartedError, launcher_said
from millrace.spark.java import QUIET, JavaInfo, class_options, remember, require_java, user_cache
from millrace.spark.sessions import own_jvm
from millrace.spark.sessions.java_names import remember_names
from millrace.spark.sessions.logs import (
    keep,
    log4j_configuration,
    log_file_path,
    look_after,
    quiet_about_lost_jvm,
    stderr_to,
)
from millrace.spark.sessions.own_jvm import OwnJvm, known_command, needs_launcher
from millrace.spark.sessions.settings import (
    LOOPBACK,
    QUERY_SETTINGS,
    SessionWishes,
    all_settings,
    one_machine,
    one_process,
    secret_settings,
    settings_in_file,
)
from millrace.util.folders import make_private, new_folder
from millrace.util.plugins import metadata_files
from millrace.util.system import few_descriptors

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway


# Sessions that share one Spark

_parents: WeakKeyDictionary[SparkSession, SparkSession] = WeakKeyDictionary()


def new_session(parent: SparkSession) -> SparkSession:
    """A session with its own settings, which does not know the parent's views and data sources."""
    session = parent.newSession()
    _parents[session] = parent
    return session


def session_of_program(session: SparkSession | None = None) -> SparkSession:
    """The session that a session goes back to: it knows what the program has registered.

    :param session: None: the active one.
    """
    found = session or SparkSession.getActiveSession() or SparkSession._instantiatedSession
    assert found is not None, "there is no Spark session"
    while (parent := _parents.get(found)) is not None:
        found = parent
    return found


# Imports that PySpark can do without

_CHECK = "require_minimum_pandas_version"


class _Thread(threading.local):
    on_batches = False


_thread = _Thread()


def look_without_imports() -> None:
    """Let PySpark look for values of numpy in the arguments of calls into the JVM without importing anything: they are
    there only when numpy is imported."""
    if hasattr(types, "NumpyScalarConverter") and hasattr(types, "NumpyArrayConverter"):
        types.NumpyScalarConverter.can_convert = _is_scalar
        types.NumpyArrayConverter.can_convert = _is_array


def _is_scalar(_: types.NumpyScalarConverter, value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def _is_array(_: types.NumpyArrayConverter, value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray) and value.ndim == 1


@contextlib.contextmanager
def on_batches() -> Iterator[None]:
    """Functions that this thread makes inside are for Arrow batches: PySpark need not see how old pandas is."""
    _thread.on_batches = True
    try:
        yield
    finally:
        _thread.on_batches = False


def _checked_elsewhere(check: Any) -> Any:
    def checked() -> None:
        if not _thread.on_batches:
            check()

    return checked


if hasattr(functions, _CHECK):
    setattr(functions, _CHECK, _checked_elsewhere(getattr(functions, _CHECK)))


# The archive of classes

TIMEOUT_SECONDS = 300

_TRAINING = """
from pyspark import SparkContext
from millrace.spark.sessions.session import SessionWishes, make_session
from millrace.datastream import StreamExecutionEnvironment
session = make_session(SessionWishes(2, java_options={options!r}))
jvm = SparkContext._gateway.proc
env = StreamExecutionEnvironment.get_execution_environment(spark=session).set_parallelism(2)
with env.from_collection([1, 2]).key_by(lambda v: v).map(lambda v: v).execute_and_collect() as results:
    list(results)
session.stop()
SparkContext._gateway.shutdown()
jvm.stdin.close()
jvm.wait(timeout={timeout})
"""


def archive_path(java: JavaInfo | None = None) -> str:
    """Where the archive of this Java and this PySpark is, or would be: in the user's cache directory."""
    java = java or require_java()
    home = os.path.dirname(os.path.abspath(pyspark.__file__))
    identity = "\n".join([os.path.realpath(java.executable), str(java.major), home, pyspark.__version__])
    key = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return user_cache(f"spark-{pyspark.__version__}-{key}.jsa")


def archive_options(java: JavaInfo | None = None) -> str:
    """The JVM options that use the archive; empty without one. Who knows the Java already saves asking it again."""
    path = archive_path(java)
    return class_options(path) if os.path.exists(path) else ""


def make_archive() -> str:
    """Start Spark once with a small job in a process of its own and archive its classes; returns the path.

    Takes about half a minute and 160 MB. Raises ``RuntimeError`` if no archive came out.
    """
    java = require_java()
    path = archive_path(java)
    make_private(os.path.dirname(path))
    temporary = f"{path}.{os.getpid()}.tmp"
    program = _TRAINING.format(options=f"-XX:ArchiveClassesAtExit={temporary} {QUIET}", timeout=TIMEOUT_SECONDS)
    try:
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )
        if not os.path.exists(temporary):
            raise RuntimeError(f"Java made no class archive: {(done.stderr or done.stdout).strip()[-500:]}")
        os.replace(temporary, path)
        remember(java, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    return path


# The JVM of a session


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
    begun = own_jvm.take_early_jvm()
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
        folder = new_folder("spark", job_records.scratch())
        gateway = OwnJvm.begin(command, settings, log_file, folder, os.environ).connect(settings)
        if gateway is not None:
            return SessionJvm(gateway, settings, log_file)
    require_java()  # which may tell why
    return SessionJvm(None, settings, log_file)


def _class_options(java: JavaInfo, wishes: SessionWishes) -> str:
    return archive_options(java) if wishes.java_options is None else wishes.java_options


# The session


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
    master = options.MASTER.find(configuration) or f"local[{max(wishes.parallelism, 1)}]"
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
        with settings_in_file(settings):
            SparkContext._ensure_initialized()
    assert SparkContext._gateway is not None, "PySpark has just been initialized"
    SparkContext._jvm = remember_names(SparkContext._gateway)


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
    """Millrace itself as a zip file, for executors where it isn't installed: with its metadata, by which operators and
    kinds of state are found."""
    package = os.path.dirname(os.path.abspath(millrace.__file__))
    name = os.path.basename(log_file).removesuffix(".log") + "-package.zip"
    target = zip_package(package, os.path.join(tempfile.gettempdir(), name), prefix="millrace")
    with zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED) as archive:
        for file, text in metadata_files().items():
            archive.writestr(file, text)
    return target


def _stop_quietly(session: SparkSession) -> None:
    try:
        session.stop()
    except Exception:
        # The JVM is gone already, and so is what it should have stopped.
        return
