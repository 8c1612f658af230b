"""``millrace lint``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from millrace.cli.command import ProgramCommand
from millrace.cli.options import ProgramOptions, program_options
from millrace.cli.rehearsal import rehearsal

if TYPE_CHECKING:
    from millrace.lint import Chosen, Finding

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
    from millrace.cli.errors import report
    from millrace.cli.lint.subjects import jobs_of
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
    """What the command line says; what it does not say the project's settings do.

    :raises click.UsageError: a rule that there is not, or settings that are wrong.
    """
    from pathlib import Path

    from millrace.lint import Chosen
    from millrace.lint.settings import project_settings

    try:
        project = project_settings(Path(folder))
        chosen = Chosen(select or project.select, (*ignore, *(each for each in project.ignore if each not in select)))
        chosen.rules()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return chosen


def _as_text(hits: Sequence[Finding]) -> str:
    return "\n".join(
        f"{hit.file}:{hit.line}: {hit.code} {hit.name}: {hit.text}\n    cure: {hit.cure}" for hit in hits
    )


def _as_json(hits: Sequence[Finding]) -> str:
    from dataclasses import asdict

    return json.dumps([asdict(hit) for hit in hits], indent=2)
