"""``FileTableFormat``: the base of all formats of a table's files.

Converts files to rows and rows to files, merges several files into one, and casts columns of files to the Arrow types
of plans.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.serialization import BulkWriter, BulkWriterFactory
from millrace.common.types import RowKind
from millrace.connectors.file_system.file_format import SplitRecords
from millrace.connectors.file_system.file_stream import FileSplit, RecordError
from millrace.relational.nodes import Schema
from millrace.relational.precision import canonical
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import INSERT_ONLY
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType


def conformed(column: pa.Array, wanted: DataType) -> pa.Array:
    """A column of a file as a column of the table's type: values are converted where that loses nothing but digits of a
    second that the type does not have.

    :raises pa.ArrowException: a value does not fit, or the types have nothing to do with each other.
    """
    kind = arrow_type(wanted)
    if column.type != kind:
        column = _cast(column, kind)
    return canonical(column, wanted)


def _cast(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    found = column.type
    if found == wanted:
        return column
    if pa.types.is_dictionary(found):
        return _cast(column.dictionary_decode(), wanted)
    if pa.types.is_struct(found) and pa.types.is_struct(wanted):
        return _struct(column, wanted)
    if pa.types.is_map(found) and pa.types.is_map(wanted):
        keys, items = _cast(column.keys, wanted.key_type), _cast(column.items, wanted.item_type)
        return _with_validity(pa.MapArray.from_arrays(column.offsets, keys, items, type=wanted), column)
    if _is_list(found) and pa.types.is_list(wanted):
        column = column.cast(pa.list_(found.value_type))  # offsets of 32 bits
        values = _cast(column.values, wanted.value_type)
        return _with_validity(pa.ListArray.from_arrays(column.offsets, values, type=wanted), column)
    # Only fractions of a second may be lost: what has another unit, or whose number is too large, is an error.
    lossy = pa.types.is_timestamp(found) or pa.types.is_time(found)
    if lossy and not (pa.types.is_timestamp(wanted) or pa.types.is_time(wanted)):
        lossy = False
    return column.cast(wanted, safe=not (lossy and _is_finer(found, wanted)))


def _struct(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Fields by name; one that is not there is NULL."""
    names = [field.name for field in column.type]
    children = [
        _cast(column.field(names.index(field.name)), field.type)
        if field.name in names
        else pa.nulls(len(column), field.type)
        for field in wanted
    ]
    mask = column.is_null() if column.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(wanted), mask=mask)


def _with_validity(made: pa.Array, column: pa.Array) -> pa.Array:
    return pc.if_else(column.is_valid(), made, pa.scalar(None, made.type)) if column.null_count else made


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_finer(found: pa.DataType, wanted: pa.DataType) -> bool:
    units = ("s", "ms", "us", "ns")
    return units.index(found.unit) > units.index(wanted.unit)


BATCH = 1 << 17
"""rows of a batch that is read; large ones are what makes columns fast"""
GROUP_BYTES = 64 << 20
"""bytes that a writer holds back at most"""

T = TypeVar("T")


def read_option(options: Mapping[str, str], name: str, convert: Callable[[str], T], default: str) -> T:
    """The value of a format's option.

    :raises ValueError: it cannot be converted; names option and value.
    """
    try:
        return convert(options.get(name, default))
    except ValueError as error:
        raise ValueError(f"option '{name}' of the format: {error}") from None


class FileTableFormat(ABC):
    """A format of files with rows. Pickled into the tasks. Its columns are those in files, without partition
    columns."""

    kinds: frozenset[RowKind] = INSERT_ONLY
    """kinds of change of rows that are read"""
    written_kinds: frozenset[RowKind] = INSERT_ONLY
    """kinds of change of rows that can be written"""

    def is_splittable(self, path: str) -> bool:
        """Whether parts of a file can be read by themselves."""
        return False

    @abstractmethod
    def open(self, split: FileSplit, columns: Schema, filters: Sequence[Rex] = ()) -> SplitRecords[Rows]:
        """The rows of a split with these columns.

        :param filters: conditions over ``columns``: rows for which one is not TRUE may be left out.
        """

    def counted_rows(self, path: str) -> int | None:
        """How many rows a local file says that it has; None: it does not, or it cannot be read."""
        return None

    @abstractmethod
    def merge(self, sources: Sequence[Any], target: Any) -> None:
        """Write the rows of several files into one. All are open: files of pyarrow to be read, a stream to be
        written, which stays open."""


class BulkTableFormat(FileTableFormat):
    """Files that are begun and finished as a whole."""

    columns: Schema

    @abstractmethod
    def gathering(self, stream: Any, part_bytes: int) -> GatheredWriter:
        """What writes a file into a stream.

        :param part_bytes: when a file is large enough: more is not held back.
        """

    def writers(self, part_bytes: int) -> BulkWriterFactory:
        """Makes writers that take ``InPartition``."""
        return _Writers(self, part_bytes)


class _Writers(BulkWriterFactory):
    def __init__(self, format: BulkTableFormat, part_bytes: int) -> None:
        self._format = format
        self._part_bytes = part_bytes

    def create(self, stream: Any) -> BulkWriter:
        return self._format.gathering(stream, self._part_bytes)


class StreamTableFormat(FileTableFormat):
    """Files that grow at their end."""

    @abstractmethod
    def encode(self, rows: Rows) -> bytes:
        """What is appended for these rows."""

    def merge(self, sources: Sequence[Any], target: Any) -> None:
        for source in sources:
            while block := source.read(1 << 20):
                target.write(block)


class GatheredWriter(BulkWriter):
    """Holds batches back until they are worth a row group. ``add_element`` takes ``InPartition``."""

    def __init__(self, columns: Schema, part_bytes: int) -> None:
        self._names = [column.name for column in columns]
        self._bytes = min(GROUP_BYTES, part_bytes)
        self._batches: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._held_rows = 0

    def group(self, table: pa.Table) -> None:
        """Write these rows."""
        raise NotImplementedError

    def end(self) -> None:
        """Write what closes the file."""
        raise NotImplementedError

    def add_element(self, element: Any) -> None:
        batch: pa.RecordBatch = element.rows.batch
        self._batches.append(pa.RecordBatch.from_arrays(batch.columns, self._names))
        self._held_bytes += batch.nbytes
        self._held_rows += batch.num_rows
        if self._held_rows >= BATCH * 8 or self._held_bytes >= self._bytes:
            self.flush()

    def flush(self) -> None:
        if self._batches:
            self.group(pa.Table.from_batches(self._batches))
            self._batches, self._held_bytes, self._held_rows = [], 0, 0

    def finish(self) -> None:
        self.flush()
        self.end()


class FileColumns:
    """Finds the columns of a table in a file, by name; those that it lacks are NULL."""

    def __init__(self, path: str, columns: Schema, found: Sequence[str]) -> None:
        self._path = path
        self._columns = columns
        present = set(found)
        self.read = [column.name for column in columns if column.name in present]
        """the columns to ask the file for"""

    def rows(self, batch: pa.RecordBatch | pa.Table) -> Rows:
        """What was read in the columns and types of the table."""
        made = []
        names = batch.schema.names
        for column in self._columns:
            if column.name not in names:
                made.append(pa.nulls(batch.num_rows, arrow_type(column.type)))
                continue
            found = batch.column(names.index(column.name))
            try:
                if _has_text(found.type):
                    found.validate(full=True)
                made.append(conformed(found, column.type))
            except (pa.ArrowException, NotImplementedError) as error:
                raise RecordError(
                    f"{self._path}: column '{column.name}' ({found.type}) cannot be read as {column.type}: {error}"
                ) from error
        return Rows(record_batch(made, batch.num_rows))


def _has_text(type_: pa.DataType) -> bool:
    """Whether values can be no UTF-8. Later such a value would be an error that does not say where it is from."""
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return True
    return any(_has_text(type_.field(at).type) for at in range(type_.num_fields))


class ColumnRecords(SplitRecords[Rows]):
    """The rows of a split of a file that has columns. The position is the number of the next row among those of the
    split, be they read or passed over."""

    def __init__(self, split: FileSplit, stream: Any, wanted: FileColumns) -> None:
        self._split = split
        self._stream = stream
        self._wanted = wanted
        self._position = split.position or 0
        self._batches = self.batches(self._position)

    def batches(self, position: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """(position after it, batch) for what is left from a position on. Not begun before the first is asked for."""
        raise NotImplementedError

    def read_batch(self) -> list[Rows] | None:
        try:
            found = next(self._batches, None)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise RecordError(f"{self._split.path}, after row {self._position}: {error}") from error
        if found is None:
            return None
        rows = self._wanted.rows(found[1])
        self._position = found[0]
        return [rows]

    def position(self) -> int:
        return self._position

    def close(self) -> None:
        self._stream.close()
