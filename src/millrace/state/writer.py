"""``SavepointWriter``: creates savepoints from data, or from other savepoints with changes.

New keyed state may come from a Spark DataFrame, and is created on Spark's workers: rows are sent, many packed into one,
to the task for their range of key groups, which runs the function and writes the files. Nothing here imports Spark.
"""

from __future__ import annotations

import base64
import contextlib
import os
import pickle
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from millrace.checkpoint.classes import Classes
from millrace.checkpoint.directory import check_trusted
from millrace.checkpoint.folder import Folder, open_folder
from millrace.checkpoint.metadata import SAVEPOINT, Metadata, SavedOperator, StateDescription, StateFile, write_metadata
from millrace.checkpoint.snapshot_files import operator_folder
from millrace.checkpoint.state_files import read_content, write_states
from millrace.checkpoint.state_rows import implode, implode_operator_state
from millrace.common.files import store_settings
from millrace.common.files.file_systems import absolute
from millrace.common.functions import KeySelector
from millrace.common.jobs import JobID
from millrace.common.state import ListStateDescriptor, MapStateDescriptor, StateDescriptor
from millrace.runtime.coordination.snapshot import OperatorPlace
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.exchange.keys import DEFAULT_LOWER_BOUND_MAX_PARALLELISM, UPPER_BOUND_MAX_PARALLELISM
from millrace.runtime.state.backend import KeyedDelta
from millrace.runtime.state.info import KEYED, OPERATOR, StateInfo
from millrace.runtime.state.operator_state import Distribution, OperatorDelta, OperatorStateBackend
from millrace.runtime.state.restoring.redistribute import redistribute
from millrace.runtime.storage import dumps
from millrace.state.bootstrap import (
    BootstrapError,
    BootstrapTransformation,
    Getter,
    KeyedChunk,
    OneState,
    OperatorTransformation,
    Recipe,
    as_getter,
    batches_of,
    is_frame,
    rows_of,
)
from millrace.state.open_savepoint import NotInSavepointError, Opened, Piece, nearest, open_snapshot
from millrace.state.state_columns import Change, changed, changed_operator_state
from millrace.util.tracebacks import user_origin

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

    def retained_names(self) -> dict[str, str]:
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
        files, states = list(kept.files), list(self._retained_states())
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

    def _retained_states(self) -> Iterator[StateDescription]:
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


# The writer


class SavepointWriter:
    """Creates a savepoint. All work is done in ``write``, which does not change the savepoint that was read.

        writer = SavepointWriter.new()
        writer.keyed_state("totals", ValueStateDescriptor("total", Types.LONG()), table, key="user", value="total")
        writer.write("/savepoints/begin")

        SavepointWriter.from_savepoint("/savepoints/old").change("totals", "total", halve).write("/savepoints/new")

    An operator of a job restores the state with its uid. Methods that add or change return the writer itself.

        >>> writer = SavepointWriter.new().keyed_state(
        ...     "counts", ValueStateDescriptor("n", Types.INT()), [("Ann", 3)], lambda row: row[0], lambda row: row[1])
        >>> path = writer.write("begin")
        >>> changed = SavepointWriter.from_savepoint(path).change_operator_uid("counts", "totals").write("next")
        >>> [operator.uid for operator in SavepointReader.read(changed).operators()]
        ['totals']
    """

    def __init__(self, base: Opened | None, max_parallelism: int) -> None:
        if not 0 < max_parallelism <= UPPER_BOUND_MAX_PARALLELISM:
            raise ValueError(f"the maximum parallelism is 1 to {UPPER_BOUND_MAX_PARALLELISM}, not {max_parallelism}")
        self._base = base
        self._max_parallelism = max_parallelism
        places = () if base is None else base.metadata.operators
        self._drafts = {place.uid: Draft(place, base, place) for place in places}

    @staticmethod
    def new(max_parallelism: int = DEFAULT_LOWER_BOUND_MAX_PARALLELISM) -> SavepointWriter:
        """Start with an empty savepoint.

        :param max_parallelism: the maximum parallelism of the operators that will be restored from it, which can't
            change later.
        """
        return SavepointWriter(None, max_parallelism)

    @staticmethod
    def from_savepoint(
        path: str,
        classes: Iterable[type] = (),
        max_parallelism: int = DEFAULT_LOWER_BOUND_MAX_PARALLELISM,
        trust_directory: bool = False,
    ) -> SavepointWriter:
        """Start with the whole content of a savepoint or checkpoint, including the positions of its sources. Its
        pickles are run, as when a job is restored from it, so use it only for your own savepoints.

        :param classes: see ``SavepointReader.read``.
        :param max_parallelism: the maximum parallelism of operators that are added.
        :param trust_directory: whether every user who could have written it may be trusted.
        :raises NotPrivateError: another user could have written it.
        :raises SnapshotError: nothing of the kind is there, or it is damaged.
        """
        opened = open_snapshot(path, classes, trust=True)
        if not trust_directory:
            check_trusted(opened.folder, opened.base, opened.metadata)
        return SavepointWriter(opened, max_parallelism)

    # -- new state ----------------------------------------------------------------------------------------------------

    def with_operator(
        self, uid: str, transformation: BootstrapTransformation, name: str | None = None
    ) -> SavepointWriter:
        """Add an operator with the keyed state that a bootstrap function creates.

        :param name: name of the operator, for display; by default the uid.
        :raises ValueError: there is an operator with this uid.
        """
        if not isinstance(transformation, BootstrapTransformation):
            raise TypeError(
                f"with_operator() takes OperatorTransformation.bootstrap_with(rows).key_by(key).transform(function), "
                f"not {transformation!r}"
            )
        if uid in self._drafts:
            raise ValueError(f"there is an operator {uid!r} already: remove_operator() it first")
        self._draft(uid, name).contributions.append(KeyedContribution(transformation, user_origin()))
        return self

    def keyed_state(
        self,
        uid: str,
        descriptor: StateDescriptor,
        rows: Any,
        key: str | KeySelector | Getter,
        value: str | Getter | None = None,
    ) -> SavepointWriter:
        """Add one keyed state to an operator, which may be new.

        :param rows: an Arrow table, a pandas or Spark DataFrame, whose rows are dicts, or any iterable.
        :param key: a column, or a function of a row.
        :param value: a column, or a function of a row; by default the row itself. A value state is set to it; it is
            added to a list, reducing or aggregating state of the key; for a map state it is a pair.
        :raises ValueError: the operator has a state of this name.
        """
        if not isinstance(descriptor, StateDescriptor):
            raise TypeError(f"keyed state is described by a StateDescriptor, not by {descriptor!r}")
        draft = self._draft_without(uid, descriptor.get_name())
        function = OneState(descriptor, as_getter(value, "value"))
        transformation = OperatorTransformation.bootstrap_with(rows).key_by(key).transform(function)
        draft.contributions.append(KeyedContribution(transformation, user_origin()))
        return self

    def list_state(
        self, uid: str, descriptor: ListStateDescriptor, rows: Any, value: str | Getter | None = None
    ) -> SavepointWriter:
        """Add a list of operator state, whose elements are divided among the subtasks. See ``keyed_state``."""
        return self._operator_state(uid, descriptor, Distribution.SPLIT_DISTRIBUTE, rows, as_getter(value, "value"))

    def union_state(
        self, uid: str, descriptor: ListStateDescriptor, rows: Any, value: str | Getter | None = None
    ) -> SavepointWriter:
        """Add a list of operator state that every subtask gets as a whole. See ``keyed_state``."""
        return self._operator_state(uid, descriptor, Distribution.UNION, rows, as_getter(value, "value"))

    def broadcast_state(
        self,
        uid: str,
        descriptor: MapStateDescriptor,
        rows: Any,
        key: str | Getter | None = None,
        value: str | Getter | None = None,
    ) -> SavepointWriter:
        """Add a broadcast state. See ``keyed_state``.

        :param rows: also a dict; without ``key`` and ``value`` any iterable of pairs.
        """
        pair: Getter = as_getter(None, "row")
        if key is not None:
            key_of, value_of = as_getter(key, "key"), as_getter(value, "value")
            pair = lambda row: (key_of(row), value_of(row))
        return self._operator_state(uid, descriptor, Distribution.BROADCAST, rows, pair)

    def _operator_state(
        self, uid: str, descriptor: Any, distribution: Distribution, rows: Any, value: Getter
    ) -> SavepointWriter:
        wanted = MapStateDescriptor if distribution is Distribution.BROADCAST else ListStateDescriptor
        if not isinstance(descriptor, wanted):
            raise TypeError(f"this takes a {wanted.__name__}, not {descriptor!r}")
        draft = self._draft_without(uid, descriptor.get_name())
        draft.contributions.append(OperatorStateContribution(descriptor, distribution, rows, value))
        return self

    def _draft(self, uid: str, name: str | None = None) -> Draft:
        if uid not in self._drafts:
            place = OperatorPlace(uid, name or uid, "", 1, self._max_parallelism, 0, 0)
            self._drafts[uid] = Draft(place)
        return self._drafts[uid]

    def _draft_without(self, uid: str, state: str) -> Draft:
        """The draft of an operator that must not have such a state yet."""
        draft = self._draft(uid)
        if state in draft.retained_names():
            raise ValueError(f"operator {uid!r} has a state {state!r} already: change() it, or remove_state() it first")
        return draft

    # -- changes ------------------------------------------------------------------------------------------------------

    def change(
        self, uid: str, state: str, function: Change, descriptor: StateDescriptor | None = None
    ) -> SavepointWriter:
        """Replace the values of a state by what ``function(key, value)`` returns; None removes an entry.

        Keys and values are those of ``items()`` in ``SavepointReader``; times of the last access stay.

        :param descriptor: the new descriptor of the state, if the function returns values of another type.
        :raises NotInSavepointError: there is no such state.
        """
        draft = self._find(uid)
        name = self._retained_name(draft, state)
        draft.changes.setdefault(name, []).append(function)
        if descriptor is not None:
            draft.declared[name] = _declared(draft, name, descriptor)
        return self

    def rename_state(self, uid: str, old: str, new: str) -> SavepointWriter:
        """Rename a state.

        :raises NotInSavepointError: there is no state ``old``.
        :raises ValueError: there is a state ``new``.
        """
        draft = self._find(uid)
        name = self._retained_name(draft, old)
        if new in draft.retained_names():
            raise ValueError(f"operator {uid!r} has a state {new!r} already")
        draft.renamed[name] = new
        return self

    def remove_state(self, uid: str, state: str) -> SavepointWriter:
        """Remove a state.

        :raises NotInSavepointError: there is no such state.
        """
        draft = self._find(uid)
        draft.removed.add(self._retained_name(draft, state))
        return self

    def remove_operator(self, uid: str) -> SavepointWriter:
        """Remove an operator, with the positions of a source and the committables of a sink.

        :raises NotInSavepointError: there is no operator of this uid.
        """
        del self._drafts[self._find(uid).place.uid]
        return self

    def change_operator_uid(self, old: str, new: str) -> SavepointWriter:
        """Change the uid of an operator, so that its state is restored by another one.

        :raises NotInSavepointError: there is no operator ``old``.
        :raises ValueError: there is an operator ``new``.
        """
        draft = self._find(old)
        if new in self._drafts:
            raise ValueError(f"there is an operator {new!r} already")
        uid = draft.place.uid
        draft.place = replace(draft.place, uid=new)
        self._drafts = {new if known == uid else known: other for known, other in self._drafts.items()}
        return self

    def _find(self, uid: str) -> Draft:
        if uid in self._drafts:
            return self._drafts[uid]
        named = [draft for draft in self._drafts.values() if draft.place.name == uid]
        if len(named) == 1:
            return named[0]
        names = [name for draft in self._drafts.values() for name in (draft.place.uid, draft.place.name)]
        raise NotInSavepointError(f"the savepoint has no operator {uid!r}; {nearest(uid, names)}")

    def _retained_name(self, draft: Draft, state: str) -> str:
        names = draft.retained_names()
        if state not in names:
            raise NotInSavepointError(
                f"operator {draft.place.uid!r} has kept no state {state!r}; {nearest(state, names)}"
            )
        return names[state]

    # -- writing ------------------------------------------------------------------------------------------------------

    def write(self, path: str) -> str:
        """Write the savepoint into a folder that is empty or does not exist, at a path or URI. Returns the path.

        :raises ValueError: the folder is not empty, or two states of an operator have the same name.
        :raises BootstrapError: a bootstrap function failed.
        :raises EvolutionError: values to be changed can't be read.
        """
        folder = open_folder(absolute(path))
        if folder.files():
            raise ValueError(f"{folder.uri} is not empty: a savepoint needs a folder of its own")
        token = "" if self._base is None or self._base.is_checkpoint else f"-{uuid.uuid4().hex[:8]}"
        try:
            written = {uid: draft.write(folder, token) for uid, draft in self._drafts.items()}
        except BaseException:
            with contextlib.suppress(Exception):
                folder.delete_tree()
            raise
        metadata = replace(
            self._metadata(),
            operators=tuple(draft.place for draft in self._drafts.values()),
            states={uid: states for uid, (_, states) in written.items() if states},
            saved={uid: saved for uid, (saved, _) in written.items()},
        )
        write_metadata(folder, metadata)
        return folder.uri

    def _metadata(self) -> Metadata:
        """The metadata without the operators."""
        if self._base is None:
            driver = _encoded({}, (), {}, {})
            return Metadata(SAVEPOINT, str(JobID.generate()), "bootstrap", 1, _now(), (), driver=driver)
        base = self._base.metadata
        return replace(base, kind=SAVEPOINT, time=_now(), tasks={}, driver=self._driver(base))

    def _driver(self, base: Metadata) -> str:
        """The pickle of the driver's objects, with the present uids. It is unchanged if no uid has changed."""
        uids = {draft.base_place.uid: uid for uid, draft in self._drafts.items() if draft.base_place is not None}
        if all(uids.get(place.uid) == place.uid for place in base.operators):
            return base.driver
        left = base.snapshot()
        parts = ({uids[uid]: part for uid, part in parts.items() if uid in uids} for parts in _by_uid(left))
        sources, committables, writers = parts
        return _encoded(sources, left.loops, committables, writers)


def _by_uid(snapshot: Any) -> tuple[Mapping[str, Any], ...]:
    return snapshot.sources, snapshot.committables, snapshot.writers


def _encoded(*driver: Any) -> str:
    return base64.b64encode(dumps(driver)).decode("ascii")


def _declared(draft: Draft, name: str, descriptor: StateDescriptor) -> StateDescription:
    """The new description of a state. Raises ``ValueError`` if it would be a state of another kind."""
    assert draft.base is not None and draft.base_place is not None
    known = {state.name: state for state in draft.base.metadata.states.get(draft.base_place.uid, ())}.get(name)
    if known is None:
        raise ValueError(f"the state {name!r} is the operator's own, which has no descriptor")
    if known.scope == OPERATOR:
        return StateDescription.of(StateInfo(name, known.kind, OPERATOR, descriptor.type_info))
    new = replace(StateDescription.of(StateInfo.keyed(descriptor)), name=name)
    if (new.kind, new.ttl) != (known.kind, known.ttl):
        raise ValueError(
            f"the state {name!r} is a {known.kind} state {'with' if known.ttl else 'without'} time to live, which "
            f"change() can't change: remove_state() it, and make a new one with keyed_state()"
        )
    return new


def _now() -> int:
    return time.time_ns() // 1_000_000
