"""Runs a command line of ours as Flink's was run, and lists what it answers otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.flink.rest.cli.differences import differences
from tests.flink.rest.cli.running import Command, run_all
from tests.flink.rest.cli.said import FILE, read
from tests.flink.rest.cli.steps import Step, steps
from tests.flink.rest.differences import Difference
from tests.flink.rest.running import Values


def compare(
    command: Command, values: Values, asked: Iterable[Step] | None = None, file: Path = FILE
) -> list[Difference]:
    """All differences between what ``command`` says and what was recorded."""
    recorded = read(file)
    found: list[Difference] = []
    for step, said in run_all(steps() if asked is None else asked, command, values):
        found += differences(step, recorded.get(step.key), said)
    return found
