"""The wheel in an environment of its own, without a checkout: the command, a new project's job, SQL, the demonstration.

What it depends on comes from the environment of the tests, by a path.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel."""

    folder: Path

    def run(self, *command: str, cwd: Path | None = None) -> str:
        """Standard output of a command of the environment."""
        clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        program = [str(self.folder / "bin" / command[0]), *command[1:]]
        done = subprocess.run(
            program, cwd=cwd or self.folder, env=clean, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("fresh")
    wheels, target = folder / "wheels", folder / "env"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    build = [*pip, "wheel", "--no-build-isolation", "--no-deps", "-w", str(wheels), str(ROOT)]
    subprocess.run(build, check=True, timeout=300)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(target)], check=True, timeout=120)
    (wheel,) = wheels.iterdir()
    python = str(target / "bin" / "python")
    install = [*pip, "--python", python, "install", "--no-deps", "--no-compile", str(wheel)]
    subprocess.run(install, check=True, timeout=120)
    packages = next((target / "lib").glob("python*")) / "site-packages"
    # A path that a .pth file names is not searched for others of its kind: the checkout stays out of sight.
    (packages / "of_the_tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Installed(target)


@pytest.mark.spark
def test_nothing_comes_from_the_checkout(installed: Installed) -> None:
    where = installed.run("python", "-c", "import millrace; print(millrace.__file__)").strip()
    assert Path(where).is_relative_to(installed.folder)
    assert "Millrace" in installed.run("millrace", "--version")


@pytest.mark.spark
def test_a_new_project_runs(installed: Installed, tmp_path: Path) -> None:
    installed.run("millrace", "new", "sensors", cwd=tmp_path)
    said = installed.run("millrace", "run", "job.py", cwd=tmp_path / "sensors")
    printed = sorted(line.split("> ")[1] for line in said.splitlines() if "> " in line)
    assert printed == ["door: 16", "door: 3", "hall: 4", "hall: 8"]


@pytest.mark.spark
def test_sql(installed: Installed) -> None:
    said = installed.run("millrace", "sql", "-e", "SELECT 1 + 2 AS three")
    assert said.splitlines()[3].split() == ["|", "+I", "|", "3", "|"]


@pytest.mark.spark
def test_the_demonstration(installed: Installed, tmp_path: Path) -> None:
    said = installed.run("millrace", "demo", cwd=tmp_path)
    assert "Too late for its window: Dora's pen of 09:09:54." in said  # all of them: tests/cli/demo
    # Desk and lamp of the file's second hour: 4 at 149 euros, 9 at 29 euros.
    assert {"desk", "596.00", "1"} <= set(said.split()) and {"lamp", "261.00", "2"} <= set(said.split())
    assert list(tmp_path.iterdir()) == []
