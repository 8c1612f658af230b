# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Parquet under PyFlink's names; the code is in ``millrace.formats``."""

from __future__ import annotations

from millrace.formats.avro_parquet import AvroParquetReaders, AvroParquetWriters
from millrace.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "ParquetColumnarRowInputFormat",
    "ParquetBulkWriters",
]
