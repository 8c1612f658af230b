"""Ring 3 in groups: each test is in one of them, and a run goes on where another one stopped."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression
from scripts.rings import night
from scripts.rings.night import GROUPS, Group

ROOT = Path(__file__).parents[2]
PLACES = (
    "tests/runtime",
    "tests/random",
    "tests/crash",
    "tests/crash/kafka",
    "tests/cluster",
    "tests/cluster/killing",
    "tests/connectors/kafka",
)
MARKERS = ("spark", "services", "slow")


def takes(group: Group, place: str, markers: set[str]) -> bool:
    def below(folders: tuple[str, ...]) -> bool:
        return any(place == folder or place.startswith(f"{folder}/") for folder in folders)

    if group.command or not below(group.paths) or below(group.without):
        return False
    return Expression.compile(group.markers).evaluate(lambda name, **_: name in markers)


@pytest.mark.parametrize("place", PLACES)
def test_each_test_is_in_one_group(place: str) -> None:
    assert (ROOT / place).is_dir()
    kinds = [set(some) for length in range(4) for some in itertools.combinations(MARKERS, length)]
    if place == "tests/random":  # none of them is slow
        kinds = [each for each in kinds if "slow" not in each]
    assert {tuple(sorted(kind)): 1 for kind in kinds} == {
        tuple(sorted(kind)): sum(takes(group, place, kind) for group in GROUPS) for kind in kinds
    }


def test_names_and_folders_are_there() -> None:
    assert len({group.name for group in GROUPS}) == len(GROUPS)
    assert [path for group in GROUPS for path in (*group.paths, *group.without) if not (ROOT / path).exists()] == []


SAYS = Group("says", "prints", command=("-c", "import os; print('3 passed', os.environ.get('CI'))"))
FAILS = Group("fails", "fails", command=("-c", "print('1 failed'); raise SystemExit(1)"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(night, "ROOT", tmp_path)
    monkeypatch.setattr(night, "FOLDER", tmp_path / "night")
    monkeypatch.setattr(night, "GROUPS", (FAILS, SAYS))
    monkeypatch.setattr(night, "git", lambda *_: "this commit")
    monkeypatch.setenv("CI", "true")
    return tmp_path / "night"


def test_a_group_that_fails_stops_no_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert night.main([]) == 1
    said = capsys.readouterr().out
    assert "FAILED (1)" in said and "1 failed" in said
    assert (folder / "says.txt").read_text() == "3 passed None\n", "seeds are new"
    assert "failed: fails; their output is in night" in said


def test_it_goes_on_with_what_has_not_passed(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert night.main([]) == 1
    mended = Group("fails", "passes now", command=SAYS.command)
    monkeypatch.setattr(night, "GROUPS", (mended, SAYS))
    (folder / "says.txt").unlink()
    assert night.main(["--continue"]) == 0
    assert "says            has passed at this commit" in capsys.readouterr().out
    assert not (folder / "says.txt").exists()
    monkeypatch.setattr(night, "git", lambda *_: "another commit")
    assert night.main(["--continue"]) == 0
    assert (folder / "says.txt").exists(), "what passed at another commit runs again"


def test_the_list_says_how_long_each_took(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert night.main(["says"]) == 0
    assert night.main(["--list"]) == 0
    first, second = capsys.readouterr().out.splitlines()[-2:]
    assert first == "fails           fails; last time: not run"
    assert second.startswith("says            prints; last time: passed, ") and second.endswith(": 3 passed None")


def test_unknown_groups_are_refused(folder: Path) -> None:
    with pytest.raises(SystemExit):
        night.main(["nothing"])


def test_commands_are_run_with_this_python() -> None:
    for group in GROUPS:
        assert group.words(1)[0] == sys.executable
    (simulation,) = (group for group in GROUPS if group.name == "simulation")
    first, last = simulation.words(10)[-1].split("-")
    assert int(last) - int(first) == night.WORLDS // 10 - 1
