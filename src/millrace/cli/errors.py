"""What ``millrace run`` says when a program fails: as much as helps its author, and where the rest is."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.cli.supervisor import DRIVER_LOST
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.runtime.failure import full_traceback, user_location
from millrace.spark.errors import DriverLostError
from millrace.spark.java import JavaNotFoundError
from millrace.spark.sessions.log_files import keep
from millrace.util.tracebacks import below_millrace, raised_by_millrace, user_traceback

FAILED = 1
"""Exit code: the program or its job failed."""
NOT_BEGUN = 2
"""Exit code: nothing could begin, for want of a right command line (click's code for that) or of a Java."""

_TEXT_LIMIT = 500
_ENGINE = ("pyspark", "py4j")
_ALL_OF_IT = "(--verbose shows all of it)"


@dataclass(frozen=True)
class Report:
    """What to print and how to exit."""

    text: str
    exit_code: int = FAILED


def report(error: BaseException, log_file: str | None = None, verbose: bool = False) -> Report:
    """Explain an error that came out of the user's program."""
    if isinstance(error, JavaNotFoundError):
        return Report(str(error), NOT_BEGUN)
    if isinstance(error, DriverLostError):
        return Report(_with_log(str(error), log_file), DRIVER_LOST)
    if isinstance(error, JobFailedError):
        text = f"{error!s}\n\n{error.failure.detail}" if verbose and error.failure.detail else str(error)
        return Report(_with_log(text, log_file))
    if verbose:
        return Report(full_traceback(error).rstrip())
    if raised_by_millrace(error):
        return Report(_short(f"{type(error).__name__}: {error}", error))
    if type(error).__module__.startswith(_ENGINE) and below_millrace(error):
        text = _short(f"Spark: {spark_line(error)}", error)
        return Report(_with_log(f"{text}\n{_ALL_OF_IT}", log_file))
    if isinstance(error, OSError) and below_millrace(error):
        return Report(f"{_short(f'{type(error).__name__}: {error}', error)}\n{_ALL_OF_IT}")
    return Report(user_traceback(error, keep_ours=below_millrace(error)))


def _with_log(text: str, log_file: str | None) -> str:
    if log_file is not None:
        keep(log_file)
    return text if log_file is None or log_file in text else f"{text}\ndetails: {log_file}"


def spark_line(error: BaseException) -> str:
    """What Spark has to say, without the pages of Java behind it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        return lines[1].lstrip(": ")[:_TEXT_LIMIT]  # py4j puts its own words in front
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:_TEXT_LIMIT]


def _short(message: str, error: BaseException) -> str:
    where = user_location(error)
    return message if where is None else f"{message}\n  at {where}"
