"""What a command said, as facts: exit code, lines without what is different each time, names of options."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.flink.rest.cli.steps import Step
from tests.flink.rest.texts import constant

FILE = Path(__file__).parents[1] / "answers" / "cli.jsonl"
CAUSE = "Caused by: "
_NUMBERS = re.compile(r"(Checkpoint(?:\(FULL\))? |calling o)\d+")
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
    found = re.findall(r"^ {1,10}(-\w[\w-]*(?:,--?[\w-]+)?|--[\w-]+)(?=\s|$)", text, re.MULTILINE)
    actions = re.findall(r'^Action "([\w-]+)"', text, re.MULTILINE)
    return tuple(sorted({*found, *actions}))


def _lines(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for line in _own(text.splitlines()):
        if line.startswith(CAUSE):
            # Of causes the last one tells why.
            found = [each for each in found if not each.startswith(CAUSE)]
        called = constant(_NUMBERS.sub(r"\1<n>", line.strip()))
        if called not in found:
            found.append(called)
    return tuple(found[:LINES])


def _own(lines: list[str]) -> Iterator[str]:
    """What the command itself says: no lines of traces, no code of a program, no plan."""
    in_plan = after_file = False
    for line in lines:
        if line.startswith("{"):
            yield "{..}"
        in_plan = line.startswith("{") or (in_plan and line != "}")
        # In a traceback of Python's the line of code follows its place.
        code = after_file and line.startswith("    ")
        after_file = line.lstrip().startswith('File "')
        if line.strip() not in ("", "}", "]") and not (in_plan or code or _NOISE.match(line)):
            yield line


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
