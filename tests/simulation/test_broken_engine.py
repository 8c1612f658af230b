"""The simulation notices when the engine is broken: each of these was, or could be, a mistake of one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import pytest
from tests.simulation.current import world
from tests.simulation.finds import candidates
from tests.simulation.part_files import OpenPart
from tests.simulation.simulation import simulate

from millrace.checkpoint.directory import CheckpointDirectory
from millrace.connectors.file_system.file_writer import FileWriter, WriterState
from millrace.connectors.file_system.part_files import RowPart
from millrace.runtime import storage
from millrace.runtime.bases.epoch_protocol import TaskAck
from millrace.runtime.coordination import snapshot
from millrace.runtime.coordination.checkpoints import Checkpoints
from millrace.runtime.coordination.commits import Commits
from millrace.runtime.coordination.compactions import Compactions
from millrace.runtime.coordination.coordinator import Coordinator, EndedEpoch
from millrace.runtime.coordination.reading import ReadingSnapshot
from millrace.runtime.coordination.snapshot import Chains, TaskChain, TaskFiles, WholeFile
from millrace.runtime.exchange import exchange
from millrace.runtime.operators import source
from millrace.runtime.operators.iteration import Loops
from millrace.runtime.operators.source import SourceOperator
from millrace.runtime.state.disk.backend import flush_all
from millrace.runtime.state.disk.content import read_head, write_head
from millrace.runtime.state.disk.state import DiskState
from millrace.runtime.state.disk.write_batch import WriteBatch
from millrace.runtime.state.disk.writer import Writer
from millrace.runtime.storage import TaskId
from millrace.runtime.tasks import worker
from millrace.runtime.tasks.member import BetweenEpochs, Member
from millrace.runtime.tasks.wiring import Fork
from millrace.spark.workers import orders

ENOUGH = 2_000
"""seeds, one of which must find it"""

_conclude, _snapshot, _digest = Coordinator._conclude, SourceOperator.snapshot, exchange._digest
_add, _begin_at = TaskChain.add, TaskChain.begin_at


def nothing(*_: Any) -> None:
    """In the place of something that should have happened."""


def commits_before_it_records(self: Coordinator, ended: EndedEpoch) -> Any:
    self._commit(ended.phases)
    return _conclude(self, ended)


def takes_the_next_number(self: CheckpointDirectory, listing: Any = None) -> int:
    return max([0, *self.numbers()]) + 1


def without_its_splits(self: SourceOperator) -> Any:
    times, finished, _, *rest = _snapshot(self)
    return times, finished, (), *rest


def without_what_is_left(self: SourceOperator) -> Any:
    return _snapshot(self)[:3]


def digest_of_any_run(edge: int, channel: int, target: int, number: int, run: int) -> int:
    return _digest(edge, channel, target, number, 1)


def same_for_all_runs(epoch: int, run: int) -> int:
    return storage.version_of(epoch, 1)


def takes_idle_tasks_for_new_ones(self: Chains) -> Any:
    return {task: TaskFiles() if chain.ran > chain.head else chain.files() for task, chain in self.tasks.items()}


def gives_idle_tasks_a_version(self: TaskChain, ack: TaskAck) -> None:
    _add(self, replace(ack, delta_bytes=ack.delta_bytes or 0))


def compacts_all_at_once(self: Chains, busy: Any = ()) -> frozenset[TaskId]:
    return frozenset(task for task, chain in self.tasks.items() if chain.urgency >= 1)


def begins_at_its_end(self: TaskChain, head: int, added_bytes: int, made: WholeFile) -> None:
    _begin_at(self, self.head, added_bytes, made)


def spares_nothing(self: Commits, job_id: str, epoch: int) -> None:
    for _, committer in self._committers.values():
        committer.sweep(job_id, epoch, (), ())


def keeps_nothing(self: Commits, job_id: str, kept: Any) -> None:
    for id in self._committers:
        self._recover(job_id, id, (), ())


class HeldElsewhere:
    """What timers emit between epochs lies where it outlives the task."""

    def __init__(self) -> None:
        self.lists: dict[Any, list[Any]] = {}

    def create(self, between: BetweenEpochs, members: Any, working: Any) -> None:
        _create_between(between, members, working)
        for member in between._members:
            member.fork._held = self.lists.setdefault((world().root, member.info.uid, member.subtask), [])

    def release(self, fork: Fork) -> None:
        held = list(fork._held)
        fork._held.clear()
        for tag, chunk in held:
            fork._send(tag, chunk)


def settles_without_failing(self: BetweenEpochs) -> None:
    self._failure = None
    _settle(self)


@contextmanager
def writes_what_timers_change(self: DiskState) -> Iterator[bool]:
    """Into the local store, at once."""
    with _firing(self) as same:
        yield same
        if same and self._environment is not None:
            with Writer(self._environment, at_once=True) as writer:
                head = read_head(writer.get)
                flush_all(self._backends, writer, head)
                write_head(writer, head)


class InPlace:
    """How parts were gone on with once: in the same file, after what counts for nothing was cut off, unless an epoch in
    between had failed."""

    def __init__(self) -> None:
        self.epochs: dict[tuple[str, int], int] = {}
        """state of a part -> the epoch at whose end it was taken"""
        self.at = 0

    def create(self, writer: FileWriter[Any], config: Any, context: Any, states: Any = ()) -> None:
        self.at = context.get_checkpoint_id()
        _create(writer, config, context, states)

    def snapshot_state(self, writer: FileWriter[Any], checkpoint_id: int) -> list[WriterState]:
        states = _snapshot_state(writer, checkpoint_id)
        self.epochs.update({(part.in_progress, part.size): checkpoint_id for part in states[0].parts})
        return states

    def open(self, part: RowPart) -> Any:
        state = part._state
        if part._own is not None and self.epochs[state.in_progress, state.size] + 1 == self.at:
            part._own, part._written, part._kept = None, state.size, state.size
            part._store.cut(state.in_progress, state.size)  # type: ignore[attr-defined]
            return OpenPart(part._store, state.in_progress, part._store._names[state.in_progress])  # type: ignore[arg-type, attr-defined]
        return _open(part)


_create, _snapshot_state, _open = FileWriter.__init__, FileWriter.snapshot_state, RowPart._open
_create_between, _settle = BetweenEpochs.__init__, BetweenEpochs.settle
_firing = DiskState.firing
_in_place, _elsewhere = InPlace(), HeldElsewhere()

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
    "forgets how far its sources are": [(SourceOperator, "snapshot", without_its_splits)],
    "sends splits again that their tasks have": [(ReadingSnapshot, "unknown", lambda self, s: list(self.splits[s]))],
    "forgets what goes round in loops": [(ReadingSnapshot, "unknown", lambda self, subtask: [])],
    "takes a loop for ended that begins again": [(Loops, "begin_from", Loops.restore)],
    "does not notice that packets come from two runs": [(Coordinator, "_check_exchanges", nothing)],
    "goes on with a part in the file of another run": [
        (FileWriter, "__init__", lambda self, *given: _in_place.create(self, *given)),
        (FileWriter, "snapshot_state", lambda self, number: _in_place.snapshot_state(self, number)),
        (RowPart, "_open", lambda self: _in_place.open(self)),
    ],
    "takes back what waits for its commit": [(Commits, "sweep", spares_nothing)],
    "takes back what a checkpoint names that stays": [(Commits, "give_up", keeps_nothing)],
    "does not look at the runs of packets": [(exchange, "_digest", digest_of_any_run)],
    "takes one run of a task for another": [
        (worker, "version_of", same_for_all_runs),
        (snapshot, "version_of", same_for_all_runs),
    ],
    "lets a late run find the order of another epoch": [(orders, "_order_path", lambda order: "orders/current")],
    "goes on with a task that has done what does not count": [(worker, "_is_clean", lambda live, own: True)],
    "touches sinks between epochs": [(Fork, "holding", lambda self: nullcontext())],
    "forgets what was held back between epochs": [(Fork, "release", lambda self: self._held.clear())],
    "keeps what was held back when the task is rebuilt": [
        (BetweenEpochs, "__init__", lambda self, members, working: _elsewhere.create(self, members, working)),
        (Fork, "release", lambda self: _elsewhere.release(self)),
    ],
    "takes what timers change between epochs for the work of the last one": [
        (DiskState, "_begin_draft", lambda self: True),
    ],
    "writes to the local store between epochs": [(DiskState, "firing", writes_what_timers_change)],
    "forgets what was on its way to the local store when a timer fired": [(WriteBatch, "__len__", lambda self: 0)],
    "does not tell what went wrong between epochs": [(BetweenEpochs, "settle", settles_without_failing)],
    "forgets idle tasks when it goes on": [(Chains, "files", takes_idle_tasks_for_new_ones)],
    "forgets what is left of a poll": [(SourceOperator, "snapshot", without_what_is_left)],
    "lets each subtask hand on what is left of a poll": [(source, "has_id", lambda split: True)],
    "forgets what waits for operators": [(Member, "_snapshot", lambda self: self.operator.snapshot())],
    "looks for files of idle tasks": [(TaskChain, "add", gives_idle_tasks_a_version)],
    "deletes files that are read": [(Compactions, "oldest_held", lambda self, task, first: first)],
    "takes a whole state for that of a later epoch": [(TaskChain, "begin_at", begins_at_its_end)],
    "writes all whole states in the same epoch": [(Chains, "to_compact", compacts_all_at_once)],
}


def finder(mistake: str, monkeypatch: pytest.MonkeyPatch) -> int | None:
    """A seed whose world shows that the engine is broken in this way."""
    for place, name, wrong in MISTAKES[mistake]:
        monkeypatch.setattr(place, name, wrong)
    return next((seed for seed in candidates("stages", mistake, ENOUGH) if simulate(seed).problem), None)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert finder(mistake, monkeypatch) is not None
