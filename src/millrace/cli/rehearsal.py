"""A program that runs in this process, and whose jobs go to a function instead of Spark: for info, lint and test."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millrace.cli.options import ProgramOptions
from millrace.cli.program import Program, find_program
from millrace.cli.settings import RunSettings, run_settings

if TYPE_CHECKING:
    from millrace.datastream.settings.defaults import Submitter


@dataclass(frozen=True)
class Rehearsal:
    """A program with all that it is run with."""

    program: Program
    settings: RunSettings
    pyflink: bool
    """whether it imports PyFlink's names"""

    def run(self, submit: Submitter) -> None:
        """Run it to its end, each job being ``submit``'s. What it prints goes to standard error.

        Raises what the program raises.
        """
        from millrace.cli.hooks import hooks

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
