"""``SavepointReader``: the state of a savepoint or checkpoint as tables, as Python objects, and as a Spark DataFrame
with Arrow types that Spark supports (through the user's session: nothing here imports Spark).

Where windows are merged, their contents stay under the window for which they were first stored, and another state maps
that window to the merged one. A reader returns the contents under the merged windows.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types

from millrace.checkpoint.classes import Classes
from millrace.checkpoint.columns import children, decode
from millrace.checkpoint.state_rows import implode, implode_operator_state
from millrace.common.window import TimeWindow
from millrace.runtime.coordination.snapshot import OperatorPlace
from millrace.runtime.state.backend import EVENT_TIMERS, PROCESSING_TIMERS
from millrace.runtime.state.info import KEYED, OPERATOR
from millrace.runtime.state.operator_state import Distribution
from millrace.runtime.windows.aligned_window import SLICES
from millrace.runtime.windows.slicing import CONTENTS
from millrace.runtime.windows.window_operator import MERGING
from millrace.state.open_savepoint import (
    KINDS,
    NotInSavepointError,
    Opened,
    OperatorEntry,
    Piece,
    StateEntry,
    nearest,
    open_snapshot,
    operator_entry,
)
from millrace.state.query_tables import StateTableView, numbered
from millrace.state.state_columns import (
    PLAIN,
    Shape,
    added,
    arrays_of,
    columns_of,
    described_columns,
    fields_of,
    operator_state_pairs,
    pairs,
    shapes_of,
    stored_name,
)
from millrace.util.by_value import pickled_by_value

if TYPE_CHECKING:
    import pandas
    from pyspark.sql import DataFrame, SparkSession


__all__ = ["SavepointMetadata", "SavepointReader", "SourcePosition"]


# DataFrames: types

_SIMPLER = {
    pa.large_string(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.time64("us"): pa.string(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}
_NAMES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.decimal128(20, 0): "DECIMAL(20, 0)",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP_NTZ",
    pa.timestamp("us", "UTC"): "TIMESTAMP",
    pa.duration("us"): "INTERVAL DAY TO SECOND",
}


def spark_type(type: Any) -> Any:
    """The nearest type that Spark has: times of day become text, unsigned numbers wider ones."""
    if types.is_struct(type):
        return pa.struct([field.with_type(spark_type(field.type)) for field in type.fields])
    if types.is_large_list(type):
        return pa.list_(spark_type(type.value_type))
    if types.is_map(type):
        return pa.map_(spark_type(type.key_type), spark_type(type.item_type))
    return _SIMPLER.get(type, type)


def ddl_of(schema: Any) -> str:
    """The DDL text of a schema of types that ``spark_type`` returned."""
    return ", ".join(f"{_quoted(field.name)} {type_name(field.type)}" for field in schema)


def type_name(type: Any) -> str:
    """The Spark name of a type that ``spark_type`` returned."""
    if types.is_struct(type):
        return f"STRUCT<{', '.join(f'{_quoted(field.name)}: {type_name(field.type)}' for field in type.fields)}>"
    if types.is_list(type):
        return f"ARRAY<{type_name(type.value_type)}>"
    if types.is_map(type):
        return f"MAP<{type_name(type.key_type)}, {type_name(type.item_type)}>"
    return _NAMES[type]


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


# Frames

BATCH_ROWS = 10_000
"""number of rows that a Python worker sends to the JVM at once"""
_DIRECT = frozenset(PLAIN) - {"time", "timedelta"} | {"none"}
"""forms whose columns are shown as they are stored in the files"""
_SAME_SCHEMES = frozenset({"abfs", "abfss", "gs", "hdfs", "s3a", "viewfs"})
"""schemes of file systems that Spark has under the same name"""


def frame_of(session: SparkSession, opened: Opened, pieces: Sequence[Piece]) -> DataFrame:
    """The rows of some pieces as a DataFrame."""
    shapes = shapes_of(pieces)
    if not pieces or any(piece.file is None for piece in pieces):
        tables = (table_of(piece, shapes, opened.known) for piece in pieces)
        table = pa.concat_tables([_schema(shapes).empty_table(), *tables])
        return session.createDataFrame(table)
    paths = _paths(opened)
    if paths is not None and all(_is_direct(piece, dict(shapes)) for piece in pieces):
        return _read_by_spark(session, paths, pieces, _schema(shapes))
    return _read_by_workers(session, pieces, shapes, opened.known)


def table_of(piece: Piece, shapes: Sequence[tuple[str, Shape]], known: Classes) -> Any:
    """The rows of a piece as a table with types that Spark supports."""
    rows = piece.load()
    columns = columns_of(piece, rows)
    arrays = arrays_of([(columns.get(name), shape) for name, shape in shapes], len(rows), known)
    return pa.table(arrays, pa.schema(fields_of(shapes))).cast(_schema(shapes))


def _schema(shapes: Sequence[tuple[str, Shape]]) -> Any:
    return pa.schema([field.with_type(spark_type(field.type)) for field in fields_of(shapes)])


# -- by Spark's own reader --------------------------------------------------------------------------------------------


def _paths(opened: Opened) -> str | None:
    """The path by which Spark can read the savepoint; None if it can't, or must not."""
    uri = opened.uri
    if re.search(r"[*?\[\]{}\\]", uri):
        return None  # it would look for files that match
    scheme, separator, _ = uri.partition("://")
    if not separator:
        return f"file://{uri}"
    return uri if scheme in _SAME_SCHEMES else None


def _is_direct(piece: Piece, shapes: dict[str, Shape]) -> bool:
    """Whether the columns of the file are shown as they are stored."""
    in_shape = all(shapes[name] == shape for name, shape in shapes_of([piece]))
    return in_shape and piece.is_stored_as_shown and all(map(_is_shown_as_stored, described_columns(piece).values()))


def _is_shown_as_stored(described: dict[str, Any]) -> bool:
    if described["form"] == "numpy":
        return not described["dtype"].startswith("uint")
    parts = children(described)
    return all(map(_is_shown_as_stored, parts)) if parts else described["form"] in _DIRECT


def _read_by_spark(session: SparkSession, folder: str, pieces: Sequence[Piece], schema: Any) -> DataFrame:
    # One query for all files with one schema; constants, such as the subtask, are not in the files.
    groups: dict[str, list[Piece]] = {}
    for piece in pieces:
        same = json.dumps([described_columns(piece), added(piece)], sort_keys=True)
        groups.setdefault(same, []).append(piece)
    frames = [_group(session, folder, group, schema) for group in groups.values()]
    whole, *others = frames
    for frame in others:
        whole = whole.unionByName(frame)
    return whole


def _group(session: SparkSession, folder: str, pieces: Sequence[Piece], schema: Any) -> DataFrame:
    paths = [f"{folder}/{piece.file.path}" for piece in pieces if piece.file is not None]
    columns = [f"{_expression(pieces[0], field)} AS `{field.name}`" for field in schema]
    return session.read.parquet(*paths).selectExpr(*columns)


def _expression(piece: Piece, field: Any) -> str:
    if field.name in described_columns(piece):
        return f"`{stored_name(field.name)}`"
    value, _ = added(piece).get(field.name, (None, None))
    return f"CAST({'NULL' if value is None else repr(value)} AS {type_name(field.type)})"


# -- by Python workers ------------------------------------------------------------------------------------------------


def _read_by_workers(
    session: SparkSession, pieces: Sequence[Piece], shapes: Sequence[tuple[str, Shape]], known: Classes
) -> DataFrame:
    work = [(number, bytearray(pickled_by_value(piece))) for number, piece in enumerate(pieces)]
    frame = session.createDataFrame(work, "number INT, piece BINARY")
    read = _ReadPieces(pickled_by_value((list(shapes), dict(known))))
    return frame.repartitionById(len(work), "number").mapInArrow(read, ddl_of(_schema(shapes)))


class _ReadPieces:
    """The function for ``mapInArrow`` that turns pieces into their rows."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        shapes, known = pickle.loads(self._payload)
        for batch in batches:
            for stored in batch.column("piece").to_pylist():
                yield from table_of(pickle.loads(stored), shapes, known).to_batches(BATCH_ROWS)


# Contents of windows

WINDOWS = (CONTENTS, SLICES)
"""the names of the states with contents of windows"""

Merged = dict[tuple[Any, Any], Any]
"""(key, window under which contents are stored) -> merged window"""


def window_pieces(opened: Opened, place: OperatorPlace) -> Iterator[Piece]:
    """The contents of windows, subtask by subtask."""
    merging: dict[int, list[Piece]] = {}
    for piece in opened.pieces(place, KEYED, (MERGING,)):
        merging.setdefault(piece.subtask, []).append(piece)
    for piece in opened.pieces(place, KEYED, WINDOWS):
        names = merging.get(piece.subtask, ())
        if names and "window_start" in piece.columns:
            load = partial(_load, piece, tuple(names), opened.known)
            yield replace(piece, load=load, is_stored_as_shown=False)
        else:
            yield piece


def _load(piece: Piece, merging: Iterable[Piece], known: Classes) -> Any:
    rows = piece.load()
    merged = _merged(merging, known)
    keys = decode(rows["key"], piece.columns["key"], known)
    stored = map(TimeWindow, rows["window_start"].to_pylist(), rows["window_end"].to_pylist())
    windows = [merged.get(at, at[1]) for at in zip(keys, stored)]
    for name, bounds in (("window_start", [w.start for w in windows]), ("window_end", [w.end for w in windows])):
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(bounds, pa.int64()))
    return rows


def _merged(merging: Iterable[Piece], known: Classes) -> Merged:
    found: dict[Any, Any] = {}
    for piece in merging:
        implode(piece.kind, piece.load(), piece.columns, known, found)
    return {
        (key, stored_for): window for key, (_, windows, _) in found.items() for window, stored_for in windows.items()
    }


# One state

Find = Callable[[], Iterable[Piece]]


class StateView:
    """The content of a state in a savepoint. It is read only when it is requested.

    The columns are ``key``; for state of windows ``window_start`` and ``window_end`` (ms, as far as they are stored),
    or ``slice_end`` for what windows share; for that of another namespace ``namespace``; for lists ``position``, with a
    row for each element; for maps ``map_key``, with a row for each entry; with time to live ``last_access`` (ms); and
    ``value``.

    Numbers, text, bytes and times have their Arrow types, tuples, rows and dataclasses are structs. Integers beyond 64
    bits, decimals and UUIDs are text. What Arrow has no type for is text, too, as ``repr`` gives it, and its pickles
    are in a column of their own: ``value_pickle``.

        >>> writer = SavepointWriter.new().keyed_state(
        ...     "counts", ValueStateDescriptor("n", Types.INT()), [("Ann", 3)], lambda row: row[0], lambda row: row[1])
        >>> view = SavepointReader.read(writer.write("begin")).keyed_state("counts", "n")
        >>> view.to_arrow().to_pylist()
        [{'key': 'Ann', 'value': 3}]
    """

    def __init__(self, title: str, opened: Opened, find: Find) -> None:
        self._title = title
        self._opened = opened
        self._find = find

    def __repr__(self) -> str:
        return f"<{self._title} in {self._opened.uri}>"

    @property
    def schema(self) -> Any:
        """The ``pyarrow.Schema`` of ``to_arrow``."""
        return pa.schema(fields_of(shapes_of(self._find())))

    def tables(self) -> Iterator[Any]:
        """The rows as Arrow tables of one schema, file by file, for state that does not fit into memory.

        >>> counts = ValueStateDescriptor("n", Types.INT())
        >>> rows = [{"name": "Ann", "n": 3}]
        >>> path = SavepointWriter.new().keyed_state("counts", counts, rows, "name", "n").write("begin")
        >>> view = SavepointReader.read(path).keyed_state("counts", "n")
        >>> sum(part.num_rows for part in view.tables())
        1
        """
        pieces = list(self._find())
        shapes = shapes_of(pieces)
        schema = pa.schema(fields_of(shapes))
        for piece in pieces:
            rows = piece.load()
            columns = columns_of(piece, rows)
            arrays = arrays_of([(columns.get(name), shape) for name, shape in shapes], len(rows), self._opened.known)
            yield pa.table(arrays, schema)

    def to_arrow(self) -> Any:
        """All rows as a ``pyarrow.Table``."""
        tables = list(self.tables())
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a pandas DataFrame."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas(maps_as_pydicts="strict")
        return frame

    def to_spark(self, session: SparkSession) -> DataFrame:
        """All rows as a Spark DataFrame, in any order. Spark's workers read the files of a savepoint; the content of a
        checkpoint goes through the driver."""
        return frame_of(session, self._opened, list(self._find()))

    def items(self) -> Iterator[tuple[Any, Any]]:
        """(key, value) as the program has them, file by file: a list for a list state, a dict for a map state.

        For state of windows the key is (key, window), where the window is its end (ms) if only that is stored, or a
        ``Slice`` that several windows share. For timers the value is a ``Timer``. For operator state there is a pair
        for each element: (subtask, element), for broadcast state one for each entry.

        :raises EvolutionError: a class of the values is missing or has changed.
        """
        for piece in self._find():
            yield from pairs_of(piece, self._opened)


class NumberedView(StateView):
    """The content of a state whose columns have no names: fields of tuples are the columns c0, c1 and so on."""

    @property
    def schema(self) -> Any:
        return numbered(super().schema.empty_table()).schema

    def tables(self) -> Iterator[Any]:
        return map(numbered, super().tables())


def pairs_of(piece: Piece, opened: Opened) -> Iterator[tuple[Any, Any]]:
    """(key, value) of a piece."""
    rows = piece.load()
    if piece.scope == OPERATOR:
        entry = implode_operator_state(piece.kind, rows, piece.columns, opened.known)
        yield from operator_state_pairs(piece.kind, piece.subtask, entry)
    else:
        entries: dict[Any, Any] = {}
        implode(piece.kind, rows, piece.columns, opened.known, entries)
        yield from pairs(piece.state, piece.kind, entries)


def table_view(opened: Opened, place: OperatorPlace, name: str) -> StateTableView | None:
    """A keyed state as a table; None: the savepoint does not say what its columns are."""
    found = next((table for table in place.state_tables if table.state == name), None)
    title = f"state {name!r} of {place.uid!r}"
    if found is None:
        return None
    return StateTableView(title, opened, found, lambda: opened.pieces(place, KEYED, (name,)))


def first_copy(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces of a broadcast state's first copy, since every subtask has one."""
    chosen: int | None = None
    for piece in pieces:
        if piece.kind == Distribution.BROADCAST.value:
            chosen = piece.subtask if chosen is None else chosen
            if piece.subtask != chosen:
                continue
        yield piece


# A savepoint

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
    """when it was taken (ms)"""
    size: int
    """size of all files in bytes"""


@dataclass(frozen=True)
class SourcePosition:
    """The read positions of a source.

    >>> SourcePosition("numbers", "Source", {0: (5,)}, None, frozenset(), {0: 1000}).splits
    {0: (5,)}
    """

    uid: str
    name: str
    splits: dict[int, tuple[Any, ...]]
    """subtask -> its unfinished splits, with their read positions"""
    enumerator: Any
    """state of the source's enumerator: splits that were not assigned yet, for example"""
    finished: frozenset[int]
    """subtasks that had read all their splits"""
    watermarks: dict[int, int]
    """subtask -> its watermark (ms)"""


class SavepointReader:
    """Reads a savepoint or a retained checkpoint without running a job.

        reader = SavepointReader.read("/savepoints/savepoint-4f1c2a-0123456789ab")
        for operator in reader.operators():
            print(operator.uid, [state.name for state in operator.states])
        reader.keyed_state("totals", "total").to_pandas()

    Operators are named by their uid, or by their name if no other operator has it.

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
        """Open a savepoint or a checkpoint (``chk-N``) at a path or URI; for the directory of a job's checkpoints, the
        last one.

        :param classes: classes of stored values that were in the main module of the job's program, if that is not the
            running program.
        :param trust: whether classes of stored values may be imported, and pickles be run, which can run any code. If
            not, values are shown by their fields, and pickles as data (``PickledObject``); only instances of
            ``classes`` are restored.
        :raises SnapshotError: nothing of the kind is there, or it is damaged.
        """
        return SavepointReader(open_snapshot(path, classes, trust))

    @property
    def metadata(self) -> SavepointMetadata:
        """The job of the savepoint or checkpoint, and when it was taken."""
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

        :raises NotInSavepointError: there is no such operator.
        """
        return operator_entry(self._opened, self._opened.find(uid)).states

    def keyed_state(self, uid: str, name: str) -> StateView:
        """A keyed state of any kind, by the name in its descriptor. Reducing and aggregating states show their folded
        value or accumulator.

        :raises NotInSavepointError: there is none of this name.
        """
        place = self._find(uid, name, KEYED)
        return self._view(f"keyed state {name!r} of {uid!r}", lambda: self._opened.pieces(place, KEYED, (name,)))

    def table(self, uid: str, name: str) -> StateTableView | StateView:
        """A keyed state of a query's operator as a table with the columns of the query, such as a side of a join. Where
        the savepoint does not say what the columns of a state are, they are those of ``keyed_state``, and fields of
        tuples are the columns c0, c1 and so on.

        >>> counts = ValueStateDescriptor("n", Types.INT())
        >>> keyed = SavepointWriter.new().keyed_state(
        ...     "counts", counts, [("Ann", 7, 3)], lambda row: row[:2], lambda row: row[2])
        >>> SavepointReader.read(keyed.write("begin")).table("counts", "n").to_arrow().to_pylist()
        [{'c0': 'Ann', 'c1': 7, 'value': 3}]

        :raises NotInSavepointError: there is none of this name.
        """
        place = self._find(uid, name, KEYED)
        view = table_view(self._opened, place, name)
        if view is not None:
            return view
        title = f"keyed state {name!r} of {uid!r}"
        return NumberedView(title, self._opened, lambda: self._opened.pieces(place, KEYED, (name,)))

    def timers(self, uid: str) -> StateView:
        """The timers of a keyed operator: ``key``, ``domain`` (``event`` or ``processing``), ``timestamp`` (ms)."""
        place = self._opened.find(uid)
        return self._view(f"timers of {uid!r}", lambda: self._opened.pieces(place, KEYED, _TIMERS))

    def window_state(self, uid: str) -> StateView:
        """The contents of an operator's open windows: elements, their reduced values, or accumulators.

        Sliding windows may share slices; then the contents of slices are shown, each with the end of its slice
        (``slice_end``, in ``items()`` a ``Slice``).

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
        """A broadcast state, which is the same in all subtasks: ``map_key``, ``value``.

        :raises NotInSavepointError: there is none of this name.
        """
        return self._operator_state(uid, name, Distribution.BROADCAST)

    def sources(self) -> list[SourcePosition]:
        """The read positions of the sources. Without trust, splits are ``PickledObject``.

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
        """The operator, after checking that it has a state of this name."""
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
