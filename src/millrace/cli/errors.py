"""What ``millrace run`` says when a program fails: as much as helps its author, and where the rest is."""

from __future__ import annotations

import linecache
import os
import traceback
from dataclasses import dataclass
from types import FrameType, TracebackType

from millrace.cli.supervisor import DRIVER_LOST
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.runtime.failure import describe, full_traceback, user_location
from millrace.spark.errors import DriverLostError
from millrace.spark.java import JavaNotFoundError
from millrace.spark.sessions.log_files import keep

FAILED = 1
"""Exit code: the program or its job failed."""
NOT_BEGUN = 2
"""Exit code: nothing could begin, for want of a right command line (click's code for that) or of a Java."""

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_RUNPY = "runpy.py"
_FRAME_LIMIT = 500
_TEXT_LIMIT = 500
_ENGINE = ("pyspark", "py4j")


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
        return Report(_short(describe(error), error))
    if type(error).__module__.startswith(_ENGINE) and _below_millrace(error):
        text = _short(f"Spark: {spark_line(error)}", error)
        return Report(_with_log(f"{text}\n(--verbose shows all of it)", log_file))
    return Report(_user_traceback(error))


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


def raised_by_millrace(error: BaseException) -> bool:
    """Whether Millrace raised the error on purpose; a slip inside Millrace deserves its traceback."""
    frames = _frames(error)
    if not frames or not _ours(frames[-1][0]):
        return False
    frame, line = frames[-1]
    return linecache.getline(frame.f_code.co_filename, line, frame.f_globals).lstrip().startswith("raise ")


def _below_millrace(error: BaseException) -> bool:
    """Whether the last code that isn't a library's is Millrace's, not the user's."""
    own = [frame for frame, _ in _frames(error) if not _library(frame)]
    return bool(own) and _ours(own[-1])


def _user_traceback(error: BaseException) -> str:
    """The traceback from the program's first line on, without what Millrace and ``runpy`` add to it."""
    described = traceback.TracebackException.from_exception(error, limit=-_FRAME_LIMIT, capture_locals=False)
    _strip(described, keep_ours=_below_millrace(error))
    lines = described.format() if described.stack else described.format_exception_only()
    return "".join(lines).rstrip()


def _strip(described: traceback.TracebackException, keep_ours: bool) -> None:
    frames = list(described.stack)
    while frames and _starts_programs(frames[0].filename):
        del frames[0]
    if not keep_ours:
        frames = [frame for frame in frames if not _our_file(frame.filename)]
    described.stack = traceback.StackSummary.from_list(frames)
    for other in (described.__cause__, described.__context__):
        if other is not None:
            _strip(other, keep_ours)


def _frames(error: BaseException) -> list[tuple[FrameType, int]]:
    """The frames of the traceback from the program's own first one, with their lines."""
    frames = []
    step: TracebackType | None = error.__traceback__
    while step is not None:
        frames.append((step.tb_frame, step.tb_lineno))
        step = step.tb_next
    while frames and _starts_programs(frames[0][0].f_code.co_filename):
        del frames[0]
    return frames


def _ours(frame: FrameType) -> bool:
    return _our_file(frame.f_code.co_filename)


def _our_file(filename: str) -> bool:
    return filename.startswith(_PACKAGE)


def _starts_programs(filename: str) -> bool:
    return _our_file(filename) or filename.startswith("<frozen") or os.path.basename(filename) == _RUNPY


def _library(frame: FrameType) -> bool:
    filename = frame.f_code.co_filename
    installed = f"{os.sep}site-packages{os.sep}" in filename and not filename.startswith(_PACKAGE)
    return installed or filename.startswith(("<frozen", os.path.dirname(os.__file__) + os.sep))
