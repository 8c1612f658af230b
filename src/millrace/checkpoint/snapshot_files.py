"""Savepoints and checkpoints as tasks see them: each subtask writes its state, or reads its share of earlier state.

A savepoint is a folder of its own. A checkpoint is read from the state files of its job's tasks: keyed state is read
piece by piece by the subtask that restores it, and only the sections of its key groups. The rest of a subtask's state
is small; tasks of another parallelism need that of all earlier subtasks, so a process reads it once. Values are
converted to the types that the program declares now.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from millrace.checkpoint.compare import misfits, operator_change
from millrace.checkpoint.compatibility import adapter
from millrace.checkpoint.directory import SHARED
from millrace.checkpoint.folder import Folder, open_folder
from millrace.checkpoint.metadata import SAVEPOINT, Metadata, SavedOperator, StateDescription, read_metadata
from millrace.checkpoint.moved import load as load_stored
from millrace.checkpoint.moved import loads
from millrace.checkpoint.sections import BY_ADDRESS, CachedBytes, of_groups
from millrace.checkpoint.state_files import iter_states, read_operator_state, write_states
from millrace.checkpoint.task_file import KEYED_SECTIONS, REST, Load, Section
from millrace.checkpoint.task_storage import chain_sections
from millrace.checkpoint.window_forms import convert_windows
from millrace.common.files import store_settings
from millrace.runtime.bases.epoch_protocol import SavedSubtask
from millrace.runtime.bases.operator import event_time_of
from millrace.runtime.coordination.snapshot import OperatorPlace
from millrace.runtime.exchange.keys import group_range, key_group
from millrace.runtime.operators.job_graph import OperatorInfo
from millrace.runtime.operators.specs import Window
from millrace.runtime.state.backend import KeyedDelta, KeyedStateBackend, only_keys
from millrace.runtime.state.info import KEYED, StateInfo
from millrace.runtime.state.operator_state import Distribution, OperatorDelta, OperatorStateBackend
from millrace.runtime.state.restoring.redistribute import redistribute
from millrace.runtime.state.restoring.saved import EarlierState, KeyedPieces, SubtaskState
from millrace.runtime.state.row_buffer_table import SINCE, RowBufferTable
from millrace.runtime.state.tables import ABSENT, ListTable, MapTable, ValueTable
from millrace.runtime.state.ttl_tables import TtlListTable, TtlMapTable, TtlValueTable
from millrace.runtime.storage import Wanted, dumps
from millrace.runtime.tasks.member import OperatorDeltas
from millrace.runtime.tasks.waiting import event_times, only_waiting

# Values of an earlier type

Convert = Callable[[Any], Any]
"""value of the old type -> value of the new type; for a list state the whole list, for a map state the whole map"""


def adapt_values(kind: str, entries: dict[Any, Any], convert: Convert) -> dict[Any, Any]:
    """The entries of a table in full form, with every value converted; tables of operators themselves are unchanged."""
    of_kind = _ENTRIES.get(kind)
    return entries if of_kind is None else {at: of_kind(entry, convert) for at, entry in entries.items()}


def _stamped_list(stamped: list[Any], convert: Convert) -> list[Any]:
    return [(stamp, value) for (stamp, _), value in zip(stamped, convert([value for _, value in stamped]))]


def _stamped_map(stamped: dict[Any, Any], convert: Convert) -> dict[Any, Any]:
    values = convert({key: value for key, (_, value) in stamped.items()})
    return {key: (stamp, value) for (stamp, _), (key, value) in zip(stamped.values(), values.items())}


_ENTRIES: dict[str, Callable[[Any, Convert], Any]] = {
    ValueTable.kind: lambda entry, convert: convert(entry),
    ListTable.kind: lambda entry, convert: (entry[0], convert(entry[1])),
    MapTable.kind: lambda entry, convert: (entry[0], convert(entry[1]), entry[2]),
    TtlValueTable.kind: lambda entry, convert: (entry[0], convert(entry[1])),
    TtlListTable.kind: lambda entry, convert: (entry[0], _stamped_list(entry[1], convert)),
    TtlMapTable.kind: lambda entry, convert: (entry[0], _stamped_map(entry[1], convert), entry[2]),
}


# State of earlier subtasks


@dataclass(frozen=True)
class Rest:
    """The state of an earlier subtask besides its keyed state."""

    shared: OperatorDelta
    """the whole operator state"""
    small: Any
    """the value of ``Operator.snapshot``"""
    watermark: int
    """the subtask's watermark (ms)"""


def _sections(
    folder: Folder,
    metadata: Metadata,
    place: OperatorPlace,
    subtask: int,
    wanted: Callable[[Section], bool],
    load: Load = load_stored,
) -> Iterator[tuple[Section, OperatorDeltas]]:
    """The needed sections of an operator in the files of one subtask, oldest first."""
    task = (place.stage, place.offset + subtask)
    chosen = partial(_is_chosen, place.uid, wanted)
    yield from chain_sections(folder, metadata.job_id, task, metadata.tasks[task], chosen, load)


def _is_chosen(uid: str, wanted: Callable[[Section], bool], section: Section) -> bool:
    return section.uid == uid and wanted(section)


# -- keyed state ------------------------------------------------------------------------------------------------------


def keyed_state(
    folder: Folder, metadata: Metadata, place: OperatorPlace, groups: range, max_parallelism: int
) -> Iterator[KeyedDelta]:
    """The keyed state of some key groups, as changes onto an empty backend to be applied one after the other."""
    if place.max_parallelism != max_parallelism:  # the groups are others
        for subtask in range(place.parallelism):
            yield from _chosen(folder, metadata, place, subtask, None, max_parallelism, groups)
        return
    for subtask in range(place.parallelism):
        own = group_range(subtask, max_parallelism, place.parallelism)
        if own == groups:
            for _, state in _sections(folder, metadata, place, subtask, lambda section: section.holds != REST):
                if state[0] is not None:
                    yield state[0]
        elif own.start < groups.stop and groups.start < own.stop:
            yield from _chosen(folder, metadata, place, subtask, groups, max_parallelism, groups)


def _chosen(
    folder: Folder,
    metadata: Metadata,
    place: OperatorPlace,
    subtask: int,
    divided_by: range | None,
    max_parallelism: int,
    groups: range,
) -> Iterator[KeyedDelta]:
    """The state of some key groups in one earlier subtask.

    :param divided_by: the range in the key groups by which the files are divided; None if those are others.
    """
    held = KeyedStateBackend()
    """changes that can't be applied to a table which already has the state of other subtasks"""

    def wanted(section: Section) -> bool:
        return section.holds != REST and (divided_by is None or section.may_hold(divided_by))

    for section, (keyed, *_) in _sections(folder, metadata, place, subtask, wanted):
        if keyed is None:
            continue
        exact = divided_by is not None and section.is_within(divided_by)
        chosen: KeyedDelta = {}
        for name, (kind, entries) in keyed.items():
            if kind not in BY_ADDRESS:
                held.apply({name: (kind, entries)})
            else:
                part = entries if exact else of_groups(kind, entries, max_parallelism, groups)
                if part:
                    chosen[name] = (kind, part)
        if chosen:
            yield chosen
    whole = held.full()
    if whole:
        yield only_keys(whole, lambda key: key_group(key, max_parallelism) in groups)


# -- the rest ---------------------------------------------------------------------------------------------------------


def rest_of(folder: Folder, metadata: Metadata, place: OperatorPlace, subtask: int, load: Load = load_stored) -> Rest:
    operator = OperatorStateBackend()
    small: Any = None
    watermark = 0
    sections = _sections(folder, metadata, place, subtask, lambda section: section.holds != KEYED_SECTIONS, load)
    for _, (_, shared, changed, gate, _) in sections:
        if shared is not None:
            operator.apply(shared)
        if changed is not None:
            small = changed
        if gate is not None and gate[0] is not None:
            watermark = gate[0][0]
    return Rest(operator.full(), small, watermark)


_kept = CachedBytes(16 * 1024 * 1024)
"""cache of pickled ``rests``; pickled, since tasks must not share objects"""


def rests(folder: Folder, metadata: Metadata, place: OperatorPlace) -> list[Rest]:
    """The rests of all earlier subtasks, in their order. A process reads them once, if they are not too large."""

    def read() -> bytes:
        return dumps([rest_of(folder, metadata, place, subtask) for subtask in range(place.parallelism)])

    found: list[Rest] = loads(_kept.get(f"{folder.uri} {metadata.id}", place.uid, read))
    return found


# -- in memory as a whole ---------------------------------------------------------------------------------------------


class EarlierSubtask:
    """One earlier subtask of an operator, for tools that inspect a checkpoint."""

    def __init__(
        self, folder: Folder, metadata: Metadata, place: OperatorPlace, subtask: int, load: Load = load_stored
    ) -> None:
        """``load``: see ``TaskFile.read``."""
        self.keyed = KeyedStateBackend()
        self.operator = OperatorStateBackend()
        for _, (keyed, *_) in _sections(folder, metadata, place, subtask, lambda section: section.holds != REST, load):
            if keyed is not None:
                self.keyed.apply(keyed)
        rest = rest_of(folder, metadata, place, subtask, load)
        self.operator.apply(rest.shared)
        self.small, self.watermark = rest.small, rest.watermark


# What tasks ask for


class FolderSnapshots:
    """A ``SnapshotFiles`` for one run of a task."""

    def __init__(self, run: int = 1) -> None:
        self._run = run

    def save(self, uri: str, info: OperatorInfo | OperatorPlace, subtask: int, state: SubtaskState) -> SavedSubtask:
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


def _metadata(uri: str) -> Metadata:
    """What a checkpoint says of itself; read once, since every operator of every task asks for the same."""
    return _read_metadata(uri, store_settings.current())


@lru_cache(maxsize=4)
def _read_metadata(uri: str, stores: store_settings.Stores) -> Metadata:
    """:param stores: with other ones the URI may lead to another checkpoint."""
    return read_metadata(open_folder(uri))


def _whole(pieces: KeyedPieces) -> Iterator[KeyedDelta]:
    """The full state, address by address. Waiting rows are by address already, unless they are batches with types."""
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
    """Whether these entries are waiting rows, by key."""
    return kind == RowBufferTable.kind and SINCE not in entries


def _adapted(
    pieces: KeyedPieces, descriptions: Iterable[StateDescription], wanted: Wanted, saved: SavedOperator | None
) -> Iterator[KeyedDelta]:
    """The pieces of full state, with values converted to the types that the functions request now."""
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
    """The changes, where those of states with a changed type have become full state."""
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
    """The conversion from the values of a stored state to the requested type; None: no conversion. ``_MISFIT`` if it
    is impossible: the driver reports everything that does not fit, and refuses to run if such state may not start
    empty."""
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
    """A folder name that people recognize and that no other operator has."""
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
        # With the same number of subtasks as before, each reads only its own state.
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
    """The small states; empty if no subtask had one."""
    return smalls if any(small is not None for small in smalls) else ()
