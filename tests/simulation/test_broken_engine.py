"""The simulation notices when the engine is broken: each of these was, or could be, a mistake of a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.simulation.simulation import simulate, simulate_damage

from millrace.checkpoint import directory, task_file
from millrace.checkpoint.directory import CheckpointDirectory
from millrace.runtime import chains, epoch, worker
from millrace.runtime.checkpoints import Checkpoints
from millrace.runtime.commits import Commits
from millrace.runtime.coordinator import Coordinator
from millrace.runtime.reading import ReadingState

ENOUGH = 400
"""seeds, one of which must find it"""


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


_conclude, _go_on = Coordinator._conclude, ReadingState.go_on

MISTAKES: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "commits what no checkpoint holds": (Coordinator, "_conclude", commits_before_it_records),
    "leaves what dead tasks have prepared": (Commits, "recover", nothing),
    "deletes what an older checkpoint needs": (Checkpoints, "oldest_needed", lambda self, task, first: first),
    "never deletes old state": (Coordinator, "_discard", nothing),
    "never deletes old checkpoints": (Checkpoints, "_delete", nothing),
    "uses the numbers of epochs again": (CheckpointDirectory, "unused_epoch", takes_the_next_number),
    "does not record which numbers are in use": (CheckpointDirectory, "reserve", nothing),
    "forgets how far its sources are": (ReadingState, "go_on", has_forgotten_the_positions),
    "does not notice that packets come from two runs": (Coordinator, "_check_exchanges", nothing),
    "takes one run of a task for another": (worker, "version_of", lambda epoch, run: epoch << 32),
    "forgets what it owes to the sinks": (Commits, "waiting", False),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, name, wrong = MISTAKES[mistake]
    monkeypatch.setattr(place, name, wrong)
    if mistake == "takes one run of a task for another":
        monkeypatch.setattr(epoch, "versions_of", lambda history, runs: _without_runs(history, runs))
    assert any(simulate(seed).problem for seed in range(ENOUGH))
