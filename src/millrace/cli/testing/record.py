"""``millrace test record``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from millrace.cli.command import ProgramCommand
from millrace.cli.options import ProgramOptions, program_options

EPILOG = """
The sources of each job run for real until they end, have given enough, or the time is over. What they gave is then
played to the job, whose sinks keep what they get. The folder has a file of JSON lines for each source and each sink.
"""


@click.command(cls=ProgramCommand, epilog=EPILOG, context_settings={"allow_interspersed_args": False})
@program_options
@click.option("--into", "folder", required=True, type=click.Path(path_type=Path), help="A new folder.")
@click.option("--records", type=click.IntRange(1), default=1000, help="Of each subtask of a source.  [default: 1000]")
@click.option("--seconds", type=click.FloatRange(0), default=60, help="Most time for a job's sources.  [default: 60]")
def record(program: ProgramOptions, folder: Path, records: int, seconds: float) -> None:
    """Record what the sources of a program give, and what its sinks get of that."""
    from millrace.cli.testing.running import NOT_POSSIBLE, run_program
    from millrace.testing.recording.folder import Recording
    from millrace.testing.recording.sessions import Recorder
    from millrace.testing.recording.values import RecordingError

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
