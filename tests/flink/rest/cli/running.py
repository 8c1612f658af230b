"""Running command lines in their order, where one may need what another one printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Protocol

from tests.flink.rest.ask import resolve
from tests.flink.rest.cli.said import Done, Said, said_of
from tests.flink.rest.cli.steps import KEPT, Step
from tests.flink.rest.running import Values
from tests.flink.rest.world import NoValue

NOT_RUN = -1
"""the exit code of a command that could not be run: one before did not print what it needs"""


class Command(Protocol):
    """`flink`, or what stands for it."""

    def __call__(self, args: tuple[str, ...]) -> Done: ...


def run_all(steps: Iterable[Step], command: Command, values: Values) -> Iterator[tuple[Step, Said]]:
    for step in steps:
        yield step, _run(step, command, values)


def _run(step: Step, command: Command, values: Values) -> Said:
    try:
        args = tuple(resolve(each, values.value) for each in step.args)
    except NoValue as error:
        return Said(NOT_RUN, err=(f"there is no {error}",))
    done = command(args)
    if step.keep:
        found = re.search(KEPT[step.keep], done.out + done.err)
        values.keep(step.keep, found[1] if found else None)
    return said_of(step, done)
