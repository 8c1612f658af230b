"""The process of one program: what the supervisor's fork becomes."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, TextIO

from millrace.cluster.places import attempts, job_folder, sockets
from millrace.cluster.places.submissions import SubmittedProgram, read_submission
from millrace.cluster.processes.attaching import attach_to_engine
from millrace.cluster.processes.published import Published
from millrace.cluster.remote.control_service import JobsHere
from millrace.cluster.wire.serving import CallServer
from millrace.configuration.log_limits import log_limits
from millrace.util.log_rotation import keep_own_short

DRIVER_LOST = 70
"""Exit code of a driver whose JVM is gone: it has to begin again."""
NOT_THE_ONE = 79
"""Exit code of a fork that finds that the program runs already, or ran."""
FAILED = 1


@dataclass(frozen=True)
class ProgramRun:
    """A program that is about to run in this process."""

    submission: SubmittedProgram
    program: str
    """its folder"""
    configuration: Mapping[str, str]
    """of the cluster, which is the default of its programs"""
    files: Mapping[str, str]
    """the part of it that files have said, before which the files of a program count"""
    work: str
    """folder for what is not needed any more when the program has ended"""
    recovery: str
    """file with what a driver leaves behind for its successor"""
    announce: Callable[[str], None]
    """to be called with the id of each job, on the thread that drives it, before it does anything"""


Entry = Callable[[ProgramRun, JobsHere], int]
"""Runs the program; its exit code."""


def become_job(cluster: str, program: str, attempt: int, streams: Sequence[int], entry: Entry) -> NoReturn:
    """Run a program in this process, a fork of the supervisor, and end with it.

    :param streams: standard input, output and error.
    """
    code = FAILED
    try:
        os.setsid()
        _signals_as_usual()
        _take_streams(streams)
        if not attempts.begin(program, attempt):
            os._exit(NOT_THE_ONE)
        code = _run(cluster, program, entry)
        if code != DRIVER_LOST:
            attempts.write_outcome(program, attempts.Outcome(code, time.time_ns() // 1_000_000))
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _run(cluster: str, program: str, entry: Entry) -> int:
    submission = read_submission(program)
    os.environ.clear()
    os.environ.update(submission.environment)
    os.chdir(submission.directory)
    known = set(sys.path)
    sys.path.extend(path for path in submission.paths if path not in known)
    announce = _nothing if submission.isolated else attach_to_engine(cluster, submission.id)
    configuration = job_folder.read_configuration(cluster)
    logs = [os.path.join(cluster, job_folder.LOGS, f"{submission.id}{end}") for end in (".out", ".log")]
    keep_own_short(logs, log_limits(configuration))
    work = os.path.join(program, "work")
    os.makedirs(work, mode=0o700, exist_ok=True)
    recovery = os.path.join(work, "jobs")
    published = Published(cluster, program, recovery)
    service = CallServer(
        sockets.listen(sockets.socket_path(program, sockets.CONTROL)), published.here.calls(), "millrace-control"
    )
    service.start()
    try:
        files = job_folder.read_files(cluster)
        run = ProgramRun(submission, program, configuration, files, work, recovery, announce)
        return _ends(lambda: entry(run, published.here))
    finally:
        published.close()
        service.close()


def _ends(entry: Callable[[], int]) -> int:
    """Run it to the end of its threads and exit handlers, as Python does; the exit code."""
    try:
        code = entry()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else FAILED
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = FAILED
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()
    atexit._run_exitfuncs()
    return code


def _nothing(job: str) -> None:
    """What a program with an engine of its own does instead of telling the cluster's."""


def _signals_as_usual() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as Python has it
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # it would kill a driver that has no job yet
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _take_streams(streams: Sequence[int]) -> None:
    for target, source in enumerate(streams):
        os.dup2(source, target)
        os.close(source)
    sys.stdin = sys.__stdin__ = _text(0, "r")  # type: ignore[misc, assignment]
    sys.stdout = sys.__stdout__ = _text(1, "w")  # type: ignore[misc, assignment]
    sys.stderr = sys.__stderr__ = _text(2, "w", "backslashreplace")  # type: ignore[misc, assignment]


def _text(file: int, mode: str, errors: str | None = None) -> TextIO:
    lines = 1 if file == 2 or (mode == "w" and os.isatty(file)) else -1
    return open(file, mode, buffering=lines, errors=errors, closefd=False)  # type: ignore[return-value]
