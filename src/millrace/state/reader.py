"""``SavepointReader``: the state of a savepoint or checkpoint as tables and as Python objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from millrace.runtime.coordination.snapshot import OperatorPlace
from millrace.runtime.state.backend import EVENT_TIMERS, PROCESSING_TIMERS
from millrace.runtime.state.info import KEYED, OPERATOR
from millrace.runtime.state.operator_state import Distribution
from millrace.state.listing import KINDS, OperatorEntry, StateEntry, operator_entry
from millrace.state.opened import NotInSavepointError, Opened, Piece, nearest, open_snapshot
from millrace.state.view import StateView, first_copy
from millrace.state.windows import WINDOWS, window_pieces

__all__ = ["SavepointMetadata", "SavepointReader", "SourcePosition"]

_TIMERS = (EVENT_TIMERS, PROCESSING_TIMERS)


@dataclass(frozen=True)
class SavepointMetadata:
    """A savepoint or checkpoint as a whole.

        >>> writer = SavepointWriter.new().keyed_state(
        ...     "counts", ValueStateDescriptor("n", Types.INT()), [("Ann", 3)], lambda row: row[0], lambda row: row[1])
        >>> SavepointReader.read(writer.write("begin")).metadata.kind
        'savepoint'
    """

    path: str
    kind: str
    """``savepoint`` or ``checkpoint``"""
    job_id: str
    job_name: str
    id: int
    """the epoch at whose end it was taken"""
    time: int
    """when that was, ms"""
    size: int
    """of all files, bytes"""


@dataclass(frozen=True)
class SourcePosition:
    """How far a source had read.

        >>> SourcePosition("numbers", "Source", {0: (5,)}, None, frozenset(), {0: 1000}).splits
        {0: (5,)}
    """

    uid: str
    name: str
    splits: dict[int, tuple[Any, ...]]
    """subtask -> its unfinished splits, with their positions"""
    enumerator: Any
    """what the source's enumerator keeps: splits that nobody has got yet, say"""
    finished: frozenset[int]
    """subtasks that had read everything"""
    watermarks: dict[int, int]
    """subtask -> its watermark, ms"""


class SavepointReader:
    """Reads a savepoint, or a checkpoint that was kept, without running a job.

        reader = SavepointReader.read("/savepoints/savepoint-4f1c2a-0123456789ab")
        for operator in reader.operators():
            print(operator.uid, [state.name for state in operator.states])
        reader.keyed_state("totals", "total").to_pandas()

    Operators go by their uid, or by their name if no other has it.

        >>> writer = SavepointWriter.new().keyed_state(
        ...     "counts", ValueStateDescriptor("n", Types.INT()), [("Ann", 3)], lambda row: row[0], lambda row: row[1])
        >>> reader = SavepointReader.read(writer.write("begin"))
        >>> list(reader.keyed_state("counts", "n").items())
        [('Ann', 3)]
    """

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    @staticmethod
    def read(path: str, classes: Iterable[type] = (), trust: bool = False) -> SavepointReader:
        """Open what lies at a path or URI: a savepoint, a checkpoint (``chk-N``), or the directory of a job's
        checkpoints, of which that is the last one.

        :param classes: classes of stored values that were in the main module of the job's program, if that is not
            the program which runs now.
        :param trust: whether classes of stored values may be imported, and pickles be run: they may do whatever they
            like. Without, values are shown by their fields, and what is pickled as data (``PickledObject``); only
            instances of ``classes`` are made.
        :raises SnapshotError: there is nothing of the kind, or it is damaged.
        """
        return SavepointReader(open_snapshot(path, classes, trust))

    @property
    def metadata(self) -> SavepointMetadata:
        """Whose it is, and from when."""
        found = self._opened.metadata
        return SavepointMetadata(
            self._opened.uri, found.kind, found.job_id, found.job_name, found.id, found.time, found.size
        )

    def operators(self) -> list[OperatorEntry]:
        """All operators with their states. Of a checkpoint this reads all state, of a savepoint none.

            >>> counts = ValueStateDescriptor("n", Types.INT())
            >>> rows = [{"name": "Ann", "n": 3}]
            >>> path = SavepointWriter.new().keyed_state("counts", counts, rows, "name", "n").write("begin")
            >>> [operator.uid for operator in SavepointReader.read(path).operators()]
            ['counts']
        """
        return [operator_entry(self._opened, place) for place in self._opened.metadata.operators]

    def states(self, uid: str) -> tuple[StateEntry, ...]:
        """The states of one operator.

        :raises NotInSavepointError: it is not there.
        """
        return operator_entry(self._opened, self._opened.find(uid)).states

    def keyed_state(self, uid: str, name: str) -> StateView:
        """A keyed state of any kind, by the name in its descriptor. Reducing and aggregating states show what they have
        been folded into: the accumulator.

        :raises NotInSavepointError: there is none of this name.
        """
        place = self._find(uid, name, KEYED)
        return self._view(f"keyed state {name!r} of {uid!r}", lambda: self._opened.pieces(place, KEYED, (name,)))

    def timers(self, uid: str) -> StateView:
        """The timers of a keyed operator: ``key``, ``domain`` (``event`` or ``processing``), ``timestamp`` (ms)."""
        place = self._opened.find(uid)
        return self._view(f"timers of {uid!r}", lambda: self._opened.pieces(place, KEYED, _TIMERS))

    def window_state(self, uid: str) -> StateView:
        """What the open windows of an operator hold: elements, what they were reduced to, or accumulators.

        Sliding windows may share slices; then the parts are shown, each with the end of its slice (``slice_end``, in
        ``items()`` a ``Slice``).

        :raises NotInSavepointError: the operator has no windows.
        """
        place = self._opened.find(uid)
        if not any(name in WINDOWS for name, _ in self._opened.names(place, KEYED)):
            raise NotInSavepointError(f"operator {uid!r} in {self._opened.uri} has no windows")
        return self._view(f"windows of {uid!r}", lambda: window_pieces(self._opened, place))

    def list_state(self, uid: str, name: str) -> StateView:
        """A list of operator state: ``subtask``, ``value``.

        :raises NotInSavepointError: there is none of this name.
        """
        return self._operator_state(uid, name, Distribution.SPLIT_DISTRIBUTE)

    def union_state(self, uid: str, name: str) -> StateView:
        """A union list of operator state: ``subtask``, ``value``.

        :raises NotInSavepointError: there is none of this name.
        """
        return self._operator_state(uid, name, Distribution.UNION)

    def broadcast_state(self, uid: str, name: str) -> StateView:
        """A broadcast state, of which all subtasks have the same: ``map_key``, ``value``.

        :raises NotInSavepointError: there is none of this name.
        """
        return self._operator_state(uid, name, Distribution.BROADCAST)

    def sources(self) -> list[SourcePosition]:
        """How far the sources had read. Without trust, splits are ``PickledObject``.

            >>> counts = ValueStateDescriptor("n", Types.INT())
            >>> rows = [{"name": "Ann", "n": 3}]
            >>> path = SavepointWriter.new().keyed_state("counts", counts, rows, "name", "n").write("begin")
            >>> list(SavepointReader.read(path).sources())
            []
        """
        places = self._opened.metadata.by_uid
        return [
            SourcePosition(uid, places[uid].name, left.splits, left.enumerator, left.finished, left.watermarks)
            for uid, left in self._opened.sources().items()
        ]

    def _view(self, title: str, find: Callable[[], Iterable[Piece]]) -> StateView:
        return StateView(title, self._opened, find)

    def _operator_state(self, uid: str, name: str, distribution: Distribution) -> StateView:
        place = self._find(uid, name, OPERATOR, distribution)
        title = f"{KINDS[distribution.value]} state {name!r} of {uid!r}"
        return self._view(title, lambda: first_copy(self._opened.pieces(place, OPERATOR, (name,))))

    def _find(self, uid: str, name: str, scope: str, distribution: Distribution | None = None) -> OperatorPlace:
        """The operator, which has a state of this name."""
        place = self._opened.find(uid)
        names = []
        for known, kind in self._opened.names(place, scope):
            if distribution is None or kind == distribution.value:
                if known == name:
                    return place
                names.append(known)
        what = scope if distribution is None else KINDS[distribution.value]
        raise NotInSavepointError(
            f"operator {uid!r} in {self._opened.uri} has no {what} state {name!r}; {nearest(name, names)}"
        )
