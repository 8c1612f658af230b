"""A thousand worlds in which everything may go wrong: no record is lost, none is doubled, nothing is left behind.

``MILLRACE_SIMULATION_SEEDS`` says how many; ``python -m tests.simulation SEED --trace`` replays one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.seeds import IN_CI
from tests.simulation.faults import FAULTS
from tests.simulation.programs import PROGRAMS, template
from tests.simulation.simulation import simulate, simulate_calm, simulate_damage, simulate_fault

SEEDS = int(os.environ.get("MILLRACE_SIMULATION_SEEDS", "500" if IN_CI else "1000"))
BLOCK = 50
DAMAGED = 300
ENOUGH = 200
"""Worlds that have an opportunity for any fault."""


@pytest.mark.draw(8)
@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK), ids=lambda first: f"seeds-{first}-{first + BLOCK - 1}")
def test_whatever_goes_wrong_every_record_counts_once(first: int) -> None:
    for seed in range(first, first + BLOCK):
        report = simulate(seed)
        assert report.problem is None, report.render()


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in FAULTS}))
def test_everything_goes_wrong_that_can(kind: str) -> None:
    """Wherever it may, each in a world that has an opportunity for it."""
    for fault in FAULTS:
        if fault[0] == kind:
            reports = (simulate_fault(seed, fault) for seed in range(SEEDS, SEEDS + ENOUGH))
            for report in reports:
                assert report.problem is None, f"with the fault {fault}: {report.render()}"
                if report.faults[fault]:
                    break
            else:
                pytest.fail(f"{fault} did not happen in {ENOUGH} worlds")


@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_programs_are_as_their_oracles_say_when_nothing_goes_wrong(program: str) -> None:
    report = simulate_calm(0, program)
    assert report.problem is None, report.render()
    assert not report.faults


def test_many_worlds_have_epochs_that_end_in_the_middle_of_something() -> None:
    """Of all programs but those with loops, whose rounds are epochs."""
    assert all(template(name, 2, False).job.epoch_millis is not None for name in PROGRAMS)
    for name in PROGRAMS.keys() - {"loop"}:
        assert any(simulate(seed, name).endings for seed in range(20))


@pytest.mark.draw(4)
@pytest.mark.parametrize("first", range(0, DAMAGED, BLOCK))
def test_a_damaged_file_is_named_or_not_needed(first: int) -> None:
    reports = [simulate_damage(seed) for seed in range(first, first + BLOCK)]
    for report in reports:
        assert report.problem is None, report.render()
    assert any("has named the file" in report.trace[-1] for report in reports)


@pytest.mark.parametrize("seed", [3, 44, 515])
def test_a_seed_says_it_all(seed: int) -> None:
    """Also in another process, where sets and dicts of strings have another order."""
    here = simulate(seed).render()
    for hash_seed in ("1", "2"):
        command = [sys.executable, "-m", "tests.simulation", str(seed), "--trace"]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        root = Path(__file__).parents[2]
        there = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=True).stdout
        assert there.startswith(here)
    assert simulate(seed).render() == here
