"""What earlier subtasks of an operator have left in the files of their tasks, for tasks of any parallelism.

Keyed state goes by piece from the files to whoever takes it over, and only sections of the wanted key groups are read.
What else a subtask keeps is small; tasks of another parallelism need that of all earlier ones, so a process reads it
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from millrace.checkpoint.files.errors import MissingFileError
from millrace.checkpoint.files.folder import Folder
from millrace.checkpoint.savepoints.metadata import Metadata
from millrace.checkpoint.tasks.kept import KeptBytes
from millrace.checkpoint.tasks.sections import BY_ADDRESS, of_groups
from millrace.checkpoint.tasks.storage import chain_files, state_of
from millrace.checkpoint.tasks.task_file import KEYED, REST, Load, Section, TaskFile
from millrace.checkpoint.values.moved import load as load_stored
from millrace.checkpoint.values.moved import loads
from millrace.runtime.coordination.snapshot import OperatorPlace
from millrace.runtime.exchange.keygroups import group_range, key_group
from millrace.runtime.pickling import dumps
from millrace.runtime.state.backend import KeyedDelta, KeyedStateBackend, only_keys
from millrace.runtime.state.operator_state import OperatorDelta, OperatorStateBackend
from millrace.runtime.tasks.member import OperatorDeltas

__all__ = ["EarlierSubtask", "Rest", "keyed_state", "rest_of", "rests"]

@dataclass(frozen=True)
class Rest:
    """What an earlier subtask had besides its keyed state."""

    shared: OperatorDelta
    """its operator state as a whole"""
    small: Any
    """what ``Operator.snapshot`` gave"""
    watermark: int
    """ms"""


def _sections(
    folder: Folder,
    metadata: Metadata,
    place: OperatorPlace,
    subtask: int,
    wanted: Callable[[Section], bool],
    load: Load = load_stored,
) -> Iterator[tuple[Section, OperatorDeltas]]:
    """The wanted sections of an operator in the files of one subtask, oldest first."""
    task = (place.stage, place.offset + subtask)
    for stored in chain_files(task, metadata.tasks[task]):
        path = f"{folder.uri}/{stored.path}"
        try:
            opened = folder.open(stored.path)
        except FileNotFoundError:
            raise MissingFileError(path) from None
        with opened:
            file = TaskFile(path, opened, state_of(metadata.job_id, task, stored.version), stored.checksum)
            yield from file.read(lambda section: section.uid == place.uid and wanted(section), load)


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
    """What one subtask had of some key groups.

    :param divided_by: the same in the groups that the files are divided by, None where those are others.
    """
    held = KeyedStateBackend()
    """what can't be applied to a table that has the state of other subtasks already"""

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


def rest_of(
    folder: Folder, metadata: Metadata, place: OperatorPlace, subtask: int, load: Load = load_stored
) -> Rest:
    operator = OperatorStateBackend()
    small: Any = None
    watermark = 0
    sections = _sections(folder, metadata, place, subtask, lambda section: section.holds != KEYED, load)
    for _, (_, shared, changed, gate, _) in sections:
        if shared is not None:
            operator.apply(shared)
        if changed is not None:
            small = changed
        if gate is not None and gate[0] is not None:
            watermark = gate[0][0]
    return Rest(operator.full(), small, watermark)


_kept = KeptBytes(16 * 1024 * 1024)
"""``rests``, pickled: tasks must not share objects"""


def rests(folder: Folder, metadata: Metadata, place: OperatorPlace) -> list[Rest]:
    """Of all earlier subtasks, in their order; a process reads them once, if they are not large."""

    def read() -> bytes:
        return dumps([rest_of(folder, metadata, place, subtask) for subtask in range(place.parallelism)])

    found: list[Rest] = loads(_kept.get(f"{folder.uri} {metadata.id}", place.uid, read))
    return found


# -- in memory as a whole ---------------------------------------------------------------------------------------------


class EarlierSubtask:
    """One earlier subtask of an operator, for tools that look at a checkpoint."""

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
