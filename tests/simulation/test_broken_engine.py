"""The simulation notices when the engine is broken: each of these was, or could be, a mistake of one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.simulation.simulation import simulate

from millrace.checkpoint import storage
from millrace.checkpoint.directory import CheckpointDirectory
from millrace.runtime import epoch, versions, worker
from millrace.runtime.checkpoints import Checkpoints
from millrace.runtime.commits import Commits
from millrace.runtime.coordinator import Coordinator
from millrace.runtime.loops import Loops
from millrace.runtime.reading import ReadingState

ENOUGH = 2_000
"""seeds, one of which must find it"""
RARE = {"does not record which numbers are in use": 1442}
"""mistakes that few seeds find -> one that does, as long as the simulation draws as it does now"""

_conclude, _go_on = Coordinator._conclude, ReadingState.go_on


def nothing(*_: Any) -> None:
    """In the place of something that should have happened."""


def commits_before_it_records(self: Coordinator, order: Any) -> Any:
    self._commit()
    return _conclude(self, order)


def takes_the_next_number(self: CheckpointDirectory) -> int:
    return max([0, *self.numbers()]) + 1


def has_forgotten_the_positions(self: ReadingState, snapshot: Any) -> None:
    _go_on(self, snapshot)
    self.splits = {}


def same_for_all_runs(epoch: int, run: int) -> int:
    return versions.version_of(epoch, 1)


def same_for_all_lists_of_runs(history: Sequence[int], runs: Sequence[int]) -> tuple[int, ...]:
    return versions.versions_of(history, [min(run, 1) for run in runs])


Replaced = list[tuple[Any, str, Callable[..., Any]]]

MISTAKES: dict[str, Replaced] = {
    "commits what no checkpoint holds": [(Coordinator, "_conclude", commits_before_it_records)],
    "leaves what dead tasks have prepared": [(Commits, "recover", nothing)],
    "forgets what it owes to the sinks": [(Commits, "pending", lambda self: {})],
    "deletes what an older checkpoint needs": [(Checkpoints, "oldest_needed", lambda self, task, first: first)],
    "never deletes old state": [(Coordinator, "_discard", nothing)],
    "never deletes old checkpoints": [(Checkpoints, "_delete", nothing)],
    "uses the numbers of epochs again": [(CheckpointDirectory, "unused_epoch", takes_the_next_number)],
    "does not record which numbers are in use": [(CheckpointDirectory, "reserve", nothing)],
    "forgets how far its sources are": [(ReadingState, "go_on", has_forgotten_the_positions)],
    "takes a loop for ended that begins again": [(Loops, "begin_from", Loops.restore)],
    "does not notice that packets come from two runs": [(Coordinator, "_check_exchanges", nothing)],
    "takes one run of a task for another": [
        (worker, "version_of", same_for_all_runs),
        (epoch, "versions_of", same_for_all_lists_of_runs),
        (storage, "versions_of", same_for_all_lists_of_runs),
    ],
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, name, wrong in MISTAKES[mistake]:
        monkeypatch.setattr(place, name, wrong)
    assert any(simulate(seed).problem for seed in (RARE.get(mistake, 0), *range(ENOUGH)))
