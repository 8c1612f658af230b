"""What a command said, as facts: exit code, lines without what is different each time, names of options."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.flink.rest.cli.steps import Step
from tests.flink.rest.texts import constant

FILE = Path(__file__).parents[1] / "answers" / "cli.jsonl"
LINES = 12
"""as many are kept at most"""
# Lines that are not the command's own: the virtual machine's, a logger's, a stack trace's, a shell's.
_NOISE = re.compile(
    r"\s*(at |\.\.\. \d+ more|WARNING: |SLF4J|Setting HADOOP|Picked up |\d{4}-\d\d-\d\d .*(INFO|WARN|ERROR)|-{20}|"
    r"File \"|\^|~|Traceback|\tsuppressed|End of exception)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Done:
    """A command that has ended: its exit code and what stood on both streams."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Said:
    """The facts of a finished command."""

    code: int
    out: tuple[str, ...] = ()
    err: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """what a help text offers: "-p,--parallelism" """


def said_of(step: Step, done: Done) -> Said:
    if step.help:
        return Said(done.code, options=options(done.out + done.err))
    return Said(done.code, _lines(done.out), _lines(done.err))


def options(text: str) -> tuple[str, ...]:
    """Options and actions that a help text lists."""
    found = re.findall(r"^\s+(-\w[\w-]*(?:,--?[\w-]+)?|--[\w-]+)(?=\s|$)", text, re.MULTILINE)
    actions = re.findall(r'^Action "([\w-]+)"', text, re.MULTILINE)
    return tuple(sorted({*found, *actions}))


def _lines(text: str) -> tuple[str, ...]:
    found = [constant(line.strip()) for line in text.splitlines() if line.strip() and not _NOISE.match(line)]
    # What a plan looks like is another matter.
    short = ["{..}" if line.startswith("{") else line for line in found]
    return tuple(short[:LINES])


def write(said: Iterable[tuple[Step, Said]], file: Path = FILE) -> None:
    lines = []
    for step, each in said:
        facts = {name: value for name, value in asdict(each).items() if value != ()}
        lines.append(json.dumps({"args": step.args, "about": step.about, **facts}, ensure_ascii=False))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(file: Path = FILE) -> dict[str, Said]:
    """What was said, by the keys of steps."""
    found = {}
    for line in file.read_text("utf-8").splitlines():
        entry = json.loads(line)
        key = Step(tuple(entry.pop("args")), entry.pop("about")).key
        found[key] = Said(entry.pop("code"), **{name: tuple(value) for name, value in entry.items()})
    return found
