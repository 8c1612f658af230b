#!/usr/bin/env python
"""Runs PyFlink's own example programs, unchanged, on Millrace and prints a table of what became of them.

    python scripts/run_pyflink_examples.py [--examples DIR | --pyflink-python PYTHON] [--compare] [NAME]...

The programs are read where apache-flink is installed: in DIR (its pyflink/examples folder), in the environment of
PYTHON, or in this one. Nothing of PyFlink is needed to run them but these files. With --compare each program runs on
PyFlink, too (by PYTHON, which then needs Java), and both must print the same lines in any order: changes of a table
count by the rows that are left, numbers by their first six digits, and of random data only how many lines there are.
NAME selects programs by a part of their path.

Programs that write files on request run a second time, with --output. A program that does not end by itself is
stopped when its time is over, and passes if it has put out something by then.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LIMIT_SECONDS = 180
MILLRACE = [sys.executable, "-m", "millrace", "run", "--pyflink"]
# Beam and Py4J log to standard output once a program has set up logging.
_ON_PYFLINK = "import logging, runpy, sys; logging.disable(50); sys.argv = sys.argv[1:]; sys.path.insert(0, ''); "
_ON_PYFLINK += "runpy.run_path(sys.argv[0], run_name='__main__')"

_NEEDS = {
    "pyflink.datastream.connectors.kafka": "Kafka",
    "pyflink.datastream.connectors.pulsar": "Pulsar",
    "pyflink.datastream.connectors.elasticsearch": "Elasticsearch",
}
BROKEN = {
    # It imports json, then * from pyflink.table.expressions, which has a function json.
    "table/basic_operations.py": "AttributeError: 'function' object has no attribute 'loads'",
}
"""programs that fail on PyFlink 2.3 itself, and with what"""
RANDOM = (
    "table/async/async_scalar_function.py",
    "table/mixing_use_of_datastream_and_table.py",
    "table/pandas/conversion_from_dataframe.py",
    "table/streaming_word_count.py",
)
"""programs that make up their data anew every time"""
ENDLESS_WITHOUT_FILES = ("table/streaming_word_count.py",)
"""programs without end that would write files, but finish none, as they make no checkpoints"""

_SUBTASK = re.compile(r"^\d+> ")
_CHANGE = re.compile(r"^(\| )?([+-][IUD])( \|.*|\[.*)$")
_CANAL = re.compile(r'^(\{"data":.*),"type":"(INSERT|DELETE)"\}$')
_HOW_MANY = re.compile(r"^\d+ rows? in set$")  # it counts changes
_LONG_NUMBER = re.compile(r"\d+\.\d{3,}")
INPUT = "to be or not to be\nthat is the question\n"


@dataclass(frozen=True)
class Example:
    """A program, and how it is called."""

    name: str
    """its path below the folder of examples"""
    path: Path
    needs: str
    """what it needs beyond Millrace, "" for nothing"""
    arguments: tuple[str, ...] = ()
    """names of options: --input, --output"""

    @property
    def title(self) -> str:
        return " ".join([self.name, *self.arguments])


@dataclass(frozen=True)
class Outcome:
    """What a program did."""

    lines: Counter[str]
    """what it put out, without the numbers of subtasks"""
    ended: bool
    """False: it was stopped"""
    error: str = ""

    @property
    def good(self) -> bool:
        return not self.error and bool(self.lines)


def find_examples(python: str | None = None) -> Path:
    """The folder of an installed apache-flink. Raises ``FileNotFoundError`` if there is none."""
    if python is None:
        spec = importlib.util.find_spec("pyflink")
        packages = list(spec.submodule_search_locations or ()) if spec else []
    else:
        program = "import pyflink; print(pyflink.__path__[0])"
        done = subprocess.run([python, "-c", program], capture_output=True, text=True)
        packages = done.stdout.split()
    for package in packages:
        if (folder := Path(package) / "examples").is_dir():
            return folder
    raise FileNotFoundError("no apache-flink here: give --examples DIR or --pyflink-python PYTHON")


def examples(folder: Path) -> Iterator[Example]:
    """Every program of the folder, with each way to call it."""
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text("utf-8")
        example = Example(path.relative_to(folder).as_posix(), path, _needs(source))
        yield example
        options = tuple(option for option in ("--input", "--output") if f"'{option}'" in source)
        if options and not example.needs and example.name not in ENDLESS_WITHOUT_FILES:
            yield Example(example.name, path, "", options)


def _needs(source: str) -> str:
    imported = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    found = {need for name in imported for module, need in _NEEDS.items() if f"{name}.".startswith(f"{module}.")}
    return ", ".join(sorted(found))


def run(example: Example, command: list[str], limit: float = LIMIT_SECONDS) -> Outcome:
    """Run a program by ``command``, in an empty folder."""
    with tempfile.TemporaryDirectory(prefix="millrace-example-") as directory:
        arguments = []
        output = Path(directory, "output")
        for option in example.arguments:
            file = output if option == "--output" else Path(directory, "input.txt")
            arguments += [option, str(file)]
        if "--input" in example.arguments:
            Path(directory, "input.txt").write_text(INPUT)
        outcome = _run([*command, str(example.path), *arguments], directory, limit)
        if "--output" not in example.arguments:
            return outcome
        return Outcome(_contents(output), outcome.ended, outcome.error)


def _run(command: list[str], directory: str, limit: float) -> Outcome:
    surroundings = {
        **os.environ,
        # Nothing is to be left beside the programs, which belong to somebody else.
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        # PyFlink's workers run whatever python is found first.
        "PATH": os.pathsep.join([os.path.dirname(command[0]), os.environ.get("PATH", "")]),
    }
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=directory, env=surroundings,
            start_new_session=True, preexec_fn=_heed_interrupts,
        )  # fmt: skip
        try:
            code = process.wait(limit)
            ended = True
        except subprocess.TimeoutExpired:
            code, ended = 0, False
            _stop(process)
        out.seek(0)
        err.seek(0)
        lines = Counter(_SUBTASK.sub("", line.rstrip("\n")) for line in out)
        return Outcome(lines, ended, _error(err.read()) or f"exit code {code}" if code else "")


def _heed_interrupts() -> None:
    """Whatever runs this may ignore Ctrl-C, and that would be inherited."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ctrl-C, and the end of the whole group if that is not heard."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _error(text: str) -> str:
    """The line that names what a program failed by: the cause that Millrace gives, or the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("cause:")]
    return causes[-1].removeprefix("cause:").strip() if causes else lines[-1] if lines else ""


def comparable(lines: Counter[str]) -> Counter[str]:
    """Lines without what may differ from one engine to another: the steps by which a table came to its last rows, and
    the last digits of floating-point numbers, which depend on the order of additions."""
    found: Counter[str] = Counter()
    for line, count in lines.items():
        if _HOW_MANY.match(line):
            continue
        line = _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.6g}", line)
        if change := _CHANGE.match(line):
            found[change[3]] += count if change[2] in ("+I", "+U") else -count
        elif message := _CANAL.match(line):
            found[message[1]] += count if message[2] == "INSERT" else -count
        else:
            found[line] += count
    return Counter({line: count for line, count in found.items() if count})


def _contents(folder: Path) -> Counter[str]:
    """The lines of all finished files."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return Counter(line for path in files for line in path.read_text("utf-8").splitlines())


def verdict(example: Example, compare_with: str | None, limit: float = LIMIT_SECONDS) -> tuple[bool, str]:
    """Whether a program passes, and what the table says about it."""
    if example.needs:
        return True, "not run"
    ours = run(example, MILLRACE, limit)
    if ours.error and ours.error == BROKEN.get(example.name):
        return True, f"fails as on PyFlink: {ours.error}"
    if not ours.good:
        return False, f"FAILS: {ours.error or ('no output' if ours.ended else f'no output in {limit:.0f} s')}"
    text = f"{ours.lines.total()} lines" + ("" if ours.ended else ", then stopped")
    if compare_with is None:
        return True, f"runs: {text}"
    theirs = run(example, [compare_with, "-c", _ON_PYFLINK], limit)
    if not theirs.good:
        return False, f"runs: {text}; PyFlink FAILS: {theirs.error or 'no output'}"
    if example.name in RANDOM:
        return True, f"runs: {text}; on PyFlink: {theirs.lines.total()} lines, of other data"
    mine, other = comparable(ours.lines), comparable(theirs.lines)
    if mine == other:
        return True, f"as on PyFlink: {text}"
    more, less = mine - other, other - mine
    return False, f"DIFFERS: {sorted(more.elements())} instead of {sorted(less.elements())}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=Path, metavar="DIR")
    parser.add_argument("--pyflink-python", metavar="PYTHON")
    parser.add_argument("--compare", action="store_true", help="run them on PyFlink, too")
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS, metavar="SECONDS", help="time for each program")
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    try:
        folder = given.examples or find_examples(given.pyflink_python)
    except FileNotFoundError as error:
        parser.error(str(error))
    compare_with = (given.pyflink_python or sys.executable) if given.compare else None
    chosen = [e for e in examples(folder) if not given.names or any(name in e.title for name in given.names)]
    width = max((len(example.title) for example in chosen), default=0)
    print(f"{'program':{width}}  {'needs':13}  result")
    passed = True
    for example in chosen:
        good, text = verdict(example, compare_with, given.limit)
        passed = passed and good
        print(f"{example.title:{width}}  {example.needs or 'nothing':13}  {text}", flush=True)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
