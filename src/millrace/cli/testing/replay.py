"""``millrace test replay``."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import click

from millrace.cli.command import ProgramCommand
from millrace.cli.options import ProgramOptions, program_options

EPILOG = """
Results are compared without their order; of tables that change, the rows that are left in the end.

Exit codes: 0 all is as recorded, 1 something is not, or the program failed, 2 the recording does not fit the program.
"""


@click.command(cls=ProgramCommand, epilog=EPILOG, context_settings={"allow_interspersed_args": False})
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
    from millrace.cli.testing.running import FAILED, NOT_POSSIBLE, run_program
    from millrace.testing.recording.folder import Recording
    from millrace.testing.recording.playing import variants
    from millrace.testing.recording.sessions import Replayer
    from millrace.testing.recording.values import RecordingError

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
