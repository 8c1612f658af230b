"""Operators of a savepoint that is being put together: what they keep of another one, what changes, what is new."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from millrace.checkpoint.files.folder import Folder
from millrace.checkpoint.savepoints.metadata import SavedOperator, StateDescription
from millrace.checkpoint.savepoints.state_file import StateFile
from millrace.checkpoint.savepoints.state_files import read_content, write_states
from millrace.checkpoint.savepoints.state_rows import implode, implode_operator_state
from millrace.checkpoint.snapshot_files import operator_folder
from millrace.checkpoint.values.classes import Classes
from millrace.runtime.coordination.snapshot import OperatorPlace
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.pickling import dumps
from millrace.runtime.state.backend import KeyedDelta
from millrace.runtime.state.info import KEYED
from millrace.runtime.state.operator_state import Distribution, OperatorDelta
from millrace.state.contributions import Contribution
from millrace.state.entries import Change, changed, changed_operator_state
from millrace.state.opened import Opened, Piece

__all__ = ["Draft"]


@dataclass
class Draft:
    """One operator. States are named as in ``base``, but for ``renamed``, which gives their new names."""

    place: OperatorPlace
    """as it will be"""
    base: Opened | None = None
    """the savepoint that it has been in"""
    base_place: OperatorPlace | None = None
    """as it is there"""
    removed: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    changes: dict[str, list[Change]] = field(default_factory=dict)
    declared: dict[str, StateDescription] = field(default_factory=dict)
    """new descriptions of states"""
    contributions: list[Contribution] = field(default_factory=list)

    def kept_names(self) -> dict[str, str]:
        """new name -> name in ``base``, of all states that are kept."""
        if self.base is None or self.base_place is None:
            return {}
        described = [state.name for state in self.base.metadata.states.get(self.base_place.uid, ())]
        stored = [] if self.base.is_checkpoint else [piece.state for piece in self.base.pieces(self.base_place)]
        names = dict.fromkeys([*described, *stored])
        return {self.renamed.get(name, name): name for name in names if name not in self.removed}

    # -- writing ------------------------------------------------------------------------------------------------------

    def write(self, folder: Folder, token: str) -> tuple[SavedOperator, tuple[StateDescription, ...]]:
        """Bring it into the folder of the new savepoint.

        :param token: makes the names of new files differ from those of files that are kept.
        :raises ValueError: what is new has a name that is taken.
        """
        prefix = operator_folder(self.place) + token
        kept = self._kept(folder, prefix)
        files, states = list(kept.files), list(self._kept_states())
        for number, contribution in enumerate(self.contributions, 1):
            written = contribution.write(folder.uri, f"{prefix}-{number}", self.place)
            taken = {state.name for state in states} & {state.name for state in written.states}
            if taken:
                raise ValueError(
                    f"operator {self.place.uid!r} has a state {min(taken)!r} already: remove_state() it first, or give "
                    f"the new one another name"
                )
            files += written.files
            states += written.states
        return replace(kept, files=tuple(files)), tuple(states)

    def _kept_states(self) -> Iterator[StateDescription]:
        if self.base is None or self.base_place is None:
            return
        for state in self.base.metadata.states.get(self.base_place.uid, ()):
            if state.name not in self.removed:
                state = self.declared.get(state.name, state)
                yield replace(state, name=self.renamed.get(state.name, state.name))

    def _kept(self, folder: Folder, prefix: str) -> SavedOperator:
        if self.base is None or self.base_place is None:
            return SavedOperator(watermark=MIN_TIMESTAMP)
        if self.base.is_checkpoint:
            return self._from_checkpoint(folder, prefix, self.base, self.base_place)
        return self._from_savepoint(folder, prefix, self.base, self.base_place)

    def _from_savepoint(self, folder: Folder, prefix: str, base: Opened, place: OperatorPlace) -> SavedOperator:
        saved = base.metadata.saved.get(place.uid, SavedOperator(watermark=MIN_TIMESTAMP))
        files = []
        for file in saved.files:
            if file.state not in self.removed and file.state not in self.changes:
                folder.write(file.path, [read_content(base.folder, file)])
                files.append(replace(file, state=self.renamed.get(file.state, file.state)))
        to_change: dict[int, list[Piece]] = {}
        for piece in base.pieces(place, names=self.changes.keys() - self.removed):
            to_change.setdefault(piece.subtask, []).append(piece)
        for subtask, pieces in to_change.items():
            keyed = (self._changed(piece, base.known) for piece in pieces if piece.scope == KEYED)
            shared: OperatorDelta = {}
            for piece in pieces:
                if piece.scope != KEYED:
                    entry = implode_operator_state(piece.kind, piece.load(), piece.columns, base.known)
                    shared.update(self._shared({piece.state: (Distribution(piece.kind), entry)}, subtask))
            files += write_states(folder, prefix, subtask, place.max_parallelism, keyed, shared)
        return replace(saved, files=tuple(files))

    def _changed(self, piece: Piece, known: Classes) -> KeyedDelta:
        entries: dict[Any, Any] = {}
        implode(piece.kind, piece.load(), piece.columns, known, entries)
        return self._keyed({piece.state: (piece.kind, entries)})

    def _from_checkpoint(self, folder: Folder, prefix: str, base: Opened, place: OperatorPlace) -> SavedOperator:
        files: list[StateFile] = []
        smalls, watermarks = [], []
        for subtask in range(place.parallelism):
            earlier = base.subtask(place, subtask)
            keyed, shared = self._keyed(earlier.keyed.full()), self._shared(earlier.operator.full(), subtask)
            files += write_states(folder, prefix, subtask, place.max_parallelism, [keyed], shared)
            small = earlier.small
            smalls.append(None if small is None else base64.b64encode(dumps(small)).decode("ascii"))
            watermarks.append(earlier.watermark)
        return SavedOperator(tuple(files), tuple(smalls), min(watermarks))

    def _keyed(self, states: KeyedDelta) -> KeyedDelta:
        """With all changes."""
        new: KeyedDelta = {}
        for name, (kind, entries) in states.items():
            if name not in self.removed:
                for change in self.changes.get(name, ()):
                    entries = changed(name, kind, entries, change)
                new[self.renamed.get(name, name)] = (kind, entries)
        return new

    def _shared(self, states: OperatorDelta, subtask: int) -> OperatorDelta:
        """With all changes."""
        new: OperatorDelta = {}
        for name, (distribution, entry) in states.items():
            if name not in self.removed:
                for change in self.changes.get(name, ()):
                    entry = changed_operator_state(distribution.value, subtask, entry, change)
                new[self.renamed.get(name, name)] = (distribution, entry)
        return new
