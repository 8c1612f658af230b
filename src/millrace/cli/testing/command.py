"""``millrace test``."""

from __future__ import annotations

import click

from millrace.cli.testing.record import record
from millrace.cli.testing.replay import replay


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def test() -> None:
    """Run a program with a recorded input, in this process, and compare what its sinks get with what they got.

    No Spark, no Java, and nothing is written into the program's own sinks.
    """


test.add_command(record)
test.add_command(replay)
