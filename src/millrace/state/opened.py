"""A savepoint or checkpoint that lies open: its states piece by piece, whichever of the two it is."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from millrace.checkpoint.earlier import EarlierSubtask
from millrace.checkpoint.files.folder import Folder, open_folder
from millrace.checkpoint.restore import base_folder, snapshot_path
from millrace.checkpoint.savepoints.metadata import CHECKPOINT, Metadata, read_metadata
from millrace.checkpoint.savepoints.state_file import StateFile
from millrace.checkpoint.savepoints.state_files import ROWS_IN_A_FILE, main_classes, read_rows
from millrace.checkpoint.savepoints.state_rows import explode, explode_operator_state
from millrace.checkpoint.values.classes import Classes
from millrace.checkpoint.values.inert import inert_load, inert_loads
from millrace.checkpoint.values.moved import load as load_stored
from millrace.checkpoint.values.moved import loads
from millrace.runtime.coordination.reading import ReadingSnapshot
from millrace.runtime.coordination.snapshot import OperatorPlace
from millrace.runtime.state.backend import TIMERS
from millrace.runtime.state.info import KEYED, OPERATOR
from millrace.state.plain import plain_columns

__all__ = ["NotInSavepointError", "Opened", "Piece", "nearest", "open_snapshot"]

Described = dict[str, Any]


class NotInSavepointError(LookupError):
    """There is no operator or state of this name in the savepoint; the text tells which there are.

        >>> issubclass(NotInSavepointError, Exception)
        True
    """


@dataclass(frozen=True)
class Piece:
    """Rows of one state of one subtask, as many as a file has. They are not in memory before they are loaded."""

    state: str
    scope: str
    kind: str
    """of the table, or the distribution of an operator state"""
    subtask: int
    count: int
    """of rows"""
    size: int | None
    """bytes of its file; None: it has none of its own"""
    columns: dict[str, Described]
    load: Callable[[], Any]
    """gives the rows as a ``pyarrow.Table``"""
    file: StateFile | None = None
    is_stored_as_shown: bool = True
    """whether ``load`` gives what is in the file"""


@dataclass(frozen=True)
class Opened:
    """A savepoint, or a checkpoint. Nothing but its metadata is in memory."""

    folder: Folder
    metadata: Metadata
    known: Classes
    """classes that may be missing where they were"""
    trusted: bool
    """whether its pickles may be run and its classes be imported; without, of these only ``known`` ones are made"""

    @property
    def uri(self) -> str:
        return self.folder.uri

    @property
    def base(self) -> Folder:
        """Where the paths of its files begin."""
        return base_folder(self.folder, self.metadata)

    @property
    def is_checkpoint(self) -> bool:
        """Whether its state lies in files of the job's tasks, which hold all operators at once."""
        return self.metadata.kind == CHECKPOINT

    def find(self, uid: str) -> OperatorPlace:
        """The operator of a uid, or of a name that only one operator has.

        :raises NotInSavepointError: there is none, or several have the name.
        """
        by_uid = self.metadata.by_uid
        if uid in by_uid:
            return by_uid[uid]
        named = [place for place in by_uid.values() if place.name == uid]
        if len(named) > 1:
            uids = ", ".join(place.uid for place in named)
            raise NotInSavepointError(f"{len(named)} operators in {self.uri} are named {uid!r}: use a uid ({uids})")
        if named:
            return named[0]
        names = [name for place in by_uid.values() for name in (place.uid, place.name)]
        raise NotInSavepointError(f"{self.uri} has no operator {uid!r}; {nearest(uid, names)}")

    def pieces(
        self, place: OperatorPlace, scope: str | None = None, names: Collection[str] | None = None
    ) -> Iterator[Piece]:
        """The states of an operator, one piece after the other: those of a scope (None: of both) and of some names."""
        find = self._of_checkpoint if self.is_checkpoint else self._of_savepoint
        for piece in find(place):
            if (scope is None or piece.scope == scope) and (names is None or piece.state in names):
                yield piece

    def names(self, place: OperatorPlace, scope: str) -> Iterator[tuple[str, str]]:
        """(name, kind) of the states of a scope, first those that are described: they cost nothing. Without timers."""
        seen = set()
        for state in self.metadata.states.get(place.uid, ()):
            if state.scope == scope:
                seen.add(state.name)
                yield state.name, state.kind
        for piece in self.pieces(place, scope):
            if piece.state not in seen and piece.kind != TIMERS:
                seen.add(piece.state)
                yield piece.state, piece.kind

    def _of_savepoint(self, place: OperatorPlace) -> Iterator[Piece]:
        saved = self.metadata.saved.get(place.uid)
        for file in saved.files if saved is not None else ():
            load = partial(_read_file, self.uri, file)
            columns = file.columns if self.trusted else plain_columns(file.columns, self.known)
            yield Piece(file.state, file.scope, file.kind, file.subtask, file.rows, file.size, columns, load, file)

    def _of_checkpoint(self, place: OperatorPlace) -> Iterator[Piece]:
        for subtask in range(place.parallelism):
            earlier = self.subtask(place, subtask)
            for name, (kind, entries) in earlier.keyed.full().items():
                for rows, columns in explode(kind, entries, place.max_parallelism, ROWS_IN_A_FILE):
                    yield _in_memory(name, KEYED, kind, subtask, rows, columns)
            for name, (distribution, entry) in earlier.operator.full().items():
                rows, columns = explode_operator_state(distribution.value, entry)
                yield _in_memory(name, OPERATOR, distribution.value, subtask, rows, columns)

    def subtask(self, place: OperatorPlace, subtask: int) -> EarlierSubtask:
        """One subtask of an operator of a checkpoint, in memory as a whole."""
        load = load_stored if self.trusted else inert_load
        return EarlierSubtask(self.base, self.metadata, place, subtask, load)

    def sources(self) -> dict[str, ReadingSnapshot]:
        """uid -> how far a source had read."""
        return self.metadata.driver_state(self._load)[0]  # type: ignore[no-any-return]

    @property
    def _load(self) -> Callable[[Any], Any]:
        return loads if self.trusted else inert_loads


def _read_file(uri: str, file: StateFile) -> Any:
    """As ``read_rows``, for whatever process."""
    return read_rows(open_folder(uri), file)


def _in_memory(
    state: str, scope: str, kind: str, subtask: int, rows: Any, columns: dict[str, Described]
) -> Piece:
    return Piece(state, scope, kind, subtask, len(rows), None, columns, lambda: rows)


def open_snapshot(path: str, classes: Iterable[type] = (), trust: bool = False) -> Opened:
    """What lies at a path or URI: a savepoint, a checkpoint, or the directory of a job, then its last checkpoint.

    :param classes: what the state's program had in its main module, where that is not the main module now.
    :param trust: whether what is pickled there may run, and import what it names.
    :raises SnapshotError: there is neither, or it is damaged.
    """
    folder = open_folder(snapshot_path(path))
    metadata = read_metadata(folder)
    known = {f"{module}:{cls.__qualname__}": cls for cls in classes for module in ("__main__", cls.__module__)}
    if trust:
        files = [file for saved in metadata.saved.values() for file in saved.files]
        known = {**main_classes(files), **known}
    return Opened(folder, metadata, known, trust)


def nearest(name: str, names: Iterable[str]) -> str:
    """What to say about a name that is not there: similar ones, or else all."""
    known = list(dict.fromkeys(names))
    similar = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if similar:
        return f"did you mean {' or '.join(map(repr, similar))}?"
    return f"there are: {', '.join(map(repr, known))}" if known else "there are none"
