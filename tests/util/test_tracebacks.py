"""Errors that a program does not catch: its own lines, and no page of Millrace's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

START = """
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import StreamTableEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
t_env = StreamTableEnvironment.create(env)
def ask(text):
    t_env.execute_sql(text)
"""


def stderr(folder: Path, code: str, **variables: str) -> list[str]:
    program = folder / "program.py"
    program.write_text(START + code)
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    return done.stderr.splitlines()


def test_sql_keeps_its_lines(tmp_path: Path) -> None:
    told = stderr(tmp_path, 'ask("""\nSELECT a,\n  b +,\n  c\nFROM t""")\n')
    text = [line.strip() for line in told]
    assert text[0] == "Traceback (most recent call last):"
    assert [line for line in text if line.startswith("File ")] == [
        f'File "{tmp_path / "program.py"}", line 8, in <module>',
        f'File "{tmp_path / "program.py"}", line 7, in ask',
    ]
    assert told[-3:] == ["at line 3, column 6:", "    b +,", "       ^"]


def test_what_libraries_do_for_millrace_is_left_out(tmp_path: Path) -> None:
    code = """
from millrace.testing import run_locally
def wrong(value):
    return 1 // value
run_locally(env.from_collection([0]).map(wrong))
"""
    told = stderr(tmp_path, code)
    begun = next(number for number, line in enumerate(told) if "JobFailedError: " in line)
    assert begun <= 3 and "ZeroDivisionError" in told[-1]


def test_all_of_it_for_those_who_want_it(tmp_path: Path) -> None:
    assert any("grammar" in line for line in stderr(tmp_path, 'ask("SELECT")', MILLRACE_TRACEBACK="full"))


def test_errors_of_the_program_are_as_ever(tmp_path: Path) -> None:
    told = stderr(tmp_path, "def wrong():\n    return [][0]\nwrong()\n")
    assert told[-1] == "IndexError: list index out of range"
    assert sum("program.py" in line for line in told) == 2


@pytest.mark.parametrize("hook", ["lambda *error: print('mine', file=sys.stderr)"])
def test_a_hook_of_the_program_stays(tmp_path: Path, hook: str) -> None:
    told = stderr(tmp_path, f"import sys\nsys.excepthook = {hook}\nStreamExecutionEnvironment()\nask('SELECT')\n")
    assert told == ["mine"]
