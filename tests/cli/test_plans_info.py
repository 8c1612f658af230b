"""``millrace info``."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from millrace.cli.main import main

PROGRAM = """\
from millrace.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
print("building")
env.from_collection([1]).map(str).name("to text").print()
try:
    env.execute()
except Exception:
    print("caught")
print("not reached")
"""


def info(tmp_path: Path, text: str, *options: str) -> Result:
    program = tmp_path / "program.py"
    program.write_text(text)
    return CliRunner().invoke(main, ["info", *options, str(program)])


def test_the_plan_is_printed_and_nothing_runs(tmp_path: Path) -> None:
    result = info(tmp_path, PROGRAM, "-p", "3")
    assert result.exit_code == 0, result.output
    nodes = json.loads(result.stdout)["nodes"]
    assert ("to text", 3) in [(node["type"], node["parallelism"]) for node in nodes]
    assert result.stderr == "building\n"


def test_the_plan_of_a_program_that_collects(tmp_path: Path) -> None:
    text = PROGRAM.replace("print()", "execute_and_collect()", 1)
    nodes = json.loads(info(tmp_path, text).stdout)["nodes"]
    assert nodes[-1]["type"] == "Sink: Collect"


def test_a_program_without_a_job_has_no_plan(tmp_path: Path) -> None:
    result = info(tmp_path, "print(1)")
    assert result.exit_code == 1
    assert "ended without executing a job" in result.stderr


def test_an_error_of_the_program_is_shown(tmp_path: Path) -> None:
    result = info(tmp_path, "1 / 0")
    assert result.exit_code == 1
    assert "ZeroDivisionError" in result.stderr


def test_the_plan_as_a_picture(tmp_path: Path) -> None:
    drawn = info(tmp_path, PROGRAM, "--graph", "mermaid").stdout.splitlines()
    assert drawn[0] == "flowchart LR"
    assert any('["to text<br/>' in line for line in drawn)
    assert info(tmp_path, PROGRAM, "--graph", "svg").stdout.startswith("<svg ")
