"""``millrace demo``: runs a program that comes with the package, as ``millrace run`` would."""

from __future__ import annotations

from importlib import resources

import click


@click.command()
def demo() -> None:
    """Run two small programs on orders of a shop: event time in Python, and a query in SQL.

    Everything comes with the package; the last line says where, to read it and to go on from there.
    """
    from millrace.cli.options import ProgramOptions
    from millrace.cli.run import start
    from millrace.cli.targets import LOCAL, Target

    with resources.as_file(resources.files(__package__)) as folder:
        start(ProgramOptions((str(folder / "shop.py"),)), Target(LOCAL), (), no_restart=True)
