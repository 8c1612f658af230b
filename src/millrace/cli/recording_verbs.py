"""``millrace test record`` and ``replay``: run a program's jobs in this process, record them, and compare runs."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from millrace.cli.command_line import ProgramCommand
from millrace.cli.options import ProgramOptions, program_options
from millrace.cli.plan_verbs import rehearsal

if TYPE_CHECKING:
    from millrace.datastream.settings import Submission
    from millrace.runtime.operators.job_graph import JobGraph
    from millrace.testing.local import LocalRun


FAILED = 1
"""Exit code: the program or a job failed, or its results differ."""
NOT_POSSIBLE = 2
"""Exit code: there is no recording, or it does not belong to the program."""


def run_program(options: ProgramOptions, run: Callable[[JobGraph], LocalRun]) -> int:
    """Run the program; returns the number of its jobs.

    Its output goes to standard error. Exits if the program fails.
    """
    from millrace.cli.program_jobs import report
    from millrace.testing.recording.events import RecordingError

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
    from millrace.testing.local import FinishedJob
    from millrace.testing.recording.events import RecordingError

    if submission.prepare is None:
        raise RecordingError("queries of batch mode run on Spark: only jobs of streams can be recorded and replayed")
    job, _ = submission.prepare()
    try:
        return FinishedJob(run(job))
    except JobFailedError as error:
        raise as_java_error(error) from error


def _recording_error(error: BaseException | None, kind: type[Exception]) -> BaseException | None:
    """The ``RecordingError`` in an error's chain of causes, where engine or program have wrapped it."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error


RECORD_EPILOG = """
The sources of each job run for real until they end, have given enough, or the time is over. What they gave is then
played to the job, whose sinks keep what they get. The folder has a file of JSON lines for each source and each sink.
"""


@click.command(cls=ProgramCommand, epilog=RECORD_EPILOG, context_settings={"allow_interspersed_args": False})
@program_options
@click.option("--into", "folder", required=True, type=click.Path(path_type=Path), help="A new folder.")
@click.option("--records", type=click.IntRange(1), default=1000, help="Of each subtask of a source.  [default: 1000]")
@click.option("--seconds", type=click.FloatRange(0), default=60, help="Most time for a job's sources.  [default: 60]")
def record(program: ProgramOptions, folder: Path, records: int, seconds: float) -> None:
    """Record what the sources of a program give, and what its sinks get of that."""
    from millrace.testing.recording.events import RecordingError
    from millrace.testing.recording.sessions import Recorder, Recording

    try:
        recording = Recording.new(folder)
    except RecordingError as error:
        click.echo(str(error), err=True)
        sys.exit(NOT_POSSIBLE)
    try:
        jobs = run_program(program, Recorder(recording, records, seconds).run)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # there is nothing in it but the half of a recording
        raise
    files = sum(len(job.sources) + len(job.sinks) for job in recording.jobs)
    click.echo(f"recorded {jobs} {'job' if jobs == 1 else 'jobs'} in {files} files: {folder}")


REPLAY_EPILOG = """
Results are compared without their order; of tables that change, the rows that are left in the end.

Exit codes: 0 all is as recorded, 1 something is not, or the program failed, 2 the recording does not fit the program.
"""


@click.command(cls=ProgramCommand, epilog=REPLAY_EPILOG, context_settings={"allow_interspersed_args": False})
@program_options
@click.option("--from", "folder", required=True, type=click.Path(path_type=Path), help="The folder of a recording.")
@click.option(
    "--variants",
    "in_all",
    is_flag=True,
    help="Also with an epoch for each element, with random epochs, and with tasks that move and are restored.",
)
@click.option("--seed", type=int, help="Of the random variants.  [default: another one each time, which is shown]")
@click.option("--update", is_flag=True, help="What the sinks get now is what they shall get from now on.")
def replay(program: ProgramOptions, folder: Path, in_all: bool, seed: int | None, update: bool) -> None:
    """Run a program with a recorded input, and compare what its sinks get with what they got."""
    from millrace.testing.recording.events import RecordingError
    from millrace.testing.recording.playing import variants
    from millrace.testing.recording.sessions import Recording, Replayer

    try:
        recording = Recording.read(folder)
    except RecordingError as error:
        click.echo(str(error), err=True)
        sys.exit(NOT_POSSIBLE)
    more = variants(random.randrange(1_000_000) if seed is None else seed) if in_all else []
    replayer = Replayer(recording, more, update)
    run_program(program, replayer.run)
    replayer.finish()
    for found in replayer.deviations:
        click.echo("\n".join([f"job {found.job!r}, {found.variant}:", *(f"  {line}" for line in found.lines)]))
    if replayer.deviations:
        sys.exit(FAILED)
    ways = f", in {1 + len(more)} variants" if more else ""
    click.echo(f"{'updated' if update else 'as recorded'}: {replayer.lines} results{ways}")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def test() -> None:
    """Run a program with a recorded input, in this process, and compare what its sinks get with what they got.

    No Spark, no Java, and nothing is written into the program's own sinks.
    """


test.add_command(record)
test.add_command(replay)


COMMANDS = (test,)
