"""ORC files, for writing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from millrace.common.configuration import Configuration
from millrace.common.serialization import BulkWriterFactory
from millrace.formats.arrow_writer import ArrowWriterFactory
from millrace.formats.types import arrow_schema

__all__ = ["OrcBulkWriters", "orc_options"]

ROWS = 1 << 15
"""Rows that a writer holds back."""

# The properties of Apache ORC that pyarrow has, by its name for them.
_PROPERTIES = {
    "orc.compress": "compression",
    "orc.compress.size": "compression_block_size",
    "orc.stripe.size": "stripe_size",
    "orc.row.index.stride": "row_index_stride",
}


class OrcBulkWriters:
    """Writers of ORC files for ``FileSink.for_bulk_format``.

        >>> row = DataTypes.ROW([DataTypes.FIELD("id", DataTypes.INT())])
        >>> sink = FileSink.for_bulk_format("out", OrcBulkWriters.for_row_type(row)).build()
        >>> written = env.from_collection([Row(1)], Types.ROW_NAMED(["id"], [Types.INT()])).sink_to(sink)
        >>> result = env.execute()
    """

    @staticmethod
    def for_row_type(
        row_type: Any, writer_properties: Configuration | None = None, hadoop_config: Any = None
    ) -> BulkWriterFactory:
        """Write rows (Row, tuple or dict) of a type: ``Types.ROW_NAMED``, ``DataTypes.ROW`` or a pyarrow schema.

        Of the writer's properties ``orc.compress`` (ZLIB by default; NONE, SNAPPY, LZ4, ZSTD), ``orc.compress.size``,
        ``orc.stripe.size`` and ``orc.row.index.stride`` count; others and ``hadoop_config`` are ignored.

        :raises ValueError: for a type that ORC does not have (times of the day, for example).
        """
        given = {} if writer_properties is None else writer_properties.to_dict()
        return _OrcWriterFactory(arrow_schema(row_type), orc_options(given))


def orc_options(properties: Mapping[str, str]) -> dict[str, Any]:
    """What pyarrow's writer takes for ORC's writer properties; compressed with ZLIB if they say nothing."""
    given = {ours: _value(properties[theirs]) for theirs, ours in _PROPERTIES.items() if theirs in properties}
    return {"compression": "zlib", **given}


def _value(text: str) -> int | str:
    if text.isdigit():
        return int(text)
    return "uncompressed" if text.upper() == "NONE" else text.lower()


class _OrcWriterFactory(ArrowWriterFactory):
    def __init__(self, schema: Any, options: dict[str, Any]) -> None:
        super().__init__(schema)
        self._options = options
        # What ORC refuses shows here, in the program, and not in a task.
        try:
            file = self.open(pa.BufferOutputStream())
            self.write(file, pa.RecordBatch.from_pylist([], schema=schema))
            file.close()
        except (pa.ArrowException, TypeError, OSError) as error:
            raise ValueError(f"ORC can't write {schema}: {error}") from error

    @property
    def rows(self) -> int:
        return ROWS

    def open(self, stream: Any) -> Any:
        from pyarrow.orc import ORCWriter

        return ORCWriter(stream, **self._options)

    def write(self, file: Any, batch: Any) -> None:
        file.write(pa.Table.from_batches([batch]))
