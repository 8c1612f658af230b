"""Avro under PyFlink's names; the code is in ``millrace.formats``."""

from __future__ import annotations

from millrace.formats.avro_files import AvroBulkWriters, AvroInputFormat
from millrace.formats.avro_generic import AvroSchema, GenericRecordAvroTypeInfo
from millrace.formats.avro_rows import AvroRowDeserializationSchema, AvroRowSerializationSchema

__all__ = [
    "AvroSchema",
    "GenericRecordAvroTypeInfo",
    "AvroInputFormat",
    "AvroBulkWriters",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
]
