"""Runs a submitted program in the process that the cluster has forked for it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from millrace.cli.cluster.submitting import SUBMITTED
from millrace.cli.live import JobWatch
from millrace.cli.options import ProgramOptions
from millrace.cli.program import RunSettings, find_program, run_settings
from millrace.cli.program_jobs import hooks, report
from millrace.cli.run import Manner, StoppedError, Stopper, run_program
from millrace.cluster.client import handed_over
from millrace.cluster.processes.job_process import ProgramRun
from millrace.cluster.socket_control import JobsHere
from millrace.configuration.files import DIRECTORY, file_settings
from millrace.datastream.settings import Portable
from millrace.spark import job_records
from millrace.spark.jobs.client import LocalJobClient

Pairs = Sequence[tuple[str, str]]
OF_THE_CLUSTER = ("spark.", "rest.", "web.", "security.", "millrace.cluster.")
"""Prefixes of keys that configure the cluster itself."""
_PLACES = (DIRECTORY, "execution.target", "execution.attached")
"""Keys with the cluster's address and log folder, which a program inside of the cluster must not use."""


def run_submitted(run: ProgramRun, here: JobsHere) -> int:
    """Run the program as ``millrace run`` does; returns the exit code."""
    submission = run.submission
    if submission.python and submission.python != sys.prefix:
        click.echo(
            f"the cluster runs the Python in {sys.prefix}, the program was submitted with that in {submission.python}, "
            "and may not find its packages: start the cluster with that one, or give -t local",
            err=True,
        )
        return 2
    options = program_options_of(submission.options, _defaults(run), submission.savepoint)
    job_records.use(run.recovery)
    job_records.choose(submission.id)
    stopper = Stopper()
    try:
        given = handed_over(run.program)
        if given is not None:
            with stopper.listening():
                return _run_job(given, run)
        program = find_program(options)
        manner = Manner(
            pyflink=options.pyflink,
            quiet=submission.quiet,
            verbose=submission.verbose,
            announce=run.announce,
            started=_say_nothing if submission.plain else _started_attached if submission.attached else _started,
        )
        with stopper.listening():
            run_program(program, run_settings(options, program, run.work), stopper, manner)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except KeyboardInterrupt as stopped:
        click.echo("cancelled", err=True)
        return stopped.exit_code if isinstance(stopped, StoppedError) else 130
    return 0


def _defaults(run: ProgramRun) -> Pairs:
    """The cluster's defaults for its programs; the program's own configuration files override the cluster's files."""
    own = file_settings(run.submission.options.get("config_dir")) if run.files else {}
    return [
        (key, value)
        for key, value in run.configuration.items()
        if not key.startswith(OF_THE_CLUSTER) and key not in _PLACES and not (key in run.files and key in own)
    ]


def _run_job(job: Portable, run: ProgramRun) -> int:
    """Run a submitted job; the program that made it runs elsewhere."""
    watch = JobWatch(None, run.announce)
    try:
        with hooks(RunSettings({}, ()), lambda submission: submission.start(), watch.listener):
            job.start().wait()
    except Exception as error:
        explained = report(error, watch.log_file)
        click.echo(explained.text, err=True)
        return explained.exit_code
    return 0


def _say_nothing(_: LocalJobClient) -> None:
    """Print nothing when a job starts, as for a program in a process of its own."""


def _started(client: LocalJobClient) -> None:
    click.echo(f"{SUBMITTED} {client.get_job_id()}")


def _started_attached(client: LocalJobClient) -> None:
    """Print as Flink's command does, including the end of a job that the program waits for."""
    _started(client)
    client.when_waited = click.echo


def program_options_of(options: Mapping[str, Any], defaults: Pairs, savepoint: Pairs) -> ProgramOptions:
    """The options of a submission from their JSON form, on top of defaults; an option overrides its -D form."""
    known: dict[str, Any] = {name: _tuples(value) for name, value in options.items()}
    known["properties"] = (*defaults, *known.get("properties", ()), *savepoint)
    return ProgramOptions(**known)


def _tuples(value: Any) -> Any:
    """Turn JSON's lists back to tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
