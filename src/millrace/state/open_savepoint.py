"""An open savepoint or checkpoint: its operators and states, from its metadata, and the content of states in pieces.

Both kinds are read in the same way. If classes are missing or not trusted, values are read by their fields without the
class, and pickles as data.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from millrace.checkpoint.classes import Classes
from millrace.checkpoint.columns import INERT
from millrace.checkpoint.compatibility import type_text
from millrace.checkpoint.folder import Folder, open_folder
from millrace.checkpoint.inert import inert_load, inert_loads
from millrace.checkpoint.metadata import CHECKPOINT, Metadata, StateDescription, StateFile, read_metadata
from millrace.checkpoint.moved import load as load_stored
from millrace.checkpoint.moved import loads
from millrace.checkpoint.restore import base_folder, snapshot_path
from millrace.checkpoint.snapshot_files import EarlierSubtask
from millrace.checkpoint.state_files import ROWS_IN_A_FILE, main_classes, read_rows
from millrace.checkpoint.state_rows import explode, explode_operator_state
from millrace.runtime.coordination.reading import ReadingSnapshot
from millrace.runtime.coordination.snapshot import OperatorPlace
from millrace.runtime.state.backend import EVENT_TIMERS, PROCESSING_TIMERS, TIMERS
from millrace.runtime.state.info import KEYED, OPERATOR
from millrace.runtime.tables.state_table import StateTable

# Values without their classes

Described = dict[str, Any]

_NO_CLASSES: dict[str, type] = {}
_KEYS = frozenset({"key", "namespace", "map_key"})
"""columns whose values must be hashable"""


def without_classes(described: Described, hashable: bool = False, known: Classes = _NO_CLASSES) -> Described:
    """The description of a column with which named tuples and dataclasses are read as dicts (as tuples if they must be
    ``hashable``), members of enums as their names, and pickles as data.

    :param known: classes whose instances are restored all the same.
    """
    form = described["form"]
    if form == "pickle":
        return {"form": INERT}
    plain = dict(described)
    if "columns" in described:
        plain["columns"] = [without_classes(column, hashable, known) for column in described["columns"]]
    if "class" in described and described["class"]["name"] not in known:
        if form == "enum":
            return {"form": "str"}
        names = list(plain.pop("class")["fields"])
        plain |= {"form": "tuple" if hashable else "dict", "names": names}
    if "element" in described:
        plain["element"] = without_classes(described["element"], hashable, known)
    if form == "dicts":
        plain["key"] = without_classes(described["key"], True, known)
        plain["value"] = without_classes(described["value"], hashable, known)
    return plain


def plain_columns(columns: dict[str, Described], known: Classes = _NO_CLASSES) -> dict[str, Described]:
    """The descriptions of all columns of a file, each as ``without_classes`` gives it."""
    return {name: without_classes(column, name in _KEYS, known) for name, column in columns.items()}


# Pieces of state


class NotInSavepointError(LookupError):
    """The savepoint has no operator or state of this name; the text lists those that it has.

    >>> issubclass(NotInSavepointError, Exception)
    True
    """


@dataclass(frozen=True)
class Piece:
    """Rows of one state of one subtask, as many as a file contains. They are in memory only after ``load``."""

    state: str
    scope: str
    kind: str
    """kind of the table, or the distribution of an operator state"""
    subtask: int
    count: int
    """number of rows"""
    size: int | None
    """size of its file in bytes; None: it has no file of its own"""
    columns: dict[str, Described]
    load: Callable[[], Any]
    """returns the rows as a ``pyarrow.Table``"""
    file: StateFile | None = None
    is_stored_as_shown: bool = True
    """whether ``load`` returns the file's content unchanged"""


@dataclass(frozen=True)
class Opened:
    """A savepoint or checkpoint of which only the metadata is in memory."""

    folder: Folder
    metadata: Metadata
    known: Classes
    """classes that can't be imported by their stored names"""
    trusted: bool
    """whether its pickles may be run and its classes imported; if not, only instances of ``known`` classes are
    restored"""

    @property
    def uri(self) -> str:
        return self.folder.uri

    @property
    def base(self) -> Folder:
        """The folder to which the paths of its files are relative."""
        return base_folder(self.folder, self.metadata)

    @property
    def is_checkpoint(self) -> bool:
        """Whether its state is in the files of the job's tasks, each of which contains all operators."""
        return self.metadata.kind == CHECKPOINT

    def find(self, uid: str) -> OperatorPlace:
        """The operator with a uid, or with a name that only one operator has.

        :raises NotInSavepointError: there is no such operator, or several have the name.
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
        """The states of an operator, piece by piece: those of a scope (None: of both) with the given names."""
        find = self._of_checkpoint if self.is_checkpoint else self._of_savepoint
        for piece in find(place):
            if (scope is None or piece.scope == scope) and (names is None or piece.state in names):
                yield piece

    def names(self, place: OperatorPlace, scope: str) -> Iterator[tuple[str, str]]:
        """(name, kind) of the states of a scope, without timers; first those with a description, which take no
        reading.
        """
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
        """One subtask of an operator in a checkpoint, completely in memory."""
        load = load_stored if self.trusted else inert_load
        return EarlierSubtask(self.base, self.metadata, place, subtask, load)

    def sources(self) -> dict[str, ReadingSnapshot]:
        """uid -> read positions of the source."""
        return self.metadata.driver_state(self._load)[0]  # type: ignore[no-any-return]

    @property
    def _load(self) -> Callable[[Any], Any]:
        return loads if self.trusted else inert_loads


def _read_file(uri: str, file: StateFile) -> Any:
    """As ``read_rows``, by URI, so that it can run in any process."""
    return read_rows(open_folder(uri), file)


def _in_memory(state: str, scope: str, kind: str, subtask: int, rows: Any, columns: dict[str, Described]) -> Piece:
    return Piece(state, scope, kind, subtask, len(rows), None, columns, lambda: rows)


def open_snapshot(path: str, classes: Iterable[type] = (), trust: bool = False) -> Opened:
    """Open the savepoint or checkpoint at a path or URI; for the directory of a job, its last checkpoint.

    :param classes: classes that the program which wrote the state had in its main module, if that is not the main
        module now.
    :param trust: whether pickles may be run, and import what they name.
    :raises SnapshotError: nothing of the kind is there, or it is damaged.
    """
    folder = open_folder(snapshot_path(path))
    metadata = read_metadata(folder)
    known = {f"{module}:{cls.__qualname__}": cls for cls in classes for module in ("__main__", cls.__module__)}
    if trust:
        files = [file for saved in metadata.saved.values() for file in saved.files]
        known = {**main_classes(files), **known}
    return Opened(folder, metadata, known, trust)


def nearest(name: str, names: Iterable[str]) -> str:
    """A text for a name that does not exist: similar names, or all names."""
    known = list(dict.fromkeys(names))
    similar = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if similar:
        return f"did you mean {' or '.join(map(repr, similar))}?"
    return f"there are: {', '.join(map(repr, known))}" if known else "there are none"


# Operators and states

TIMER_NAMES = {EVENT_TIMERS: "event-time timers", PROCESSING_TIMERS: "processing-time timers"}
"""how timers are shown among the states"""
KINDS = {"SPLIT_DISTRIBUTE": "list", "UNION": "union list", "BROADCAST": "broadcast"}
"""how the kinds of redistribution are shown"""


@dataclass(frozen=True)
class StateEntry:
    """One state of an operator.

    >>> StateEntry("n", "value", "keyed", "Integer", False, 1, 20).rows
    1
    """

    name: str
    kind: str
    """value, list, map, reducing, aggregating, timers; union list, broadcast; or the kind of an operator's own state"""
    scope: str
    """``keyed`` or ``operator``"""
    type: str | None
    """the type that the function declared; for state of a query its columns; None for other state of the operator
    itself"""
    ttl: bool
    """whether the state has a time to live"""
    rows: int
    """number of values, elements of lists, or entries of maps; of operator state in all subtasks together"""
    bytes: int | None
    """size of the state's files; None in checkpoints, whose files contain many states"""


@dataclass(frozen=True)
class OperatorEntry:
    """One operator.

    >>> OperatorEntry("counts", "Count", 1, 128, ()).uid
    'counts'
    """

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    states: tuple[StateEntry, ...]


def operator_entry(opened: Opened, place: OperatorPlace) -> OperatorEntry:
    """The entry of an operator. For a checkpoint this reads the state, because only that shows how much there is."""
    described = {(state.scope, state.name): state for state in opened.metadata.states.get(place.uid, ())}
    found: dict[tuple[str, str], list[Piece]] = {at: [] for at in described}
    for piece in opened.pieces(place):
        found.setdefault((piece.scope, piece.state), []).append(piece)
    tables = {(KEYED, table.state): table for table in place.state_tables}
    states = (
        _state_entry(at, described.get(at), pieces, opened.is_checkpoint, tables.get(at))
        for at, pieces in found.items()
    )
    return OperatorEntry(place.uid, place.name, place.parallelism, place.max_parallelism, tuple(states))


def _state_entry(
    at: tuple[str, str],
    described: StateDescription | None,
    pieces: Iterable[Piece],
    checkpoint: bool,
    table: StateTable | None,
) -> StateEntry:
    scope, name = at
    pieces = list(pieces)
    kind = described.kind if described is not None else pieces[0].kind
    ttl = described.ttl if described is not None else kind.startswith("TTL ")
    declared = None if described is None or described.type is None else type_text(described.type)
    if table is not None:
        declared = table.type
    return StateEntry(
        TIMER_NAMES.get(name, name),
        KINDS.get(kind, kind.removeprefix("TTL ")),
        scope,
        declared,
        ttl,
        sum(piece.count for piece in pieces),
        None if checkpoint else sum(piece.size or 0 for piece in pieces),
    )
