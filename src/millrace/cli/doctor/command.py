"""``millrace doctor``: one line for each thing that was looked at, and below what is wrong the way out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click

from millrace.cli.doctor.finding import Finding, Verdict

_COLOURS = {Verdict.GOOD: "green", Verdict.NOTE: "yellow", Verdict.BAD: "red"}


def findings() -> Iterator[Finding]:
    """All looks, one after the other."""
    from millrace.cli.doctor import clusters, installation, machine

    looks: tuple[Callable[[], Iterator[Finding]], ...] = (
        installation.distribution,
        installation.python,
        installation.java,
        installation.packages,
        machine.resources,
        machine.folders,
        machine.names,
        machine.ports,
        clusters.configuration,
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
