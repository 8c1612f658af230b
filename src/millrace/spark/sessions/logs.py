"""Where the noise goes: a log file for the JVM, so that the terminal shows the program and its errors."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from typing import Any

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
    """Processes started inside get the log file as their standard error, for life; this one keeps its own."""
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
    """Py4j raises what it logs, and logs it as if it were the program."""
    return not record.pathname.endswith(("py4j/java_gateway.py", "py4j/clientserver.py"))
