"""ORC files as rows in columns."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, cast

import pyarrow as pa

from millrace.common.files.file_systems import open_file_system
from millrace.connectors.file_system.format import SplitRecords
from millrace.connectors.file_system.lines import RecordError
from millrace.connectors.file_system.split import FileSplit
from millrace.connectors.tables.filesystem.formats.base import (
    BATCH,
    BulkTableFormat,
    ColumnRecords,
    FileColumns,
    GatheredWriter,
)
from millrace.connectors.tables.filesystem.formats.file_schema import file_schema
from millrace.formats.orc import orc_options
from millrace.formats.orc_files.reading import OrcError, OrcRows
from millrace.relational import types as t
from millrace.relational.nodes import Schema
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows

OPTIONS = ("compress", "compress.size", "stripe.size", "row.index.stride")


class OrcTableFormat(BulkTableFormat):
    """Reads only the columns that are needed; large files are split at stripes.

    :param options: without the prefix ``orc.``.
    :raises ValueError: a type that ORC does not have, a value that an option does not have.
    """

    def __init__(self, columns: Schema, options: Mapping[str, str], table: str) -> None:
        self.columns = columns
        self._schema = file_schema(columns, "ORC", table, (t.TimeType,))
        self._options = orc_options({f"orc.{name}": value for name, value in options.items()})
        try:
            writer = self.writer(pa.BufferOutputStream())
            writer.write(self._schema.empty_table())
            writer.close()
        except (pa.ArrowException, TypeError, ValueError, OSError) as error:
            raise ValueError(f"table {table}: ORC cannot write it: {error}") from error

    def is_splittable(self, path: str) -> bool:
        return True

    def open(self, split: FileSplit, columns: Schema, filters: Sequence[Rex] = ()) -> SplitRecords[Rows]:
        return _Records(split, columns)

    def gathering(self, stream: Any, part_bytes: int) -> GatheredWriter:
        return _Writer(self, stream, part_bytes)

    def writer(self, stream: Any) -> Any:
        """A file to write tables into."""
        from pyarrow.orc import ORCWriter

        return ORCWriter(stream, **self._options)

    def merge(self, sources: Sequence[Any], target: Any) -> None:
        from pyarrow.orc import ORCFile

        writer = self.writer(target)
        for source in sources:
            file = ORCFile(source)
            for stripe in range(file.nstripes):
                table = pa.Table.from_batches([file.read_stripe(stripe)])
                writer.write(table)
        writer.close()


class _Writer(GatheredWriter):
    def __init__(self, format: OrcTableFormat, stream: Any, part_bytes: int) -> None:
        super().__init__(format.columns, part_bytes)
        self._file = format.writer(stream)

    def group(self, table: pa.Table) -> None:
        self._file.write(pa.Table.from_arrays(list(map(_whole, table.columns)), schema=table.schema))

    def end(self) -> None:
        self._file.close()


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column whose arrays begin at their buffers' begin: of nested ones the writer overlooks the offset."""
    if not pa.types.is_nested(column.type):
        return column
    whole = [chunk.take(pa.array(range(len(chunk)))) if chunk.offset else chunk for chunk in column.chunks]
    return pa.chunked_array(whole, column.type)


class _Records(ColumnRecords):
    """The rows of a split's stripes. Where stripes lie is not told, so each counts as if they were of equal size."""

    def __init__(self, split: FileSplit, columns: Schema) -> None:
        stream = open_file_system(split.root)[0].open_input_file(split.path)
        try:
            self._file = OrcRows(stream)
        except (OrcError, OSError) as error:
            stream.close()
            raise RecordError(f"{split.path}: not an ORC file: {error}") from error
        self._stripes = self._mine(split, stream.size())
        super().__init__(split, stream, FileColumns(split.path, columns, self._file.names))

    def _mine(self, split: FileSplit, size: int) -> list[int]:
        stripes = range(self._file.stripes)
        if split.whole:
            return list(stripes)
        return [stripe for stripe in stripes if split.offset <= stripe * size // len(stripes) < split.end]

    def batches(self, position: int) -> Generator[tuple[int, pa.RecordBatch], None, None]:
        # Without any column a stripe would not tell how many rows it has.
        columns = self._wanted.read or self._file.names[:1]
        at = 0
        for stripe in self._stripes:
            for found in self._file.batches(stripe, columns, BATCH):
                skip = max(0, min(position - at, found.num_rows))
                at += found.num_rows
                if skip < found.num_rows:
                    yield at, found.slice(skip) if skip else found

    def close(self) -> None:
        cast(Generator[Any, None, None], self._batches).close()
        self._file.close()
        super().close()
