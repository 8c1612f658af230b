"""``millrace run``: run a program and its jobs in this process, until they end."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import click

from millrace.cli.command import ProgramCommand
from millrace.cli.options import ProgramOptions, program_options
from millrace.cli.program import Program, find_program
from millrace.cli.refused import refuse_the_rest
from millrace.cli.settings import RunSettings, run_settings

if TYPE_CHECKING:
    from millrace.cli.jobs import Jobs
    from millrace.cli.screen import Screen
    from millrace.cli.signals import Stopper
    from millrace.datastream.defaults import Submission
    from millrace.spark.submit import SparkJobClient

EPILOG = """
Exit codes: 0 the program has ended well, 1 it or its job failed, 2 it could not begin (wrong options, no program, no
Java), 130 stopped by Ctrl-C, 143 by SIGTERM; else what the program exits with.
"""


@click.command(cls=ProgramCommand, epilog=EPILOG, context_settings={"allow_interspersed_args": False})
@program_options
@click.option("--quiet", is_flag=True, help="No live line and no summary on a terminal; log errors only.")
@click.option("--verbose", is_flag=True, help="Log more, and show errors with all their tracebacks.")
@refuse_the_rest
def run(program: ProgramOptions, quiet: bool, verbose: bool) -> None:
    """Run a Flink program written in Python on Spark, in the foreground.

    In a pipe only the program's own output appears. On a terminal a live line shows how its job fares.
    """
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose contradict each other: give one of them")
    if quiet or verbose:
        level = ("spark.log.level", "INFO" if verbose else "ERROR")
        program = _with_property(program, level)
    found = find_program(program)
    with tempfile.TemporaryDirectory(prefix="millrace-ship-") as directory:
        _run(found, run_settings(program, found, directory), program.pyflink, quiet, verbose)


def _with_property(options: ProgramOptions, pair: tuple[str, str]) -> ProgramOptions:
    return replace(options, properties=(pair, *options.properties))


def _run(program: Program, settings: RunSettings, pyflink: bool, quiet: bool, verbose: bool) -> None:
    from millrace.cli.errors import report
    from millrace.cli.hooks import hooks
    from millrace.cli.jobs import Jobs
    from millrace.cli.live import JobWatch
    from millrace.cli.signals import StoppedError, Stopper

    if not verbose:
        # A program that logs at INFO would otherwise print how its connections to the JVM open and close.
        logging.getLogger("py4j").setLevel(logging.WARNING)
    screen = None if quiet else _screen()
    watch = JobWatch(screen)
    stopper = Stopper()
    jobs = Jobs(_starter(stopper, screen))
    with stopper.listening(), hooks(settings, jobs.submit, watch.listener, pyflink):
        try:
            with screen.around() if screen else contextlib.nullcontext():
                _run_with_jobs(program, settings, jobs)
        except KeyboardInterrupt as stopped:
            click.echo("cancelled", err=True)
            sys.exit(stopped.exit_code if isinstance(stopped, StoppedError) else 130)
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                _reader_has_gone()
            explained = report(error, watch.log_file, verbose)
            sys.stdout.flush()
            click.echo(explained.text, err=True)
            sys.exit(explained.exit_code)


def _run_with_jobs(program: Program, settings: RunSettings, jobs: Jobs) -> None:
    """The program, then the jobs that it left running: they end well, or with it when it ends badly."""
    try:
        program.run(settings.paths, afterwards=jobs.wait)
    finally:
        jobs.cancel()


def _screen() -> Screen | None:
    if not sys.stderr.isatty():
        return None
    from millrace.cli.screen import terminal

    return terminal()


def _starter(stopper: Stopper, screen: Screen | None) -> Callable[[Submission], SparkJobClient]:
    def start(submission: Submission) -> SparkJobClient:
        if screen is not None and not _spark_runs():
            screen.show("starting Spark")
        with stopper.deferred():
            return submission.start()

    return start


def _spark_runs() -> bool:
    pyspark = sys.modules.get("pyspark")
    return pyspark is not None and pyspark.SparkContext._active_spark_context is not None


def _reader_has_gone() -> NoReturn:
    """Whoever read our output has ended (``| head``): nothing is left to say, and nobody to say it to."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)
