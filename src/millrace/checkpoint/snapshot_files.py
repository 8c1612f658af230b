"""Savepoints and checkpoints as tasks see them: each subtask writes what it has, or reads its share of what others had.

A savepoint is a folder of its own. A checkpoint is read from the files of its job's tasks.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from millrace.checkpoint.adapt import adapt
from millrace.checkpoint.compare import state_changes
from millrace.checkpoint.compatibility import adapter
from millrace.checkpoint.directory import SHARED
from millrace.checkpoint.errors import MissingFileError
from millrace.checkpoint.folder import Folder, open_folder
from millrace.checkpoint.metadata import SAVEPOINT, Metadata, StateDescription, read_metadata
from millrace.checkpoint.state_files import iter_states, read_operator_states, write_states
from millrace.checkpoint.storage import chain_files
from millrace.checkpoint.task_file import read_task_file
from millrace.checkpoint.window_forms import convert_windows
from millrace.runtime.epoch import SavedSubtask
from millrace.runtime.job import OperatorInfo
from millrace.runtime.keygroups import group_range, key_group
from millrace.runtime.member import OperatorDeltas
from millrace.runtime.operators.window import WindowOperatorBase
from millrace.runtime.pickling import dumps
from millrace.runtime.snapshot import OperatorPlace
from millrace.runtime.state.backend import KeyedDelta, KeyedStateBackend, only_keys
from millrace.runtime.state.info import KEYED, StateInfo
from millrace.runtime.state.operator_state import Distribution, OperatorStateBackend
from millrace.runtime.state.redistribute import redistribute
from millrace.runtime.state.saved import EarlierState, KeyedPieces, SubtaskState
from millrace.runtime.state.tables import ListTable, MapTable
from millrace.runtime.storage import Wanted


class FolderSnapshots:
    """A ``SnapshotFiles`` for one run of a task."""

    def __init__(self, run: int = 1) -> None:
        self._run = run

    def save(self, uri: str, info: OperatorInfo, subtask: int, state: SubtaskState) -> SavedSubtask:
        files = write_states(
            open_folder(uri),
            operator_folder(info),
            subtask,
            info.max_parallelism,
            state.keyed or (),
            state.shared,
            self._run,
        )
        small = None if state.small is None else dumps(state.small)
        return SavedSubtask(info.uid, subtask, tuple(files), small, state.watermark)

    def load(self, uri: str, info: OperatorInfo, subtask: int, wanted: Wanted) -> EarlierState | None:
        metadata = _metadata(uri)
        place = metadata.by_uid.get(info.uid)
        if place is None:
            return None
        load = _from_savepoint if metadata.kind == SAVEPOINT else _from_checkpoint
        earlier = load(open_folder(uri), metadata, place, info, subtask)
        if earlier is None:
            return None
        keyed = earlier.keyed
        if issubclass(info.factory, WindowOperatorBase):
            keyed = convert_windows(keyed, place.windows, info.args[0], earlier.watermark)
        states = metadata.states.get(info.uid, ())
        return replace(earlier, keyed=_adapted(keyed, states, wanted), adapt=partial(_adapted_operator_state, states))


@lru_cache(maxsize=4)
def _metadata(uri: str) -> Metadata:
    """Every operator of every task asks for the same."""
    return read_metadata(open_folder(uri))


def _adapted(
    pieces: KeyedPieces, descriptions: Iterable[StateDescription], wanted: Wanted
) -> Iterator[KeyedDelta]:
    """The pieces with values of the types that the functions want now."""
    before = {description.name: description for description in descriptions if description.scope == KEYED}
    for piece in pieces:
        adapted = {}
        for name, (kind, entries) in piece.items():
            change = _change(before.get(name), wanted(name))
            if change is not _MISFIT:
                adapted[name] = (kind, entries if change is None else adapt(kind, entries, change))
        yield adapted


_MISFIT = object()


def _change(known: StateDescription | None, info: StateInfo | None) -> Any:
    """How values of a stored state become those of the wanted one, None for as they are. ``_MISFIT`` if they can't:
    the driver will refuse to run, it tells all that does not fit."""
    if info is None or info.type is None or known is None or known.type is None:
        return None
    now = StateDescription.of(info)
    return _MISFIT if state_changes(known, now) else adapter(known.type, now.type)


def _adapted_operator_state(states: Sequence[StateDescription], info: StateInfo, entry: Any) -> Any:
    known = next((each for each in states if (each.name, each.scope) == (info.name, info.scope)), None)
    change = _change(known, info)
    if change is None or change is _MISFIT:
        return entry
    kind = MapTable.kind if info.kind == Distribution.BROADCAST.value else ListTable.kind
    return adapt(kind, {info.name: entry}, change)[info.name]


def operator_folder(info: OperatorInfo | OperatorPlace) -> str:
    """A name that people recognise and that no other operator has."""
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in info.name)[:40]
    return f"{name}-{info.uid if info.uid.isalnum() else info.uid.encode().hex()[:32]}"


def _from_savepoint(
    folder: Folder, metadata: Metadata, place: OperatorPlace, info: OperatorInfo, subtask: int
) -> EarlierState | None:
    saved = metadata.saved.get(info.uid)
    if saved is None:
        return None
    groups = group_range(subtask, info.max_parallelism, info.parallelism)
    keyed = iter_states(folder, saved.files, groups)
    shared = read_operator_states(folder, saved.files, place.parallelism, info.parallelism)[subtask]
    smalls = tuple(None if small is None else pickle.loads(base64.b64decode(small)) for small in saved.smalls)
    return EarlierState(keyed, shared, _present(smalls), saved.watermark)


def _from_checkpoint(
    folder: Folder, metadata: Metadata, place: OperatorPlace, info: OperatorInfo, subtask: int
) -> EarlierState:
    files = open_folder(folder.uri.rstrip("/").rpartition("/")[0]).child(SHARED)
    parts = [EarlierSubtask(files, metadata, place, number) for number in range(place.parallelism)]
    groups = group_range(subtask, info.max_parallelism, info.parallelism)
    whole = len(parts) == info.parallelism and place.max_parallelism == info.max_parallelism

    def keyed() -> Iterator[KeyedDelta]:
        for number, part in enumerate(parts):
            state = part.keyed.full()
            if whole and number == subtask:
                yield state
            elif not whole:
                yield only_keys(state, lambda key: key_group(key, info.max_parallelism) in groups)

    shared = redistribute([part.operator.full() for part in parts], info.parallelism)[subtask]
    watermark = min(part.watermark for part in parts)
    return EarlierState(keyed(), shared, _present(tuple(part.small for part in parts)), watermark)


def _present(smalls: tuple[Any, ...]) -> tuple[Any, ...]:
    """Nothing, if no subtask had anything."""
    return smalls if any(small is not None for small in smalls) else ()


class EarlierSubtask:
    """One earlier subtask of an operator, put together from the files of its task."""

    def __init__(self, folder: Folder, metadata: Metadata, place: OperatorPlace, subtask: int) -> None:
        self.keyed = KeyedStateBackend()
        self.operator = OperatorStateBackend()
        self.small: Any = None
        self.watermark = 0
        task = (place.stage, place.offset + subtask)
        for name, _ in chain_files(task, metadata.tasks[task], metadata.history):
            path = f"{folder.uri}/{name}"
            try:
                content = folder.read(name)
            except FileNotFoundError:
                raise MissingFileError(path) from None
            for piece in read_task_file(path, content, lambda uid: uid == place.uid):
                self._apply(piece[place.uid])

    def _apply(self, state: OperatorDeltas) -> None:
        keyed, shared, small, gate, _ = state
        if keyed is not None:
            self.keyed.apply(keyed)
        if shared is not None:
            self.operator.apply(shared)
        if small is not None:
            self.small = small
        if gate is not None:
            self.watermark = gate[0][0]
