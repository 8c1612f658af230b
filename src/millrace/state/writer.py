"""``SavepointWriter``: savepoints from data, and savepoints that differ from others."""

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
    """Puts a savepoint together; ``write`` does the work and leaves what it was read from as it is.

        writer = SavepointWriter.new()
        writer.keyed_state("totals", ValueStateDescriptor("total", Types.LONG()), table, key="user", value="total")
        writer.write("/savepoints/begin")

        SavepointWriter.from_savepoint("/savepoints/old").change("totals", "total", halve).write("/savepoints/new")

    An operator of a job takes over what has its uid. Methods that add or change give the writer itself.

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
        """Begin with nothing.

        :param max_parallelism: that of the operators which shall go on from it; it can't change then.
        """
        return SavepointWriter(None, max_parallelism)

    @staticmethod
    def from_savepoint(
        path: str,
        classes: Iterable[type] = (),
        max_parallelism: int = DEFAULT_LOWER_BOUND_MAX_PARALLELISM,
        trust_directory: bool = False,
    ) -> SavepointWriter:
        """Begin with all that a savepoint or checkpoint holds, also the positions of its sources. What is pickled in
        it runs, as when a job begins with it: for savepoints of your own.

        :param classes: see ``SavepointReader.read``.
        :param max_parallelism: of operators that are added.
        :param trust_directory: whether everybody who could have written it may be trusted.
        :raises NotPrivateError: somebody else could have.
        :raises SnapshotError: there is nothing of the kind, or it is damaged.
        """
        opened = open_snapshot(path, classes, trust=True)
        if not trust_directory:
            check_trusted(opened.folder, opened.base, opened.metadata)
        return SavepointWriter(opened, max_parallelism)

    # -- new state ----------------------------------------------------------------------------------------------------

    def with_operator(
        self, uid: str, transformation: BootstrapTransformation, name: str | None = None
    ) -> SavepointWriter:
        """Add an operator with the keyed state that a bootstrap function makes.

        :param name: for people who look at the savepoint; without it the uid.
        :raises ValueError: there is one of this uid.
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
        :param value: likewise, by default the row itself. A value state gets it; to a list, reducing or aggregating
            state of the key it is added; for a map state it is a pair.
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
        """Add a list of operator state, whose elements are dealt out to the subtasks. See ``keyed_state``."""
        return self._operator_state(uid, descriptor, Distribution.SPLIT_DISTRIBUTE, rows, as_getter(value, "value"))

    def union_state(
        self, uid: str, descriptor: ListStateDescriptor, rows: Any, value: str | Getter | None = None
    ) -> SavepointWriter:
        """Add a list of operator state of which every subtask gets all. See ``keyed_state``."""
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

        :param rows: a dict will do, too; without ``key`` and ``value`` anything that gives pairs.
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
        """The operator, which has no such state yet."""
        draft = self._draft(uid)
        if state in draft.kept_names():
            raise ValueError(f"operator {uid!r} has a state {state!r} already: change() it, or remove_state() it first")
        return draft

    # -- changes ------------------------------------------------------------------------------------------------------

    def change(
        self, uid: str, state: str, function: Change, descriptor: StateDescriptor | None = None
    ) -> SavepointWriter:
        """Let a state have the values that ``function(key, value)`` gives; None removes an entry.

        Keys and values are those of ``items()`` in ``SavepointReader``; times to live go on.

        :param descriptor: what the state is by then, if the function gives values of another type.
        :raises NotInSavepointError: what was read has no such state.
        """
        draft = self._find(uid)
        name = self._kept_name(draft, state)
        draft.changes.setdefault(name, []).append(function)
        if descriptor is not None:
            draft.declared[name] = _declared(draft, name, descriptor)
        return self

    def rename_state(self, uid: str, old: str, new: str) -> SavepointWriter:
        """Give a state another name.

        :raises NotInSavepointError: what was read has no state ``old``.
        :raises ValueError: there is a state ``new``.
        """
        draft = self._find(uid)
        name = self._kept_name(draft, old)
        if new in draft.kept_names():
            raise ValueError(f"operator {uid!r} has a state {new!r} already")
        draft.renamed[name] = new
        return self

    def remove_state(self, uid: str, state: str) -> SavepointWriter:
        """Leave a state out.

        :raises NotInSavepointError: what was read has no such state.
        """
        draft = self._find(uid)
        draft.removed.add(self._kept_name(draft, state))
        return self

    def remove_operator(self, uid: str) -> SavepointWriter:
        """Leave an operator out, with the positions of a source and what a sink has prepared.

        :raises NotInSavepointError: there is no operator of this uid.
        """
        del self._drafts[self._find(uid).place.uid]
        return self

    def change_operator_uid(self, old: str, new: str) -> SavepointWriter:
        """Let the state of an operator be for one with another uid.

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
        """Write the savepoint into a folder that is empty or does not exist, at a path or URI. Gives the path.

        :raises ValueError: there is something, or two states of an operator have one name.
        :raises BootstrapError: a bootstrap function failed.
        :raises EvolutionError: values that shall change can't be read.
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
        """All but the operators."""
        if self._base is None:
            driver = _encoded({}, (), {}, {})
            return Metadata(SAVEPOINT, str(JobID.generate()), "bootstrap", 1, _now(), (), driver=driver)
        base = self._base.metadata
        return replace(base, kind=SAVEPOINT, time=_now(), tasks={}, driver=self._driver(base))

    def _driver(self, base: Metadata) -> str:
        """What the driver's objects hold, by the uids of now. It is left as it is where all uids are."""
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
    """How a state is described from now on. Raises ``ValueError`` if that makes it a state of another kind."""
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
