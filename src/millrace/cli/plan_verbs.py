"""Verbs that run a program in this process without running its jobs on Spark: ``millrace info``, ``explain`` and
``lint``, which look at the jobs, and ``test record`` and ``replay``, which run the jobs here, record them, and
compare runs.

Jobs go to a function instead of Spark (``rehearsal``).
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from millrace.cli.command_line import OF_INFO, ProgramCommand, refusing
from millrace.cli.options import ProgramOptions, program_options
from millrace.cli.program import Program, RunSettings, find_program, run_settings

if TYPE_CHECKING:
    from millrace.datastream.settings import Submission, Submitter
    from millrace.lint import Chosen, Finding
    from millrace.runtime.operators.job_graph import JobGraph
    from millrace.testing.local import LocalRun
    from millrace.testing.timelines import Timeline


# Looking at jobs


@dataclass(frozen=True)
class Rehearsal:
    """A program with its configuration, run without executing jobs."""

    program: Program
    settings: RunSettings
    pyflink: bool
    """whether ``pyflink`` names Millrace"""

    def run(self, submit: Submitter) -> None:
        """Run the program to its end; each of its jobs goes to ``submit``.

        Its output goes to standard error. Raises the program's errors.
        """
        from millrace.cli.program_jobs import hooks

        with hooks(self.settings, submit, pyflink=self.pyflink), contextlib.redirect_stdout(sys.stderr):
            self.program.run(self.settings.paths)


@contextlib.contextmanager
def rehearsal(options: ProgramOptions) -> Iterator[Rehearsal]:
    """The program of a command line.

    :raises click.UsageError: there is no such program, or a setting is wrong.
    """
    found = find_program(options)
    with tempfile.TemporaryDirectory(prefix="millrace-ship-") as directory:
        yield Rehearsal(found, run_settings(options, found, directory), options.pyflink)


PARALLELISM = "parallelism.default"


class _ShownError(BaseException):
    """Ends the program where it would have run its job; the program's ``except Exception`` does not catch it."""

    def __init__(self, text: str) -> None:
        self.text = text


def of_first_job(options: ProgramOptions, shown: Callable[[Submission], str], *, parallelism: int | None = None) -> str:
    """Apply ``shown`` to the program's first job.

    The program runs up to its execute(); its output goes to standard error. Exits with a message if the program fails
    or
    has no job.

    :param parallelism: default where neither the command line nor the configuration sets one.
    """
    from millrace.cli.program_jobs import report

    with rehearsal(options) as found:
        if parallelism is not None:
            given = {PARALLELISM: str(parallelism), **found.settings.configuration}
            found = replace(found, settings=replace(found.settings, configuration=given))
        try:
            text = _text_of_first_job(found, shown)
        except Exception as error:
            explained = report(error)
            click.echo(explained.text, err=True)
            sys.exit(explained.exit_code)
    if text is None:
        raise click.ClickException(
            f"{found.program.target} ended without executing a job, so there is nothing to show of it"
        )
    return text


def _text_of_first_job(found: Rehearsal, shown: Callable[[Submission], str]) -> str | None:
    def show(submission: Submission) -> NoReturn:
        raise _ShownError(shown(submission))

    try:
        found.run(show)
    except _ShownError as first:
        return first.text
    return None


# millrace info


@click.command(cls=ProgramCommand, context_settings={"allow_interspersed_args": False})
@program_options
@refusing(OF_INFO)
@click.option("--document", is_flag=True, hidden=True, help="The job as the document that REST answers are made of.")
@click.option(
    "--graph",
    type=click.Choice(["svg", "mermaid"]),
    help="The plan as a picture instead: SVG, or text that GitHub and other tools of Markdown show as one.",
)
def info(program: ProgramOptions, document: bool, graph: str | None) -> None:
    """Print the plan (JSON, as Flink's) of the first job that a program would run.

    The program runs up to its execute(). What it prints goes to standard error.
    """
    click.echo(of_first_job(program, _document if document else PLANS[graph]))


def _of_flink(submission: Submission) -> str:
    return submission.plan()


def _plan_svg(submission: Submission) -> str:
    from millrace.util.graph_drawing import drawing_of_plan, svg

    return svg(drawing_of_plan(submission.plan()), "plan of the program")


def _mermaid(submission: Submission) -> str:
    from millrace.util.graph_drawing import drawing_of_plan, mermaid

    return mermaid(drawing_of_plan(submission.plan()))


PLANS: dict[str | None, Callable[[Submission], str]] = {None: _of_flink, "svg": _plan_svg, "mermaid": _mermaid}
"""value of ``--graph`` -> function that writes the plan in that form; None: JSON"""


def _document(submission: Submission) -> str:
    from millrace.cluster.durable_files import encode
    from millrace.cluster.job_documents import planned_document

    if submission.prepare is None:
        return submission.plan()  # says why there is none
    return encode(planned_document(*submission.prepare())).decode()


# millrace explain


@click.command(cls=ProgramCommand, context_settings={"allow_interspersed_args": False})
@program_options
@refusing(OF_INFO)
@click.option("--timeline", is_flag=True, help="Run the program without Spark and show windows, watermark and timers.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "svg"]),
    help="Of the time line.  [default: svg for a file that is called so, else text]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file for it.  [default: standard output]",
)
def explain(program: ProgramOptions, timeline: bool, form: str | None, output: Path | None) -> None:
    """Show what a program does: its plan, or a time line of its first elements.

    Options stand before the program. With --timeline the first job runs in this process, one element after the
    other and, unless the program says otherwise, with parallelism 1; up to 200 elements are shown. Sinks write.
    """
    if not timeline and form is not None:
        raise click.UsageError("--format says how a time line is shown: add --timeline")
    if timeline:
        form = form or ("svg" if output is not None and output.suffix == ".svg" else "text")
        text = of_first_job(program, _explained_svg if form == "svg" else _explained_text, parallelism=1)
    else:
        text = of_first_job(program, PLANS[None])
    if output is None:
        click.echo(text)
    else:
        output.write_text(text + "\n", "utf-8")
        click.echo(f"{output}")


def _recorded(submission: Submission) -> Timeline:
    from millrace.testing.timelines import TimelineError, record_job

    if submission.prepare is None:
        raise TimelineError("a query of batch mode is run by Spark, so there is no time line of it")
    job, _ = submission.prepare()
    recorded = record_job(job)
    if not recorded.complete:
        click.echo("the program has more elements than a time line can show: only its first ones are in it", err=True)
    return recorded


def _explained_svg(submission: Submission) -> str:
    return _recorded(submission).to_svg(alone=True)


def _explained_text(submission: Submission) -> str:
    return _recorded(submission).to_text()


# millrace lint

EPILOG = """
Rules are named by code (ML003) or by name (random-key). The lists `select` and `ignore` in [tool.millrace.lint] of
pyproject.toml choose for a project; a comment `# millrace: ignore[ML003]` for a line.

Exit codes: 0 nothing was found, 1 something was, 2 the program could not be read.
"""
NOT_READ = 2
"""Exit code: the program failed before it had a job, or has none."""


def _rules(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


@click.command(cls=ProgramCommand, epilog=EPILOG, context_settings={"allow_interspersed_args": False})
@program_options
@click.option("--select", multiple=True, callback=_rules, metavar="RULE,...", help="Look with these rules only.")
@click.option("--ignore", multiple=True, callback=_rules, metavar="RULE,...", help="Look with all rules but these.")
@click.option("--format", "shape", type=click.Choice(["text", "json"]), default="text", help="How to write findings.")
def lint(program: ProgramOptions, select: tuple[str, ...], ignore: tuple[str, ...], shape: str) -> None:
    """Look for what is likely to go wrong with the jobs of a program, without running them.

    The program runs up to where it waits for a job. What it prints goes to standard error.
    """
    from millrace.cli.lint_subjects import jobs_of
    from millrace.cli.program_jobs import report
    from millrace.lint import findings

    with rehearsal(program) as found:
        chosen = _chosen(found.program.folder, select, ignore)
        try:
            jobs = jobs_of(found)
        except Exception as error:
            click.echo(report(error).text, err=True)
            sys.exit(NOT_READ)
    if not jobs.subjects and not jobs.queries:
        click.echo(f"{found.program.target} ended without executing a job, so there is nothing to look at", err=True)
        sys.exit(NOT_READ)
    if jobs.queries:
        click.echo(f"not looked into: {jobs.queries} queries of batch mode, which Spark plans", err=True)
    hits = findings(jobs.subjects, chosen)
    click.echo(_as_json(hits) if shape == "json" else _as_text(hits), nl=bool(hits) or shape == "json")
    sys.exit(1 if hits else 0)


def _chosen(folder: str, select: tuple[str, ...], ignore: tuple[str, ...]) -> Chosen:
    """The selected rules: of the command line, else of the project's settings.

    :raises click.UsageError: a rule that there is not, or settings that are wrong.
    """
    from pathlib import Path

    from millrace.lint import Chosen
    from millrace.lint.check import project_settings

    try:
        project = project_settings(Path(folder))
        chosen = Chosen(select or project.select, (*ignore, *(each for each in project.ignore if each not in select)))
        chosen.rules()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return chosen


def _as_text(hits: Sequence[Finding]) -> str:
    return "\n".join(f"{hit.file}:{hit.line}: {hit.code} {hit.name}: {hit.text}\n    cure: {hit.cure}" for hit in hits)


def _as_json(hits: Sequence[Finding]) -> str:
    from dataclasses import asdict

    return json.dumps([asdict(hit) for hit in hits], indent=2)


# Recording and replaying

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


COMMANDS = (explain, info, lint, test)
