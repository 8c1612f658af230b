"""``millrace new``: the test of the project that it makes passes (its job runs in tests/front_door)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.cli.main import main


def make(folder: Path, name: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["new", str(folder / name)])
    return result.exit_code, result.output


def test_its_test_passes(tmp_path: Path) -> None:
    code, said = make(tmp_path, "sensors")
    assert code == 0 and f"cd {tmp_path / 'sensors'}" in said
    folder = tmp_path / "sensors"
    assert "{{" not in "".join(each.read_text() for each in folder.rglob("*") if each.is_file())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["1st", "two words", "class", "a.b"])
def test_names_that_are_none(tmp_path: Path, name: str) -> None:
    code, said = make(tmp_path, name)
    assert code == 1 and f"'{name}' can't be one" in said and not (tmp_path / name).exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "sensors").mkdir()
    (tmp_path / "sensors" / "job.py").write_text("mine")
    code, said = make(tmp_path, "sensors")
    assert code == 1 and "is not empty" in said
    assert [each.name for each in (tmp_path / "sensors").iterdir()] == ["job.py"]
