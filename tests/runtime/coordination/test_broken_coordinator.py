"""A coordinator with a mistake is found by ``validate`` while it runs a job: every assertion of ``validate`` has a
mistake of one line that breaks it, and a job without a mistake breaks none."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

import pytest
from tests.runtime.coordination.test_coordinator import LogSink

from millrace.common.types import Row
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.bases.epoch_protocol import SavedSubtask, SourceReport, TaskAck
from millrace.runtime.coordination import commits, compactions, snapshot
from millrace.runtime.coordination.commits import Commits
from millrace.runtime.coordination.compactions import Compactions
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.runtime.coordination.reading import ReadingState
from millrace.runtime.coordination.snapshot import Chains, TaskChain, TaskFiles, WholeFile
from millrace.runtime.state.working import rebuild
from millrace.runtime.storage import Past, StateStorage, TaskId, epoch_and_run, version_of
from millrace.testing.local import LocalEngine, job_of

VALIDATED: Sequence[type] = (Coordinator, Chains, TaskChain, Compactions, Commits, ReadingState)
PARALLELISM = 2
_take_number, _conclude, _discard = Coordinator._take_number, Coordinator._conclude, Coordinator._discard
_add, _take, _order = TaskChain.add, ReadingState.take, ReadingState.order
_prepared, _has_room, _begin = Commits.prepared, ReadingState._has_room, Compactions.begin


def gives_a_number_twice(self: Coordinator) -> int:
    return self._next_epoch


def records_a_later_epoch(self: Coordinator, ended: Any) -> Any:
    path = _conclude(self, ended)
    self._concluded = ended.order.epoch + 1
    return path


def deletes_what_the_last_epoch_left(self: Coordinator) -> None:
    _discard(self)
    self._discarded.update(dict.fromkeys(self._outgrown | self._chains.tasks.keys(), self._last or 0))


def has_states_before_it_begins(self: Coordinator) -> None:
    self._states = {"an operator of another program": ()}


def counts_the_epoch_after(self: TaskChain, ack: TaskAck) -> None:
    _add(self, replace(ack, epoch=ack.epoch + 1))


def records_twice(self: Chains, acks: Sequence[TaskAck]) -> None:
    for ack in (*acks, *acks):
        self.tasks[ack.stage, ack.partition].add(ack)


def forgets_the_last_version(self: TaskChain, ack: TaskAck) -> None:
    before = self.head
    _add(self, ack)
    self.head = before


def goes_on_counting_versions(self: TaskChain, ack: TaskAck) -> None:
    before = self.versions
    _add(self, ack)
    if ack.full_bytes is not None:
        self.versions = before


def goes_on_counting_bytes(self: TaskChain, ack: TaskAck) -> None:
    before = self.delta_bytes
    _add(self, ack)
    if ack.full_bytes is not None:
        self.delta_bytes = before


def takes_bytes_for_additions_twice(self: TaskChain, ack: TaskAck) -> None:
    _add(self, ack)
    self.added_bytes += 2 * (ack.delta_bytes or 0)


def forgets_which_run_counts(self: TaskChain, ack: TaskAck) -> None:
    before = self.ran
    _add(self, ack)
    self.ran = before


def forgets_the_size_of_the_whole_state(self: TaskChain, ack: TaskAck) -> None:
    _add(self, ack)
    self.whole_bytes = None


def compacts_all_at_once(self: Chains, busy: Any = ()) -> frozenset[tuple[int, int]]:
    return frozenset(self.tasks)


def deletes_what_is_read(self: Compactions, task: TaskId, first: int) -> int:
    return first


def makes_all_at_once(self: Compactions, chains: Chains) -> frozenset[TaskId]:
    return frozenset(chains.tasks.keys() - self._running.keys())


def notes_a_later_version(self: Compactions, chains: Chains, orders: Any) -> None:
    _begin(self, chains, orders)
    self._running = {task: replace(each, head=each.head + 1) for task, each in self._running.items()}


def reads_what_no_epoch_has_left(self: Compactions, chains: Chains, orders: Any) -> None:
    _begin(self, chains, orders)
    for task, each in self._running.items():
        files = replace(each.files, changes=f"{each.files.changes} 99-1:3")
        self._running[task] = replace(each, files=files, head=files.last)


def counts_writers_from_one(self: Commits, acks: Sequence[TaskAck]) -> None:
    _prepared(self, acks)
    for writers in self._writers.values():
        writers[max(writers) + 1] = ()


def leaves_restored_states(self: Commits, acks: Sequence[TaskAck]) -> None:
    _prepared(self, acks)
    for writers in self._writers.values():
        writers[commits._RESTORED] = ("of the checkpoint",)


def lets_too_many_finish(self: ReadingState, subtask: int, report: SourceReport) -> None:
    _take(self, subtask, report)
    self.finished.add(subtask + PARALLELISM)


def ends_another_reader(self: ReadingState, subtask: int) -> None:
    self.no_more.add(subtask + PARALLELISM)


def takes_the_report_for_another_one(self: ReadingState, subtask: int, report: SourceReport) -> None:
    _take(self, subtask, report)
    self.splits[subtask + PARALLELISM] = list(report.splits)


def assigns_to_another_reader(self: ReadingState, split: Any, subtask: int) -> None:
    self._new.setdefault(subtask + PARALLELISM, []).append(split)


def holds_another_one_back(self: ReadingState, subtask: int) -> bool:
    self._held_back.add(subtask + PARALLELISM)
    return _has_room(self, subtask)


def takes_splits_for_still_under_way(self: ReadingState, subtask: int, report: SourceReport) -> None:
    before = self._sent[subtask]
    _take(self, subtask, report)
    self._sent[subtask] = before


def counts_an_event_too_many(self: ReadingState, subtask: int, *rest: Any) -> Any:
    order = _order(self, subtask, *rest)
    self._sent[subtask] = (self._sent[subtask][0], self._sent[subtask][1] + 1)
    return order


def leaves_splits_that_are_read(self: ReadingState, subtask: int, report: SourceReport) -> None:
    before = self.splits.get(subtask, [])
    _take(self, subtask, report)
    self.splits[subtask] = self.splits[subtask] or before


@dataclass(frozen=True)
class Mistake:
    """A method, and the assertion that finds it: the beginning, or a part, of its text."""

    owner: type
    method: str
    broken: Callable[..., Any]
    found_by: str


MISTAKES = (
    Mistake(Coordinator, "_take_number", gives_a_number_twice, "epoch 1 is complete and the next is 1"),
    Mistake(Coordinator, "_conclude", records_a_later_epoch, "2 is recorded before 1"),
    Mistake(Coordinator, "_discard", deletes_what_the_last_epoch_left, "files before 1 are deleted"),
    Mistake(Coordinator, "find_splits", has_states_before_it_begins, "and nothing has begun"),
    Mistake(TaskChain, "add", counts_the_epoch_after, "has acknowledged epoch 2, and the last complete one is 1"),
    Mistake(Chains, "record", records_twice, "changes are not in order: [0, 1, 1]"),
    Mistake(TaskChain, "add", forgets_the_last_version, "is not the last version"),
    Mistake(TaskChain, "add", goes_on_counting_versions, "versions are counted, there are 0"),
    Mistake(TaskChain, "add", goes_on_counting_bytes, "bytes of changes are counted, there are 0"),
    Mistake(TaskChain, "add", takes_bytes_for_additions_twice, "bytes are additions"),
    Mistake(TaskChain, "add", forgets_which_run_counts, "is there already"),
    Mistake(TaskChain, "add", forgets_the_size_of_the_whole_state, "has no size"),
    Mistake(Chains, "to_compact", compacts_all_at_once, "tasks write their whole state in one epoch, not 1"),
    Mistake(Compactions, "due", makes_all_at_once, "whole states are made at the same time, not 1"),
    Mistake(Compactions, "begin", notes_a_later_version, "is made from files to"),
    Mistake(Compactions, "begin", reads_what_no_epoch_has_left, "which is not in its chain"),
    Mistake(Compactions, "oldest_held", deletes_what_is_read, "on are read, those before"),
    Mistake(Commits, "prepared", counts_writers_from_one, "writers [2] of 2"),
    Mistake(Commits, "prepared", leaves_restored_states, "restored states of writers are there"),
    Mistake(ReadingState, "take", lets_too_many_finish, "are finished, there are 1"),
    Mistake(ReadingState, "signal_no_more_splits", ends_another_reader, "are without further splits, there are 1"),
    Mistake(ReadingState, "take", takes_the_report_for_another_one, "are with splits, there are 1"),
    Mistake(ReadingState, "assign_split", assigns_to_another_reader, "are with new splits, there are 1"),
    Mistake(ReadingState, "_has_room", holds_another_one_back, "are held back, there are 1"),
    Mistake(ReadingState, "take", takes_splits_for_still_under_way, "1 splits are under way of 0"),
    Mistake(ReadingState, "order", counts_an_event_too_many, "1 events are under way of 0"),
    Mistake(ReadingState, "take", leaves_splits_that_are_read, "has finished and reports splits that are left"),
)


def run() -> Coordinator:
    """A job of a source, sums by key and a sink that commits, each but the source in two subtasks, in epochs of four
    records; after three versions tasks write their whole state, and in another run that is made from their files."""
    _run(from_files=False)
    return _run(from_files=True)


def _run(from_files: bool) -> Coordinator:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(PARALLELISM)
    rows = env.from_collection([Row(key, 1) for key in "abcd" * 10])
    rows.key_by(lambda row: row[0]).sum(1).sink_to(LogSink())
    engine = LocalEngine(replace(job_of(env), epoch_records=4), lambda: 0)
    engine.coordinator.find_splits()
    engine.coordinator.validate()
    if from_files:
        engine.coordinator.compactions.whole_states = MadeAtOnce(engine.storage)
        engine.run_epoch(engine.coordinator.plan(savepoint="one that is written to the end"))
    for _ in engine.epochs():
        pass
    return engine.coordinator


class MadeAtOnce:
    """A ``WholeStates`` whose savepoints are never complete."""

    def __init__(self, storage: StateStorage) -> None:
        self._storage = storage

    def write(self, task: TaskId, files: TaskFiles) -> Future[WholeFile]:
        versions = (files.whole, *(version for version, *_ in files.since()))
        pieces = [piece for _, piece in rebuild(task, Past(versions, True, files.stored), self._storage)]
        written = self._storage.write_full(task, version_of(epoch_and_run(files.last)[0], 77), pieces)
        made: Future[WholeFile] = Future()
        made.set_result(WholeFile(77, *written))
        return made

    def save(self, task: TaskId, files: TaskFiles, uri: str) -> Future[tuple[SavedSubtask, ...]]:
        return Future()


@pytest.fixture(autouse=True)
def _compacts_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "COMPACT_VERSIONS", 3)
    monkeypatch.setattr(compactions, "SMALL_BYTES", 0)


def found(mistake: Mistake, monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    """The class whose ``validate`` finds the mistake, and the line of its assertion."""
    with monkeypatch.context() as patch:
        patch.setattr(mistake.owner, mistake.method, mistake.broken)
        with pytest.raises(AssertionError) as caught:
            run()
    assert mistake.found_by in str(caught.value)
    error: BaseException | None = caught.value
    while error is not None and error.__context__ is not None:  # Chains says which task it was
        error = error.__context__
    assert error is not None and error.__traceback__ is not None
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame = trace.tb_frame
    assert frame.f_code.co_name == "validate"
    return type(frame.f_locals["self"]).__name__, trace.tb_lineno


def asserted(owner: type) -> list[ast.Assert]:
    """The assertions of a ``validate``, with their lines in the file."""
    method = vars(owner)["validate"]
    assert isinstance(method, FunctionType)
    lines, first = inspect.getsourcelines(method)
    tree = ast.increment_lineno(ast.parse(textwrap.dedent("".join(lines))), first - 1)
    return [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]


def test_a_job_without_mistake_runs_to_its_end() -> None:
    coordinator = run()
    assert coordinator.finished
    whole = [chain.whole for chain in coordinator._chains.tasks.values()]
    assert sum(version > 0 for version in whole) >= 2, "the tasks have written whole states"


@pytest.mark.parametrize("mistake", MISTAKES, ids=[each.broken.__name__ for each in MISTAKES])
def test_a_mistake_is_found(mistake: Mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    found(mistake, monkeypatch)


def test_every_assertion_is_broken_by_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    places = {found(mistake, monkeypatch) for mistake in MISTAKES}
    for owner in VALIDATED:
        for each in asserted(owner):
            inside = range(each.lineno, (each.end_lineno or each.lineno) + 1)
            assert any((owner.__name__, line) in places for line in inside), f"{owner.__name__}: {ast.unparse(each)}"
