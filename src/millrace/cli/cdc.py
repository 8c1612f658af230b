"""``millrace cdc``: run a pipeline that a YAML file describes, as ``flink-cdc.sh`` does."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from millrace.cli.command_line import Refused, refusing
from millrace.cli.options import (
    ProgramOptions,
    Target,
    key_values,
    savepoint_options,
    surroundings_options,
    target_options,
)
from millrace.cli.run import start

if TYPE_CHECKING:
    from millrace.cdc.pipeline_file import Pipeline

PROGRAM = "millrace.cdc.program"
_REFUSED = (
    Refused(
        ("-ucm", "--use-mini-cluster"),
        "there is no mini cluster; nearest: -t local, which runs the pipeline in this process",
        is_flag=True,
    ),
    Refused(("-fh", "--flink-home"), "there is no Flink; nearest: --config-dir DIR, where config.yaml is"),
    Refused(("-gc", "--global-config"), "nearest: -D key=value, or 'flink-conf' under 'pipeline' in the file"),
    Refused(("-j", "--jar"), "functions are written in Python: name them as module.Class, with --pyFiles"),
)


@click.command("cdc")
@click.argument("pipeline", metavar="PIPELINE.YAML")
@surroundings_options
@target_options
@savepoint_options
@click.option(
    "-fc",
    "--flink-conf",
    "--conf",
    "conf",
    multiple=True,
    metavar="KEY=VALUE",
    help="The same as -D, as Flink CDC's command has it. What the file says under 'flink-conf' goes before it.",
)
@click.option("--dry-run", is_flag=True, help="Check the file, print what it means, and run nothing.")
@click.option("--quiet", is_flag=True, help="No live line and no summary on a terminal; log errors only.")
@click.option("--verbose", is_flag=True, help="Log more, and show errors with all their tracebacks.")
@refusing(_REFUSED)
def cdc(
    pipeline: str,
    program: ProgramOptions,
    target: Target,
    savepoint: tuple[tuple[str, str], ...],
    conf: tuple[str, ...],
    dry_run: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Copy whole databases: run a pipeline in the YAML of Flink CDC (source, route, transform, sink).

    Like `run`: on the cluster that runs, or else in this process.
    """
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose contradict each other: give one of them")
    path = os.path.abspath(pipeline)
    if dry_run:
        click.echo(_plan(path, program.files))
        return
    files = program.files
    if _read(path).functions:
        files = (os.path.dirname(path), *files)  # tasks import the functions from there, too
    properties = (*program.properties, *key_values(conf))
    chosen = replace(program, module=PROGRAM, words=(path,), files=files, properties=properties, ship_folder=False)
    start(chosen, target, savepoint, quiet=quiet, verbose=verbose)


def _read(path: str) -> Pipeline:
    """Read the pipeline file; an error in it becomes click's error.

    Drivers are forks of this process, which must have no threads yet, so nothing else is done here.
    """
    from millrace.cdc.pipeline_file import read_pipeline
    from millrace.cdc.yaml_tree import PipelineError

    try:
        return read_pipeline(path)
    except (PipelineError, ImportError) as error:
        raise click.UsageError(str(error)) from None


def _plan(path: str, files: tuple[str, ...]) -> str:
    """The text of ``--dry-run``: the pipeline with all names looked up."""
    from millrace.cdc.composer import compose, plan_text
    from millrace.cdc.yaml_tree import PipelineError

    pipeline = _read(path)
    try:
        with _importing((os.path.dirname(path), *files)):
            return plan_text(compose(pipeline))
    except (PipelineError, ImportError) as error:
        raise click.UsageError(str(error)) from None


@contextlib.contextmanager
def _importing(folders: tuple[str, ...]) -> Iterator[None]:
    before = list(sys.path)
    sys.path[:0] = [os.path.abspath(each) for each in folders]
    try:
        yield
    finally:
        sys.path[:] = before


COMMANDS = (cdc,)
