"""Verbs for running jobs: ``millrace list``, ``cancel``, ``stop``, ``savepoint``, ``checkpoint`` and ``plot``.

``Verb`` and ``verb`` report wrong command lines as Flink's command does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from millrace.cli.command_line import OF_VERBS, Outlined, all_spelled, failed, failing, refusing
from millrace.cli.options import check_kind

if TYPE_CHECKING:
    from millrace.cluster.control import JobLine


F = TypeVar("F", bound=Callable[..., Any])
"""Type of a command's function."""
HELP_HINT = "Use the help option (-h or --help) to get help on the command."


_EXAMPLE = "fd72014d4c864993a2e5a9287b4a9c5d"
_EARLY = frozenset({"-m", "-t", "-e", "-z", "-yid"})
"""options that Flink's command reads before its action"""
FATAL = 31
"""Exit code of Flink's command for errors before its action."""


class Verb(Outlined):
    """A command that reports wrong usage as Flink does: on standard output, with exit code 1."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            options = [each for each in self.params if isinstance(each, click.Option)]
            return super().parse_args(ctx, list(all_spelled(args, options)))
        except click.NoSuchOption as error:
            wrong_arguments(f"Unrecognized option: {error.option_name}{_meant(error)}")
        except click.BadOptionUsage as error:
            self._missing(error.option_name)
        except click.UsageError as error:
            wrong_arguments(error.format_message())

    def _missing(self, given: str) -> NoReturn:
        """Report an option without a value."""
        name = next((each.opts[0] for each in self.params if given in each.opts), given)
        text = f"Missing argument for option: {name.lstrip('-')}"
        if name in _EARLY:
            click.echo(text, err=True)
            sys.exit(FATAL)
        wrong_arguments(text)


def _meant(error: click.NoSuchOption) -> str:
    """A hint for a long option that was written as a short one with its value attached."""
    if error.option_name.startswith("--") or not error.possibilities:
        return ""
    short = error.option_name[:2]
    return f" (is {' or '.join(error.possibilities)} meant? {short} takes its value behind a space)"


def verb(name: str | None = None) -> Callable[[Callable[..., Any]], Verb]:
    """Turn a function into a command."""
    return click.command(name, cls=Verb, context_settings={"help_option_names": ["-h", "--help"]})


JOBMANAGER = click.option(
    "-m",
    "--jobmanager",
    "address",
    metavar="ADDRESS",
    help="host:port of the cluster, or the name that `millrace cluster status` shows.",
)


def _check_target(_: click.Context, __: click.Parameter, value: str | None) -> None:
    if value is not None:
        check_kind(value)


_WHERE = (
    click.option("-D", "properties", multiple=True, metavar="KEY=VALUE", help="rest.address and rest.port say where."),
    click.option(
        "-t",
        "--target",
        "-e",
        "--executor",
        "target",
        expose_value=False,
        callback=_check_target,
        metavar="WHERE",
        help="As for `run`; without effect: where the jobs are is known without it.",
    ),
)


def _format(_: click.Context, __: click.Parameter, value: str) -> str:
    if value.upper() not in FORMATS:
        expected = f"Expected one of: [[{', '.join(FORMATS)}]]"
        failed(
            "Could not parse value for enum class org.apache.flink.core.execution.SavepointFormatType. " + expected,
            f"-type {value}",
        )
    return value.lower()


FORMATS = ("CANONICAL", "NATIVE")
SAVEPOINT_FORMAT = click.option(
    "-type",
    "--type",
    "kind",
    default="canonical",
    callback=_format,
    metavar="FORMAT",
    help="Format of the savepoint: canonical or native.",
)
DETACHED = click.option(
    "-detached", "detached", is_flag=True, help="Return when it has begun, and print the id to ask the REST API with."
)


def where_options(command: F) -> F:
    """Add the options that select the cluster: ``address`` and ``properties``."""
    for option in (*_WHERE, JOBMANAGER):
        command = option(command)
    return refusing(OF_VERBS)(command)


def wrong_arguments(text: str) -> NoReturn:
    """Report a wrong command line, and exit."""
    click.echo(text)
    click.echo()
    click.echo(HELP_HINT)
    sys.exit(1)


def job_id(word: str) -> str:
    """The id of a job. Exits with an error if the text is not an id."""
    from millrace.cluster.submissions import check_id

    try:
        return check_id(word)
    except ValueError:
        wrong_arguments(f'Cannot parse JobID from "{word}". The expected format is [0-9a-fA-F]{{32}}, e.g. {_EXAMPLE}.')


# millrace list

WIDTH = 62
_OVER = frozenset(("FINISHED", "CANCELED", "FAILED"))


@verb("list")
@click.argument("words", metavar="", nargs=-1, expose_value=False)  # Flink's command ignores them
@click.option("-r", "--running", is_flag=True, help="Only jobs that run or restart.")
@click.option("-s", "--scheduled", is_flag=True, help="Only jobs that wait for their beginning.")
@click.option("-a", "--all", "all_", is_flag=True, help="Also jobs that have ended.")
@where_options
def list_jobs(running: bool, scheduled: bool, all_: bool, address: str | None, properties: tuple[str, ...]) -> None:
    """List the jobs of a cluster, or of a program in the foreground."""
    from millrace.cli.job_lookup import jobs_at

    if not running and not scheduled and not all_:
        running = scheduled = True
    click.echo("Waiting for response...")
    with failing("Failed to retrieve job list."):
        jobs = jobs_at(address, properties).jobs()
    waiting = [job for job in jobs if job.state in ("CREATED", "INITIALIZING")]
    over = [job for job in jobs if job.state in _OVER]
    others = [job for job in jobs if job not in waiting and job not in over]
    if running or all_:
        _show("Running/Restarting Jobs", "No running jobs.", others)
    if scheduled or all_:
        _show("Scheduled Jobs", "No scheduled jobs.", waiting)
    if all_ and over:
        _show("Terminated Jobs", "", over)


def _show(title: str, none: str, jobs: Iterable[JobLine]) -> None:
    lines = [line(job) for job in sorted(jobs, key=lambda job: (job.started, job.id))]
    if not lines:
        click.echo(none)
        return
    click.echo(heading(title))
    for each in lines:
        click.echo(each)
    click.echo("-" * WIDTH)


def heading(title: str) -> str:
    """A title between dashes, as long as Flink's."""
    rest = WIDTH - len(title) - 2
    return f"{'-' * (rest // 2)} {title} {'-' * (rest - rest // 2)}"


def line(job: JobLine) -> str:
    """One job as a line: ``30.11.2020 16:02:29 : 5e20cb6b0f357591171dfcca2eea09de : words (RUNNING)``"""
    began = time.strftime("%d.%m.%Y %H:%M:%S", time.localtime(job.started / 1000))
    return f"{began} : {job.id} : {job.name} ({job.state})"


# millrace cancel

_DEPRECATED = 'DEPRECATION WARNING: Cancelling a job with savepoint is deprecated. Use "stop" instead.'


@verb()
@click.argument("words", metavar="JOB", nargs=-1)
@click.option(
    "-s",
    "--withSavepoint",
    "savepoint",
    is_flag=False,
    flag_value="",
    metavar="[DIRECTORY]",
    help="Take a savepoint first (Flink calls that deprecated: use stop).",
)
@where_options
def cancel(words: tuple[str, ...], savepoint: str | None, address: str | None, properties: tuple[str, ...]) -> None:
    """Cancel a job."""
    from millrace.cli.job_lookup import jobs_at, telling

    if not words and savepoint:
        words, savepoint = (savepoint,), ""  # `cancel -s JOB`: the option has taken the job for its directory
    if not words:
        wrong_arguments("Missing JobID. Specify a JobID to cancel a job.")
    job = job_id(words[0])
    could_not = f"Could not cancel job {job}."
    if savepoint is None:
        click.echo(f"Cancelling job {job}.")
        with failing(could_not):
            jobs_at(address, properties, job).cancel(job)
        click.echo(f"Cancelled job {job}.")
        return
    where = f"to {savepoint}." if savepoint else "to default savepoint directory."
    click.echo(_DEPRECATED)
    click.echo(f"Cancelling job {job} with CANONICAL savepoint {where}")
    with failing(could_not):
        jobs = jobs_at(address, properties, job)
        with telling(address, properties, job):
            path = jobs.savepoint(job, savepoint or None, native=False)
        jobs.cancel(job)
    click.echo(f"Cancelled job {job}. Savepoint stored in {path}.")


# millrace stop


@verb()
@click.argument("words", metavar="JOB", nargs=-1)
@click.option(
    "-p",
    "--savepointPath",
    "directory",
    metavar="DIRECTORY",
    help="Where the savepoint goes.  [default: execution.checkpointing.savepoint-dir of the job]",
)
@click.option("-d", "--drain", is_flag=True, help="Let the sources end before, so that every event-time timer fires.")
@SAVEPOINT_FORMAT
@DETACHED
@where_options
def stop(
    words: tuple[str, ...],
    directory: str | None,
    drain: bool,
    kind: str,
    detached: bool,
    address: str | None,
    properties: tuple[str, ...],
) -> None:
    """Stop a job with a savepoint."""
    from millrace.cli.job_lookup import jobs_at, telling

    if not words:
        wrong_arguments("Missing JobId")
    job = job_id(words[0])
    click.echo(f'{"Draining" if drain else "Suspending"} job "{job}" with a {kind.upper()} savepoint.')
    could_not = f'Could not stop with a savepoint job "{job}".'
    if detached:
        click.echo(f"Triggering stop-with-savepoint in detached mode for job {job}.")
        with failing(could_not):
            trigger = jobs_at(address, properties, job).begin_stop(job, directory, drain, kind == "native")
        click.echo(f"Successfully trigger stop-with-savepoint in detached mode, triggerId: {trigger}")
        return
    click.echo(f"Triggering stop-with-savepoint for job {job}.")
    click.echo("Waiting for response...")
    with failing(could_not), telling(address, properties, job):
        path = jobs_at(address, properties, job).stop(job, directory, drain, kind == "native")
    click.echo(f"Savepoint completed. Path: {path}")


# millrace savepoint


@verb()
@click.argument("words", metavar="[JOB [DIRECTORY]]", nargs=-1)
@click.option("-d", "--dispose", metavar="PATH", help="Delete the savepoint at this path.")
@SAVEPOINT_FORMAT
@DETACHED
@click.option("-j", "--jarfile", metavar="FILE", expose_value=False, help="Without effect: savepoints need no jar.")
@where_options
def savepoint(
    words: tuple[str, ...],
    dispose: str | None,
    kind: str,
    detached: bool,
    address: str | None,
    properties: tuple[str, ...],
) -> None:
    """Take a savepoint of a running job, or delete one that is no longer needed."""
    if dispose is not None and words:
        wrong_arguments("--dispose deletes one savepoint and takes no job: leave out the other arguments")
    if dispose is not None:
        _dispose(dispose)
        return
    if not words:
        wrong_arguments("Missing JobID. Specify a Job ID to trigger a savepoint.")
    from millrace.cli.job_lookup import jobs_at, telling

    job, directory = job_id(words[0]), words[1] if len(words) > 1 else None
    if len(words) > 2:
        click.echo("Provided more arguments than required. Ignoring not needed arguments.")
    could_not = f"Failed to trigger a savepoint for the job {job}."
    if detached:
        click.echo(f"Triggering savepoint in detached mode for job {job}.")
        with failing(could_not):
            trigger = jobs_at(address, properties, job).begin_savepoint(job, directory, kind == "native")
        click.echo(f"Successfully trigger manual savepoint, triggerId: {trigger}")
        return
    click.echo(f"Triggering savepoint for job {job}.")
    click.echo("Waiting for response...")
    with failing(could_not), telling(address, properties, job):
        path = jobs_at(address, properties, job).savepoint(job, directory, kind == "native")
    click.echo(f"Savepoint completed. Path: {path}")
    click.echo("You can resume your program from this savepoint with the run command.")


def _dispose(path: str) -> None:
    """Delete a savepoint, in this process: the command has access to it whether a cluster runs or not."""
    from millrace.checkpoint.metadata import NotDisposedError, dispose

    click.echo(f"Disposing savepoint '{path}'.")
    click.echo("Waiting for response...")
    try:
        dispose(path)
    except NotDisposedError as error:
        failed(f"Failed to dispose the savepoint '{path}'.", str(error))
    click.echo(f"Savepoint '{path}' disposed.")


# millrace checkpoint


@verb()
@click.argument("words", metavar="JOB", nargs=-1)
@click.option("-full", "--full", is_flag=True, help="All of the state, not only what has changed.")
@where_options
def checkpoint(words: tuple[str, ...], full: bool, address: str | None, properties: tuple[str, ...]) -> None:
    """Take a checkpoint of a running job."""
    from millrace.cli.job_lookup import jobs_at

    if not words:
        wrong_arguments("Missing JobID. Specify a Job ID to manipulate a checkpoint.")
    job = job_id(words[0])
    click.echo(f"Triggering checkpoint for job {job}.")
    click.echo("Waiting for response...")
    with failing(f"Failed to trigger a checkpoint for the job {job}."):
        number = jobs_at(address, properties, job).checkpoint(job, full)
    click.echo(f"Checkpoint{'(FULL)' if full else ''} {number} for job {job} completed.")
    click.echo("You can resume your program from this checkpoint with the run command.")


# millrace plot


@verb()
@click.argument("words", metavar="JOB", nargs=-1)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="An SVG file to write.")
@where_options
def plot(words: tuple[str, ...], output: Path | None, address: str | None, properties: tuple[str, ...]) -> None:
    """Draw how a job runs: elements read, watermark, epochs (SVG).

    The last 200 epochs are known. Without -o the picture goes to standard output.
    """
    from millrace.cli.job_lookup import jobs_at
    from millrace.cluster.insights.readings import NoCourseError, plotted

    if not words:
        wrong_arguments("Missing JobID. Specify a Job ID to plot a job.")
    job = job_id(words[0])
    with failing(f"Failed to plot the job {job}."):
        document = jobs_at(address, properties, job).document(job)
    try:
        picture = plotted(document).svg(alone=True)
    except NoCourseError as error:
        failed(f"Failed to plot the job {job}.", str(error))
    if output is None:
        click.echo(picture)
    else:
        output.write_text(picture + "\n", "utf-8")
        click.echo(f"{output}")


COMMANDS = (list_jobs, cancel, stop, savepoint, checkpoint, plot)
