"""``millrace new NAME``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("name", type=click.Path(path_type=Path))
def new(name: Path) -> None:
    """Make a folder NAME with a job, its test, configuration and a Makefile."""
    from millrace.cli.new.project import ProjectError, write_project

    try:
        written = write_project(name)
    except ProjectError as error:
        raise click.ClickException(str(error)) from error
    for each in written:
        click.echo(f"{name / each}")
    click.echo(f"\nNow:  cd {name} && make run     (or `make test`, which needs no Java)")
