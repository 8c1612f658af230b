"""What is different between two commands: the exit code, lines that one of them prints, options it has."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.cli.said import CAUSE, Said
from tests.flink.rest.cli.steps import Step
from tests.flink.rest.differences import Difference
from tests.flink.rest.texts import CUT, says


def differences(step: Step, flink: Said | None, ours: Said) -> Iterator[Difference]:
    """Lines and options of Flink's that are missing; more of them are no difference to who greps for Flink's."""
    if flink is None:
        yield Difference(step.key, "recording", "was never asked", str(ours.code))
        return
    if flink.code != ours.code:
        yield Difference(step.key, "exit code", str(flink.code), str(ours.code))
    for stream in ("out", "err", "options"):
        told = {_plain(line) for line in getattr(ours, stream)}
        for line in getattr(flink, stream):
            if not _is_told(_plain(line), told):
                yield Difference(step.key, stream, line, "is missing")


def _is_told(line: str, told: set[str]) -> bool:
    """Whether a line is among others; of one that was cut off only the beginning is known."""
    known = line.removesuffix(CUT)
    return line in told or (line != known and any(each.startswith(known) for each in told))


def _plain(line: str) -> str:
    """A line without the names of Java's exceptions, and without the bracket of a list of them."""
    return says(says(line.removeprefix(CAUSE)).removeprefix("["))
