"""The comparer of command lines, against a command that says what was recorded."""

# ruff: noqa: E501  tables of what is to come out

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.flink.rest.cli.compare import compare
from tests.flink.rest.cli.replay import ReplayedCommand
from tests.flink.rest.cli.said import Done, Said, options, read, said_of
from tests.flink.rest.cli.steps import Step, steps
from tests.flink.rest.differences import Difference
from tests.flink.rest.replay import ReplayedValues


def compared(asked: list[Step], changed: dict[str, Said]) -> list[Difference]:
    return compare(ReplayedCommand(asked, read() | changed), ReplayedValues(), asked)


def test_the_recording_itself_has_no_difference() -> None:
    asked = list(steps())
    assert len(asked) > 100
    assert [str(each) for each in compared(asked, {})] == []


STEP = next(step for step in steps() if step.args == ("stop",))
HELP = next(step for step in steps() if step.args == ("cancel", "-h"))


@pytest.mark.parametrize(
    ("step", "broken", "wanted"),
    [
        (STEP, lambda said: replace(said, code=said.code + 1), [("exit code", "1", "2")]),
        (STEP, lambda said: replace(said, out=said.out[1:]), [("out", read()[STEP.key].out[0], "is missing")]),
        (STEP, lambda said: replace(said, out=(*said.out, "more")), []),
        (HELP, lambda said: replace(said, options=said.options[1:]), [("options", read()[HELP.key].options[0], "is missing")]),
    ],
)  # fmt: skip
def test_a_broken_answer_is_that_difference_and_no_other(
    step: Step, broken: Callable[[Said], Said], wanted: list[tuple[str, str, str]]
) -> None:
    found = compared([step], {step.key: broken(read()[step.key])})
    assert [(each.place, each.flink, each.ours) for each in found] == wanted


def test_options_of_a_help_text() -> None:
    text = 'Action "run" compiles.\n  Syntax: run [OPTIONS]\n   -c,--class <name>   the class\n   -d   more -x\n   --long  text\n'
    assert options(text) == ("--long", "-c,--class", "-d", "run")


def test_lines_without_traces_and_ids() -> None:
    done = Done(1, "", "java.lang.Error: no\n\tat a.b(C.java:1)\nJob has been submitted with JobID " + "ab" * 16 + "\n")
    said = said_of(Step(("run",), ""), done)
    assert said == Said(1, err=("java.lang.Error: no", "Job has been submitted with JobID <id>"))
