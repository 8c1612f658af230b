"""``millrace --help``: it starts at once, so nothing heavy may be imported for it."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pkgutil import walk_packages

import click

from millrace import cli
from millrace.cli.main import ORDER, main, verbs

HEAVY = {"pyspark", "py4j", "pyarrow", "pandas", "numpy", "rich", "prompt_toolkit", "httpx", "starlette", "msgspec"}

CODE = f"""
import sys
from millrace.cli.main import main
main(["--help"], standalone_mode=False)
print(sorted({HEAVY} & set(sys.modules)))
"""


def test_help_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120, check=True)
    *said, heavy = done.stdout.splitlines()
    assert heavy == "[]"
    listed = {word for line in said for word in line.replace('"', " ").replace(":", " ").split()}
    assert {"run", "sql", "demo", "doctor", "new"} <= listed


def test_each_command_of_a_module_is_a_verb_or_below_one() -> None:
    """A command that ``COMMANDS`` of its module leaves out would be missing without a word."""
    found = {each.name for each in verbs()}
    assert list(ORDER) == [each.name for each in verbs()] == list(main.commands)
    below = {name for verb in verbs() if isinstance(verb, click.Group) for name in verb.commands}
    for each in walk_packages(cli.__path__, f"{cli.__name__}."):
        if ".demo." in each.name:  # a program
            continue
        named = {value.name for value in vars(import_module(each.name)).values() if isinstance(value, click.Command)}
        assert named <= found | below | {"main"}, each.name
