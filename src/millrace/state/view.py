"""One state of an operator, or several that belong together, as a table or as Python objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millrace.checkpoint.savepoints.state_rows import implode, implode_operator_state
from millrace.runtime.state.info import OPERATOR
from millrace.runtime.state.operator_state import Distribution
from millrace.state.arrays import arrays_of
from millrace.state.entries import operator_state_pairs, pairs
from millrace.state.frames import frame_of
from millrace.state.opened import Opened, Piece
from millrace.state.rows import columns_of, shapes_of
from millrace.state.shapes import fields_of

if TYPE_CHECKING:
    import pandas
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["StateView"]

Find = Callable[[], Iterable[Piece]]


class StateView:
    """What a savepoint holds of a state. Nothing is read before it is asked for.

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
        """The rows as Arrow tables of one schema, file by file: for what does not fit into memory as a whole.

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
        """All rows as a Spark DataFrame, in any order. Spark's workers read the files of a savepoint; what a checkpoint
        holds goes through the driver."""
        return frame_of(session, self._opened, list(self._find()))

    def items(self) -> Iterator[tuple[Any, Any]]:
        """(key, value) as the program has them, file by file: a list for a list state, a dict for a map state.

        For state of windows the key is (key, window), where a window is the time of its end (ms) if no more of it is
        stored, and a ``Slice`` stands for what windows share. For timers the value is a ``Timer``. For operator state
        there is a pair for each element: (subtask, element), for broadcast state one for each entry.

        :raises EvolutionError: a class of the values is missing or has changed.
        """
        for piece in self._find():
            yield from pairs_of(piece, self._opened)


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


def first_copy(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Of a broadcast state, which every subtask has, the copy of the first one."""
    chosen: int | None = None
    for piece in pieces:
        if piece.kind == Distribution.BROADCAST.value:
            chosen = piece.subtask if chosen is None else chosen
            if piece.subtask != chosen:
                continue
        yield piece
