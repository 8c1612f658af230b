"""Worlds whose tasks are in flow: no record is lost, none is doubled, whatever goes wrong; and mistakes are noticed."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from tests.seeds import IN_CI
from tests.simulation.finds import candidates
from tests.simulation.simulation import simulate_flow

from millrace.checkpoint.task_storage import FolderStorage
from millrace.runtime.coordination.coordinator import Coordinator, EndedEpoch
from millrace.runtime.exchange.flow_writer import Backlog, Credit
from millrace.runtime.operators.source import SourceOperator
from millrace.runtime.storage import Written
from millrace.runtime.tasks.flow import FlowTask, Frame
from millrace.runtime.tasks.wiring import Fork

SEEDS = int(os.environ.get("MILLRACE_FLOW_WORLDS", "200" if IN_CI else "400"))
BLOCK = 50
ENOUGH = 500
"""worlds, one of which must show a mistake"""
KINDS = {
    "answer lost",
    "delete fails",
    "driver dies",
    "driver's code fails",
    "read fails",
    "task's write fails",
    "user code fails",
    "worker dies",
    "worker dies in user code",
    "zombie",
}


@pytest.mark.draw(8)
@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK), ids=lambda first: f"seeds-{first}-{first + BLOCK - 1}")
def test_whatever_goes_wrong_every_record_counts_once(first: int) -> None:
    happened: Counter[str] = Counter()
    for seed in range(first, first + BLOCK):
        report = simulate_flow(seed)
        assert report.problem is None, f"in flow: {report.render()}"
        happened.update(kind for kind, _ in report.faults.elements())
    if first == 0:
        assert happened.keys() >= KINDS


SHOWN = {21765: "a driver dies behind an epoch that has changed nothing: its number was used once more"}
"""seeds that have shown a mistake"""


@pytest.mark.parametrize("seed", SHOWN)
def test_what_was_found_once(seed: int) -> None:
    report = simulate_flow(seed)
    assert report.problem is None, report.render()


_snapshot, _restore = SourceOperator.snapshot, SourceOperator.restore
_deliver, _add = FlowTask.deliver, Backlog.add
_conclude, _sweep = Coordinator._conclude, Coordinator._sweep


def nothing(*_: Any) -> None:
    """In the place of something that should have happened."""


def without_what_is_left(self: SourceOperator) -> Any:
    return _snapshot(self)[:3]


def restored_twice(self: SourceOperator, snapshot: Any) -> None:
    _restore(self, snapshot)
    self._kept.replace((*self._kept.items, *self._kept.items))


def has_a_mark(self: FlowTask) -> bool:
    if (self._sources or not self._inboxes) and not self._ending:
        return False
    inboxes = self._inboxes.values()
    arrived = not inboxes or any(inbox.ended for inbox in inboxes)
    return arrived and not any(inboxes) and not any(lane.busy for lane in self._lanes)


def drops_what_comes_early(self: FlowTask, frame: Frame) -> None:
    if self._order is not None or isinstance(frame, Credit):
        _deliver(self, frame)


def added_twice(self: Backlog, chunk: Any, marks: Any) -> None:
    _add(self, chunk, marks)
    _add(self, chunk, [])


def records_where_enumerators_are_now(self: Coordinator, ended: EndedEpoch) -> str | None:
    """Splits that they have assigned since are in no task and in no enumerator."""
    if ended.snapshot is not None:
        sources = dict(ended.snapshot.sources)
        for state in self._sources:
            if state.enumerator is not None:
                enumerator = state.enumerator.snapshot_state(ended.order.epoch)
                sources[state.info.uid] = replace(sources[state.info.uid], enumerator=enumerator)
        ended = replace(ended, snapshot=replace(ended.snapshot, sources=sources))
    return _conclude(self, ended)


def sweeps_the_running_epoch(self: Coordinator, epoch: int) -> None:
    _sweep(self, epoch + 1)


MISTAKES: dict[str, tuple[Any, str, Any]] = {
    "forgets what is left of a poll": (SourceOperator, "snapshot", without_what_is_left),
    "hands on twice what is left of a poll": (SourceOperator, "restore", restored_twice),
    "takes the first mark for all": (FlowTask, "_has_all", property(has_a_mark)),
    "drops what comes before its order": (FlowTask, "deliver", drops_what_comes_early),
    "acknowledges what is not written": (FolderStorage, "write_delta", lambda self, *given: Written(10)),
    "forgets what waits for credit": (Backlog, "add", nothing),
    "sends twice what waits for credit": (Backlog, "add", added_twice),
    "keeps what it has gathered when the epoch ends": (Fork, "end_epoch", nothing),
    "records what enumerators do in the next epoch": (Coordinator, "_conclude", records_where_enumerators_are_now),
    "takes back what the next epoch prepares": (Coordinator, "_sweep", sweeps_the_running_epoch),
}


def finder(mistake: str, monkeypatch: pytest.MonkeyPatch) -> int | None:
    """A seed whose world shows that the engine is broken in this way."""
    monkeypatch.setattr(*MISTAKES[mistake])
    return next((seed for seed in candidates("flow", mistake, ENOUGH) if noticed(seed)), None)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert finder(mistake, monkeypatch) is not None


def noticed(seed: int) -> bool:
    """Whether the world shows that the engine is broken; one that stands still does."""
    try:
        return simulate_flow(seed).problem is not None
    except AssertionError:
        return True
