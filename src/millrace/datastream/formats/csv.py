# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""CSV under PyFlink's names; the code is in ``millrace.formats.csv``."""

from __future__ import annotations

from millrace.formats.csv import CsvBulkWriters, CsvReaderFormat, CsvRowDeserializationSchema, CsvRowSerializationSchema
from millrace.formats.csv_schema import CsvSchema, CsvSchemaBuilder

__all__ = [
    "CsvSchema",
    "CsvSchemaBuilder",
    "CsvReaderFormat",
    "CsvBulkWriters",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
]
