"""Logs of drivers: the JVM writes to a file, so that the terminal shows the program and its errors.

Log files are as many and as large as the settings allow. All that write to one (the JVM, processes that have it as
their standard error, Millrace) append, so it can be cut while they do.
"""

from __future__ import annotations

import atexit
import contextlib
import glob
import logging
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

from millrace.configuration.files import DIRECTORY, log_limits
from millrace.util.logs import LogLimits, cut
from millrace.util.system import is_alive

_LOG4J = """\
rootLogger.level = {level}
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {path}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
"""


def log4j_path(log_file: str) -> str:
    """Where the log4j2 configuration of a log file is."""
    return log_file.removesuffix(".log") + ".log4j2.properties"


def log4j_configuration(log_file: str, level: str = "warn") -> str:
    """Write a log4j2 configuration beside the log file that sends everything there; returns its path."""
    path = log4j_path(log_file)
    with open(path, "w", opener=_private) as file:
        file.write(_LOG4J.format(level=level, path=log_file))
    return path


def _private(path: str, flags: int) -> int:
    """A new file that only this user reads: who can guess its name can't have put another one there."""
    return os.open(path, flags | os.O_EXCL, 0o600)


@contextlib.contextmanager
def stderr_to(log_file: str) -> Iterator[None]:
    """Give processes that are started inside the block the log file as their standard error; this process keeps its
    own."""
    sys.stderr.flush()
    saved = os.dup(2)
    with open(log_file, "ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(saved, 2)
        os.close(saved)


def quiet_about_lost_jvm(accumulator_server: Any) -> None:
    """Keep off the terminal what py4j and PySpark print when the JVM dies: the error of the job says it in a line.

    ``accumulator_server`` is the one of the ``SparkContext``: its thread finds its connection cut off.
    """
    logging.getLogger().addFilter(_not_from_py4j)
    explain = accumulator_server.handle_error

    def handle_error(request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], (EOFError, ConnectionError)):
            explain(request, client_address)

    accumulator_server.handle_error = handle_error


def _not_from_py4j(record: logging.LogRecord) -> bool:
    """Whether a log record is not py4j's own: py4j also raises what it logs, so its records on the terminal are
    noise."""
    return not record.pathname.endswith(("py4j/java_gateway.py", "py4j/clientserver.py"))


RETENTION_SECONDS = 2 * 24 * 3_600.0
"""Seconds that the log of a process that has ended stays, if the log is not empty."""
_LOOK_SECONDS = 30.0
_OURS = re.compile(r"^millrace-(?:(\d+)-)?\w+(?:\.log(?:\.\d+)?|(\.log4j2\.properties|-package\.zip))$")
_kept: set[str] = set()
"""paths of logs that an error or a message has named"""


def log_file_path(configuration: Mapping[str, str]) -> str:
    """Make a fresh log file in ``env.log.dir``, or in the temporary directory. Old logs of ended processes are removed.

    :raises ValueError: the configuration says nonsense about logs.
    """
    log_limits(configuration)
    directory = configuration.get(DIRECTORY)
    if directory is None:
        directory = tempfile.gettempdir()
    else:
        os.makedirs(directory, exist_ok=True)
    remove_old(directory)
    handle, path = tempfile.mkstemp(prefix=f"millrace-{os.getpid()}-", suffix=".log", dir=os.path.abspath(directory))
    os.close(handle)
    return path


def look_after(path: str, configuration: Mapping[str, str]) -> None:
    """Limit the size of a log file while this process lives. A log in the temporary directory is deleted when the
    process ends, unless ``keep`` was called for it; a log elsewhere is deleted if it is empty."""
    limits = log_limits(configuration)
    threading.Thread(target=_keep_short, args=(path, limits), name="millrace-log", daemon=True).start()
    atexit.register(_remove_needless, path, os.getpid(), DIRECTORY not in configuration)


def keep(path: str) -> None:
    """Do not delete this log at the end of the process: an error or a message has named it to the user."""
    _kept.add(path)


def _keep_short(path: str, limits: LogLimits) -> None:
    while os.path.exists(path):
        time.sleep(_LOOK_SECONDS)
        with contextlib.suppress(OSError):
            cut(path, limits)


def _remove_needless(path: str, process: int, passing: bool) -> None:
    if process != os.getpid():
        return  # a fork of the process that it belongs to
    stem = path.removesuffix(".log")
    needless = [f"{stem}.log4j2.properties", f"{stem}-package.zip"]
    logs = [path, *glob.glob(f"{glob.escape(path)}.*")]
    # An error that ended the program (Python puts it into sys) may have left its reasons here.
    goes = passing and path not in _kept and not hasattr(sys, "last_type")
    if goes or not any(map(_has_content, logs)):
        needless += logs
    for each in needless:
        with contextlib.suppress(OSError):
            os.unlink(each)


def _has_content(path: str) -> bool:
    try:
        return os.path.getsize(path) > 0
    except OSError:
        return False


def remove_old(folder: str) -> None:
    """Delete what this user's processes have left that are gone: old logs, empty ones, and what was for the JVM."""
    for path in glob.glob(os.path.join(glob.escape(folder), "millrace-*")):
        name = _OURS.match(os.path.basename(path))
        if name is None:
            continue
        with contextlib.suppress(OSError):
            status = os.lstat(path)
            # Without the process in its name nothing is known of a file but its age.
            needless = name[1] is not None and (name[2] is not None or status.st_size == 0)
            old = time.time() - status.st_mtime > RETENTION_SECONDS
            if (old or needless) and status.st_uid == os.getuid() and not (name[1] and is_alive(int(name[1]))):
                os.unlink(path)
