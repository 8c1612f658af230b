"""The states of a query's operators as tables: one row for each stored row or accumulator, in columns with the names
and types of the query. A state is read piece by piece, as its files or the tasks of its checkpoint have it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from millrace.checkpoint.inert import PickledObject
from millrace.checkpoint.state_rows import implode
from millrace.common.window import TimeWindow
from millrace.relational.type_table import arrow_type
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.backend import TIMERS
from millrace.runtime.state.info import KEYED
from millrace.runtime.tables import stored_rows as forms
from millrace.runtime.tables.columns.keys import value_column
from millrace.runtime.tables.columns.row_codec import cell_column
from millrace.runtime.tables.state_table import ACCUMULATORS, COUNTED, NESTED, SESSIONS, VALUES, StateTable, distinct
from millrace.runtime.tables.windows.sessions import Session
from millrace.state.open_savepoint import Opened, Piece
from millrace.state.state_columns import Entries
from millrace.table.sql.grammar.parser import parse_type
from millrace.table.sql.text import SqlParseError

if TYPE_CHECKING:
    import pandas

    from millrace.state.reader import SavepointReader

BATCH_ROWS = 65_536
"""The most rows of a table that ``StateTableView.tables`` gives."""
WINDOW_START, WINDOW_END, LAST_ACCESS = "window_start", "window_end", "last_access"
_KINDS = ("+I", "-U", "+U", "-D")

Find = Callable[[], Iterable[Piece]]
Values = tuple[Any, ...]


class TableColumn(NamedTuple):
    """A column of a state's table.

    >>> TableColumn("id", "BIGINT").type
    'BIGINT'
    """

    name: str
    type: str
    """the type in SQL; "" for values of any class, which are shown as text"""


class NotATableError(ValueError):
    """The stored values are not of the types that the savepoint names; the text says which.

    >>> issubclass(NotATableError, ValueError)
    True
    """


# Stored entries


class _Entry(NamedTuple):
    """One entry of a state."""

    key: Values
    window: Values
    """times of the window (ms), as far as they are stored"""
    written: int | None
    """the time of the last write (ms); None: the state has no time to live"""
    name: Any
    """the key in a map, or the time of a buffered row (ms)"""
    value: Any


def _entries(kind: str, stored: Entries) -> Iterator[_Entry]:
    """The entries of a table of the runtime in full form."""
    if kind == "windows":
        for end, (_, row) in stored.items():
            for key, value in row.items():
                yield _Entry(key, (end,), None, None, value)
        return
    stamped = kind.startswith("TTL ")
    for at, content in stored.items():
        key, window = (at.key, _bounds(at.namespace)) if isinstance(at, Scoped) else (at, ())
        if kind in ("map", "TTL map"):
            for name, value in content[1].items():
                written, value = value if stamped else (None, value)
                yield _Entry(key, window, written, name, value)
        elif kind == "row buffers":
            for time, value in zip(*content):
                yield _Entry(key, window, None, time, value)
        elif stamped:
            yield _Entry(key, window, content[0], None, content[1])
        else:
            yield _Entry(key, window, None, None, content)


def _bounds(namespace: Any) -> Values:
    return (namespace.start, namespace.end) if isinstance(namespace, TimeWindow) else ()


# Forms of rows

Found = tuple[Values, Values]
"""(the row, what is stored with it)"""


@dataclass(frozen=True)
class _Form:
    """How an entry becomes rows."""

    rows: Callable[[StateTable, _Entry], Iterable[Found]]
    beside: tuple[tuple[str, pa.DataType], ...] = ()
    """the columns of what is stored with each row, beside the counts that the description names"""


def _side(table: StateTable, entry: _Entry) -> Iterator[Found]:
    with_partners = "partners" in table.counts
    value, *partners = entry.value if with_partners else (entry.value,)
    yield (value, tuple(partners)) if table.by_unique else (entry.name, (value, *partners))


def _values(table: StateTable, entry: _Entry) -> Iterator[Found]:
    counts = entry.value if isinstance(entry.value, tuple) and "places" not in table.counts else (entry.value,)
    yield entry.name, tuple(counts)


def _nested(table: StateTable, entry: _Entry) -> Iterator[Found]:
    yield tuple(slot for each in entry.value for slot in (each if isinstance(each, tuple) else (each,))), ()


def _sessions(table: StateTable, entry: _Entry) -> Iterator[Found]:
    for each in entry.value:
        # Without trust a class is read as a dict of its fields, or as what its pickle says.
        if isinstance(each, dict):
            each = Session(**each)
        elif isinstance(each, PickledObject):
            each = Session(*each.args)
        yield each.content, (each.start, each.end)


def _found(table: StateTable, entry: _Entry) -> Iterator[Found]:
    return ((row, ()) for rows in entry.value for row in rows)


_MILLIS, _NUMBER, _TEXT = pa.int64(), pa.int64(), pa.large_string()
_PLACES = pa.large_list(pa.int64())
_TIME = ("time", _MILLIS)

_FORMS: dict[str, _Form] = {
    ACCUMULATORS: _Form(lambda table, entry: [(entry.value, ())]),
    NESTED: _Form(_nested),
    VALUES: _Form(_values),
    SESSIONS: _Form(_sessions, ((WINDOW_START, _MILLIS), (WINDOW_END, _MILLIS))),
    COUNTED: _Form(
        lambda table, entry: [(row, (number,)) for number, row in entry.value[1].items()], (("window", _NUMBER),)
    ),
    forms.SIDE: _Form(_side),
    forms.ROW: _Form(lambda table, entry: [(entry.value, ())]),
    forms.TIMED: _Form(lambda table, entry: [(entry.value[1], (entry.value[0],))], (_TIME,)),
    forms.WAITING: _Form(
        lambda table, entry: [(entry.value[1:], (_KINDS[entry.value[0]], entry.name))], (("kind", _TEXT), _TIME)
    ),
    # A version without a row says that there is none from its time on.
    forms.VERSIONS: _Form(
        lambda table, entry: [(entry.value or (None,) * len(table.names), (entry.name, not entry.value))],
        (_TIME, ("deleted", pa.bool_())),
    ),
    forms.NEAR: _Form(
        lambda table, entry: [(row, (entry.name, had)) for row, had in entry.value],
        (_TIME, ("has_partner", pa.bool_())),
    ),
    forms.NUMBERED: _Form(lambda table, entry: [(entry.value, (entry.name,))], (("number", _NUMBER),)),
    forms.CHANGES: _Form(
        lambda table, entry: [(entry.value[1], (_KINDS[entry.value[0]], entry.name))],
        (("kind", _TEXT), ("number", _NUMBER)),
    ),
    # Ranks that are stored may be those of arrival: they are computed again where rows are used.
    forms.RANKED: _Form(lambda table, entry: [(row, ()) for row, _ in entry.value]),
    forms.WITH_RESULTS: _Form(
        lambda table, entry: [((*entry.value[0], *entry.value[1]), (entry.name,))], (("number", _NUMBER),)
    ),
    forms.PLACED: _Form(lambda table, entry: [(entry.value[1], (entry.value[0],))], (("places", _PLACES),)),
    forms.PLACED_BY_KEY: _Form(lambda table, entry: [(entry.value[1], (entry.value[0],))], (("places", _PLACES),)),
    forms.ARRIVALS: _Form(lambda table, entry: [(entry.name, (entry.value,))], (("places", _PLACES),)),
    forms.FOUND: _Form(_found),
}


# A state


def _arrow(text: str) -> Any:
    """The Arrow type for the text of a type in SQL; None: values are shown as text."""
    try:
        return arrow_type(parse_type(text)) if text else None
    except (SqlParseError, NotImplementedError):  # a type of the user's, which only the program knows
        return None


@dataclass(frozen=True)
class _Column:
    """A column of the result."""

    name: str
    type: str
    arrow: Any
    """None: the values are shown as text"""
    made: Callable[[Sequence[Any], Any], Any] = pa.array
    """(values, Arrow type) -> the column"""

    @property
    def shown(self) -> Any:
        return _TEXT if self.arrow is None else self.arrow

    def array(self, values: Sequence[Any]) -> Any:
        if self.arrow is None:
            return pa.array([each if each is None else _as_text(each) for each in values], _TEXT)
        return self.made(values, self.arrow)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


_SQL = {pa.int64(): "BIGINT", pa.bool_(): "BOOLEAN", pa.large_string(): "STRING", _PLACES: "ARRAY<BIGINT>"}


class StateTableView:
    """A keyed state of a query's operator as a table. It is read only when it is requested, piece by piece.

    The columns are those of the query: of a row, or of a group its key, then what its aggregates hold, named by their
    calls. Beside them are, as far as they are stored: ``copies`` and ``partners`` of a join's row, ``time``,
    ``window_start`` and ``window_end`` of its window, and ``last_access`` with a time to live (all times in ms).

    A savepoint of ``SELECT name, SUM(amount) FROM orders GROUP BY name`` has them at its aggregation:

        sums = SavepointReader.read(path).table("GroupAggregate(name)", "accumulators")
        sums.to_pandas()

    States without such a description have the columns of ``keyed_state``:

        >>> counts = ValueStateDescriptor("n", Types.INT())
        >>> rows = [{"name": "Ann", "n": 3}]
        >>> path = SavepointWriter.new().keyed_state("counts", counts, rows, "name", "n").write("begin")
        >>> isinstance(SavepointReader.read(path).table("counts", "n"), StateTableView)
        False
    """

    def __init__(self, title: str, opened: Opened, table: StateTable, find: Find) -> None:
        self._title = title
        self._opened = opened
        self._table = table
        self._find = find

    def __repr__(self) -> str:
        return f"<{self._title} in {self._opened.uri}>"

    @cached_property
    def _columns(self) -> list[_Column]:
        """Key, window, row, what is stored with the row, and the time of the last write."""
        table, form = self._table, _FORMS[self._table.form]
        windows, stamped = self._kinds
        made = pa.array if table.form in (ACCUMULATORS, NESTED, SESSIONS, COUNTED) else cell_column
        made = value_column if table.form == VALUES else made
        columns = [_Column(*each, _arrow(each[1]), value_column) for each in zip(table.key_names, table.key_types)]
        columns += [_Column(name, "BIGINT", _MILLIS) for name in windows]
        columns += [_Column(*each, _arrow(each[1]), made) for each in zip(table.names, table.types)]
        beside = [*form.beside, *((name, _PLACES if name == "places" else _NUMBER) for name in table.counts)]
        columns += [_Column(name, _SQL[kind], kind) for name, kind in beside]
        columns += [_Column(LAST_ACCESS, "BIGINT", _MILLIS)] if stamped else []
        names = distinct([each.name for each in columns])
        return [_Column(name, each.type, each.arrow, each.made) for name, each in zip(names, columns)]

    @cached_property
    def _kinds(self) -> tuple[tuple[str, ...], bool]:
        """(names of the columns of windows, whether the state has a time to live)."""
        piece = next(iter(self._find()), None)
        if piece is None:
            return (), False
        windows = tuple(name for name in (WINDOW_START, WINDOW_END) if name in piece.columns)
        return () if self._table.form == SESSIONS else windows, piece.kind.startswith("TTL ")

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """Names and types in SQL of the columns."""
        return tuple(TableColumn(each.name, each.type) for each in self._columns)

    @property
    def schema(self) -> Any:
        """The ``pyarrow.Schema`` of the tables."""
        return pa.schema([(each.name, each.shown) for each in self._columns])

    def tables(self, wanted: Callable[[Any], bool] | None = None) -> Iterator[Any]:
        """The rows as Arrow tables of one schema, for state that does not fit into memory.

        :param wanted: says which keys are read, given as tuples; None: all.
        :raises NotATableError: stored values are not of the types that the savepoint names.
        """
        for piece in self._find():
            rows = self._rows(piece, wanted)
            while some := list(islice(rows, BATCH_ROWS)):
                yield self._made(some)

    def _made(self, rows: Sequence[Values]) -> Any:
        arrays = []
        for column, values in zip(self._columns, zip(*rows)):
            try:
                arrays.append(column.array(values))
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                raise NotATableError(
                    f"{self._title} in {self._opened.uri}: {column.name} is not of type {column.type} ({error})"
                ) from error
        return pa.table(arrays, self.schema)

    def _rows(self, piece: Piece, wanted: Callable[[Any], bool] | None) -> Iterator[Values]:
        stored: Entries = {}
        implode(piece.kind, piece.load(), piece.columns, self._opened.known, stored)
        table, form = self._table, _FORMS[self._table.form]
        keyed, (_, stamped) = bool(table.key_names), self._kinds
        for entry in _entries(piece.kind, stored):
            if wanted is None or wanted(entry.key):
                first = (*entry.key, *entry.window) if keyed else entry.window
                last = (entry.written,) if stamped else ()
                yield from ((*first, *row, *beside, *last) for row, beside in form.rows(table, entry))

    def to_arrow(self) -> Any:
        """All rows as a ``pyarrow.Table``, in memory."""
        return pa.concat_tables([self.schema.empty_table(), *self.tables()])

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a pandas DataFrame, in memory."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas(maps_as_pydicts="strict")
        return frame


# States without a description


def numbered(table: Any) -> Any:
    """A table in which fields of tuples are columns: they have no names, so these are c0, c1 and so on."""
    names: list[str] = []
    arrays: list[Any] = []
    number = 0
    for name, column in zip(table.column_names, table.columns):
        for array, is_field in _leaves(column.combine_chunks(), False):
            arrays.append(array)
            names.append(f"c{number}" if is_field else name)
            number += is_field
    return pa.table(arrays, names=list(distinct(names)))


def _leaves(array: Any, is_field: bool) -> Iterator[tuple[Any, bool]]:
    kind = array.type
    if pa.types.is_struct(kind) and [each.name for each in kind] == [f"f{place}" for place in range(len(kind))]:
        for part in array.flatten():
            yield from _leaves(part, True)
    else:
        yield array, is_field


# Parquet files

_PARTIAL = ".partial"


@dataclass(frozen=True)
class Exported:
    """One state in a file of its own."""

    state: str
    path: str
    rows: int
    bytes: int


def export_states(reader: SavepointReader, uid: str, name: str | None, to: str) -> list[Exported]:
    """Write keyed states of an operator as ``<state>.parquet`` files. A file appears when it is complete.

    :param name: the state; None: all keyed states, without timers.
    :param to: the local folder, which is made if it is missing.
    :raises FileExistsError: one of the files exists.
    :raises NotInSavepointError: there is no such operator or state.
    """
    states = [each.name for each in reader.states(uid) if each.scope == KEYED and each.kind != TIMERS]
    chosen = states if name is None else [name]
    views = {state: reader.table(uid, state) for state in chosen}
    paths = {state: Path(to) / f"{file}.parquet" for state, file in zip(chosen, _file_names(chosen))}
    for path in paths.values():
        if path.exists():
            raise FileExistsError(f"{path} exists: delete it, or choose another folder")
    Path(to).mkdir(parents=True, exist_ok=True)
    return [_written(state, paths[state], view.schema, view.tables()) for state, view in views.items()]


def _file_names(states: list[str]) -> list[str]:
    names = [re.sub(r"[^A-Za-z0-9-]+", "_", state).strip("_") or "state" for state in states]
    return [name if names.count(name) == 1 else f"{name}-{number}" for number, name in enumerate(names)]


def _written(state: str, path: Path, schema: Any, tables: Iterator[Any]) -> Exported:
    stored = pa.schema([field.with_type(_in_parquet(field.type)) for field in schema])
    partial = path.with_name(path.name + _PARTIAL)
    rows = 0
    try:
        with pq.ParquetWriter(partial, stored, compression="zstd") as writer:
            for table in tables:
                writer.write_table(table.cast(stored))
                rows += table.num_rows
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            partial.unlink()
        raise
    return Exported(state, str(path), rows, path.stat().st_size)


def _in_parquet(kind: Any) -> Any:
    """Parquet has no durations: they become microseconds."""
    return pa.int64() if pa.types.is_duration(kind) else kind
