"""Rows in columns: a batch of changes that flows between the operators of a streaming plan as one element of the
runtime, the same rows as ``Row`` for Python code, and as ``TableResult.collect`` gives them (by position and by
name).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.types import Row, RowKind, row_of
from millrace.relational import types as t
from millrace.relational.rex import Field, Schema
from millrace.relational.types import DataType
from millrace.relational.values import to_python

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = (kind.value for kind in RowKind)

Kinds = np.ndarray[Any, np.dtype[np.uint8]]


class Rows:
    """A batch of rows with their kinds. Columns have the names ``c0``, ``c1``, ... Never changed."""

    __slots__ = ("batch", "kinds")

    def __init__(self, batch: pa.RecordBatch, kinds: Kinds | None = None) -> None:
        self.batch = batch
        self.kinds = kinds
        """None: every row is an insertion; else a ``RowKind`` value a row"""

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return Rows, (self.batch, self.kinds)

    def __repr__(self) -> str:
        return f"Rows({len(self)} x {self.batch.num_columns}{'' if self.kinds is None else ', with changes'})"

    @property
    def columns(self) -> list[pa.Array]:
        return list(self.batch.columns)

    def kind_values(self) -> Kinds:
        """The kind of every row."""
        return np.zeros(len(self), np.uint8) if self.kinds is None else self.kinds

    def take(self, indices: Any) -> Rows:
        """The rows at these positions (a numpy or Arrow array of integers), in that order."""
        where = indices if isinstance(indices, pa.Array) else pa.array(indices)
        kinds = None if self.kinds is None else self.kinds[np.asarray(indices)]
        return Rows(self.batch.take(where), kinds)

    def where(self, mask: Any) -> Rows:
        """The rows for which ``mask`` (Booleans: numpy, or Arrow with NULL for no) is true."""
        if isinstance(mask, (pa.Array, pa.ChunkedArray)):
            mask = mask.fill_null(False).to_numpy(zero_copy_only=False)
        kinds = None if self.kinds is None else self.kinds[mask]
        return Rows(self.batch.filter(pa.array(mask)), kinds)

    def with_columns(self, columns: Sequence[pa.Array]) -> Rows:
        """A batch with these columns, and the kinds of this batch's rows."""
        return Rows(record_batch(columns, len(self)), self.kinds)

    def adds(self) -> Any:
        """Whether each row adds to the table (an insertion or the new side of an update), as numpy Booleans."""
        kinds = self.kind_values()
        return (kinds == INSERT) | (kinds == UPDATE_AFTER)


def record_batch(columns: Sequence[pa.Array], length: int) -> pa.RecordBatch:
    """Columns as a batch with the names that ``Rows`` use; without columns it still has its length."""
    if columns:
        return pa.RecordBatch.from_arrays(list(columns), [f"c{index}" for index in range(len(columns))])
    return pa.RecordBatch.from_struct_array(pa.array([{}] * length, pa.struct([])))


def concat(parts: Sequence[Rows]) -> Rows:
    """The rows of several batches with the same columns, in order."""
    if len(parts) == 1:
        return parts[0]
    table = pa.Table.from_batches([part.batch for part in parts]).combine_chunks()
    batches = table.to_batches()
    batch = batches[0] if batches else parts[0].batch
    if all(part.kinds is None for part in parts):
        return Rows(batch)
    return Rows(batch, np.concatenate([part.kind_values() for part in parts]))


def count(values: list[Any]) -> int:
    """How many elements these are in metrics: of batches of rows it is the rows."""
    if values and values[0].__class__ is Rows:
        return sum(map(len, values))
    return len(values)


# As Row

_KINDS = list(RowKind)


def python_rows(rows: Rows, columns: Schema) -> list[Row]:
    """Columns as rows of Python values, with their names and kinds."""
    names = [column.name for column in columns]
    values = [_values(array, column) for array, column in zip(rows.columns, columns)]
    kinds = [_KINDS[kind] for kind in rows.kind_values().tolist()]
    return [row_of(list(each), names, kind) for each, kind in zip(zip(*values), kinds)]


def _values(array: pa.Array, column: Field) -> list[Any]:
    try:
        return to_python(array, column.type)
    except OverflowError as error:
        raise OverflowError(f"column '{column.name}': {error}") from None


# As TableResult.collect gives them


class CollectedRow(Row):
    """Equal to ``Row(1, "a")`` as in PyFlink, whose collected rows have no names; ``row.id`` and ``row["id"]`` work."""

    __slots__ = ("_names",)

    _names: Sequence[str]

    @staticmethod
    def of(values: list[Any], names: Sequence[str], kind: RowKind) -> CollectedRow:
        """The fast way: nothing is checked, nothing is copied. Share ``names`` between rows."""
        row = CollectedRow.__new__(CollectedRow)
        row._values = values
        row._fields = None
        row._row_kind = kind
        row._names = names
        return row

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        return row_of(self._values, list(self._named())).as_dict(recursive)

    def _named(self) -> Sequence[str]:
        return self._names if self._fields is None else self._fields

    def _index(self, name: str) -> int:
        try:
            return self._named().index(name)
        except ValueError:
            raise ValueError(f"no field {name!r} in this row; its fields are {', '.join(self._named())}") from None

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            try:
                return self._values[self._named().index(name)]
            except ValueError:
                pass
        raise AttributeError(name)

    def __copy__(self) -> CollectedRow:
        row = CollectedRow.of(self._values.copy(), self._names, self._row_kind)
        row._fields = self._fields
        return row

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._values, self._names, self._row_kind, self._fields)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return self._as_row() == (other._as_row() if isinstance(other, CollectedRow) else other)

    def _as_row(self) -> Row:
        return row_of(self._values, self._fields, self._row_kind)

    __hash__ = Row.__hash__


def _again(values: list[Any], names: Sequence[str], kind: RowKind, fields: list[str] | None) -> CollectedRow:
    row = CollectedRow.of(values, names, kind)
    row._fields = fields
    return row


def collected_rows(rows: Rows, columns: Schema) -> Iterator[CollectedRow]:
    """Columns as rows of Python values; FLOAT is the shortest number that means the same 32 bits."""
    names = [column.name for column in columns]
    values = []
    for array, column in zip(rows.columns, columns):
        found, convert = to_python(array, column.type), _converter(column.type)
        values.append(found if convert is None else list(map(convert, found)))
    for each, kind in zip(zip(*values), rows.kind_values().tolist()):
        yield CollectedRow.of(list(each), names, _KINDS[kind])


def _converter(kind: DataType) -> Callable[[Any], Any] | None:
    """The function from a value that Python functions get to the one that ``collect`` gives; None: they are the
    same."""
    if isinstance(kind, t.FloatType):
        return _shortest
    if isinstance(kind, t.RowType):
        return _row(kind)
    if isinstance(kind, t.ArrayType):
        return _list(_converter(kind.element_type))
    if isinstance(kind, t.MapType):
        return _map(_converter(kind.key_type), _converter(kind.value_type))
    return None


def _shortest(value: float | None) -> float | None:
    return None if value is None else float(str(np.float32(value)))


def _row(kind: t.RowType) -> Callable[[Any], Any]:
    names = [field.name for field in kind.fields]
    converters = [_converter(field.data_type) or _same for field in kind.fields]

    def convert(value: Any) -> Any:
        if value is None:
            return None
        inner = [each(part) for each, part in zip(converters, value)]
        return CollectedRow.of(inner, names, value.get_row_kind())

    return convert


def _list(element: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    return None if element is None else lambda value: None if value is None else list(map(element, value))


def _map(key: Callable[[Any], Any] | None, value: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    if key is None and value is None:
        return None
    one, other = key or _same, value or _same
    return lambda found: None if found is None else {one(each): other(part) for each, part in found.items()}


def _same(value: Any) -> Any:
    return value
