"""Savepoints and checkpoints as tasks see them: each subtask writes what it has, or reads its share of what others had.

A savepoint is a folder of its own. A checkpoint is read from the files of its job's tasks.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from millrace.checkpoint.directory import SHARED
from millrace.checkpoint.earlier import keyed_state, rest_of, rests
from millrace.checkpoint.files.folder import Folder, open_folder
from millrace.checkpoint.savepoints.compare import misfits
from millrace.checkpoint.savepoints.metadata import (
    SAVEPOINT,
    Metadata,
    SavedOperator,
    StateDescription,
    read_metadata,
)
from millrace.checkpoint.savepoints.operator_change import operator_change
from millrace.checkpoint.savepoints.state_files import iter_states, read_operator_state, write_states
from millrace.checkpoint.savepoints.window_forms import convert_windows
from millrace.checkpoint.values.adapt import adapt as adapt_values
from millrace.checkpoint.values.compatibility import adapter
from millrace.checkpoint.values.moved import loads
from millrace.runtime.bases.ahead import event_time_of
from millrace.runtime.coordination.snapshot import OperatorPlace
from millrace.runtime.exchange.keygroups import group_range
from millrace.runtime.jobs.job import OperatorInfo
from millrace.runtime.jobs.specs import Window
from millrace.runtime.pickling import dumps
from millrace.runtime.protocol.epoch import SavedSubtask
from millrace.runtime.state.backend import KeyedDelta, KeyedStateBackend
from millrace.runtime.state.info import KEYED, StateInfo
from millrace.runtime.state.operator_state import Distribution
from millrace.runtime.state.restoring.redistribute import redistribute
from millrace.runtime.state.restoring.saved import EarlierState, KeyedPieces, SubtaskState
from millrace.runtime.state.row_buffer_table import SINCE, RowBufferTable
from millrace.runtime.state.tables import ABSENT, ListTable, MapTable
from millrace.runtime.storage import Wanted
from millrace.runtime.tasks.waiting import event_times, only_waiting


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
            {"operator": info.uid},
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
        if operator_change(metadata, info) is not None:  # that such state is dropped was allowed, or it would not run
            return replace(earlier, keyed=iter(()), shared={}, smalls=tuple(map(only_waiting, earlier.smalls)))
        states, keyed = metadata.states.get(info.uid, ()), earlier.keyed
        saved = metadata.saved.get(info.uid)
        keeps = place.kept(info)
        if keeps is not None and not keeps.changes_nothing:
            keyed = (keeps.apply(piece, adapt_values) for piece in _whole(keyed))
        if metadata.kind != SAVEPOINT:
            keyed = _settled(keyed, states, wanted, saved)
        if isinstance(info.spec, Window):
            times = event_times(earlier, subtask, info.max_parallelism)
            fired = event_time_of(times, earlier.watermark)
            keyed = convert_windows(keyed, place.windows, info.spec.strategy, fired)
        adapt = partial(_adapted_operator_state, states, saved)
        return replace(earlier, keyed=_adapted(keyed, states, wanted, saved), adapt=adapt)


@lru_cache(maxsize=4)
def _metadata(uri: str) -> Metadata:
    """Every operator of every task asks for the same."""
    return read_metadata(open_folder(uri))


def _whole(pieces: KeyedPieces) -> Iterator[KeyedDelta]:
    """Everything, address by address. Rows that wait are so already, unless they are told as batches with types."""
    collected = KeyedStateBackend()
    waited: set[str] = set()
    for piece in pieces:
        waiting = {name: part for name, part in piece.items() if _waits(*part)}
        told = {name: part for name, part in piece.items() if name not in waiting}
        if waited & told.keys():
            raise ValueError("a checkpoint of an earlier version has rows that wait in two forms: take a savepoint")
        waited |= waiting.keys()
        if waiting:
            yield waiting
        collected.apply(told)
    yield collected.full()


def _waits(kind: str, entries: dict[Any, Any]) -> bool:
    """Whether these are rows that wait, under their keys."""
    return kind == RowBufferTable.kind and SINCE not in entries


def _adapted(
    pieces: KeyedPieces, descriptions: Iterable[StateDescription], wanted: Wanted, saved: SavedOperator | None
) -> Iterator[KeyedDelta]:
    """The pieces, of full state, with values of the types that the functions want now."""
    before = _keyed(descriptions)
    for piece in pieces:
        adapted = {}
        for name, (kind, entries) in piece.items():
            change = _change(before.get(name), wanted(name), saved)
            if change is not _MISFIT:
                adapted[name] = (kind, entries if change is None else adapt_values(kind, entries, change))
        yield adapted


def _settled(
    pieces: KeyedPieces, descriptions: Iterable[StateDescription], wanted: Wanted, saved: SavedOperator | None
) -> Iterator[KeyedDelta]:
    """Changes, where those of states whose values have another type now have become full state."""
    before = _keyed(descriptions)
    collected = KeyedStateBackend()
    for piece in pieces:
        changing = {name for name in piece if _change(before.get(name), wanted(name), saved) is not None}
        collected.apply({name: change for name, change in piece.items() if name in changing})
        yield {name: change for name, change in piece.items() if name not in changing}
    yield collected.full()


def _keyed(descriptions: Iterable[StateDescription]) -> dict[str, StateDescription]:
    return {description.name: description for description in descriptions if description.scope == KEYED}


_MISFIT = object()


def _change(known: StateDescription | None, info: StateInfo | None, saved: SavedOperator | None) -> Any:
    """How values of a stored state become those of the wanted one, None for as they are. ``_MISFIT`` if they can't:
    the driver tells all that does not fit, and refuses to run if that may not begin empty."""
    if info is None or info.type is None or known is None or known.type is None:
        return None
    now = StateDescription.of(info)
    return _MISFIT if misfits(known, now, saved) else adapter(known.type, now.type)


def _adapted_operator_state(
    states: Sequence[StateDescription], saved: SavedOperator | None, info: StateInfo, entry: Any
) -> Any:
    known = next((each for each in states if (each.name, each.scope) == (info.name, info.scope)), None)
    change = _change(known, info, saved)
    if change is _MISFIT:
        return ABSENT
    if change is None:
        return entry
    kind = MapTable.kind if info.kind == Distribution.BROADCAST.value else ListTable.kind
    return adapt_values(kind, {info.name: entry}, change)[info.name]


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
    shared = read_operator_state(folder, saved.files, place.parallelism, info.parallelism, subtask)
    smalls = tuple(None if small is None else loads(base64.b64decode(small)) for small in saved.smalls)
    return EarlierState(keyed, shared, _present(smalls), *saved.watermarks_of(subtask, info.parallelism))


def _from_checkpoint(
    folder: Folder, metadata: Metadata, place: OperatorPlace, info: OperatorInfo, subtask: int
) -> EarlierState:
    files = open_folder(folder.uri.rstrip("/").rpartition("/")[0]).child(SHARED)
    groups = group_range(subtask, info.max_parallelism, info.parallelism)
    keyed = keyed_state(files, metadata, place, groups, info.max_parallelism)
    if place.parallelism == info.parallelism and not _has_union(metadata, place):
        own = rest_of(files, metadata, place, subtask)
        # As long as there are as many subtasks as before, each looks at its own only.
        return EarlierState(keyed, own.shared, _present((own.small,) * place.parallelism), own.watermark)
    parts = rests(files, metadata, place)
    shared = redistribute([part.shared for part in parts], info.parallelism)[subtask]
    same = place.parallelism == info.parallelism
    smalls, watermarks = _present(tuple(part.small for part in parts)), tuple(part.watermark for part in parts)
    if same:
        return EarlierState(keyed, shared, smalls, watermarks[subtask])
    return EarlierState(keyed, shared, smalls, min(watermarks), watermarks)


def _has_union(metadata: Metadata, place: OperatorPlace) -> bool:
    return any(state.kind == Distribution.UNION.value for state in metadata.states.get(place.uid, ()))


def _present(smalls: tuple[Any, ...]) -> tuple[Any, ...]:
    """Nothing, if no subtask had anything."""
    return smalls if any(small is not None for small in smalls) else ()
