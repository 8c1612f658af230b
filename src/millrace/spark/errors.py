"""What went wrong in Spark itself, in one line: its own text is pages of Java."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from millrace.runtime.failure import describe

if TYPE_CHECKING:
    from pyspark import SparkContext

LIMIT = 500
"""The most characters of one of Spark's error texts that an error of Millrace shows."""

KNOWN = {
    "Python worker exited unexpectedly": (
        "a Python worker process died: it was killed, ran out of memory, or crashed in native code"
    ),
    "java.lang.OutOfMemoryError": "Spark's JVM ran out of memory; give it more with spark.driver.memory",
    "No space left on device": "no space left on device",
    "spark.driver.maxResultSize": (
        "what the tasks of one epoch send to the driver is more than spark.driver.maxResultSize; collected elements go "
        "through files instead if millrace.state.directory is a directory that all workers reach"
    ),
    "Answer from Java side is empty": "Spark's JVM is gone",
    "while trying to connect to the Java server": "Spark's JVM is gone",
}
"""A part of Spark's text -> what it means."""

ADVICE = {
    "ModuleNotFoundError": (
        "the Python of Spark's workers lacks it. Say which Python they run (PYSPARK_PYTHON, or `-pyexec` of `millrace "
        "run`), or bring packages along (`-pyreq requirements.txt`, add_python_file)"
    ),
    "PYTHON_VERSION_MISMATCH": (
        "set PYSPARK_PYTHON to a Python of the driver's minor version, before the Spark session is made"
    ),
}
"""A part of a Python worker's error -> what to do about it."""

_CAUSE = "Caused by: "
_IN_MAIN = 'Exception in thread "main" '
_CLASS = re.compile(r"[\w$.]+")
_IN_PYTHON = "An exception was thrown from the Python worker"
_AFTER_PYTHON = ("SQLSTATE:", "at ", _CAUSE)


class DriverLostError(RuntimeError):
    """The JVM of the driver is gone: this process cannot go on, another one can from the last checkpoint."""


class SparkNotStartedError(RuntimeError):
    """Spark's launcher has ended before there was a JVM to talk to."""


def jvm_answers(context: SparkContext) -> bool:
    """Whether Spark's JVM is still there, and the context at work: the cluster may have removed the application, or the
    program stopped its session."""
    try:
        return not context._jsc.sc().isStopped()
    except Exception:
        return False


def reason(error: BaseException) -> str:
    """The cause of an error that Spark or its JVM raised."""
    text = str(error)
    for part, meaning in KNOWN.items():
        if part in text:
            return meaning
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any(_IN_PYTHON in line for line in lines):
        return _python_error(lines)
    causes = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
    raised = [line.removeprefix(": ") for line in lines if line.startswith(": ")]  # Py4J: the second line has the error
    found = [*reversed(causes), *raised, *lines]
    # The last cause is often a class alone: the one that it came through says more.
    return next(filter(_has_message, found), found[0] if found else describe(error))[:LIMIT]


def _has_message(line: str) -> bool:
    """Whether a line of Java's says more than the class of an exception."""
    name, _, message = line.partition(":")
    return bool(message.strip(" ;:.") or not _CLASS.fullmatch(name.strip()))


def launcher_said(log: str) -> str:
    """Why Spark's launcher has given up, by what it wrote; empty if it wrote nothing."""
    lines = [line.strip() for line in log.splitlines() if line.strip() and not line.startswith(("\t", "    at "))]
    errors = [line.removeprefix(_IN_MAIN) for line in lines if line.startswith((_IN_MAIN, _CAUSE, "Error:"))]
    return next(filter(_has_message, [*errors, *reversed(lines)]), "").removeprefix(_CAUSE)[:LIMIT]


def _python_error(lines: list[str]) -> str:
    """The last line of the first traceback that a Python worker gave to Spark."""
    begin = next(place for place, line in enumerate(lines) if _IN_PYTHON in line)
    traceback = list(itertools.takewhile(lambda line: not line.startswith(_AFTER_PYTHON), lines[begin + 1 :]))
    for line in reversed(traceback):  # the text of an error may have several
        for part, advice in ADVICE.items():
            if part in line:
                return f"{line[:LIMIT]}; {advice}"
    return (traceback[-1] if traceback else lines[begin])[:LIMIT]
