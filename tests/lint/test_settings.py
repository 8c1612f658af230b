"""Which rules are wanted: options, and pyproject.toml."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lint.linting import found_in, lint, written

PROGRAM = """\
import random
from millrace.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1]).key_by(lambda value: random.random()).reduce(max)
env.execute()
"""


def codes(folder: Path, *options: str) -> list[str]:
    return [each["code"] for each in found_in(written(folder, PROGRAM), *options)]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ((), ["ML003", "ML011"]),
        (("--select", "ML003"), ["ML003"]),
        (("--select", "random-key,ML001"), ["ML003"]),
        (("--select", "ML003", "--select", "ML011"), ["ML003", "ML011"]),
        (("--ignore", "ML003"), ["ML011"]),
        (("--ignore", "ML003,lost-results"), []),
        (("--select", "ML003", "--ignore", "ML003"), []),
    ],
)
def test_options(tmp_path: Path, options: tuple[str, ...], wanted: list[str]) -> None:
    assert codes(tmp_path, *options) == wanted


@pytest.mark.parametrize(
    ("settings", "options", "wanted"),
    [
        ('select = ["ML003"]', (), ["ML003"]),
        ('ignore = ["random-key"]', (), ["ML011"]),
        ('select = ["ML003"]', ("--select", "ML011"), ["ML011"]),
        ('ignore = ["ML003"]', ("--ignore", "ML011"), []),
        ('ignore = ["ML003"]', ("--select", "ML003"), ["ML003"]),
    ],
)
def test_a_project_chooses(tmp_path: Path, settings: str, options: tuple[str, ...], wanted: list[str]) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.millrace.lint]\n{settings}\n")
    folder = tmp_path / "jobs"
    folder.mkdir()
    assert codes(folder, *options) == wanted


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ('select = ["ML999"]', "'ML999' is no rule; there are ML001 (growing-state)"),
        ('select = "ML003"', "select of [tool.millrace.lint] is a list of rules"),
        ('selects = ["ML003"]', "has select and ignore, and no 'selects'"),
        ("select = [", "pyproject.toml"),
    ],
)
def test_wrong_settings_are_named(tmp_path: Path, settings: str, says: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.millrace.lint]\n{settings}\n")
    result = lint(written(tmp_path, PROGRAM))
    assert result.exit_code == 2
    assert says in result.stderr
    assert "pyproject.toml" in result.stderr


def test_a_rule_that_there_is_not(tmp_path: Path) -> None:
    result = lint(written(tmp_path, PROGRAM), "--ignore", "ML3")
    assert result.exit_code == 2
    assert "'ML3' is no rule" in result.stderr
