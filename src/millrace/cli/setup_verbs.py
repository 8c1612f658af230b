"""``millrace prepare``, ``demo``, ``new`` and ``doctor``: verbs for a new machine and a new project.

``prepare`` makes Spark start in half the time, once per machine. ``demo`` runs a program of the package as ``millrace
run`` would. ``new`` writes the files of the folder ``cli/new/template``. ``doctor`` shows one line for each check and,
below, the cure of what is wrong.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

import click

from millrace.cli.doctor_findings import Finding, Verdict


@click.command()
def prepare() -> None:
    """Archive Spark's classes for a faster start (about half a minute, 160 MB in the user's cache directory)."""
    from millrace.spark.java import JavaNotFoundError
    from millrace.spark.sessions.session import archive_path, make_archive

    try:
        click.echo(f"Archiving Spark's classes in {archive_path()} ...", err=True)
        make_archive()
    except (JavaNotFoundError, RuntimeError) as error:
        raise click.ClickException(str(error)) from error


@click.command()
def demo() -> None:
    """Run two small programs on orders of a shop: event time in Python, and a query in SQL.

    Everything comes with the package; the last line says where, to read it and to go on from there.
    """
    from millrace.cli.options import LOCAL, ProgramOptions, Target
    from millrace.cli.run import start

    with resources.as_file(resources.files("millrace.cli.demo")) as folder:
        start(ProgramOptions((str(folder / "shop.py"),)), Target(LOCAL), (), no_restart=True)


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_FILES = {
    "job.py.txt": "job.py",
    "test_job.py.txt": "test_job.py",
    "config.yaml.txt": "conf/config.yaml",
    "Makefile.txt": "Makefile",
    "requirements.txt": "requirements.txt",
    "README.md.txt": "README.md",
    "gitignore.txt": ".gitignore",
}
"""file of the template -> its name in the project"""


class ProjectError(ValueError):
    """The project can't be made: its name is invalid, or its folder is not empty."""


def write_project(folder: Path) -> list[Path]:
    """Write the files of a project, named after its folder.

    :return: the written files, relative to the folder.
    :raises ProjectError: the name is invalid, or the folder is not empty.
    """
    name = folder.name
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ProjectError(
            f"a name has letters, digits, - and _ and begins with a letter, as in `millrace new clicks`: "
            f"{name or str(folder)!r} can't be one"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ProjectError(f"{folder} is there already and is not empty")
    for source, target in _FILES.items():
        text = resources.files("millrace.cli.new").joinpath("template").joinpath(source).read_text(encoding="utf-8")
        path = folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{{name}}", name), encoding="utf-8")
    return list(map(Path, _FILES.values()))


@click.command()
@click.argument("name", type=click.Path(path_type=Path))
def new(name: Path) -> None:
    """Make a folder NAME with a job, its test, configuration and a Makefile."""

    try:
        written = write_project(name)
    except ProjectError as error:
        raise click.ClickException(str(error)) from error
    for each in written:
        click.echo(f"{name / each}")
    click.echo(f"\nNow:  cd {name} && make run     (or `make test`, which needs no Java)")


_COLOURS = {Verdict.GOOD: "green", Verdict.NOTE: "yellow", Verdict.BAD: "red"}


def findings() -> Iterator[Finding]:
    """Run all checks, one after the other."""
    from millrace.cli import doctor_checks

    looks: tuple[Callable[[], Iterator[Finding]], ...] = (
        doctor_checks.distribution,
        doctor_checks.python,
        doctor_checks.java,
        doctor_checks.packages,
        doctor_checks.resources,
        doctor_checks.folders,
        doctor_checks.names,
        doctor_checks.ports,
        doctor_checks.configuration,
    )
    for look in looks:
        yield from look()


@click.command()
@click.pass_context
def doctor(context: click.Context) -> None:
    """Look at Python, Java, packages, folders, ports, configuration and cluster, and say what mends them.

    Ends with 1 if jobs can't run here.
    """
    broken = 0
    for each in findings():
        broken += each.verdict is Verdict.BAD
        click.echo(f"{click.style(f'{each.verdict.value:>7}', fg=_COLOURS[each.verdict])}  {each.about}: {each.text}")
        if each.cure:
            click.echo(f"         -> {each.cure}")
    if broken:
        click.echo(f"{broken} problem{'s' * (broken > 1)} to solve before jobs run here.")
        context.exit(1)
    click.echo("Jobs can run here.")


COMMANDS = (prepare, demo, new, doctor)
