"""``SavepointWriter``: creates savepoints from data, or from other savepoints with changes."""

from __future__ import annotations

import base64
import contextlib
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from millrace.checkpoint.directory import check_trusted
from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.metadata import SAVEPOINT, Metadata, StateDescription, write_metadata
from millrace.common.files.file_systems import absolute
from millrace.common.functions import KeySelector
from millrace.common.jobs import JobID
from millrace.common.state import ListStateDescriptor, MapStateDescriptor, StateDescriptor
from millrace.runtime.coordination.snapshot import OperatorPlace
from millrace.runtime.exchange.keys import DEFAULT_LOWER_BOUND_MAX_PARALLELISM, UPPER_BOUND_MAX_PARALLELISM
from millrace.runtime.state.info import OPERATOR, StateInfo
from millrace.runtime.state.operator_state import Distribution
from millrace.runtime.storage import dumps
from millrace.state.bootstrap import BootstrapTransformation, Getter, OneState, OperatorTransformation, as_getter
from millrace.state.entries import Change
from millrace.state.new_savepoint import Draft, KeyedContribution, OperatorStateContribution
from millrace.state.open_savepoint import NotInSavepointError, Opened, nearest, open_snapshot
from millrace.util.tracebacks import user_origin

__all__ = ["SavepointWriter"]


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
        if state in draft.kept_names():
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
        name = self._kept_name(draft, state)
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
        name = self._kept_name(draft, old)
        if new in draft.kept_names():
            raise ValueError(f"operator {uid!r} has a state {new!r} already")
        draft.renamed[name] = new
        return self

    def remove_state(self, uid: str, state: str) -> SavepointWriter:
        """Remove a state.

        :raises NotInSavepointError: there is no such state.
        """
        draft = self._find(uid)
        draft.removed.add(self._kept_name(draft, state))
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

    def _kept_name(self, draft: Draft, state: str) -> str:
        names = draft.kept_names()
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
