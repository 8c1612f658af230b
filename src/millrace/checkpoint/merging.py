"""The whole state of a task, made from its files: the last whole state and the changes since (ADR 31).

The files contain all that a copy of the task is restored from, so another process can make a new whole state of them,
or the task's part of a savepoint, while the task runs on. Keyed state is merged by ranges of key groups, so that
``RANGE_BYTES`` of the files are in memory at a time. Windows and buffered rows, whose changes depend on the order of
all changes, are merged as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

from millrace.checkpoint.folder import Folder
from millrace.checkpoint.sections import BY_ADDRESS, of_groups
from millrace.checkpoint.snapshot_files import FolderSnapshots
from millrace.checkpoint.task_file import KEYED_SECTIONS, REST, Section
from millrace.checkpoint.task_storage import FolderStorage, chain_sections
from millrace.runtime.bases.epoch_protocol import SavedSubtask
from millrace.runtime.bases.runtime_context import MeasureState, counted
from millrace.runtime.coordination.snapshot import OperatorPlace, TaskFiles, WholeFile
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.state.backend import KeyedDelta, KeyedStateBackend
from millrace.runtime.state.operator_state import OperatorStateBackend
from millrace.runtime.state.restoring.saved import SubtaskState
from millrace.runtime.storage import TaskId, epoch_and_run, version_of
from millrace.runtime.tasks.member import OperatorDeltas, TaskDelta
from millrace.runtime.tasks.waiting import WithWaiting
from millrace.runtime.tasks.wiring import GateState, together

RANGE_BYTES = 64 * 1024 * 1024
"""The number of bytes of files whose keyed state is merged at a time."""

Pieces = Callable[[KeyedStateBackend], Iterator[KeyedDelta]]
"""(a backend) -> its whole state in pieces"""


class TaskChain:
    """The files of a task, as its whole state.

    :param folder: the folder with the state of the job's tasks.
    :param job: the job's id.
    :param key_groups: uid of an operator -> number of its key groups.
    :raises CorruptFileError, MissingFileError: a file is damaged or missing; all methods raise it.
    """

    def __init__(self, folder: Folder, job: str, task: TaskId, files: TaskFiles, key_groups: Mapping[str, int]) -> None:
        self._read = partial(chain_sections, folder, job, task, files)
        self._key_groups = key_groups
        self._sections: dict[str, list[Section]] = {}
        """uid of an operator -> what of its state is in the files"""
        list(self._read(self._note))

    def _note(self, section: Section) -> bool:
        self._sections.setdefault(section.uid, []).append(section)
        return False

    def pieces(self) -> Iterator[TaskDelta]:
        """The whole state, in pieces to be restored one after the other."""
        for uid in self._sections:
            yield {uid: self.rest(uid)}
            for piece in self.keyed(uid, KeyedStateBackend.told_pieces):
                yield {uid: (piece, None, None, None, None)}

    def rest(self, uid: str) -> OperatorDeltas:
        """The whole state of an operator without its keyed state."""
        shared = OperatorStateBackend()
        small: object = None
        gates: list[GateState] = []
        measures: list[MeasureState] = []
        for _, state in self._read(lambda section: section.uid == uid and section.holds != KEYED_SECTIONS):
            _, changed, newer, gate, measured = state
            if changed is not None:
                shared.apply(changed)
            small = small if newer is None else newer
            gates += () if gate is None else (gate,)
            measures += () if measured is None else (measured,)
        return None, shared.full() if shared.restored else None, small, together(gates), counted(measures)

    def keyed(self, uid: str, pieces: Pieces) -> Iterator[KeyedDelta]:
        """The whole keyed state of an operator.

        :param pieces: gives the pieces of a part of it.
        """
        ranges = self._ranges(uid)
        ordered = False
        for groups in ranges:
            backend = KeyedStateBackend()
            for section, keyed in self._keyed(uid, groups):
                known = {name: part for name, part in keyed.items() if part[0] in BY_ADDRESS}
                ordered = ordered or len(known) < len(keyed)
                backend.apply(known if len(ranges) == 1 else self._of_groups(section, known, groups))
            yield from pieces(backend)
        if ordered:
            backend = KeyedStateBackend()
            for _, keyed in self._keyed(uid, None):
                backend.apply({name: part for name, part in keyed.items() if part[0] not in BY_ADDRESS})
            yield from pieces(backend)

    def _keyed(self, uid: str, groups: range | None) -> Iterator[tuple[Section, KeyedDelta]]:
        def wanted(section: Section) -> bool:
            return section.uid == uid and section.holds != REST and (groups is None or section.may_hold(groups))

        for section, (keyed, *_) in self._read(wanted):
            if keyed is not None:
                yield section, keyed

    def _of_groups(self, section: Section, keyed: KeyedDelta, groups: range) -> KeyedDelta:
        if section.is_within(groups):
            return keyed
        most = self._key_groups[section.uid]
        parts = {name: (kind, of_groups(kind, entries, most, groups)) for name, (kind, entries) in keyed.items()}
        return {name: part for name, part in parts.items() if part[1]}

    def _ranges(self, uid: str) -> list[range]:
        """Ranges of key groups, each with about ``RANGE_BYTES`` in the files; together all groups."""
        sections = [section for section in self._sections[uid] if section.holds != REST]
        most = self._key_groups.get(uid, 1)
        divided = [section for section in sections if section.first >= 0]
        first = min((section.first for section in divided), default=0)
        end = max((section.last + 1 for section in divided), default=most)
        count = min(-(-sum(section.length for section in sections) // RANGE_BYTES), end - first) or 1
        bounds = [0, *(first + (end - first) * number // count for number in range(1, count)), most]
        return [range(begin, stop) for begin, stop in pairwise(bounds)]


def write_whole(
    folder: Folder, job: str, task: TaskId, files: TaskFiles, key_groups: Mapping[str, int], run: int
) -> WholeFile:
    """Write the whole state of a task at the end of its files' last epoch, as a file beside them.

    :param run: positive number in the name of the file, which no other file has.
    :raises CorruptFileError, MissingFileError: a file is damaged or missing.
    """
    epoch, _ = epoch_and_run(files.last)
    chain = TaskChain(folder, job, task, files, key_groups)
    written = FolderStorage(folder, key_groups, job).write_full(task, version_of(epoch, run), chain.pieces())
    return WholeFile(run, *written)


def save_part(
    folder: Folder,
    job: str,
    task: TaskId,
    files: TaskFiles,
    key_groups: Mapping[str, int],
    run: int,
    uri: str,
    places: Sequence[OperatorPlace],
) -> tuple[SavedSubtask, ...]:
    """Write the part of a savepoint with the state of a task at the end of its files' last epoch.

    :param run: positive number in the names of the files.
    :param uri: the folder of the savepoint.
    :param places: the operators of the task.
    :raises CorruptFileError, MissingFileError: a file is damaged or missing.
    """
    chain = TaskChain(folder, job, task, files, key_groups)
    snapshots = FolderSnapshots(run)
    return tuple(snapshots.save(uri, place, task[1] - place.offset, _subtask(chain, place.uid)) for place in places)


def _subtask(chain: TaskChain, uid: str) -> SubtaskState:
    _, shared, small, gate, _ = chain.rest(uid)
    valve = None if gate is None else gate[0]
    if isinstance(small, WithWaiting) and not small.waiting and small.ahead is None:
        small = small.small
    watermark = MIN_TIMESTAMP if valve is None else valve[0]
    return SubtaskState(chain.keyed(uid, KeyedStateBackend.full_pieces), shared, small, watermark)


def places_of(task: TaskId, places: Iterable[OperatorPlace]) -> list[OperatorPlace]:
    """The operators that have a subtask in a task."""
    stage, partition = task
    return [place for place in places if place.stage == stage and 0 <= partition - place.offset < place.parallelism]
