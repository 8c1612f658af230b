"""A savepoint in the making: the state that its operators take from another savepoint, with changes and new state.

New keyed state may come from a Spark DataFrame, and is created on Spark's workers: rows are sent, many packed into one,
to the task for their range of key groups, which runs the function and writes the files. Nothing here imports Spark.
"""

from __future__ import annotations

import base64
import os
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from millrace.checkpoint.classes import Classes
from millrace.checkpoint.folder import Folder, open_folder
from millrace.checkpoint.metadata import SavedOperator, StateDescription, StateFile
from millrace.checkpoint.snapshot_files import operator_folder
from millrace.checkpoint.state_files import read_content, write_states
from millrace.checkpoint.state_rows import implode, implode_operator_state
from millrace.common.files import store_settings
from millrace.common.state import ListStateDescriptor, MapStateDescriptor, StateDescriptor
from millrace.runtime.coordination.snapshot import OperatorPlace
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.state.backend import KeyedDelta
from millrace.runtime.state.info import KEYED, StateInfo
from millrace.runtime.state.operator_state import Distribution, OperatorDelta, OperatorStateBackend
from millrace.runtime.state.restoring.redistribute import redistribute
from millrace.runtime.storage import dumps
from millrace.state.bootstrap import (
    BootstrapError,
    BootstrapTransformation,
    Getter,
    KeyedChunk,
    Recipe,
    batches_of,
    is_frame,
    rows_of,
)
from millrace.state.entries import Change, changed, changed_operator_state
from millrace.state.open_savepoint import Opened, Piece

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# State from DataFrames

_PACKED = pa.schema([("target", pa.int32()), ("payload", pa.binary())])
_DONE = pa.schema([("payload", pa.binary())])


def run_on_spark(frame: DataFrame, recipe: Recipe, uri: str, prefix: str) -> tuple[list[StateFile], list[StateInfo]]:
    """Run a recipe on Spark. Returns the files that the tasks have written below ``prefix``, and the states that the
    function has requested.

    :raises BootstrapError: the function failed; other errors are Spark's.
    """
    packed = frame.mapInArrow(_Pack(recipe), "target INT, payload BINARY").repartitionById(recipe.parallelism, "target")
    done = packed.mapInArrow(_Fill(recipe, uri, prefix), "payload BINARY").collect()
    files: list[StateFile] = []
    infos: Sequence[StateInfo] | None = None
    for row in done:
        answer = pickle.loads(row.payload)
        if isinstance(answer, BootstrapError):
            raise answer
        written, infos = answer
        files += written
    _delete_others(uri, prefix, {file.path for file in files})
    return files, list(recipe.run(()).described() if infos is None else infos)


def _delete_others(uri: str, prefix: str, wanted: set[str]) -> None:
    """Delete the files of other runs, because Spark may have run a task twice."""
    folder = open_folder(uri)
    for path in folder.files(prefix):
        if path not in wanted:
            folder.delete(path)


class _Pack:
    """The function for ``mapInArrow`` that packs rows for other tasks; a failure is a row, too."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        try:
            for chunk in self._recipe.keyed(map(rows_of, batches)):
                yield _packed(self._recipe.split(chunk))
        except BootstrapError as error:
            yield _packed({0: error})


def _packed(parts: dict[int, Any]) -> Any:
    columns = [list(parts), list(map(dumps, parts.values()))]
    return pa.RecordBatch.from_arrays(list(map(pa.array, columns, _PACKED.types)), schema=_PACKED)


class _Fill:
    """The function for ``mapInArrow`` that turns packed rows into files, and returns descriptions of these files."""

    def __init__(self, recipe: Recipe, uri: str, prefix: str) -> None:
        self._recipe, self._uri, self._prefix = recipe, uri, prefix
        self._stores = store_settings.shipped()

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        arriving = iter(batches)
        first = next(arriving, None)
        if first is None:
            return
        answer: Any
        try:
            answer = self._run(first.column("target")[0].as_py(), chain([first], arriving))
        except BootstrapError as error:
            answer = error
        yield pa.RecordBatch.from_arrays([pa.array([dumps(answer)], pa.binary())], schema=_DONE)

    def _run(self, subtask: int, batches: Iterable[Any]) -> tuple[list[StateFile], list[StateInfo]]:
        store_settings.take(self._stores)
        recipe = self._recipe
        payloads = (payload for batch in batches for payload in batch.column("payload"))
        backend = recipe.run(map(_unpacked, payloads), subtask)
        run = int.from_bytes(os.urandom(4), "big")
        files = write_states(
            open_folder(self._uri), self._prefix, subtask, recipe.max_parallelism, backend.full_pieces(), None, run
        )
        return files, backend.described()


def _unpacked(payload: Any) -> KeyedChunk:
    chunk: KeyedChunk | BootstrapError = pickle.loads(payload.as_py())
    if isinstance(chunk, BootstrapError):
        raise chunk
    return chunk


# New state


@dataclass(frozen=True)
class Written:
    """New state of one operator, written to files."""

    files: tuple[StateFile, ...]
    states: tuple[StateDescription, ...]


class Contribution(Protocol):
    """New state for one operator."""

    def write(self, uri: str, prefix: str, place: OperatorPlace) -> Written:
        """Create the state, in files below ``prefix`` in the folder at ``uri``."""


@dataclass(frozen=True)
class KeyedContribution:
    """Keyed state that a bootstrap function creates from rows."""

    transformation: BootstrapTransformation
    origin: str
    """file:line of the user's call"""

    def write(self, uri: str, prefix: str, place: OperatorPlace) -> Written:
        rows, parallelism = self.transformation.rows, self.transformation.parallelism
        if is_frame(rows):
            tasks = min(parallelism or rows.sparkSession.sparkContext.defaultParallelism, place.max_parallelism)
            recipe = Recipe(self.transformation, place.uid, self.origin, place.max_parallelism, tasks)
            files, infos = run_on_spark(rows, recipe, uri, prefix)
        else:
            recipe = Recipe(self.transformation, place.uid, self.origin, place.max_parallelism)
            chunks = (chunk for keyed in recipe.keyed(batches_of(rows)) for chunk in recipe.split(keyed).values())
            backend = recipe.run(chunks)
            files = write_states(open_folder(uri), prefix, 0, place.max_parallelism, backend.full_pieces(), None)
            infos = backend.described()
        return Written(tuple(files), tuple(map(StateDescription.of, infos)))


@dataclass(frozen=True)
class OperatorStateContribution:
    """A list, union list or broadcast state of new operator state."""

    descriptor: StateDescriptor
    distribution: Distribution
    rows: Any
    value: Getter
    """makes of a row an element of the list, or the (key, value) of a broadcast state"""

    def write(self, uri: str, prefix: str, place: OperatorPlace) -> Written:
        backend = OperatorStateBackend()
        self._fill(backend)
        files = []
        for subtask, state in enumerate(redistribute([backend.full()], place.parallelism)):
            files += write_states(open_folder(uri), prefix, subtask, place.max_parallelism, (), state)
        return Written(tuple(files), tuple(map(StateDescription.of, backend.described())))

    def _fill(self, backend: OperatorStateBackend) -> None:
        values = (self.value(row) for batch in batches_of(_local(self.rows)) for row in batch)
        if self.distribution is Distribution.BROADCAST:
            assert isinstance(self.descriptor, MapStateDescriptor)
            backend.get_broadcast_state(self.descriptor).put_all(dict(values))
            return
        assert isinstance(self.descriptor, ListStateDescriptor)
        union = self.distribution is Distribution.UNION
        get = backend.get_union_list_state if union else backend.get_list_state
        get(self.descriptor).add_all(list(values))


def _local(rows: Any) -> Iterable[Any]:
    """The rows on the driver, since operator state is small."""
    if isinstance(rows, Mapping):
        return rows.items()
    return rows.toArrow() if is_frame(rows) else rows  # type: ignore[no-any-return]


# Operators


@dataclass
class Draft:
    """One operator of the new savepoint. Its states have the names that they have in ``base``, unless ``renamed`` gives
    new ones."""

    place: OperatorPlace
    """the operator in the new savepoint"""
    base: Opened | None = None
    """the savepoint that the operator comes from; None: the operator is new"""
    base_place: OperatorPlace | None = None
    """the operator in ``base``; None: it is new"""
    removed: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    changes: dict[str, list[Change]] = field(default_factory=dict)
    declared: dict[str, StateDescription] = field(default_factory=dict)
    """name of a state -> its new description"""
    contributions: list[Contribution] = field(default_factory=list)

    def kept_names(self) -> dict[str, str]:
        """new name -> name in ``base``, for the states that the new savepoint takes over."""
        if self.base is None or self.base_place is None:
            return {}
        described = [state.name for state in self.base.metadata.states.get(self.base_place.uid, ())]
        stored = [] if self.base.is_checkpoint else [piece.state for piece in self.base.pieces(self.base_place)]
        names = dict.fromkeys([*described, *stored])
        return {self.renamed.get(name, name): name for name in names if name not in self.removed}

    # -- writing ------------------------------------------------------------------------------------------------------

    def write(self, folder: Folder, token: str) -> tuple[SavedOperator, tuple[StateDescription, ...]]:
        """Write the operator into the folder of the new savepoint.

        :param token: makes the names of new files differ from those of copied files.
        :raises ValueError: a new state has a name that exists already.
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
        """The keyed states with all changes applied."""
        new: KeyedDelta = {}
        for name, (kind, entries) in states.items():
            if name not in self.removed:
                for change in self.changes.get(name, ()):
                    entries = changed(name, kind, entries, change)
                new[self.renamed.get(name, name)] = (kind, entries)
        return new

    def _shared(self, states: OperatorDelta, subtask: int) -> OperatorDelta:
        """The operator states with all changes applied."""
        new: OperatorDelta = {}
        for name, (distribution, entry) in states.items():
            if name not in self.removed:
                for change in self.changes.get(name, ()):
                    entry = changed_operator_state(distribution.value, subtask, entry, change)
                new[self.renamed.get(name, name)] = (distribution, entry)
        return new
