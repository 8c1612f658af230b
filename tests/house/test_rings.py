"""The draw of ring 2: the same tests each time, about one in n, and none of another family."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.rings import is_drawn

ROOT = Path(__file__).parents[2]
FAMILY = """
import pytest

@pytest.mark.draw(1000000)
def test_alone(): pass

@pytest.mark.draw(3)
@pytest.mark.parametrize("number", range(300))
def test_family(number): pass

@pytest.mark.parametrize("number", range(7))
def test_others(number): pass
"""


def collected(folder: Path, ring: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-q", "--co", "-c", str(ROOT / "pyproject.toml"), f"--rootdir={ROOT}"]
    command += ["-p", "tests.conftest", str(folder / "test_family.py")]
    environment = {"MILLRACE_RING": ring, "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.rpartition("::")[2] for line in done.stdout.splitlines() if "::" in line]


def test_ring_2_takes_a_draw_of_a_family_and_the_rest_whole(tmp_path: Path) -> None:
    (tmp_path / "test_family.py").write_text(FAMILY)
    everything = collected(tmp_path, "3")
    drawn = collected(tmp_path, "2")
    assert len(everything) == 308
    assert "test_alone" in drawn
    assert set(drawn) < set(everything)
    assert sum(name.startswith("test_others") for name in drawn) == 7
    assert 60 <= sum(name.startswith("test_family") for name in drawn) <= 140


@pytest.mark.parametrize("one_in", [1, 2, 5])
def test_about_one_in_n_is_drawn(one_in: int) -> None:
    found = sum(is_drawn(f"tests/x.py::test[{number}]", one_in) for number in range(1000))
    assert abs(found - 1000 / one_in) < 120
