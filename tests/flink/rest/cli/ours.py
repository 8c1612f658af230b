"""Our command in this process, against a server with samples in place of jobs."""

from __future__ import annotations

from click.testing import CliRunner
from tests.flink.rest.cli.said import Done
from tests.flink.rest.cli.steps import ACTIONS, Step

from millrace.cli.main import main


class CommandHere:
    """Runs the words that came after `flink`; verbs that name no server mean the one at the address."""

    def __init__(self, address: str) -> None:
        self._address = address

    def __call__(self, args: tuple[str, ...]) -> Done:
        words = list(args)
        if args[:1] and args[0] in ACTIONS and "-m" not in args and "-h" not in args:
            words[1:1] = ["-m", self._address]
        done = CliRunner().invoke(main, words)
        return Done(done.exit_code, done.stdout, done.stderr)


def needs_no_program(step: Step) -> bool:
    """Whether no program has to run for it: a sample cannot."""
    runs = step.args[:1] in (("run",), ("info",)) and "-h" not in step.args
    return not runs and "@kept.detached" not in step.args
