"""A command that says what was recorded. For tests of the comparer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tests.flink.rest.ask import resolve
from tests.flink.rest.cli.said import Done, Said
from tests.flink.rest.cli.steps import Step
from tests.flink.rest.replay import EXAMPLES, ReplayedValues


class ReplayedCommand:
    """Answers the steps in their order."""

    def __init__(self, steps: Sequence[Step], recorded: Mapping[str, Said]) -> None:
        self._waiting = [(step, recorded[step.key]) for step in steps]

    def __call__(self, args: tuple[str, ...]) -> Done:
        step, said = self._waiting.pop(0)
        plain = ReplayedValues()
        fixed = [each for each in step.args if "@kept." not in each]
        asked = [resolve(each, plain.value) for each in fixed]
        if any(each not in args for each in asked):
            raise AssertionError(f"asked for {args}, expected {step.args}")
        if step.help:
            return Done(said.code, "".join(f"  {_option(each)}\n" for each in said.options), "")
        return Done(said.code, _text(said.out), _text(said.err))


def _option(name: str) -> str:
    return name if name.startswith("-") else f'\nAction "{name}"'


def _text(lines: Sequence[str]) -> str:
    """Lines with ids and plans where placeholders are, so that later steps find them."""
    text = "".join(f"{line}\n" for line in lines).replace("{..}", "{\n}")
    text = re.sub("<path>/savepoint-<id>", "/some/where/savepoint-012345-0123456789ab", text)
    return text.replace("<id>", EXAMPLES["<id>"])
