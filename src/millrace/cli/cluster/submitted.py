"""A program that was submitted to a cluster, in the process that the cluster has made for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from millrace.cli.options import ProgramOptions
from millrace.cli.program import find_program
from millrace.cli.run import Manner, run_program
from millrace.cli.settings import run_settings
from millrace.cli.signals import StoppedError, Stopper
from millrace.cluster.processes.job_process import ProgramRun
from millrace.cluster.remote.client_control import control_of
from millrace.cluster.remote.control_service import JobsHere
from millrace.spark import job_ids, recovery_file


def run_submitted(run: ProgramRun, here: JobsHere) -> int:
    """Run the program as ``millrace run`` does; the exit code."""
    submission = run.submission
    options = program_options_of(submission.options, submission.savepoint)
    recovery_file.use(run.recovery)
    job_ids.choose(submission.id)
    stopper = Stopper()
    try:
        program = find_program(options)
        manner = Manner(
            pyflink=options.pyflink,
            announce=run.announce,
            started=lambda client: here.add(str(client.get_job_id()), control_of(client)),
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


def program_options_of(options: Mapping[str, Any], savepoint: tuple[tuple[str, str], ...]) -> ProgramOptions:
    """The options as JSON has kept them."""
    known: dict[str, Any] = {name: _tuples(value) for name, value in options.items()}
    known["properties"] = (*known.get("properties", ()), *savepoint)
    return ProgramOptions(**known)


def _tuples(value: Any) -> Any:
    """JSON has no tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
