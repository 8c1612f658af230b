"""Runs a program whose jobs run in this process, as a recorder or a replayer says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from millrace.cli.rehearsal import rehearsal

if TYPE_CHECKING:
    from millrace.cli.options import ProgramOptions
    from millrace.datastream.settings.defaults import Submission
    from millrace.runtime.jobs.job import JobGraph
    from millrace.testing.local import LocalRun

FAILED = 1
"""Exit code: the program or one of its jobs failed, or gave something else."""
NOT_POSSIBLE = 2
"""Exit code: there is no recording, or it does not fit."""


def run_program(options: ProgramOptions, run: Callable[[JobGraph], LocalRun]) -> int:
    """Run the program; gives the number of its jobs. What it prints goes to standard error.

    Ends the command where the program fails.
    """
    from millrace.cli.errors import report
    from millrace.testing.recording.values import RecordingError

    jobs = 0

    def submit(submission: Submission) -> Any:
        nonlocal jobs
        jobs += 1
        return _finished(submission, run)

    with rehearsal(options) as found:
        try:
            found.run(submit)
        except SystemExit as end:
            if end.code not in (None, 0):
                raise
        except Exception as error:
            cause = _recording_error(error, RecordingError)
            click.echo(report(error).text if cause is None else str(cause), err=True)
            sys.exit(FAILED if cause is None else NOT_POSSIBLE)
    if not jobs:
        click.echo(f"{found.program.target} ended without executing a job", err=True)
        sys.exit(NOT_POSSIBLE)
    return jobs


def _finished(submission: Submission, run: Callable[[JobGraph], LocalRun]) -> Any:
    from millrace.runtime.failure import JobFailedError
    from millrace.spark.jobs.java_error import as_java_error
    from millrace.testing.finished import FinishedJob
    from millrace.testing.recording.values import RecordingError

    if submission.prepare is None:
        raise RecordingError("queries of batch mode run on Spark: only jobs of streams can be recorded and replayed")
    job, _ = submission.prepare()
    try:
        return FinishedJob(run(job))
    except JobFailedError as error:
        raise as_java_error(error) from error


def _recording_error(error: BaseException | None, kind: type[Exception]) -> BaseException | None:
    """The reason why a recording can't be made or used, behind what the engine or the program made of it."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error
