"""The draw of ring 2: about one test in n of a family, by the commit, and all of what is no family."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha1
from pathlib import Path

import pytest
from scripts.house.commits import git
from tests.rings import DRAW, draw_number, is_drawn

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


def collected(folder: Path, ring: str, number: int = 0, one_in: int = 1) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-q", "--co", "-c", str(ROOT / "pyproject.toml"), f"--rootdir={ROOT}"]
    command += ["-p", "tests.conftest", str(folder / "test_family.py")]
    environment = {
        "MILLRACE_RING": ring,
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": ":".join(sys.path),
        "MILLRACE_DRAW": str(number),
        "MILLRACE_ONE_IN": str(one_in),
    }
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.rpartition("::")[2] for line in done.stdout.splitlines() if "::" in line]


def test_ring_2_takes_a_draw_of_a_family_and_the_rest_whole(tmp_path: Path) -> None:
    (tmp_path / "test_family.py").write_text(FAMILY)
    everything = collected(tmp_path, "3")
    drawn, another = (collected(tmp_path, "2", number) for number in (1, 2))
    assert len(everything) == 308
    assert "test_alone" in drawn
    assert set(drawn) < set(everything)
    assert sum(name.startswith("test_others") for name in drawn) == 7
    assert 60 <= sum(name.startswith("test_family") for name in drawn) <= 140
    assert set(drawn) != set(another)


def test_a_bounded_run_takes_a_share_of_all_and_at_least_one(tmp_path: Path) -> None:
    (tmp_path / "test_family.py").write_text(FAMILY)
    assert 15 <= len(collected(tmp_path, "3", 1, one_in=10)) <= 50
    assert len(collected(tmp_path, "3", 1, one_in=1_000_000)) == 1


@pytest.mark.parametrize("one_in", [1, 2, 5])
def test_about_one_in_n_is_drawn(one_in: int) -> None:
    found = sum(is_drawn(f"tests/x.py::test[{number}]", one_in, 7) for number in range(1000))
    assert abs(found - 1000 / one_in) < 120


def test_draws_of_a_few_numbers_have_all() -> None:
    """Of numbers that differ as those of commits do."""
    names = [f"tests/x.py::test[{number}]" for number in range(100)]
    numbers = [int(sha1(str(commit).encode()).hexdigest()[:7], 16) for commit in range(40)]
    assert {name for name in names for number in numbers if is_drawn(name, 3, number)} == set(names)


def test_the_number_is_that_of_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DRAW, raising=False)
    head = git(ROOT, "rev-parse", "HEAD") if (ROOT / ".git").exists() else ""
    assert draw_number() == int(head[:7] or "0", 16)
    monkeypatch.setenv(DRAW, "17")
    assert draw_number() == 17
