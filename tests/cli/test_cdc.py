"""``millrace cdc``: the command, as far as it goes without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from millrace.cli import cdc as command
from millrace.cli.main import main

PIPELINE = """
source: {type: values}
sink: {type: jdbc, url: 'jdbc:sqlite:x', username: me, password: hunter2}
transform:
  - {source-table: a.b, projection: 'twice(id) AS x', primary-keys: x}
pipeline:
  user-defined-function:
    - {name: twice, classpath: functions_beside_it.twice}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "functions_beside_it.py").write_text("def twice(x) -> int:\n    return 2 * x\n")
    found = tmp_path / "p.yaml"
    found.write_text(PIPELINE)
    return found


def test_a_dry_run(file: Path) -> None:
    result = CliRunner().invoke(main, ["cdc", str(file), "--dry-run"])
    assert result.exit_code == 0, result.output
    assert "projection: twice(id) AS x" in result.output and "function: twice returns BIGINT" in result.output
    assert "hunter2" not in result.output and "password: ******" in result.output


def test_an_error_names_the_line(file: Path) -> None:
    file.write_text(PIPELINE.replace("primary-keys", "primary-key"))
    result = CliRunner().invoke(main, ["cdc", str(file)])
    assert result.exit_code == 2
    assert (
        "p.yaml, line 5: unknown key 'primary-key'" in result.output and "did you mean 'primary-keys'" in result.output
    )


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--use-mini-cluster"], "nearest: -t local"),
        (["--flink-home", "x"], "there is no Flink"),
        (["--jar", "x"], "functions are written in Python"),
        (["--global-config", "x"], "flink-conf"),
        (["--flink-conf", "x"], "is not key=value"),
    ],
)
def test_options_of_flink_cdc_that_are_refused(file: Path, option: list[str], said: str) -> None:
    result = CliRunner().invoke(main, ["cdc", str(file), *option])
    assert result.exit_code == 2 and said in result.output.replace("\n", " ")


def test_it_runs_a_program(file: Path, monkeypatch: Any) -> None:
    started: list[Any] = []
    monkeypatch.setattr(command, "start", lambda program, *rest, **more: started.append((program, rest)))
    arguments = ["cdc", str(file), "-D", "a=1", "--flink-conf", "b=2", "-s", "/save", "-d"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    ((program, (target, savepoint)),) = started
    assert (program.module, program.words) == ("millrace.cdc.program", (str(file),))
    assert program.properties == (("a", "1"), ("b", "2")) and program.files == (str(file.parent),)
    assert target.detached and dict(savepoint)["execution.state-recovery.path"] == "/save"
